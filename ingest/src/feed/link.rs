//! Which of an entry's links is the one to open, and where it leads.

use url::Url;

/// A link as the feed gave it.
#[derive(Clone, Debug, Default)]
pub(super) struct Candidate {
    pub(super) href: String,
    pub(super) rel: Option<String>,
    pub(super) media_type: Option<String>,
}

impl Candidate {
    fn is_alternate(&self) -> bool {
        self.rel.as_deref().is_none_or(|rel| rel == "alternate")
    }

    fn is_page(&self) -> bool {
        let media_type = self.media_type.as_deref().unwrap_or("text/html");
        matches!(
            media_type,
            "text/html" | "html" | "application/xhtml+xml" | "text/plain"
        )
    }
}

/// The first link to a page, else the first link, else the id if it is an address.
/// `base` is the document's own; links that stand under an `xml:base` come resolved.
pub(super) fn choose(
    candidates: &[Candidate],
    guid: Option<&str>,
    base: Option<&Url>,
) -> Option<String> {
    let resolved = |candidate: &Candidate| web(&candidate.href, base);
    let alternates = || candidates.iter().filter(|link| link.is_alternate());
    alternates()
        .filter(|link| link.is_page())
        .find_map(resolved)
        .or_else(|| alternates().find_map(resolved))
        .or_else(|| guid.and_then(|guid| web(guid, None)))
}

/// An absolute http(s) address; anything else is nothing that a phone should open.
fn web(href: &str, base: Option<&Url>) -> Option<String> {
    let href = href.trim();
    if href.is_empty() {
        return None;
    }
    let url = resolve(href, base)?;
    (matches!(url.scheme(), "http" | "https") && url.has_host()).then(|| url.into())
}

pub(super) fn resolve(href: &str, base: Option<&Url>) -> Option<Url> {
    match base {
        Some(base) => base.join(href).ok(),
        None => Url::parse(href).ok(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn link(href: &str, rel: Option<&str>, media_type: Option<&str>) -> Candidate {
        Candidate {
            href: href.to_owned(),
            rel: rel.map(str::to_owned),
            media_type: media_type.map(str::to_owned),
        }
    }

    #[test]
    fn the_page_is_chosen_before_the_file_and_never_the_feed_itself() {
        let links = [
            link("https://example.org/self", Some("self"), None),
            link(
                "https://example.org/a.json",
                Some("alternate"),
                Some("application/json"),
            ),
            link("/a", Some("alternate"), Some("text/html")),
        ];
        let base = Url::parse("https://example.org/feeds/all.xml").unwrap();
        assert_eq!(
            choose(&links, None, Some(&base)).as_deref(),
            Some("https://example.org/a")
        );
        assert_eq!(choose(&links[..1], None, Some(&base)), None);
    }

    #[test]
    fn an_id_that_is_an_address_serves_as_the_link() {
        assert_eq!(
            choose(&[], Some("https://example.org/1"), None).as_deref(),
            Some("https://example.org/1")
        );
        for id in ["urn:uuid:1", "tag:example.org,2026:1", "1", "http:///"] {
            assert_eq!(choose(&[], Some(id), None), None, "{id}");
        }
    }

    #[test]
    fn only_the_web_is_linked() {
        for href in [
            "javascript:alert(1)",
            "mailto:a@example.org",
            "file:///etc/passwd",
            " ",
        ] {
            assert_eq!(
                choose(&[link(href, None, None)], None, None),
                None,
                "{href}"
            );
        }
    }
}
