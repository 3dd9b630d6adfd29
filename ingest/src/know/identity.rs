//! Identity: the key of each entry, and the alias by which one with a new key is still known.
//!
//! A key depends on its own entry and on the feed's one flag, never on the neighbours in the
//! document: those come and go, and a key that moved with them would alert again. So the key of an
//! entry without a trusted guid holds title and link, which tells apart the items of a page that
//! all link to that page, and a changed title is caught by the alias.

use super::address::Address;
use sha2::{Digest, Sha256};
use shared::config::SameHosts;
use shared::model::{DedupKey, Entry, Item};
use std::collections::{HashMap, HashSet};

/// A document's entries with their keys.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identified {
    /// Each key once, in the order of the document.
    pub items: Vec<Item>,
    /// Of each item, the place of its entry in the document.
    pub places: Vec<usize>,
    /// To be stored with the feed and given to the next [`identify`]: once its guids have failed
    /// to tell its items apart, they are never trusted again.
    pub guids_unreliable: bool,
    /// Repeats that were left out.
    pub duplicates: usize,
}

/// Gives each entry its keys: by guid, else by link and title, else by title and summary.
/// What stands twice under two names of one host is one. Keys never depend on those: the list may
/// change, and what is known stays known.
pub fn identify(entries: Vec<Entry>, guids_unreliable: bool, hosts: &SameHosts) -> Identified {
    let guids_unreliable = guids_unreliable || a_guid_stands_for_several(&entries, hosts);
    let total = entries.len();
    let mut seen = HashSet::new();
    let mut stands_at = HashMap::new();
    let (places, mut items): (Vec<usize>, Vec<Item>) = entries
        .into_iter()
        .map(|entry| Item {
            key: key(&entry, guids_unreliable),
            link_key: None,
            other_link_keys: Vec::new(),
            entry,
        })
        .enumerate()
        .filter(|(_, item)| {
            seen.insert(item.key.clone()) && !stands_elsewhere(&item.entry, hosts, &mut stands_at)
        })
        .unzip();
    give_aliases(&mut items, hosts);
    Identified {
        guids_unreliable,
        duplicates: total - items.len(),
        places,
        items,
    }
}

/// Whether an entry stands in the document before, under another name of its host.
fn stands_elsewhere(
    entry: &Entry,
    hosts: &SameHosts,
    stands_at: &mut HashMap<(String, String), String>,
) -> bool {
    let Some(address) = address(entry) else {
        return false;
    };
    let story = (address.standing(hosts).whole(), entry.title.clone());
    let host = address.host();
    stands_at.entry(story).or_insert_with(|| host.to_owned()) != host
}

fn a_guid_stands_for_several(entries: &[Entry], hosts: &SameHosts) -> bool {
    let mut first = HashMap::new();
    entries.iter().any(|entry| {
        let address = address(entry).map(|address| address.standing(hosts).whole());
        let story = (address, &entry.title);
        match &entry.guid {
            Some(guid) => *first.entry(guid).or_insert_with(|| story.clone()) != story,
            None => false,
        }
    })
}

fn address(entry: &Entry) -> Option<Address> {
    Address::parse(entry.link.as_deref()?)
}

fn key(entry: &Entry, guids_unreliable: bool) -> DedupKey {
    if let Some(guid) = entry.guid.as_ref().filter(|_| !guids_unreliable) {
        return hash("guid", &[guid]);
    }
    match address(entry) {
        Some(address) => hash("link", &[&address.whole(), &entry.title]),
        None => hash("content", &[&entry.title, &entry.summary]),
    }
}

