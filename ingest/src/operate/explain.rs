//! `explain`: why did I, or did I not, get this.

use super::account::Account;
use super::{name_of, public};
use crate::know::aliases;
use serde_json::{Value, json};
use shared::Failure;
use shared::config::{Config, SameHosts};
use shared::model::Timestamp;
use shared::platform::term;
use shared::policy::text::{one_line, shorten, span};
use shared::store::explain::{self, Sought, Subject};
use shared::store::health::{self, Health};
use shared::store::{Db, StoreError, Viewer};
use std::collections::BTreeSet;
use std::io::{self, Write};
use url::Url;

/// So many matches or near ones are listed.
const LISTED: usize = 20;
const NEAR: usize = 5;
/// Characters of a title in a list.
const TITLE: usize = 70;

/// Looks for `query` in everything that was ever seen, and gives its account. Reads only.
pub fn run(
    query: &str,
    as_json: bool,
    config: &Config,
    now: Timestamp,
    out: &mut dyn Write,
) -> Result<io::Result<()>, Failure> {
    let viewer = Viewer::open(&config.state_path)?;
    let found = viewer.read(|db| search(db, query.trim(), &config.same_hosts))?;
    let account = |db: &Db, subjects: &[Subject]| -> Result<Vec<Account>, StoreError> {
        let accounts = subjects.iter().take(LISTED);
        let accounts = accounts.map(|subject| Account::of(db, *subject, config).transpose());
        accounts.flatten().collect()
    };
    let matches = viewer.read(|db| account(db, &found.matches))?;
    let near = viewer.read(|db| account(db, &found.near))?;
    let feeds = match (matches.as_slice(), Url::parse(query.trim())) {
        ([], Ok(url)) => of_host(viewer.read(health::all)?, &url),
        _ => Vec::new(),
    };
    let answer = Answer {
        matches,
        more: found.matches.len().saturating_sub(LISTED),
        near,
        feeds,
    };
    Ok(if as_json {
        writeln!(out, "{}", answer.to_json(query, config))
    } else {
        answer.print(config, now, out)
    })
}

/// What the search gave.
#[derive(Default)]
struct Found {
    matches: Vec<Subject>,
    near: Vec<Subject>,
}

/// By number, short id or link; else by what stands there as link or guid; else by the words of the
/// title.
fn search(db: &Db, query: &str, hosts: &SameHosts) -> Result<Found, StoreError> {
    let matches = explain::find(db, &sought(query, hosts))?;
    if !matches.is_empty() {
        return Ok(Found {
            matches,
            ..Found::default()
        });
    }
    let wanted = words(query);
    let (mut named, mut all, mut some) = (Vec::new(), Vec::new(), Vec::new());
    explain::each(db, |seen| {
        if seen.link == Some(query) || seen.guid == Some(query) {
            named.push(Subject::Item(seen.id));
        }
        match shared_words(&wanted, seen.title) {
            0 => {}
            shared if shared == wanted.len() => all.push(Subject::Item(seen.id)),
            shared if shared * 2 >= wanted.len() => some.push((shared, seen.id)),
            _ => {}
        }
    })?;
    some.sort_by_key(|(shared, id)| (std::cmp::Reverse(*shared), std::cmp::Reverse(*id)));
    some.truncate(NEAR);
    named.reverse();
    Ok(Found {
        matches: if named.is_empty() { all } else { named },
        near: some.into_iter().map(|(_, id)| Subject::Item(id)).collect(),
    })
}

/// How many of the wanted words a title has.
fn shared_words(wanted: &BTreeSet<String>, title: &str) -> usize {
    let lower = title.to_lowercase();
    let is_there = |word: &&String| {
        // Most are not, and that is seen at once.
        lower.contains(word.as_str())
            && lower
                .split(|c: char| !c.is_alphanumeric())
                .any(|one| one == word.as_str())
    };
    wanted.iter().filter(is_there).count()
}

fn sought(query: &str, hosts: &SameHosts) -> Sought {
    let bare = query
        .strip_prefix('#')
        .unwrap_or(query)
        .to_ascii_lowercase();
    let is_short_id = (6..=32).contains(&bare.len()) && bare.chars().all(|c| c.is_ascii_hexdigit());
    Sought {
        id: query.parse().ok(),
        short_id: is_short_id.then_some(bare),
        aliases: aliases(query, hosts)
            .iter()
            .map(ToString::to_string)
            .collect(),
    }
}

/// What a title is compared by: its words in lower case.
fn words(text: &str) -> BTreeSet<String> {
    let split = text.split(|c: char| !c.is_alphanumeric());
    let filled = split.filter(|word| !word.is_empty());
    filled.map(str::to_lowercase).collect()
}

