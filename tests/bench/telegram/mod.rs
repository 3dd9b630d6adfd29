//! The Telegram path: the sender as it is, over HTTP, to the stand-in on a loopback port.

pub mod burst;
pub mod rate;
mod server;
pub mod urgent;

use super::protocol;
use super::running::Running;
use shared::config::{Config, Program, Surroundings};
use shared::model::{Destination, Timestamp};
use shared::platform::clock::Clock;
use shared::platform::doorbell;
use shared::platform::term::Style;
use shared::store::outbox::{self, Owed};
use shared::store::{Db, Store, StoreError, beside};
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tokio::time::Instant;
use watchalert_sender::channel::console::Output;
use watchalert_sender::run::Scene;
use watchalert_tests::telegram::TOKEN;
use watchalert_tests::world::to;

/// Rows that one transaction writes.
const TOGETHER: usize = 100;

/// A database, and a sender's configuration with a bot at that address.
struct Room {
    folder: PathBuf,
    store: Arc<Store>,
}

impl Room {
    /// Each alert goes out by itself.
    fn new(dir: &Path, name: &str, api_url: &str) -> Self {
        Self::with(dir, name, api_url, "digest.enabled = false\n")
    }

    /// With `more` of the configuration.
    fn with(dir: &Path, name: &str, api_url: &str, more: &str) -> Self {
        let folder = dir.join(name);
        fs::create_dir(&folder).expect("a folder");
        let token = folder.join("token");
        fs::write(&token, TOKEN).expect("a token");
        fs::set_permissions(&token, Permissions::from_mode(0o600)).expect("locked up");
        let text = format!(
            "state.path = \"state.db\"\n{more}[channel.ops]\nkind = \"telegram\"\napi_url = \"{api_url}\"\n\
             token_file = \"token\"\nchat_id = 1\n"
        );
        fs::write(folder.join("config.toml"), text).expect("a configuration");
        let store = protocol::store(&folder, "state.db");
        Self { folder, store }
    }

    async fn start(&self, program: &Path) -> Running {
        let config = self.folder.join("config.toml");
        Running::start(program, &config, self.store.path()).await
    }

    /// For a sender in this process.
    fn scene(&self, clock: &Clock) -> Scene {
        let text = fs::read_to_string(self.folder.join("config.toml")).expect("a configuration");
        let around = Surroundings {
            directory: &self.folder,
            credentials: None,
            program: Program::Sender,
        };
        Scene {
            config: Config::parse(&text, &around).expect("a good configuration"),
            clock: clock.clone(),
            chance: fastrand::Rng::with_seed(7),
            output: Output::new(std::io::sink()),
            style: Style::default(),
        }
    }

    /// Commits them and rings; returns the moment of the last commit.
    async fn enqueue(&self, owed: &[Owed], now: Timestamp) -> Instant {
        for some in owed.chunks(TOGETHER) {
            let some = some.to_vec();
            let enqueue = move |db: &Db| {
                for owed in &some {
                    outbox::enqueue(db, owed, now)?;
                }
                Ok::<(), StoreError>(())
            };
            self.store.write(enqueue).await.expect("enqueued");
        }
        let committed = Instant::now();
        doorbell::ring(&beside(self.store.path(), ".bell"));
        committed
    }
}

/// A person; a group when it is negative.
fn chat(id: i64) -> Destination {
    to("ops", &id.to_string())
}
