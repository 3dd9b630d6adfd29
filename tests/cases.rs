//! Small cases of tests/CASES.md that no other test shows: dates, text, links and identity, from the
//! bytes of a feed to the keys of its items.

use shared::config::SameHosts;
use shared::model::Entry;
use watchalert_ingest::feed;
use watchalert_ingest::know::identify;

fn read(body: &str) -> Vec<Entry> {
    let base = "https://example.org/feed/news.xml".parse().ok();
    feed::parse(body.as_bytes(), None, base.as_ref())
        .expect(body)
        .entries
}

fn rss(items: &str) -> Vec<Entry> {
    read(&format!(
        "<rss version=\"2.0\"><channel><title>t</title>{items}</channel></rss>"
    ))
}

fn atom(entries: &str) -> Vec<Entry> {
    read(&format!(
        "<feed xmlns=\"http://www.w3.org/2005/Atom\"><title>t</title>{entries}</feed>"
    ))
}

fn keys(entries: Vec<Entry>) -> Vec<String> {
    let items = identify(entries, false, &SameHosts::default()).items;
    items.into_iter().map(|item| item.key.to_string()).collect()
}

/// The year of the date that was read.
fn year(entry: &Entry) -> Option<u64> {
    let seconds = entry.published?.unix_seconds();
    Some(1970 + std::time::Duration::from_secs_f64(seconds).as_secs() / 31_556_952)
}

#[test]
fn an_item_without_id_and_link_has_the_same_key_in_every_reading() {
    let item = "<item><title>Pump failed</title><description>In hall 2.</description></item>";
    assert_eq!(keys(rss(item)), keys(rss(item)));
    let other = item.replace("hall 2", "hall 3");
    assert_ne!(keys(rss(item)), keys(rss(&other)));
}

#[test]
fn another_text_under_the_same_link_and_title_is_the_same_item() {
    let item = |text: &str| {
        keys(rss(&format!(
            "<item><title>a</title><link>/a</link><description>{text}</description></item>"
        )))
    };
    assert_eq!(item("first"), item("second, longer"));
}

#[test]
fn an_id_is_kept_as_it_stands() {
    let entries = rss("<item><guid>72122</guid><title>a</title></item>\
        <item><guid isPermaLink=\"true\">posts/b</guid><title>b</title></item>");
    let ids: Vec<_> = entries.iter().map(|entry| entry.guid.as_deref()).collect();
    assert_eq!(ids, [Some("72122"), Some("posts/b")]);
}

#[test]
fn a_release_whose_text_is_edited_keeps_its_key() {
    let release = |text: &str, updated: &str| {
        keys(atom(&format!(
            "<entry><id>tag:git.example,2008:Repository/7/latest</id><title>latest</title>\
             <updated>{updated}</updated><link href=\"/r/latest\"/><content>{text}</content></entry>"
        )))
    };
    assert_eq!(
        release("one asset", "2026-11-01T00:00:00Z"),
        release("two assets", "2026-11-30T00:00:00Z")
    );
}

#[test]
fn a_date_that_cannot_be_read_costs_the_date_alone() {
    let entries = rss("<item><title>a</title><pubDate>Tue,</pubDate></item>\
        <item><title>b</title></item>\
        <item><title>c</title><pubDate>Sat, Oct 28 2023 08:28:28 PM</pubDate></item>\
        <item><title>d</title><pubDate>ma, 08 okt 2018 10:09:29 +0000</pubDate></item>");
    let years: Vec<_> = entries.iter().map(year).collect();
    assert_eq!(years, [None, None, Some(2023), Some(2018)]);
}

#[test]
fn a_date_to_come_is_read_as_it_stands_and_is_no_identity() {
    let item = |date: &str| {
        rss(&format!(
            "<item><title>a</title><link>/a</link><pubDate>{date}</pubDate></item>"
        ))
    };
    let to_come = item("Mon, 06 Mar 2045 10:00:00 GMT");
    assert_eq!(year(&to_come[0]), Some(2045));
    assert_eq!(keys(to_come), keys(item("Mon, 06 Mar 2023 10:00:00 GMT")));
}

#[test]
fn an_entity_of_html_and_a_bare_ampersand_cost_nothing() {
    let entries = rss("<item><title>For&ecirc;t &amp; D&D</title></item>\
        <item><title>AT&T &nosuch; x</title></item>");
    let titles: Vec<_> = entries.iter().map(|entry| &*entry.title).collect();
    assert_eq!(titles, ["Forêt & D&D", "AT&T &nosuch; x"]);
}

#[test]
fn a_relative_base_within_a_relative_base_is_followed() {
    let body = "<feed xmlns=\"http://www.w3.org/2005/Atom\" xml:base=\"ongoing/\"><title>t</title>\
        <entry xml:base=\"When/201x/\"><id>1</id><title>a</title><link href=\"FC2-x\"/></entry></feed>";
    let link = read(body).remove(0).link;
    assert_eq!(
        link.as_deref(),
        Some("https://example.org/feed/ongoing/When/201x/FC2-x")
    );
}

#[test]
fn the_order_of_a_feed_says_nothing() {
    let item = |title: &str| format!("<item><guid>{title}</guid><title>{title}</title></item>");
    let (one, two, three) = (item("1"), item("2"), item("3"));
    let newest_first = keys(rss(&format!("{three}{two}{one}")));
    let mut oldest_first = keys(rss(&format!("{one}{two}{three}")));
    oldest_first.reverse();
    assert_eq!(newest_first, oldest_first);
}

#[test]
fn entities_that_a_feed_defines_itself_are_not_unfolded() {
    let mut definitions = "<!ENTITY a \"aaaaaaaaaa\">".to_owned();
    for (name, inner) in ["b", "c", "d", "e", "f", "g", "h", "i"]
        .iter()
        .zip(["a", "b", "c", "d", "e", "f", "g", "h"])
    {
        definitions += &format!("<!ENTITY {name} \"{}\">", format!("&{inner};").repeat(10));
    }
    let body = format!(
        "<?xml version=\"1.0\"?><!DOCTYPE rss [{definitions}]><rss version=\"2.0\"><channel><title>t</title>\
         <item><guid>1</guid><title>x &i; y</title></item></channel></rss>"
    );
    let entries = read(&body);
    assert_eq!(entries.len(), 1);
    assert!(entries[0].title.len() < 100, "{}", entries[0].title.len());
}