/// An alias is an address that one item of the document has for itself: its page, or else, where
/// items are places on one page, its place.
fn give_aliases(items: &mut [Item], hosts: &SameHosts) {
    let addresses: Vec<_> = items.iter().map(|item| address(&item.entry)).collect();
    let mut pages: HashMap<String, usize> = HashMap::new();
    let mut places: HashMap<String, usize> = HashMap::new();
    for address in addresses.iter().flatten() {
        *pages.entry(address.page().to_owned()).or_default() += 1;
        *places.entry(address.whole()).or_default() += 1;
    }
    for (item, address) in items.iter_mut().zip(&addresses) {
        let Some(address) = address else { continue };
        let form = if pages.get(address.page()) == Some(&1) {
            |address: &Address| hash("link", &[address.page()])
        } else if places.get(&address.whole()) == Some(&1) {
            |address: &Address| hash("link", &[&address.whole()])
        } else {
            continue;
        };
        item.link_key = Some(form(address));
        item.other_link_keys = address.elsewhere(hosts).iter().map(form).collect();
    }
}

/// What a person may ask by: the aliases of an address, when it is one, under each name of its host.
pub fn aliases(link: &str, hosts: &SameHosts) -> Vec<DedupKey> {
    let Some(address) = Address::parse(link) else {
        return Vec::new();
    };
    let mut all = address.elsewhere(hosts);
    all.insert(0, address);
    all.iter().map(|one| hash("link", &[one.page()])).collect()
}

/// Which part of the entry gave it this key, in words; its title may have changed since.
pub fn named_by(entry: &Entry, key: &str) -> &'static str {
    let by_guid = entry.guid.as_ref().map(|guid| hash("guid", &[guid]));
    match by_guid {
        Some(by_guid) if by_guid.as_str() == key => "its guid",
        _ if address(entry).is_some() => "its address and title",
        _ => "its title and text",
    }
}

