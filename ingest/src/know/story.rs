//! What tells that two items of different feeds tell one story; pure.

use crate::pattern::pattern;
use regex::Regex;
use shared::model::Entry;
use std::collections::BTreeSet;
use std::sync::LazyLock;

static CVE: LazyLock<Regex> = LazyLock::new(|| pattern(r"(?i)\bCVE-\d{4}-\d{4,7}\b"));

/// Characters of a summary in which ids of the story itself are looked for; later ones are seldom.
const BEGINNING: usize = 600;

/// The CVE ids of an entry, sorted, with commas between: those of its title, else those with which
/// its summary begins.
pub fn cves(entry: &Entry) -> Option<String> {
    let beginning: String = entry.summary.chars().take(BEGINNING).collect();
    let ids = |text: &str| -> BTreeSet<String> {
        let found = CVE.find_iter(text);
        found.map(|id| id.as_str().to_uppercase()).collect()
    };
    let found = [ids(&entry.title), ids(&beginning)];
    let story = found.into_iter().find(|ids| !ids.is_empty())?;
    Some(story.into_iter().collect::<Vec<_>>().join(","))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(title: &str, summary: &str) -> Option<String> {
        cves(&Entry {
            title: title.to_owned(),
            summary: summary.to_owned(),
            ..Entry::default()
        })
    }

    #[test]
    fn a_title_tells_its_ids_in_any_order_and_case() {
        let sorted = Some("CVE-2026-1001,CVE-2026-91001".to_owned());
        for title in [
            "CVE-2026-91001 and CVE-2026-1001 in Sable",
            "Sable: cve-2026-1001/CVE-2026-91001, CVE-2026-1001",
        ] {
            assert_eq!(of(title, "CVE-2026-7777"), sorted, "{title}");
        }
    }

    #[test]
    fn else_the_summary_does_by_its_beginning() {
        let id = Some("CVE-2026-1001".to_owned());
        assert_eq!(of("Flaw in Sable", "Known as CVE-2026-1001."), id);
        let late = format!("{} CVE-2026-1001", "words ".repeat(200));
        assert_eq!(of("Flaw in Sable", &late), None);
        assert_eq!(of("CVE-26-1 and CVE-2026", "none"), None);
    }
}
