//! The sender with a console: how soon an alert is on its standard output, and what it costs while
//! nothing happens.

use super::Scale;
use super::figures::{Bar, Sample, Table};
use super::protocol::{alert, chat, store};
use super::running::{PATIENCE, Running};
use shared::platform::clock::Clock;
use shared::platform::doorbell;
use shared::store::{Store, beside, outbox};
use std::fs;
use std::io::Read;
use std::path::Path;
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;
use tokio::time::{Instant, sleep};

pub async fn latency_and_idle(table: &mut Table, dir: &Path, program: &Path, scale: Scale) {
    let store = store(dir, "real.db");
    let config = dir.join("config.toml");
    let text = "state.path = \"real.db\"\nchannel.screen.kind = \"console\"\n";
    fs::write(&config, text).expect("a configuration");
    let mut running = Running::start(program, &config, store.path()).await;
    let printed = listen(&mut running);

    let sync = table.sync_latency();
    let mut took = Vec::new();
    for number in 0..scale.alerts {
        // So that it is idle again, with its last result written.
        sleep(Duration::from_millis(15)).await;
        took.push(tell(&store, number, &printed).await);
    }
    let what = "an alert's commit to the console of an idle sender";
    report_latency(table, what, &Sample::new(took), sync);

    sleep(Duration::from_secs(1)).await;
    let idle = running.idle(scale.idle).await;
    idle.report(table, "the idle sender");
}

/// What the program prints, with the moment at which it arrived.
fn listen(running: &mut Running) -> Receiver<(Instant, String)> {
    let (heard, printed) = channel();
    let mut output = running.output();
    std::thread::spawn(move || {
        let mut buffer = [0; 16_384];
        while let Ok(length @ 1..) = output.read(&mut buffer) {
            let text = String::from_utf8_lossy(&buffer[..length]).into_owned();
            if heard.send((Instant::now(), text)).is_err() {
                break;
            }
        }
    });
    printed
}

/// From the alert's COMMIT to its arrival in the sender's pipe.
async fn tell(store: &Store, number: usize, printed: &Receiver<(Instant, String)>) -> Duration {
    let title = format!("benchmark-{number}.");
    let (owed, now) = (alert(&title, &chat(number % 64)), Clock::system().now());
    let enqueued = store.write(move |db| outbox::enqueue(db, &owed, now));
    enqueued.await.expect("enqueued");
    let began = Instant::now();
    doorbell::ring(&beside(store.path(), ".bell"));
    loop {
        let (arrived, text) = printed.recv_timeout(PATIENCE).expect("the alert");
        if text.contains(&title) {
            return arrived - began;
        }
    }
}

pub fn report_latency(table: &mut Table, what: &str, took: &Sample, sync: Duration) {
    let ratio = took.median().as_secs_f64() / sync.as_secs_f64();
    let bar = Bar {
        text: "p50 5 ms, p99 50 ms",
        reached: took.median() < Duration::from_millis(5)
            && took.percentile(99) < Duration::from_millis(50),
    };
    let figure = took.middle_and_worst();
    table.line(what, &figure, &format!("takes {ratio:.2}"), Some(bar));
}
