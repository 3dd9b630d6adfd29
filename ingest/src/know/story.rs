//! What tells that two items of different feeds tell one story; pure.

use super::address::Address;
use super::identity::aliases;
use crate::pattern::pattern;
use regex::Regex;
use shared::config::SameHosts;
use shared::model::{Category, Entry};
use shared::store::stories::Story;
use std::collections::BTreeSet;
use std::sync::LazyLock;

static CVE: LazyLock<Regex> = LazyLock::new(|| pattern(r"(?i)\bCVE-\d{4}-\d{4,7}\b"));

/// The CVE ids of an entry's title, sorted, with commas between. A summary may name the ids of anything:
/// of the compiler that a release was built with, or of a flaw that this one is like.
fn cves(title: &str) -> Option<String> {
    let found = CVE.find_iter(title);
    let ids: BTreeSet<String> = found.map(|id| id.as_str().to_uppercase()).collect();
    let ids: Vec<String> = ids.into_iter().collect();
    Some(ids.join(",")).filter(|ids| !ids.is_empty())
}

/// By what an entry of that category may be known to tell a story that was told.
pub fn story(entry: &Entry, category: Category, hosts: &SameHosts) -> Story {
    let link = entry.link.as_deref();
    let address = link.and_then(Address::parse);
    let pages = link.map(|link| aliases(link, hosts)).unwrap_or_default();
    Story {
        // The first is its own, which is stored with it.
        other_pages: pages.into_iter().skip(1).collect(),
        title: entry.title.clone(),
        cves: cves(&entry.title),
        has_a_page: address.is_some_and(|address| address.is_of_an_article()),
        has_a_telling_title: matches!(category, Category::Vulnerability | Category::Industry),
    }
}

/// Of an entry that is no story of the world's.
pub fn no_story(entry: &Entry) -> Story {
    Story {
        title: entry.title.clone(),
        cves: None,
        other_pages: Vec::new(),
        has_a_page: false,
        has_a_telling_title: false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_title_tells_its_ids_in_any_order_and_case() {
        let sorted = Some("CVE-2026-1001,CVE-2026-91001".to_owned());
        for title in [
            "CVE-2026-91001 and CVE-2026-1001 in Sable",
            "Sable: cve-2026-1001/CVE-2026-91001, CVE-2026-1001",
        ] {
            assert_eq!(cves(title), sorted, "{title}");
        }
        assert_eq!(cves("CVE-26-1 and CVE-2026"), None);
    }

    #[test]
    fn a_page_of_its_own_is_told_by_its_address() {
        let has_a_page = |link: &str| {
            let entry = Entry {
                link: Some(link.to_owned()),
                ..Entry::default()
            };
            story(&entry, Category::Other, &SameHosts::default()).has_a_page
        };
        for link in [
            "https://example.org/2026/11/sable-is-exploited/",
            "https://example.org/advisories/DSA-5123",
            "https://example.org/?p=48213",
        ] {
            assert!(has_a_page(link), "{link}");
        }
        for link in [
            "https://status.example.org/",
            "https://example.org/security",
            "https://example.org/product/releases",
            "mailto:a@example.org",
        ] {
            assert!(!has_a_page(link), "{link}");
        }
    }
}
