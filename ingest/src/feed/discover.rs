//! The feeds that a web page names: `<link rel="alternate">` of a feed's media type; pure.

use super::decode;
use html5gum::emitters::callback::{CallbackEmitter, CallbackEvent};
use html5gum::{Span, Tokenizer};
use url::Url;

/// A feed that a page names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Named {
    pub url: Url,
    pub title: Option<String>,
}

const FEEDS: &[&str] = &[
    "application/rss+xml",
    "application/atom+xml",
    "application/feed+json",
    "application/rdf+xml",
];

/// The attributes of one tag that matter.
#[derive(Default)]
struct Tag {
    name: Vec<u8>,
    attribute: String,
    rel: String,
    media_type: String,
    href: String,
    title: String,
}

impl Tag {
    fn set(&mut self, value: &[u8]) {
        let place = match self.attribute.as_str() {
            "rel" => &mut self.rel,
            "type" => &mut self.media_type,
            "href" => &mut self.href,
            "title" => &mut self.title,
            _ => return,
        };
        String::from_utf8_lossy(value).trim().clone_into(place);
    }

    fn names_a_feed(&self) -> bool {
        let media_type = self.media_type.split(';').next().unwrap_or_default();
        let media_type = media_type.trim().to_ascii_lowercase();
        let mut rels = self.rel.split_ascii_whitespace();
        self.name == b"link"
            && rels.any(|rel| rel.eq_ignore_ascii_case("alternate"))
            && FEEDS.contains(&media_type.as_str())
    }
}

/// Each feed once, in the order of the page; `base` is where the page came from.
pub fn discover(page: &[u8], charset: Option<&str>, base: &Url) -> Vec<Named> {
    let text = decode::decode(page, charset);
    let mut tag = Tag::default();
    let mut base = base.clone();
    let mut found: Vec<Named> = Vec::new();
    let emitter = CallbackEmitter::new(|event: CallbackEvent<'_>, _: Span<()>| {
        match event {
            CallbackEvent::OpenStartTag { name } => {
                tag = Tag {
                    name: name.to_vec(),
                    ..Tag::default()
                };
            }
            CallbackEvent::AttributeName { name } => {
                tag.attribute = String::from_utf8_lossy(name).to_ascii_lowercase();
            }
            CallbackEvent::AttributeValue { value } => tag.set(value),
            CallbackEvent::CloseStartTag { .. } if tag.name == b"base" => {
                base = base.join(&tag.href).unwrap_or_else(|_| base.clone());
            }
            CallbackEvent::CloseStartTag { .. } if tag.names_a_feed() => {
                let url = base.join(&tag.href).ok();
                let is_new = |url: &Url| !found.iter().any(|known| known.url == *url);
                if let Some(url) = url.filter(is_new) {
                    let title = Some(tag.title.clone()).filter(|title| !title.is_empty());
                    found.push(Named { url, title });
                }
            }
            _ => {}
        }
        None::<()>
    });
    Tokenizer::new_with_emitter(text.as_ref(), emitter).for_each(drop);
    found
}

/// Where feeds lie when no page names them, the likeliest first: below the page, then below the
/// host.
pub fn well_known(page: &Url) -> Vec<Url> {
    const NAMES: [&str; 7] = [
        "feed",
        "feed.xml",
        "atom.xml",
        "rss.xml",
        "index.xml",
        "rss",
        "feed.json",
    ];
    let mut folder = page.clone();
    folder.set_query(None);
    folder.set_fragment(None);
    if !folder.path().ends_with('/') {
        folder.set_path(&format!("{}/", folder.path()));
    }
    let mut urls: Vec<Url> = Vec::new();
    for base in [folder.clone(), folder.join("/").unwrap_or(folder)] {
        for name in NAMES {
            let url = base.join(name).ok();
            urls.extend(url.filter(|url| !urls.contains(url)));
        }
    }
    urls
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_feeds_of_a_page_are_found_in_its_order_each_once() {
        let page = b"<html><head><base href='/blog/'>
            <LINK REL='alternate' TYPE='application/rss+xml' TITLE='All &amp; more' HREF='feed.xml'>
            <link rel=\"alternate home\" type=\"application/atom+xml; charset=utf-8\" href=https://b.example/atom />
            <link rel=alternate type=application/rss+xml href='/blog/feed.xml'>
            <link rel=alternate type=text/html hreflang=de href=/de>
            <link rel=stylesheet type='application/rss+xml' href=/no>
            <!-- <link rel=alternate type=application/rss+xml href=/comment> -->
            <a rel=alternate type=application/rss+xml href=/a>a</a>";
        let base: Url = "https://a.example/page".parse().unwrap();
        let found: Vec<_> = discover(page, None, &base)
            .into_iter()
            .map(|named| (named.url.to_string(), named.title))
            .collect();
        let title = Some("All & more".to_owned());
        assert_eq!(
            found,
            [
                ("https://a.example/blog/feed.xml".to_owned(), title),
                ("https://b.example/atom".to_owned(), None),
            ]
        );
    }

    #[test]
    fn what_is_no_page_names_none() {
        let base: Url = "https://a.example/".parse().unwrap();
        for page in ["", "<", "\0\0<link rel=alternate", "{\"a\":1}"] {
            assert_eq!(discover(page.as_bytes(), None, &base), []);
        }
    }

    #[test]
    fn well_known_paths_lie_below_the_page_and_below_the_host() {
        let page = "https://example.org/blog?x=1".parse().unwrap();
        let urls: Vec<String> = well_known(&page).iter().map(Url::to_string).collect();
        assert_eq!(
            urls.first().map(String::as_str),
            Some("https://example.org/blog/feed")
        );
        assert!(urls.contains(&"https://example.org/feed.xml".to_owned()));
        assert_eq!(urls.len(), 14);
        let root = "https://example.org/".parse().unwrap();
        assert_eq!(well_known(&root).len(), 7);
    }
}
