//! The OPML file of the configuration, as `feeds add`, `remove`, `import` and `export` change and
//! show it: whole or not at all.

use shared::Failure;
use shared::config::opml::{self, Outline};
use shared::config::{Config, Feed};
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::Path;
use url::Url;

/// As the file stands; a list without feeds when there is none yet.
fn current(path: &Path) -> Result<String, Failure> {
    match fs::read_to_string(path) {
        Ok(text) => Ok(text),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(opml::write([])),
        Err(error) => Err(unusable(path, "cannot be read", &error)),
    }
}

fn unusable(path: &Path, what: &str, why: &dyn std::fmt::Display) -> Failure {
    Failure::Usage(format!("{} {what}: {why}", path.display()))
}

/// Of two that change the file one waits, so that neither writes over the other. The folder is what
/// they lock: the file itself is replaced.
fn turn(path: &Path) -> Result<File, Failure> {
    let whole = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let folder = whole.parent().unwrap_or(Path::new("/"));
    let locked = File::open(folder).and_then(|folder| folder.lock().map(|()| folder));
    locked.map_err(|error| unusable(path, "cannot be changed", &error))
}

/// Adds feeds at the end of the file; all the rest of it stays as it is.
pub(super) fn add(path: &Path, feeds: &[Outline]) -> Result<(), Failure> {
    let _turn = turn(path)?;
    let mut text = current(path)?;
    for feed in feeds {
        text = opml::with(&text, feed).ok_or_else(|| {
            unusable(
                path,
                "cannot be added to",
                &"it has no <body>, so it is no OPML file",
            )
        })?;
    }
    replace(path, &text)
}

/// Takes a feed out of the file; `false`: it is not there.
pub(super) fn remove(path: &Path, url: &Url) -> Result<bool, Failure> {
    let _turn = turn(path)?;
    let mut text = current(path)?;
    let mut removed = false;
    while let Some(place) = find(&text, url) {
        let Some(less) = opml::without(&text, &place) else {
            break;
        };
        (text, removed) = (less, true);
    }
    if removed {
        replace(path, &text)?;
    }
    Ok(removed)
}

fn find(text: &str, url: &Url) -> Option<std::ops::Range<usize>> {
    let feeds = opml::read(text).feeds.into_iter();
    feeds
        .filter(|(feed, _)| same(&feed.url, url))
        .map(|(_, place)| place)
        .next()
}

/// As the configuration compares them: without the fragment.
fn same(text: &str, url: &Url) -> bool {
    Url::parse(text).is_ok_and(|mut parsed| {
        parsed.set_fragment(None);
        parsed == *url
    })
}

/// Whoever reads meanwhile, or after a crash, sees the old text or the new one.
fn replace(path: &Path, text: &str) -> Result<(), Failure> {
    let whole = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let new = whole.with_extension("opml.new");
    let write = || -> io::Result<()> {
        let mut file = File::create(&new)?;
        if let Ok(old) = fs::metadata(&whole) {
            file.set_permissions(old.permissions())?;
        }
        file.write_all(text.as_bytes())?;
        file.sync_all()?;
        fs::rename(&new, &whole)?;
        match whole.parent() {
            Some(folder) => File::open(folder)?.sync_all(),
            None => Ok(()),
        }
    };
    write().map_err(|error| unusable(path, "cannot be written", &error))
}

/// Every configured feed as an outline.
pub(super) fn of_config(config: &Config) -> Vec<Outline> {
    config.feeds.iter().map(outline).collect()
}

fn outline(feed: &Feed) -> Outline {
    Outline {
        url: feed.url.to_string(),
        title: feed.name.clone(),
        tags: feed.tags.clone(),
    }
}

/// What an imported list has that the configuration has not, each once, and how many were known.
pub(super) fn unknown(list: Vec<Outline>, config: &Config) -> (Vec<Outline>, usize) {
    let mut new: Vec<Outline> = Vec::new();
    let mut known = 0;
    for feed in list {
        let is_known = config.feeds.iter().any(|other| same(&feed.url, &other.url))
            || new.iter().any(|other| other.url == feed.url);
        if is_known {
            known += 1;
        } else {
            new.push(feed);
        }
    }
    (new, known)
}

/// The block that a person may paste into the configuration.
pub(super) fn block(feed: &Outline) -> String {
    let tags: Vec<String> = feed.tags.iter().map(|tag| quoted(tag)).collect();
    let name = feed
        .title
        .as_deref()
        .map(|title| format!("name = {}\n", quoted(title)));
    let tags = (!tags.is_empty()).then(|| format!("tags = [{}]\n", tags.join(", ")));
    let (name, tags) = (name.unwrap_or_default(), tags.unwrap_or_default());
    format!("[[feed]]\nurl = {}\n{name}{tags}", quoted(&feed.url))
}

/// A basic string of TOML. What it holds is one line, so no control character is left to escape.
fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_is_good_toml() {
        let feed = Outline {
            url: "https://example.org/a".to_owned(),
            title: Some("Say \"hello\" \\ go".to_owned()),
            tags: vec!["a".to_owned(), "b c".to_owned()],
        };
        assert_eq!(
            block(&feed),
            "[[feed]]\nurl = \"https://example.org/a\"\nname = \"Say \\\"hello\\\" \\\\ go\"\ntags = [\"a\", \"b c\"]\n"
        );
    }

    #[test]
    fn a_feed_is_found_whatever_its_spelling() {
        let url: Url = "https://example.org/".parse().unwrap();
        assert!(same("HTTPS://Example.org", &url) && same("https://example.org/#x", &url));
        assert!(!same("https://example.org/x", &url) && !same("no", &url));
    }
}
