//! `[[feed]]`: what is watched.

use super::Surroundings;
use super::access::{self, Access};
use super::address::names_private_host;
use super::ingest::Ingest;
use super::opml::{self, Outline};
use super::reader::{Read, Section};
use super::secret::{self, Program, SecretFile};
use super::value::{DAY, MINUTE, TEN_YEARS, duration, flag, text};
use std::collections::HashMap;
use std::fs;
use std::path::Path;
use std::time::Duration;
use url::Url;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Feed {
    /// `http`, `https` or `file`, without fragment and without credentials.
    pub url: Url,
    /// How it is called in alerts; `None`: by its own title.
    pub name: Option<String>,
    pub tags: Vec<String>,
    /// It is fetched at most this often.
    pub interval: Duration,
    /// Nothing new for so long is told, unless its own rhythm is slower.
    pub quiet_after: Duration,
    /// Sent as the Authorization header.
    pub authorization: Option<SecretFile>,
    /// Whether a cloud model may read what it says; yes by default.
    pub cloud: bool,
    /// Its server may ask for a longer one: the configuration gives this feed none of its own.
    pub heeds_ttl: bool,
    /// What is changed in a known entry is told too.
    pub tells_edits: bool,
    pub access: Access,
}

pub(super) fn read_all(
    root: &mut Section<'_>,
    ingest: &Ingest,
    around: &Surroundings<'_>,
) -> Vec<Feed> {
    let mut first_at: HashMap<Url, String> = HashMap::new();
    let mut feeds = Vec::new();
    for mut section in root.tables("feed") {
        let place = section.place().key;
        if let Some(feed) = read(&mut section, ingest, around) {
            if let Some(first) = first_at.get(&feed.url) {
                section.refuse(
                    "url",
                    format!("this is the same feed as {first}; remove one"),
                );
            } else {
                first_at.insert(feed.url.clone(), place);
            }
            feeds.push(feed);
        }
        section.finish();
    }
    feeds
}

/// Adds the feeds of an OPML file, without those that are there already. What is wrong with one
/// costs that one, and is a warning: other programs write such files.
pub(super) fn read_opml(
    path: &Path,
    feeds: &mut Vec<Feed>,
    ingest: &Ingest,
    around: &Surroundings<'_>,
) -> Vec<String> {
    let told = |what: String| format!("{}: {what}", path.display());
    let bytes = match fs::read(path) {
        Ok(bytes) => bytes,
        Err(error) => {
            return vec![told(format!(
                "cannot be read, so its feeds are not watched: {error}"
            ))];
        }
    };
    let list = opml::read(&String::from_utf8_lossy(&bytes));
    let mut warnings: Vec<String> = list.problems.into_iter().map(told).collect();
    for (outline, _) in list.feeds {
        match of_outline(&outline, ingest, around) {
            Ok(feed) if feeds.iter().any(|known| known.url == feed.url) => {}
            Ok(feed) => feeds.push(feed),
            Err(what) => {
                let name = outline
                    .title
                    .as_deref()
                    .unwrap_or("an outline without a title");
                warnings.push(told(format!("{name:?} is left out: {what}")));
            }
        }
    }
    warnings
}

fn of_outline(outline: &Outline, ingest: &Ingest, around: &Surroundings<'_>) -> Read<Feed> {
    let mut tags = outline.tags.clone();
    tags.sort_unstable();
    tags.dedup();
    Ok(Feed {
        url: location(&outline.url, ingest, around)?,
        name: outline.title.clone(),
        tags,
        interval: ingest.interval,
        quiet_after: ingest.quiet_after,
        authorization: None,
        cloud: true,
        heeds_ttl: true,
        tells_edits: false,
        access: Access::default(),
    })
}