/// The first 128 bits of SHA-256 over a domain and its parts, each ended by a zero byte.
pub fn hash(domain: &str, parts: &[&str]) -> DedupKey {
    let mut sha = Sha256::new();
    sha.update(domain);
    sha.update([0]);
    for part in parts {
        sha.update(part);
        sha.update([0]);
    }
    let hex = sha
        .finalize()
        .iter()
        .take(16)
        .fold(String::new(), |hex, byte| format!("{hex}{byte:02x}"));
    DedupKey::new(hex)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn identify(entries: Vec<Entry>, guids_unreliable: bool) -> Identified {
        super::identify(entries, guids_unreliable, &SameHosts::default())
    }

    fn entry(guid: &str, link: &str, title: &str) -> Entry {
        let some = |text: &str| Some(text.to_owned()).filter(|text| !text.is_empty());
        Entry {
            guid: some(guid),
            link: some(link),
            title: title.to_owned(),
            ..Entry::default()
        }
    }

    fn keys(entries: &[Entry], guids_unreliable: bool) -> Vec<DedupKey> {
        let items = identify(entries.to_vec(), guids_unreliable).items;
        items.into_iter().map(|item| item.key).collect()
    }

    #[test]
    fn an_entry_without_id_and_link_is_known_again() {
        let mut poll = entry("", "", "Status");
        poll.summary = "All is well".to_owned();
        assert_eq!(keys(&[poll.clone()], false), keys(&[poll.clone()], false));
        let mut other = poll.clone();
        other.summary = "Nothing is".to_owned();
        assert_ne!(keys(&[poll], false), keys(&[other], false));
    }

    #[test]
    fn dates_and_texts_are_no_identity() {
        let first = entry("", "https://example.org/1", "One");
        let mut edited = first.clone();
        edited.summary = "more".to_owned();
        edited.published = Some(shared::model::Timestamp::EPOCH);
        assert_eq!(keys(&[first], false), keys(&[edited], false));
    }

    #[test]
    fn a_new_guid_or_a_new_title_is_known_by_its_link() {
        let alias = |entry: Entry| identify(vec![entry], false).items[0].link_key.clone();
        let first = alias(entry("1", "https://example.org/a?utm_source=x", "One"));
        assert!(first.is_some());
        assert_eq!(
            first,
            alias(entry("2", "http://example.org/a/", "One, corrected"))
        );
        assert_ne!(first, alias(entry("1", "https://example.org/b", "One")));
        assert_eq!(alias(entry("1", "", "One")), None);
    }

    #[test]
    fn a_guid_on_every_item_is_distrusted_for_good() {
        let page: Vec<Entry> = (0..10)
            .map(|n| entry("same", &format!("https://example.org/{n}"), "Title"))
            .collect();
        let identified = identify(page.clone(), false);
        assert!(identified.guids_unreliable);
        assert_eq!(identified.items.len(), 10);
        let alone = identify(page[..1].to_vec(), true);
        assert!(alone.guids_unreliable);
        assert_eq!(alone.items[0].key, identified.items[0].key);
    }

    #[test]
    fn a_repeat_is_left_out_and_distrusts_nothing() {
        let twice = vec![entry("1", "https://example.org/1", "One"); 2];
        let identified = identify(twice, false);
        assert_eq!((identified.items.len(), identified.duplicates), (1, 1));
        assert!(!identified.guids_unreliable);
    }

    #[test]
    fn items_that_link_to_one_page_are_told_apart() {
        let shared =
            ["Login fails", "Mail is late"].map(|title| entry("", "https://example.org/", title));
        let identified = identify(shared.to_vec(), false);
        assert_eq!(identified.items.len(), 2);
        assert!(identified.items.iter().all(|item| item.link_key.is_none()));
        assert_eq!(keys(&shared[..1], false), [identified.items[0].key.clone()]);
        let places =
            ["v1", "v2"].map(|v| entry("", &format!("https://example.org/log#{v}"), "Log"));
        let places = identify(places.to_vec(), false);
        assert_ne!(places.items[0].link_key, places.items[1].link_key);
        assert!(places.items[0].link_key.is_some());
    }

    #[test]
    fn kinds_of_keys_never_meet() {
        let text = "https://example.org/1";
        let by_guid = keys(&[entry(text, "", "")], false);
        let by_link = keys(&[entry("", text, "")], false);
        let by_content = keys(&[entry("", "", text)], false);
        assert!(by_guid != by_link && by_link != by_content && by_guid != by_content);
        assert_eq!(by_guid[0].as_str().len(), 32);
    }

    fn entries() -> impl Strategy<Value = Vec<Entry>> {
        let entry = (
            "[a-c]?",
            "(https://example.org/[a-c](#[a-b])?)?",
            "[a-c]{0,2}",
            "[a-b]?",
        )
            .prop_map(|(guid, link, title, summary)| Entry {
                summary,
                ..entry(&guid, &link, &title)
            });
        proptest::collection::vec(entry, 0..8)
    }

    proptest! {
        #[test]
        fn order_and_repetition_change_no_key(entries in entries(), flag: bool, seed: u64) {
            let once = identify(entries.clone(), flag);
            prop_assert_eq!(&once, &identify(entries.clone(), flag));
            let mut shuffled = entries;
            fastrand::Rng::with_seed(seed).shuffle(&mut shuffled);
            let sorted = |mut identified: Identified| {
                identified.items.sort_by(|one, other| one.key.cmp(&other.key));
                identified.items.into_iter().map(|item| (item.key, item.link_key)).collect::<Vec<_>>()
            };
            let again = identify(shuffled, flag);
            prop_assert_eq!(once.guids_unreliable, again.guids_unreliable);
            prop_assert_eq!(sorted(once), sorted(again));
        }

        #[test]
        fn an_edit_changes_no_guid_key(guid in ".{1,20}", title in ".{0,20}", summary in ".{0,20}") {
            let first = entry(&guid, "https://example.org/1", "before");
            let edited = Entry { title, summary, ..first.clone() };
            prop_assert_eq!(keys(&[first], false), keys(&[edited], false));
        }

        #[test]
        fn a_neighbour_changes_no_key(entries in entries(), flag: bool) {
            let identified = identify(entries, flag);
            for item in identified.items {
                let alone = identify(vec![item.entry], identified.guids_unreliable);
                prop_assert_eq!(&alone.items[0].key, &item.key);
            }
        }
    }
}
