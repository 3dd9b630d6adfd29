//! How soon a delivery is answered while a tick writes to the same database.

use super::super::Scale;
use super::super::figures::{Bar, Sample, Table};
use shared::config::{Config, Program, Surroundings};
use shared::platform::clock::Clock;
use shared::store::{Db, Store, items};
use std::fs::{self, Permissions};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::time::Instant;
use watchalert_ingest::listen::{Scene, run};
use watchalert_tests::posting::github;
use watchalert_tests::world::runtime;

const SECRET: &str = "a secret of the bench";
const BAR: Duration = Duration::from_millis(50);

/// Signed bodies of some kB, each over a connection of its own, while another process's kind of writes
/// goes on without a pause: batches of items, as a tick stores them.
pub fn measure(table: &mut Table, dir: &Path, scale: Scale) {
    let place = tempfile::tempdir_in(dir).expect("a folder");
    let secret = place.path().join("secret");
    fs::write(&secret, SECRET).expect("written");
    fs::set_permissions(&secret, Permissions::from_mode(0o600)).expect("locked up");
    let around = Surroundings {
        directory: place.path(),
        credentials: None,
        program: Program::Ingest,
    };
    let text = "[state]\npath = 'state.db'\n[channel.screen]\nkind = 'console'\n[[webhook]]\nname = 'infra'\nkind = 'github'\nsecret_file = 'secret'\n";
    let config = Config::parse(text, &around).expect("a good configuration");
    let store = Arc::new(Store::open(&config.state_path).expect("a database"));
    let socket = TcpListener::bind(("127.0.0.1", 0)).expect("a socket");
    let address = socket.local_addr().expect("an address");
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let scene = Scene {
        config,
        clock: Clock::system(),
        socket: Some(socket),
    };
    let receiver = std::thread::spawn(move || {
        let stopped = async { drop(stopped.await) };
        runtime()
            .block_on(run(scene, stopped))
            .expect("a clean end");
    });
    let over = AtomicBool::new(false);
    let times = std::thread::scope(|scope| {
        let tick = scope.spawn(|| runtime().block_on(write_on(&store, &over)));
        let times = (0..scale.posts)
            .map(|number| {
                let body = format!(
                    "{{\"action\":\"opened\",\"issue\":{{\"number\":{number},\"title\":\"row {number}\",\"body\":\"{}\"}}}}",
                    "x".repeat(4_000)
                );
                let began = Instant::now();
                let (status, text) = github(address, "infra", SECRET, "issues", &number.to_string(), body.as_bytes())
                    .expect("an answer");
                assert!(status == 200 || status == 202, "{text}");
                began.elapsed()
            })
            .collect();
        over.store(true, Ordering::Release);
        tick.join().expect("a tick");
        times
    });
    drop(stop);
    receiver.join().expect("it ends well");
    let sample = Sample::new(times);
    let bar = Bar {
        text: "p99 50 ms",
        reached: sample.percentile(99) < BAR,
    };
    let what = format!("a delivery until it is answered, of {}", scale.posts);
    table.line(&what, &sample.middle_and_worst(), "", Some(bar));
}

/// Batches of 32 rows, one commit each, as fast as they go.
async fn write_on(store: &Store, over: &AtomicBool) {
    let mut number = 0_u64;
    while !over.load(Ordering::Acquire) {
        let write = move |db: &Db| {
            for row in 0..32 {
                items::routed(
                    db,
                    i64::try_from(number * 32 + row).unwrap_or_default(),
                    "bench",
                )?;
            }
            shared::store::feeds::register(db, &[format!("https://example.org/{number}")])
        };
        store.write(write).await.expect("written");
        number += 1;
    }
}