fn read(section: &mut Section<'_>, ingest: &Ingest, around: &Surroundings<'_>) -> Option<Feed> {
    let missing = "is missing; write url = \"https://…\"";
    let url = section.need("url", missing, |value| {
        location(&text(value)?, ingest, around)
    });
    let name = section.get("name", text);
    let tags = section.list("tags", text).unwrap_or_default();
    let interval = section.get("interval", duration(MINUTE..=30 * DAY));
    let quiet_after = section
        .get("quiet_after", duration(DAY..=TEN_YEARS))
        .unwrap_or(ingest.quiet_after);
    let tells_edits = section.get("edits", |value| match &*text(value)? {
        "ignore" => Ok(false),
        "tell" => Ok(true),
        other => Err(format!("{other:?} is none; write \"ignore\" or \"tell\"")),
    });
    let authorization = secret::read(section, "authorization_file", Program::Ingest, around);
    // A value that is refused keeps the feed's words at home.
    let cloud = section.get("cloud", flag);
    let cloud = cloud.unwrap_or_else(|| !section.has("cloud"));
    let access = access::read(section, around);
    let url = url?;
    for key in [
        "authorization_file",
        "user_agent",
        "headers",
        "ca_file",
        "family",
    ] {
        if section.has(key) && url.scheme() == "file" {
            section.refuse(
                key,
                "a file:// feed is read without a request, so nobody would see it; remove it",
            );
        }
    }
    Some(Feed {
        url,
        name,
        tags,
        interval: interval.unwrap_or(ingest.interval),
        heeds_ttl: interval.is_none(),
        tells_edits: tells_edits.unwrap_or_default(),
        quiet_after,
        authorization,
        cloud,
        access,
    })
}

fn location(text: &str, ingest: &Ingest, around: &Surroundings<'_>) -> Read<Url> {
    if looks_like_a_path(text) {
        let path = around.directory.join(text.trim_start_matches("./"));
        return Err(match Url::from_file_path(path) {
            Ok(url) => format!("{text:?} is a path; write \"{url}\""),
            Err(()) => format!("{text:?} is a path; write file:// and the whole path"),
        });
    }
    let mut url = Url::parse(text).map_err(|why| not_a_url(text, why))?;
    // First of all, for what comes after it shows the URL.
    if !url.username().is_empty() || url.password().is_some() {
        return Err(
            "holds a user name or a password; put the whole Authorization header into \
                    a file and name that with authorization_file"
                .to_owned(),
        );
    }
    // Never sent, so it tells no two feeds apart.
    url.set_fragment(None);
    match url.scheme() {
        "http" | "https" if !ingest.allow_private && names_private_host(&url) => {
            let host = url.host_str().unwrap_or_default();
            Err(format!(
                "{host} is on this machine or its own network; set ingest.allow_private = true if you mean it"
            ))
        }
        "http" | "https" => Ok(url),
        "file" => local_file(url, text, ingest),
        "feed" => {
            let rest = text.get("feed:".len()..).unwrap_or_default();
            let rest = rest.trim_start_matches('/');
            let meant = if rest.contains("://") {
                rest.to_owned()
            } else {
                format!("https://{rest}")
            };
            Err(format!("feed: is not fetched; write \"{meant}\""))
        }
        // "localhost:8080/feed" parses as a URL of the scheme "localhost".
        _ if !text.contains("://") && url.cannot_be_a_base() => {
            Err(not_a_url(text, url::ParseError::RelativeUrlWithoutBase))
        }
        scheme => Err(format!(
            "the scheme {scheme:?} is not supported; write a URL with https, http or file"
        )),
    }
}

fn local_file(url: Url, text: &str, ingest: &Ingest) -> Read<Url> {
    if !ingest.allow_file {
        return Err(
            "reads a file of this machine; set ingest.allow_file = true if you mean it".to_owned(),
        );
    }
    if url.to_file_path().is_err() {
        let path = text.trim_start_matches("file:").trim_start_matches('/');
        return Err(format!(
            "a file:// URL needs the whole path; did you mean \"file:///{path}\"?"
        ));
    }
    Ok(url)
}

fn looks_like_a_path(text: &str) -> bool {
    let begins = ["/", "./", "../", "~"]
        .iter()
        .any(|start| text.starts_with(start));
    begins && !text.starts_with("//")
}

fn not_a_url(text: &str, why: url::ParseError) -> String {
    if text.contains('@') {
        // May hold a password.
        return format!("is not a URL ({why}); write one like \"https://example.org/feed\"");
    }
    let with_scheme = format!("https://{}", text.trim_start_matches('/'));
    let host_like = text.contains(['.', ':']) && !text.contains(char::is_whitespace);
    if why == url::ParseError::RelativeUrlWithoutBase
        && host_like
        && Url::parse(&with_scheme).is_ok()
    {
        return format!("{text:?} is not a whole URL; did you mean \"{with_scheme}\"?");
    }
    format!("{text:?} is not a URL ({why}); write one like \"https://example.org/feed\"")
}
