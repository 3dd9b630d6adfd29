//! A world with one feed that is known already, and a `[classify]` of the test's.

use clap::Parser;
use shared::config::{Config, Program, Surroundings};
use shared::platform::environment::Environment;
use shared::platform::exit::Exit;
use std::os::unix::fs::PermissionsExt;
use std::time::Duration;
use tokio::time::Instant;
use watchalert_ingest::args::Args;
use watchalert_ingest::command::{self, World as Outside};
use watchalert_ingest::progress::Progress;
use watchalert_ingest::report::Report;
use watchalert_ingest::run::{self, Options, Scene};
use watchalert_tests::feeds::{FeedServer, Reply};
use watchalert_tests::models::ModelServer;
use watchalert_tests::world::{World, runtime, skip_waits_once};

/// Nobody listens on port 1.
pub const OFF: &str = "[classify.ollama]\nurl = \"http://127.0.0.1:1\"\n";

pub fn ollama(server: &ModelServer) -> String {
    format!("[classify.ollama]\nurl = \"{}\"\n", server.url())
}

pub fn cloud(server: &ModelServer, api: &str, daily_limit: u32) -> String {
    format!(
        "[classify.cloud]\napi = \"{api}\"\nurl = \"{}/v1\"\nmodel = \"big\"\nkey_file = \"key\"\ndaily_limit = {daily_limit}\n",
        server.url()
    )
}

pub struct Room {
    pub world: World,
    server: FeedServer,
    /// Stays as long as the room does.
    _model: Option<ModelServer>,
    config: String,
}

impl Room {
    pub fn new(classify: &str) -> Self {
        Self::with(classify, "")
    }

    /// With a model that nobody looks at otherwise.
    pub fn before(classify: &str, model: ModelServer) -> Self {
        let room = Self::new(classify);
        Self {
            _model: Some(model),
            ..room
        }
    }

    /// Its feed is not for the cloud.
    pub fn private(classify: &str) -> Self {
        Self::with(classify, "cloud = false\n")
    }

    fn with(classify: &str, feed: &str) -> Self {
        let (world, server) = (World::new(), FeedServer::start());
        let key = world.dir.path().join("key");
        std::fs::write(&key, "hunter2-key\n").expect("written");
        std::fs::set_permissions(&key, PermissionsExt::from_mode(0o600)).expect("its mode");
        let config = format!(
            "[state]\npath = \"state.db\"\nmin_free = \"0 KiB\"\n[ingest]\nallow_private = true\n{classify}\n[[feed]]\nurl = \"{}\"\n{feed}[channel.screen]\nkind = \"console\"\n",
            server.url("/news")
        );
        let room = Self {
            world,
            server,
            _model: None,
            config,
        };
        room.publish(&["Old news"]);
        room.tick();
        room.later(120);
        room
    }

    /// From now on the feed says this: one item each, known by its title.
    pub fn publish(&self, titles: &[&str]) {
        let items: String = titles.iter().map(|title| item(title, title, "")).collect();
        self.server.set("/news", Reply::feed(rss(&items)));
    }

    /// One item with a long text.
    pub fn publish_long(&self, title: &str) {
        let item = item(title, title, &"words and words ".repeat(1000));
        self.server.set("/news", Reply::feed(rss(&item)));
    }

    /// The same title under a new guid and link.
    pub fn tick_renamed(&self, title: &str) -> Report {
        self.later(120);
        self.server
            .set("/news", Reply::feed(rss(&item("another", title, ""))));
        self.tick()
    }

    pub fn later(&self, seconds: u64) {
        self.world.advance(Duration::from_secs(seconds));
    }

    pub fn tick_with(&self, titles: &[&str]) -> Report {
        self.publish(titles);
        self.later(120);
        self.tick()
    }

    pub fn tick(&self) -> Report {
        let report = runtime().block_on(run::run(self.scene(), Options::default()));
        self.world.all_invariants_hold();
        report.expect("a tick")
    }

    /// From where nobody says a word on, no time is waited for; how long it would have taken.
    pub fn tick_skipping(&self, is_silent: impl Fn() -> bool) -> (Report, Duration) {
        let (report, took) = runtime().block_on(async {
            let start = Instant::now();
            let ticked = run::run(self.scene(), Options::default());
            let report = skipping(ticked, is_silent).await;
            (report, start.elapsed())
        });
        self.world.all_invariants_hold();
        (report.expect("a tick"), took)
    }

    fn scene(&self) -> Scene {
        let around = Surroundings {
            directory: self.world.dir.path(),
            credentials: None,
            program: Program::Ingest,
        };
        Scene {
            config: Config::parse(&self.config, &around).expect("a good configuration"),
            clock: self.world.clock.clone(),
            chance: fastrand::Rng::with_seed(7),
            progress: Progress::default(),
        }
    }

    /// What a command of the program prints.
    pub fn command(&self, words: &[&str]) -> (Result<Exit, String>, String) {
        self.command_skipping(words, || false)
    }

    /// As [`tick_skipping`](Self::tick_skipping).
    pub fn command_skipping(
        &self,
        words: &[&str],
        is_silent: impl Fn() -> bool,
    ) -> (Result<Exit, String>, String) {
        let path = self.world.dir.path().join("config.toml");
        std::fs::write(&path, &self.config).expect("written");
        let path = path.display().to_string();
        let line = ["watchalert-ingest", "--config", &path];
        let args = Args::try_parse_from(line.iter().chain(words)).expect("it parses");
        let outside = Outside {
            environment: Environment::default(),
            clock: self.world.clock.clone(),
            chance: fastrand::Rng::with_seed(7),
            terminal: false,
        };
        let mut out = Vec::new();
        let executed = command::execute(args, outside, std::future::pending(), &mut out);
        let exit = runtime().block_on(skipping(executed, is_silent));
        let exit = exit.map_err(|failure| failure.to_string());
        (exit, String::from_utf8(out).expect("text"))
    }

    pub fn ask(&self, sql: &str) -> String {
        self.world.ask(sql)
    }

    /// A field of the newest alert.
    pub fn alert(&self, field: &str) -> String {
        self.ask(&format!(
            "SELECT json_extract(payload,'$.{field}') FROM alert ORDER BY id DESC LIMIT 1"
        ))
    }

    /// The titles of what was told about models.
    pub fn notices(&self) -> String {
        self.ask("SELECT coalesce(group_concat(json_extract(payload,'$.title'),' | '),'') FROM outbox WHERE idempotency_key LIKE 'n:model-%'")
    }
}

async fn skipping<T>(work: impl Future<Output = T>, is_silent: impl Fn() -> bool) -> T {
    tokio::select! {
        done = work => done,
        () = async { skip_waits_once(is_silent).await; std::future::pending().await } => unreachable!(),
    }
}

fn item(id: &str, title: &str, text: &str) -> String {
    let title = title.replace('<', "&lt;").replace('>', "&gt;");
    let id = id.replace(|c: char| !c.is_ascii_alphanumeric(), "-");
    format!(
        "<item><guid isPermaLink=\"false\">{id}</guid><link>https://example.org/{id}</link><title>{title}</title><description>{text}</description></item>"
    )
}

fn rss(items: &str) -> String {
    format!(
        "<rss version=\"2.0\"><channel><title>Example news</title><link>https://example.org/</link><description>d</description>{items}</channel></rss>"
    )
}
