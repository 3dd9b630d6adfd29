//! `feeds`: the sources, as a person looks at them and decides about them.

use super::add::{self, Wanted};
use super::left::{self, Left};
use super::list::{self, Line};
use super::{opml, public};
use crate::args::Feeds;
use serde_json::Value;
use shared::Failure;
use shared::config::opml::{read, write};
use shared::config::{Config, Feed};
use shared::model::Timestamp;
use shared::platform::clock::Clock;
use shared::policy::text::one_line;
use shared::store::health::Health;
use shared::store::{Store, StoreError, Viewer, feeds, health};
use std::fs;
use std::io::{self, Write};
use std::path::Path;

pub async fn run(
    command: Feeds,
    config: &Config,
    clock: &Clock,
    out: &mut dyn Write,
) -> Result<io::Result<()>, Failure> {
    let now = clock.now();
    match command {
        Feeds::List { json } => {
            let (lines, left) = lines(config, now)?;
            Ok(if json {
                let all = [list::to_json(&lines, now), left::to_json(&left)].concat();
                writeln!(out, "{}", Value::from(all))
            } else {
                list::print(&lines, now, out).and_then(|()| left::print(&left, now, out))
            })
        }
        Feeds::Add {
            address,
            name,
            tags,
        } => {
            let wanted = Wanted {
                address,
                name,
                tags,
            };
            add::run(wanted, config, now, out).await
        }
        Feeds::Import { file } => import(&file, config, out),
        Feeds::Export => Ok(write!(out, "{}", write(&opml::of_config(config)))),
        Feeds::Remove { feed } => {
            let feed = named(config, &feed)?;
            let url = public(feed.url.as_str());
            let removed = match &config.opml {
                Some(path) => opml::remove(path, &feed.url)?,
                None => false,
            };
            if !removed {
                let told = format!("{url} is a [[feed]] of the configuration: remove it there");
                return Err(Failure::Usage(told));
            }
            Ok(writeln!(
                out,
                "{url} is removed; its items stay known for 30 days"
            ))
        }
        Feeds::Pause { feed, how_long } => {
            let feed = named(config, &feed)?;
            let until = how_long.map(|long| now + long);
            let write = move |db: &_, id| health::pause(db, id, until, now);
            change(config, &feed, write).await?;
            let until = list::until(until, config);
            Ok(writeln!(
                out,
                "{} is paused {until}",
                public(feed.url.as_str())
            ))
        }
        Feeds::Resume { feed } => {
            let feed = named(config, &feed)?;
            change(config, &feed, health::resume).await?;
            let url = public(feed.url.as_str());
            Ok(writeln!(out, "{url} is read with the next tick"))
        }
    }
}

/// Adds what is new in a list; what is wrong in it is told, and costs nothing else.
fn import(file: &Path, config: &Config, out: &mut dyn Write) -> Result<io::Result<()>, Failure> {
    let text = fs::read(file)
        .map_err(|error| Failure::Usage(format!("{} cannot be read: {error}", file.display())))?;
    let list = read(&String::from_utf8_lossy(&text));
    let feeds: Vec<_> = list.feeds.into_iter().map(|(feed, _)| feed).collect();
    if feeds.is_empty() {
        return Err(Failure::Usage(format!("{} names no feed", file.display())));
    }
    let (new, known) = opml::unknown(feeds, config);
    let mut told = list.problems;
    if let Some(path) = &config.opml {
        opml::add(path, &new)?;
        let path = path.display();
        told.push(format!(
            "{} added to {path}, {known} known already",
            new.len()
        ));
        told.push("what cannot be watched, `watchalert-ingest check` tells".to_owned());
    } else {
        told.push("no OPML file is configured; paste this into the configuration:".to_owned());
        told.extend(
            new.iter()
                .map(|feed| format!("\n{}", opml::block(feed).trim_end())),
        );
    }
    Ok(writeln!(out, "{}", told.join("\n")))
}

/// A database that is not there yet knows nothing, and that can be shown.
fn lines(config: &Config, now: Timestamp) -> Result<(Vec<Line>, Vec<Left>), Failure> {
    let viewer = match Viewer::open(&config.state_path) {
        Ok(viewer) => viewer,
        Err(StoreError::Missing(_)) => {
            let counts = std::collections::HashMap::new();
            let lines = list::lines(config, Vec::new(), Vec::new(), &counts, now);
            return Ok((lines, Vec::new()));
        }
        Err(error) => return Err(error.into()),
    };
    let states = viewer.read(feeds::all)?;
    let counts = viewer.read(health::counts)?;
    let health = viewer.read(health::all)?;
    let left = left::of(config, &health, &counts);
    Ok((list::lines(config, states, health, &counts, now), left))
}

/// Writes about one feed, which has its row from now on.
async fn change(
    config: &Config,
    feed: &Feed,
    write: impl Fn(&shared::store::Db, i64) -> Result<(), StoreError> + Send + 'static,
) -> Result<(), Failure> {
    let store = Store::open(&config.state_path)?;
    let url = feed.url.to_string();
    let written = store.write(move |db| {
        feeds::register(db, std::slice::from_ref(&url))?;
        let known = feeds::all(db)?.into_iter().find(|state| state.url == url);
        known.map_or(Ok(()), |state| write(db, state.id))
    });
    Ok(written.await?)
}

/// The one feed of the configuration that `text` names: by its URL or name, else by a part of them.
fn named(config: &Config, text: &str) -> Result<Feed, Failure> {
    let titles: Vec<Health> = match Viewer::open(&config.state_path) {
        Ok(viewer) => viewer.read(health::all)?,
        Err(_) => Vec::new(),
    };
    let names = |feed: &Feed| -> Vec<String> {
        let title = titles.iter().find(|known| known.url == feed.url.as_str());
        let title = title.and_then(|known| known.title.clone());
        let names = [Some(feed.url.to_string()), feed.name.clone(), title];
        names
            .into_iter()
            .flatten()
            .map(|name| name.to_lowercase())
            .collect()
    };
    let wanted = text.trim().to_lowercase();
    let find = |fits: &dyn Fn(&str) -> bool| -> Vec<Feed> {
        let feeds = config.feeds.iter();
        feeds
            .filter(|feed| names(feed).iter().any(|name| fits(name)))
            .cloned()
            .collect()
    };
    let mut found = find(&|name| name == wanted);
    if found.is_empty() {
        found = find(&|name| name.contains(&wanted));
    }
    match found.as_slice() {
        [one] => Ok(one.clone()),
        [] => Err(Failure::Usage(format!(
            "no configured feed is called {text:?}; see: feeds list"
        ))),
        several => {
            let urls: Vec<String> = several
                .iter()
                .map(|feed| public(feed.url.as_str()))
                .collect();
            Err(Failure::Usage(format!(
                "{} feeds are called {text:?}; which of them: {}",
                several.len(),
                one_line(&urls.join(", "))
            )))
        }
    }
}
