//! The outside ping: who is called when, and that it does no harm.

use super::{desk, pinged};
use shared::config::{Config, Program};
use watchalert_ingest::progress::Progress;
use watchalert_ingest::run::{self, Options, Scene};
use watchalert_tests::feeds::{FeedServer, Reply};
use watchalert_tests::programs::{Place, Program as Real};
use watchalert_tests::world::{runtime, skip_waits_once};

#[test]
fn a_tick_says_that_it_begins_and_that_it_ends() {
    let desk = desk();
    desk.tick();
    desk.said(&["--dry-run"]);
    let asked: Vec<(String, String)> = desk
        .server
        .requests()
        .into_iter()
        .map(|request| (request.method, request.path))
        .collect();
    let get = |path: &str| ("GET".to_owned(), path.to_owned());
    assert_eq!(
        asked,
        [get("/start"), get("/ok")],
        "and a dry run says nothing"
    );
    // One feed by hand is no tick.
    desk.show("/a", &[("1", "one")]);
    let feed = desk.server.url("/a");
    drop(desk.run(&["--feed", &feed]));
    assert_eq!(pinged(&desk), (1, Vec::new()));
}

#[test]
fn a_tick_that_fails_says_why_on_one_line() {
    let desk = desk();
    desk.tick();
    let stranger = desk.world.stranger();
    stranger
        .execute_batch("PRAGMA user_version=99")
        .expect("set");
    let refused = desk.refused(&[]);
    let (well, failed) = pinged(&desk);
    assert_eq!((well, failed.len()), (1, 1));
    assert!(failed[0].starts_with("the tick failed: "), "{failed:?}");
    assert!(!failed[0].contains('\n') && failed[0].chars().count() <= 200);
    assert!(
        !refused.contains("/fail"),
        "the address is a secret: {refused}"
    );
    let post = desk.server.requests_for("/fail");
    assert_eq!(post[0].method, "POST");
}

#[test]
fn whatever_the_other_side_does_the_tick_is_done() {
    let desk = desk();
    for reply in [
        Reply::status(404),
        Reply::status(500),
        Reply::cut(),
        Reply::redirect(302, "/ok"),
    ] {
        desk.server.set("/start", reply.clone());
        desk.server.set("/ok", reply);
        desk.tick();
    }
    assert_eq!(desk.server.requests_for("/start").len(), 4);
    // It hangs: five seconds are waited for it, the lock being free meanwhile.
    desk.server.set("/start", Reply::status(200));
    desk.server.set("/ok", Reply::hang());
    let before = desk.server.requests_for("/ok").len();
    let config = Config::load(&desk.path("config.toml"), None, Program::Ingest).expect("good");
    let scene = Scene {
        config,
        clock: desk.world.clock.clone(),
        chance: fastrand::Rng::with_seed(1),
        progress: Progress { shown: false },
    };
    let asked = || desk.server.requests_for("/ok").len() > before;
    let report = runtime().block_on(async {
        let (ended, ()) = tokio::join!(run::run(scene, Options::default()), skip_waits_once(asked));
        ended.expect("a tick")
    });
    assert_eq!(report.troubles, [""; 0]);
    desk.world.all_invariants_hold();
}

#[test]
fn no_log_shows_an_address() {
    let server = FeedServer::start();
    let dead = std::net::TcpListener::bind("127.0.0.1:0")
        .expect("bound")
        .local_addr();
    let dead = format!("http://{}/hunter2-start", dead.expect("an address"));
    let success = server.url("/hunter2-success");
    let ping = |start: &str| {
        format!(
            "[channel.screen]\nkind = \"console\"\n[ping]\nstart = \"{start}\"\nsuccess_file = \"ping\"\n"
        )
    };
    let place = Place::new(&ping(&dead));
    let file = place.config().with_file_name("ping");
    std::fs::write(&file, success).expect("written");
    let private = std::os::unix::fs::PermissionsExt::from_mode(0o600);
    std::fs::set_permissions(&file, private).expect("set");
    let mut said = String::new();
    for (start, reply) in [
        (dead, Reply::status(200)),
        (
            server.url("/hunter2-start"),
            Reply::redirect(302, "/hunter2-there"),
        ),
    ] {
        place.configure(&ping(&start));
        server.set("/hunter2-success", reply);
        let ended = place.run(Real::Ingest, &["-vv", "--json"]);
        assert_eq!(ended.code, Some(0), "{ended:#?}");
        said += &(ended.out + &ended.err);
    }
    assert!(
        said.contains("the outside ping (start) did not get through"),
        "{said}"
    );
    assert!(
        said.contains("the outside ping (success) did not get through"),
        "{said}"
    );
    let shown: Vec<&str> = said
        .lines()
        .filter(|line| line.contains("hunter2"))
        .collect();
    assert!(shown.is_empty(), "{shown:#?}");
}
