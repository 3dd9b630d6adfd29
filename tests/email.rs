//! E-mail end to end, on a set clock: the sender against a mail server at the socket, and against a real exim
//! where there is one.

#[path = "email/exim.rs"]
mod exim;

use clap::Parser;
use shared::config::{Config, Program, Surroundings};
use shared::model::{Alert, Priority};
use shared::platform::environment::Environment;
use shared::platform::exit::Exit;
use shared::platform::term::Style;
use shared::store::Db;
use shared::store::outbox::{self, Owed};
use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::time::Duration;
use watchalert_sender::args::Args;
use watchalert_sender::channel::console::Output;
use watchalert_sender::command;
use watchalert_sender::drain::Until;
use watchalert_sender::run::{Scene, run};
use watchalert_tests::smtp::{Act, At, PASSWORD, Smtp, Tls};
use watchalert_tests::tls::certificate;
use watchalert_tests::world::{START, World, owed, runtime, to};

/// A world with one mailing channel, and a console for what is told of it.
struct Room {
    world: World,
    section: String,
}

impl Room {
    /// `smtp` is the server's URL, `keys` what else the channel has.
    fn new(smtp: &str, password: &str, recipients: &str) -> Self {
        let world = World::new();
        let file = world.dir.path().join("password");
        fs::write(&file, password).expect("written");
        fs::set_permissions(&file, Permissions::from_mode(0o600)).expect("locked up");
        let authority = certificate("root.pem");
        let section = format!(
            "state.path = \"state.db\"\ndefault_channel = \"mail\"\n[channel.screen]\nkind = \"console\"\n\
             [channel.mail]\nkind = \"email\"\nsmtp = \"{smtp}\"\npassword_file = \"password\"\n\
             from = \"watch@sender.test\"\nto = [{recipients}]\nca_file = \"{}\"\n",
            authority.display()
        );
        Self { world, section }
    }

    fn at(server: &Smtp, scheme: &str) -> Self {
        let smtp = format!("{scheme}://watch@{}", server.address());
        Self::new(&smtp, PASSWORD, "\"me@example.org\"")
    }

    fn owe(&self, key: &str, priority: Priority, recipient: &str) {
        self.world.enqueue(key, &to("mail", recipient), priority);
    }

    fn owe_alert(&self, alert: &Alert, recipient: &str) {
        let priority = alert.severity.priority().expect("a severity that matters");
        let owed = Owed {
            dedup_key: alert.short_id.clone(),
            alert: alert.clone(),
            ..owed("", &to("mail", recipient), priority)
        };
        let now = self.world.clock.now();
        let enqueue = move |db: &Db| outbox::enqueue(db, &owed, now).map(|_| ());
        self.world.write(enqueue).expect("enqueued");
    }

    /// One sender, so long after the start, until nothing may be sent.
    fn send_at(&self, after: Duration) {
        self.world.clock.set_to(START + after);
        let around = Surroundings {
            directory: self.world.dir.path(),
            credentials: None,
            program: Program::Sender,
        };
        let scene = Scene {
            config: Config::parse(&self.section, &around).expect("a good configuration"),
            clock: self.world.clock.clone(),
            chance: fastrand::Rng::with_seed(7),
            output: Output::new(io::sink()),
            style: Style::default(),
        };
        let ended = runtime().block_on(run(scene, Until::Empty, std::future::pending()));
        ended.expect("a clean end");
        self.world.all_invariants_hold();
    }

    /// State and last error of the mails, in their order.
    fn rows(&self) -> Vec<String> {
        let db = self.world.stranger();
        let sql = "SELECT state||': '||coalesce(last_error,'') FROM outbox WHERE channel='mail' ORDER BY id";
        let mut statement = db.prepare(sql).expect("prepared");
        let rows = statement.query_map([], |row| row.get(0)).expect("asked");
        rows.collect::<rusqlite::Result<_>>().expect("rows")
    }

    fn look(&self) -> (String, Exit) {
        let config = self.world.dir.path().join("config.toml");
        fs::write(&config, &self.section).expect("written");
        let path = config.to_str().expect("UTF-8");
        let args = ["watchalert-sender", "--config", path, "check", "--live"];
        let outside = command::World {
            terminal: false,
            environment: Environment::default(),
            clock: self.world.clock.clone(),
            chance: fastrand::Rng::with_seed(7),
            output: Output::new(io::sink()),
        };
        let mut out = Vec::new();
        let args = Args::try_parse_from(args).expect("it parses");
        let looks = command::execute(args, outside, std::future::pending(), &mut out);
        let exit = runtime().block_on(looks).expect("it looks");
        let out = String::from_utf8(out).expect("UTF-8");
        assert!(!out.contains(PASSWORD), "{out}");
        (out.split_whitespace().collect::<Vec<_>>().join(" "), exit)
    }
}

