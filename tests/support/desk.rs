//! A desk at which a person runs the ingest's commands: in process, on a set clock, against a feed
//! server of its own.

use crate::feeds::{FeedServer, Reply};
use crate::world::{World, runtime};
use clap::Parser;
use shared::Failure;
use shared::platform::environment::Environment;
use std::path::PathBuf;
use std::time::Duration;
use watchalert_ingest::args::Args;
use watchalert_ingest::command::{self, World as Outside};

pub struct Desk {
    pub world: World,
    pub server: FeedServer,
}

impl Desk {
    pub fn new() -> Self {
        let desk = Self {
            world: World::new(),
            server: FeedServer::start(),
        };
        desk.configure(&[], "");
        desk
    }

    /// Writes the configuration: a feed for each path of the server, and `more` of it.
    pub fn configure(&self, paths: &[&str], more: &str) {
        let mut text = format!(
            "default_channel = \"screen\"\n[state]\npath = \"state.db\"\nmin_free = \"0 KiB\"\n[channel.screen]\nkind = \"console\"\n{more}\n[ingest]\nallow_private = true\n"
        );
        for path in paths {
            text += &format!("[[feed]]\nurl = \"{}\"\n", self.server.url(path));
        }
        std::fs::write(self.path("config.toml"), text).expect("written");
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.world.dir.path().join(name)
    }

    /// The feed at `path` shows these `(guid, title)`, the link being named by the guid.
    pub fn show(&self, path: &str, entries: &[(&str, &str)]) {
        self.server.set(path, Reply::feed(rss(path, entries)));
    }

    /// Runs one command of the ingest; what it printed.
    pub fn run(&self, words: &[&str]) -> Result<String, Failure> {
        let config = self.path("config.toml");
        let config = config.to_str().expect("a path in UTF-8");
        let line = ["watchalert-ingest", "--config", config];
        let line = line.iter().chain(words);
        let args = Args::try_parse_from(line).map_err(|error| Failure::Usage(error.to_string()))?;
        let outside = Outside {
            environment: Environment::default(),
            clock: self.world.clock.clone(),
            chance: fastrand::Rng::with_seed(7),
            terminal: false,
        };
        let mut out = Vec::new();
        runtime().block_on(command::execute(
            args,
            outside,
            std::future::pending(),
            &mut out,
        ))?;
        Ok(String::from_utf8(out).expect("text"))
    }

    /// Runs it, and it works.
    pub fn said(&self, words: &[&str]) -> String {
        let said = self.run(words);
        said.unwrap_or_else(|failure| panic!("{words:?}: {failure}"))
    }

    /// Why it was refused, in one sentence.
    pub fn refused(&self, words: &[&str]) -> String {
        match self.run(words) {
            Ok(said) => panic!("{words:?} should be refused: {said}"),
            Err(failure) => failure.to_string(),
        }
    }

    /// One tick, and the time until the next.
    pub fn tick(&self) {
        self.said(&[]);
        self.world.all_invariants_hold();
        self.world.advance(Duration::from_secs(120));
    }

    /// The titles of the notices so far, in order.
    pub fn notices(&self) -> Vec<String> {
        let all = self.world.ask(
            "SELECT coalesce(group_concat(title,'|'),'') FROM
             (SELECT json_extract(payload,'$.title') AS title FROM outbox WHERE kind='notice' ORDER BY id)",
        );
        let filled = all.split('|').filter(|title| !title.is_empty());
        filled.map(str::to_owned).collect()
    }
}

impl Default for Desk {
    fn default() -> Self {
        Self::new()
    }
}

/// An RSS feed that calls itself `News of PATH`.
pub fn rss(path: &str, entries: &[(&str, &str)]) -> String {
    let mut items = String::new();
    for (guid, title) in entries {
        items += &format!(
            "<item><guid isPermaLink=\"false\">{guid}</guid><link>https://example.org/{guid}</link><title>{title}</title><description>All about {title}.</description></item>"
        );
    }
    format!(
        "<rss version=\"2.0\"><channel><title>News of {path}</title><link>https://example.org/</link><description>d</description>{items}</channel></rss>"
    )
}