/// Feeds of the same site as `url`: of its host, or of the domain below it.
fn of_host(feeds: Vec<Health>, url: &Url) -> Vec<Health> {
    let bare = |url: &Url| {
        let host = url.host_str().unwrap_or_default();
        host.strip_prefix("www.").unwrap_or(host).to_owned()
    };
    let wanted = bare(url);
    let is_same = |feed: &Health| {
        let host = Url::parse(&feed.url).map(|url| bare(&url));
        host.is_ok_and(|host| {
            host == wanted
                || host.ends_with(&format!(".{wanted}"))
                || wanted.ends_with(&format!(".{host}"))
        })
    };
    feeds
        .into_iter()
        .filter(|feed| !wanted.is_empty() && is_same(feed))
        .collect()
}

struct Answer {
    matches: Vec<Account>,
    /// Matches beyond the list.
    more: usize,
    near: Vec<Account>,
    /// Feeds that might have brought the URL that was asked for.
    feeds: Vec<Health>,
}

impl Answer {
    fn print(&self, config: &Config, now: Timestamp, out: &mut dyn Write) -> io::Result<()> {
        match self.matches.as_slice() {
            [] => self.print_unseen(config, now, out),
            [one] => one.print(config, now, out),
            several => {
                list(several, out)?;
                if self.more > 0 {
                    writeln!(out, "and {} more: ask with more words", self.more)?;
                }
                writeln!(
                    out,
                    "{} match: ask for one by its number",
                    several.len() + self.more
                )
            }
        }
    }

    fn print_unseen(&self, config: &Config, now: Timestamp, out: &mut dyn Write) -> io::Result<()> {
        writeln!(out, "Not seen: no feed brought it.")?;
        for feed in &self.feeds {
            let name = one_line(&name_of(feed, config));
            writeln!(out, "feed of that site: {name}: {}", state(feed, now))?;
        }
        if self.near.is_empty() {
            return Ok(());
        }
        writeln!(out, "nearest:")?;
        list(&self.near, out)
    }

    fn to_json(&self, query: &str, config: &Config) -> Value {
        let accounts = |accounts: &[Account]| -> Vec<Value> {
            accounts.iter().map(Account::to_json).collect()
        };
        let feeds: Vec<Value> = self.feeds.iter().map(|feed| json!({
            "name": name_of(feed, config), "url": public(&feed.url), "failures": feed.failures,
            "last_error": feed.last_error,
        })).collect();
        json!({
            "query": query, "seen": !self.matches.is_empty(), "matches": accounts(&self.matches),
            "more": self.more, "near": accounts(&self.near), "feeds": feeds,
        })
    }
}

fn list(accounts: &[Account], out: &mut dyn Write) -> io::Result<()> {
    let mut rows = term::table(&["number", "state", "title", "source"]);
    for account in accounts {
        let [number, state, title, source] = account.row();
        rows.add_row([number, state, shorten(&title, TITLE), source]);
    }
    writeln!(out, "{}", rows.trim_fmt())
}

fn state(feed: &Health, now: Timestamp) -> String {
    match (&feed.last_error, feed.succeeded_at) {
        (Some(error), _) => format!(
            "failed {} times in a row: {}",
            feed.failures,
            one_line(error)
        ),
        (None, Some(at)) => format!("read {} ago, with success", span(now.since(at))),
        (None, None) => "not read yet".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_asked_for_is_told_apart_by_its_form() {
        for (query, id, short_id) in [
            ("12", Some(12), None),
            ("#a1b2c3", None, Some("a1b2c3")),
            ("A1B2C3", None, Some("a1b2c3")),
            ("123456", Some(123_456), Some("123456")),
            ("facade of Sable", None, None),
            ("#a1b2", None, None),
        ] {
            let sought = sought(query, &SameHosts::default());
            assert_eq!(sought.id, id, "{query}");
            assert_eq!(sought.short_id.as_deref(), short_id, "{query}");
        }
        let alias = |link| sought(link, &SameHosts::default()).aliases;
        let plain = alias("https://example.org/a");
        assert!(plain.len() == 1 && alias("Sable 2.8").is_empty());
        assert_eq!(alias("http://example.org/a/?utm_source=x"), plain);
    }

    #[test]
    fn feeds_of_the_same_site_are_found_by_their_host() {
        let feed = |url: &str| Health {
            url: url.to_owned(),
            ..Health::default()
        };
        let feeds = vec![
            feed("https://feeds.example.org/a"),
            feed("https://www.example.org/b"),
            feed("https://notexample.org/c"),
        ];
        let found = of_host(feeds, &"https://example.org/1".parse().unwrap());
        let found: Vec<_> = found.into_iter().map(|feed| feed.url).collect();
        assert_eq!(
            found,
            ["https://feeds.example.org/a", "https://www.example.org/b"]
        );
    }
}