fn minutes(count: u64) -> Duration {
    Duration::from_secs(60 * count)
}

#[test]
fn alerts_go_over_one_connection_each_once_and_in_tls() {
    for (tls, scheme) in [(Tls::AtOnce, "smtps"), (Tls::OnDemand, "smtp+starttls")] {
        let server = Smtp::start(tls);
        let room = Room::at(&server, scheme);
        for key in ["a", "b", "c"] {
            room.owe(key, Priority::High, "me@example.org");
        }
        room.send_at(Duration::ZERO);
        let mails = server.mails();
        assert_eq!(room.rows(), ["sent: ", "sent: ", "sent: "]);
        assert_eq!(mails.len(), 3);
        assert_eq!(server.connections(), 1);
        for (mail, key) in mails.iter().zip(["a", "b", "c"]) {
            assert!(mail.is_encrypted);
            assert_eq!(mail.user.as_deref(), Some("watch"));
            assert_eq!(mail.to, ["TO:<me@example.org>"]);
            let subject = mail.header("Subject");
            assert_eq!(subject, Some(format!("[HIGH] Title of {key}")));
        }
    }
}

#[test]
fn a_connection_that_the_server_closed_meanwhile_costs_nothing() {
    let closing = Act::SayAndClose("421 4.4.2 idle too long".to_owned());
    for (at, act) in [
        (At::Noop, closing.clone()),
        (At::Noop, Act::Close),
        (At::MailAgain, closing),
    ] {
        let server = Smtp::start(Tls::OnDemand);
        let room = Room::at(&server, "smtp+starttls");
        for key in ["a", "b"] {
            room.owe(key, Priority::High, "me@example.org");
        }
        server.set_times("sender.test", at, act, 1);
        room.send_at(Duration::ZERO);
        assert_eq!(room.rows(), ["sent: ", "sent: "]);
        let mails = server.mails();
        assert_eq!((mails.len(), server.connections()), (2, 2));
        assert!(mails.iter().all(|mail| !mail.text.contains("repeat")));
    }
}

#[test]
fn what_may_have_arrived_is_sent_again_marked_with_the_same_name_and_body() {
    let server = Smtp::start(Tls::Never);
    let room = Room::at(&server, "smtp");
    room.owe("a", Priority::High, "me@example.org");
    server.set_times("sender.test", At::Text, Act::Close, 1);
    room.send_at(Duration::ZERO);
    room.send_at(minutes(1));
    assert_eq!(room.rows(), ["sent: "]);
    let mails = server.mails();
    let [first, copy] = mails.as_slice() else {
        panic!("two copies of {mails:#?}");
    };
    assert!(!first.is_taken && copy.is_taken);
    assert_eq!(copy.header("Message-ID"), first.header("Message-ID"));
    assert_eq!(copy.text.replacen("(possible repeat) ", "", 1), first.text);
    assert!(copy.text.contains("(possible repeat) [HIGH]"));
}

#[test]
fn a_greylisted_mail_is_brought_again_after_five_minutes_and_not_before() {
    let server = Smtp::start(Tls::Never);
    let room = Room::at(&server, "smtp");
    room.owe("a", Priority::Critical, "me@example.org");
    let grey = Act::Say("451 4.7.1 Try again later".to_owned());
    server.set_times("sender.test", At::Rcpt, grey, 1);
    room.send_at(Duration::ZERO);
    room.send_at(minutes(4));
    assert_eq!(server.connections(), 1, "nobody asked again");
    room.send_at(minutes(6));
    assert_eq!(room.rows(), ["sent: "]);
}

#[test]
fn one_full_mailbox_is_told_once_and_keeps_no_other_recipient_waiting() {
    let server = Smtp::start(Tls::Never);
    let room = Room::at(&server, "smtp");
    room.owe("a", Priority::High, "me@example.org");
    let full = Act::Say("552 5.2.2 Mailbox full".to_owned());
    server.set_times("sender.test", At::Rcpt, full, 1);
    room.send_at(Duration::ZERO);
    room.owe("b", Priority::High, "you@example.org");
    room.owe("c", Priority::High, "me@example.org");
    room.send_at(minutes(1));
    let states: Vec<String> = room.rows().iter().map(|row| row[..4].to_owned()).collect();
    assert_eq!(states, ["read", "sent", "read"]);
    let notices = "SELECT count(*) FROM outbox WHERE kind='notice' AND channel='screen'";
    assert_eq!(room.world.ask(notices), "1");
    room.send_at(minutes(30));
    room.send_at(minutes(31));
    assert_eq!(room.rows(), ["sent: ", "sent: ", "sent: "]);
}

