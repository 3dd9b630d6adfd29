//! `feeds add`: from what a person types to a feed that is known to work.

use super::opml::{self, block};
use super::public;
use crate::feed::discover::{Named, discover, well_known};
use crate::feed::{Document, ParseError, plain};
use crate::fetch::{self, FetchRequest, Fetched};
use crate::parsing::Parsing;
use crate::run::client;
use shared::Failure;
use shared::config::Config;
use shared::config::opml::Outline;
use shared::model::{Prints, Timestamp};
use shared::platform::term;
use shared::policy::text::{one_line, shorten};
use std::io::{self, Write};
use tokio::time::Instant;
use url::Url;

/// So many of its newest entries are shown.
const SHOWN: usize = 3;
/// Characters of a title.
const TITLE: usize = 100;

/// What a person asked for.
pub(super) struct Wanted {
    pub(super) address: String,
    pub(super) name: Option<String>,
    pub(super) tags: Vec<String>,
}

/// A feed that was read.
struct Tried {
    url: Url,
    document: Document,
}

pub(super) async fn run(
    wanted: Wanted,
    config: &Config,
    now: Timestamp,
    out: &mut dyn Write,
) -> Result<io::Result<()>, Failure> {
    let mut tried = read(address(&wanted.address)?, config, now).await?;
    tried.url.set_fragment(None);
    if config.feeds.iter().any(|feed| feed.url == tried.url) {
        return Err(Failure::Usage(format!(
            "{} is configured already",
            public(tried.url.as_str())
        )));
    }
    let feed = Outline {
        url: tried.url.to_string(),
        title: wanted
            .name
            .or_else(|| tried.document.title.clone())
            .map(|title| one_line(&title)),
        tags: wanted.tags.iter().map(|tag| one_line(tag)).collect(),
    };
    if let Some(path) = &config.opml {
        opml::add(path, std::slice::from_ref(&feed))?;
    }
    Ok(tell(&tried, &feed, config, out))
}

/// With https where nobody said so.
fn address(text: &str) -> Result<Url, Failure> {
    let text = text.trim();
    let whole = if text.contains("://") {
        text.to_owned()
    } else {
        format!("https://{text}")
    };
    // What was typed is not repeated: it may hold a password.
    let url = Url::parse(&whole)
        .map_err(|why| Failure::Usage(format!("the address is not a URL ({why})")))?;
    if url.username().is_empty() && url.password().is_none() {
        return Ok(url);
    }
    Err(Failure::Usage(
        "a user name or a password cannot stand in the URL: write a [[feed]] with \
         authorization_file into the configuration"
            .to_owned(),
    ))
}

/// Reads the feed, or the one feed that the page there names.
async fn read(url: Url, config: &Config, now: Timestamp) -> Result<Tried, Failure> {
    let page = match fetched(url, config, now).await? {
        Ok(tried) => return Ok(tried),
        Err(page) => page,
    };
    match page.named.as_slice() {
        [] => guess(&page, config, now).await,
        [one] => fetched(one.url.clone(), config, now)
            .await?
            .map_err(|_page| {
                Failure::Usage(format!(
                    "the page names {}, but that is a page too",
                    public(one.url.as_str())
                ))
            }),
        several => {
            let lines = several.iter().map(|named| {
                let title = named
                    .title
                    .as_deref()
                    .map(|title| format!("  {}", plain(title, TITLE)));
                // Whole, for it is to be typed again; the page shows it to everybody.
                format!("\n  {}{}", named.url, title.unwrap_or_default())
            });
            let lines: String = lines.collect();
            Err(Failure::Usage(format!(
                "this page names several feeds; add one of them:{lines}"
            )))
        }
    }
}

/// The last resort: where feeds lie on many sites.
async fn guess(page: &Page, config: &Config, now: Timestamp) -> Result<Tried, Failure> {
    for url in well_known(&page.url) {
        if let Ok(Ok(tried)) = fetched(url, config, now).await {
            return Ok(tried);
        }
    }
    let shown = public(page.url.as_str());
    Err(Failure::Usage(format!(
        "{shown} cannot be added: {}, it names none, and none lies where feeds often do",
        page.why
    )))
}

/// A page in the place of a feed.
struct Page {
    url: Url,
    /// Why it is no feed.
    why: String,
    named: Vec<Named>,
}

/// A feed, or the page that is there.
async fn fetched(
    url: Url,
    config: &Config,
    now: Timestamp,
) -> Result<Result<Tried, Page>, Failure> {
    let shown = public(url.as_str());
    let unusable =
        |why: &str| Failure::Usage(format!("{shown} cannot be added: {}", one_line(why)));
    let client = client(config)?;
    let request = FetchRequest::unconditional(&url);
    match fetch::fetch(&client, &request, now).await {
        Fetched::Failed(fault) => Err(unusable(&fault.to_string())),
        Fetched::NotModified { .. } => {
            Err(unusable("it answers \"not modified\" to a first request"))
        }
        Fetched::New {
            mut body,
            charset,
            final_url,
            permanent_redirect,
            ..
        } => {
            let body = body.take();
            let end = Instant::now() + config.ingest.deadline;
            let parsing = Parsing::default();
            let (copy, base) = (body.clone(), final_url.clone());
            let parse = parsing.parse(copy, charset.clone(), base, Prints::NONE, end);
            match parse.await {
                Ok(document) => Ok(Ok(Tried {
                    url: permanent_redirect.unwrap_or(url),
                    document,
                })),
                Err(why) => {
                    let named = discover(&body, charset.as_deref(), &final_url);
                    if named.is_empty() && why != ParseError::WebPage.to_string() {
                        return Err(unusable(&why));
                    }
                    let url = final_url;
                    Ok(Err(Page { url, why, named }))
                }
            }
        }
    }
}

fn tell(tried: &Tried, feed: &Outline, config: &Config, out: &mut dyn Write) -> io::Result<()> {
    let title = feed.title.as_deref().unwrap_or("a feed without a title");
    let count = tried.document.entries.len();
    writeln!(out, "{title}: {count} entries")?;
    let mut entries: Vec<_> = tried.document.entries.iter().collect();
    entries.sort_by_key(|entry| std::cmp::Reverse(entry.published));
    for entry in entries.into_iter().take(SHOWN) {
        let at = entry.published.map(|at| term::local(at, &config.timezone));
        let at = at.unwrap_or_else(|| "without a date".to_owned());
        writeln!(
            out,
            "  {at:<19}  {}",
            shorten(&one_line(&entry.title), TITLE)
        )?;
    }
    match &config.opml {
        Some(path) => writeln!(
            out,
            "added to {}: what it holds now is known with its first fetch, alerts begin with what is new",
            path.display()
        ),
        None => write!(
            out,
            "no OPML file is configured; paste this into the configuration:\n\n{}",
            block(feed)
        ),
    }
}