#[test]
fn a_refused_login_keeps_everything_and_is_told_once() {
    let server = Smtp::start(Tls::OnDemand);
    let smtp = format!("smtp+starttls://watch@{}", server.address());
    let room = Room::new(&smtp, "wrong", "\"me@example.org\"");
    for key in ["a", "b"] {
        room.owe(key, Priority::High, "me@example.org");
    }
    for minute in [0, 2, 6] {
        room.send_at(minutes(minute));
    }
    let rows = room.rows();
    assert!(
        rows.iter().all(|row| row.starts_with("ready: ")),
        "{rows:?}"
    );
    assert!(
        rows[0].contains("at the login the server said: 535 5.7.8"),
        "{rows:?}"
    );
    let notices = "SELECT count(*) FROM outbox WHERE kind='notice' AND channel='screen'";
    assert_eq!(room.world.ask(notices), "1");
    let password = room.world.dir.path().join("password");
    fs::write(password, PASSWORD).expect("written");
    room.send_at(minutes(60));
    assert_eq!(room.rows(), ["sent: ", "sent: "]);
}

#[test]
fn a_mail_that_is_too_long_is_shortened_once() {
    let server = Smtp::start(Tls::Never);
    let room = Room::at(&server, "smtp");
    room.owe("a", Priority::High, "me@example.org");
    let long = Act::Say("552 5.3.4 Message too big".to_owned());
    server.set_times("sender.test", At::Text, long.clone(), 1);
    room.send_at(Duration::ZERO);
    assert_eq!(room.rows(), ["sent: "]);
    let lengths: Vec<usize> = server.mails().iter().map(|mail| mail.text.len()).collect();
    assert!(lengths[1] < lengths[0], "{lengths:?}");
    assert!(server.mails()[1].text.contains("https://example.org/a"));
    server.set_times("sender.test", At::Text, long, 2);
    room.owe("b", Priority::High, "me@example.org");
    room.send_at(minutes(1));
    assert!(room.rows()[1].starts_with("dead: refused: at the text"));
    assert_eq!(server.mails().len(), 4);
}

#[test]
fn a_check_goes_all_the_way_but_for_the_text_and_names_the_key_to_look_at() {
    let server = Smtp::start(Tls::AtOnce);
    let room = Room::at(&server, "smtps");
    let (said, exit) = room.look();
    assert_eq!(exit, Exit::Success, "{said}");
    assert!(
        said.contains("(TLS) takes mail to me@example.org"),
        "{said}"
    );
    assert!(server.mails().is_empty());
    for (at, key) in [
        (At::Auth, "password_file"),
        (At::Mail, "from"),
        (At::Rcpt, "to"),
    ] {
        server.set_times("sender.test", at, Act::Say("550 no".to_owned()), 1);
        let (said, exit) = room.look();
        assert_eq!(exit, Exit::Unexpected);
        assert!(said.contains(&format!("channel.mail.{key} ")), "{said}");
    }
}

#[test]
fn tls_that_is_mixed_up_is_told_with_the_setting_to_change() {
    for (tls, scheme, told) in [
        (Tls::AtOnce, "smtp+starttls", "write smtps:// into smtp"),
        (Tls::OnDemand, "smtps", "write smtp+starttls:// into smtp"),
        (Tls::Never, "smtp+starttls", "offers no STARTTLS"),
    ] {
        let server = Smtp::start(tls);
        let room = Room::at(&server, scheme);
        let (said, exit) = room.look();
        assert_eq!(exit, Exit::Unexpected);
        assert!(said.contains(told), "{said}");
    }
}

#[test]
fn a_certificate_that_nobody_vouches_for_is_told_with_the_setting_to_change() {
    let server = Smtp::start(Tls::AtOnce);
    let mut room = Room::at(&server, "smtps");
    let lines = room
        .section
        .lines()
        .filter(|line| !line.starts_with("ca_file"));
    room.section = lines.collect::<Vec<_>>().join("\n");
    let (said, _) = room.look();
    assert!(said.contains("is not trusted"), "{said}");
    assert!(said.contains("ca_file"), "{said}");
}
