//! Documents as publishers break them, read by whichever reader can.

use super::*;
use proptest::prelude::*;
use shared::model::Timestamp;

fn read(body: &str) -> Document {
    read_bytes(body.as_bytes())
}

fn read_bytes(body: &[u8]) -> Document {
    let base = Url::parse("https://example.org/feeds/all.xml").unwrap();
    parse(body, None, Some(&base)).unwrap()
}

fn titles(document: &Document) -> Vec<&str> {
    document.entries.iter().map(|entry| &*entry.title).collect()
}

fn rss(items: &str) -> String {
    format!("<rss version='2.0'><channel><title>News</title>{items}</channel></rss>")
}

const TWO: &str = "<item><title>One</title><link>/1</link></item>\
                   <item><title>Two</title><link>/2</link></item>";

#[test]
fn a_sound_feed_is_read_by_the_strict_reader() {
    let document = read(&rss(
        "<item><guid isPermaLink='false'> id 1 </guid><title>A &amp;amp; B</title>\
         <link>/a</link><description>&lt;p&gt;Two&amp;nbsp;words&lt;/p&gt;</description>\
         <category>x</category><category>x</category><pubDate>Mon, 30 Nov 2026 10:00:00 CET</pubDate></item>",
    ));
    let expected = Entry {
        guid: Some("id 1".to_owned()),
        link: Some("https://example.org/a".to_owned()),
        title: "A & B".to_owned(),
        summary: "Two words".to_owned(),
        tags: vec!["x".to_owned()],
        published: Some(Timestamp::from_unix_millis(1_796_029_200_000)),
        rating: None,
    };
    assert_eq!(document.title.as_deref(), Some("News"));
    assert_eq!(document.entries, [expected]);
    assert!(!document.repaired);
}

#[test]
fn an_entry_without_an_id_has_none() {
    let document = read(&rss(
        "<item><title>One</title><description>Text</description></item>",
    ));
    assert_eq!(document.entries[0].guid, None);
    assert_eq!(document.entries[0].link, None);
}

/// Two entries, each time with another fault.
fn faulty() -> Vec<(&'static str, String)> {
    let before_link = |text: &str| rss(&TWO.replace("<link>", &format!("{text}<link>")));
    let podcast = "<rss xmlns:i='http://www.itunes.com/dtds/podcast-1.0.dtd'";
    let long = "<i:duration>99999999999999999999999</i:duration>";
    let in_body = |text: &str| before_link(&format!("<description>{text}</description>"));
    let outside = format!("<rss version='2.0'><channel><title>News</title></channel>{TWO}</rss>");
    let cut_off = rss(&format!("{TWO}<item><title>Thr")).replace("</channel></rss>", "");
    let own_names = rss(TWO).replace("<rss", "<rss xmlns='http://example.org/own'");
    vec![
        ("bare ampersand", in_body("AT&T & Co ?a=1&b=2")),
        ("void tags", in_body("a<br>b<hr>c")),
        ("no version", rss(TWO).replace(" version='2.0'", "")),
        ("odd version", rss(TWO).replace("2.0", "0.93")),
        (
            "capitals",
            rss(TWO).replace("rss", "RSS").replace("item", "Item"),
        ),
        ("unclosed item", rss(&TWO.replacen("</item>", "", 1))),
        (
            "misspelt end",
            rss(&TWO.replacen("</title>", "</titel>", 1)),
        ),
        ("forbidden character", rss(&TWO.replace("One", "O&#x0;ne"))),
        (
            "junk in front",
            format!("<br>\nWarning: <b>x</b>{}", rss(TWO)),
        ),
        ("cut off", cut_off),
        ("items outside", outside),
        ("unknown namespace", own_names),
        (
            "panic on an author",
            before_link("<author>編集部、a@example.com</author>"),
        ),
        (
            "panic on a duration",
            before_link(long).replace("<rss", podcast),
        ),
        (
            "bad xml:base",
            rss(TWO).replace("<channel", "<channel xml:base='http://[bad'"),
        ),
    ]
}

#[test]
fn faults_cost_no_entry() {
    for (fault, body) in faulty() {
        let document = read(&body);
        assert_eq!(titles(&document), ["One", "Two"], "{fault}");
        let links = document
            .entries
            .iter()
            .filter_map(|entry| entry.link.as_deref());
        let expected = ["https://example.org/1", "https://example.org/2"];
        assert_eq!(links.collect::<Vec<_>>(), expected, "{fault}");
        assert!(document.repaired, "{fault}");
        assert_eq!(document.title.as_deref(), Some("News"), "{fault}");
    }
}

#[test]
fn a_bad_entry_costs_no_other_in_atom() {
    let document = read(
        "<feed xmlns='http://www.w3.org/2005/Atom'><title>A</title>\
         <entry><id>1</id><title>One</title><content type='bogus'>x</content></entry>\
         <entry><id>2</id><title type='odd'>Two</title><content type='text/html'><a href='#'>y</a></content></entry>\
         <entry><id>3</id><title>Three</title></entry></feed>",
    );
    assert_eq!(titles(&document), ["One", "Two", "Three"]);
    assert_eq!(document.entries[1].summary, "y");
}

#[test]
fn markup_in_a_title_does_not_cut_it() {
    let document = read(&rss(
        "<item><title>a <b>bold</b> c &amp; d</title><link>/1</link></item>",
    ));
    assert_eq!(titles(&document), ["a bold c & d"]);
    let atom = "<feed xmlns='http://www.w3.org/2005/Atom'><entry><id>1</id>\
        <title type='xhtml'><div xmlns='http://www.w3.org/1999/xhtml'>a &lt;b&gt; <i>c</i></div></title></entry></feed>";
    assert_eq!(titles(&read(atom)), ["a <b> c"]);
}

#[test]
fn letters_survive_a_wrong_declaration() {
    let body = rss("<item><title>Größe</title><link>/1</link></item>");
    let declared = format!("<?xml version='1.0' encoding='ISO-8859-1'?>{body}");
    assert_eq!(titles(&read(&declared)), ["Größe"]);
    let latin: Vec<u8> = body
        .chars()
        .map(|char| u8::try_from(char).unwrap())
        .collect();
    assert_eq!(titles(&read_bytes(&latin)), ["Größe"]);
}

#[test]
fn links_follow_the_nearest_base() {
    let feed = "<feed xmlns='http://www.w3.org/2005/Atom' xml:base='https://example.net/a/'>\
        <entry xml:base='b/'><id>x</id><title>t &amp</title><link href='c'/></entry>\
        <entry><id>https://example.net/3</id><title>u</title></entry></feed>";
    for body in [feed.to_owned(), feed.replace("&amp", "")] {
        let document = read(&body);
        assert_eq!(
            document.entries[0].link.as_deref(),
            Some("https://example.net/a/b/c")
        );
        assert_eq!(
            document.entries[1].link.as_deref(),
            Some("https://example.net/3")
        );
    }
}

#[test]
fn json_feeds_are_read_even_with_numbers_for_ids() {
    let body = r#"{"version":"https://jsonfeed.org/version/1.1","title":"J","items":[
        {"id":7,"url":"/7","content_html":"<p>x","title":"Seven","date_published":"2026-11-30T10:00:00Z"},
        {"title":null}]}"#;
    let document = read(body);
    assert_eq!(document.entries[0].guid.as_deref(), Some("7"));
    assert_eq!(
        document.entries[0].link.as_deref(),
        Some("https://example.org/7")
    );
    assert_eq!(document.entries[0].summary, "x");
    assert_eq!(document.entries.len(), 2);
}

#[test]
fn a_feed_without_entries_is_a_feed() {
    assert_eq!(read(&rss("")).entries, []);
    assert_eq!(read("<RSS><channel></channel></RSS>").entries, []);
}

#[test]
fn what_is_no_feed_is_named() {
    for (body, reason) in [
        ("", "the body is empty"),
        (" \n", "the body is empty"),
        (
            "<!DOCTYPE html><html><head><title>Sign in</title>",
            "this is a web page, not a feed",
        ),
        (
            "<?xml version='1.0'?><html xmlns='http://www.w3.org/1999/xhtml'/>",
            "this is a web page, not a feed",
        ),
        (
            "<opml version='2.0'><body/></opml>",
            "this is an OPML list of feeds, not a feed",
        ),
        ("<urlset><url/></urlset>", "this is a sitemap, not a feed"),
        ("{\"error\":\"gone\"}", "this is JSON, but not a JSON Feed"),
        (
            "<note>hi</note>",
            "this is XML, but not a feed: its root is <note>",
        ),
        (
            "Too many requests",
            "this is neither XML nor JSON, so not a feed",
        ),
    ] {
        let error = parse(body.as_bytes(), None, None).unwrap_err();
        assert_eq!(error.to_string(), reason, "{body}");
    }
    let error = parse(b"<rss version='2.0'><channel><item><title>On", None, None).unwrap_err();
    assert!(
        error
            .to_string()
            .starts_with("the feed is broken beyond repair: it breaks off"),
        "{error}"
    );
}

#[test]
fn deep_nesting_costs_neither_the_stack_nor_the_entries() {
    let deep = format!(
        "{}{}",
        "<i:category text='x'>".repeat(200_000),
        "</i:category>".repeat(200_000)
    );
    let body = rss(&format!("{deep}{TWO}")).replace(
        "<rss",
        "<rss xmlns:i='http://www.itunes.com/dtds/podcast-1.0.dtd'",
    );
    assert_eq!(titles(&read(&body)), ["One", "Two"]);
}

#[test]
fn both_readers_agree_on_a_sound_document() {
    let atom = "<feed xmlns='http://www.w3.org/2005/Atom'><title>A</title><entry><id>urn:1</id>\
        <title type='html'>a &amp;lt; b &lt;i&gt;c&lt;/i&gt;</title><link rel='self' href='/s'/><link href='/1?a=1&amp;b=2'/>\
        <author><name>n</name></author><source><id>urn:0</id><title>no</title></source>\
        <summary>S</summary><updated>2026-11-30T10:00:00Z</updated><category term='t' label='T'/></entry></feed>";
    let plain = rss(
        "<item><title><![CDATA[a & b]]></title><link> https://example.org/1 </link>\
        <m:title xmlns:m='http://search.yahoo.com/mrss/'>no</m:title><guid>g</guid>\
        <description><![CDATA[<p>x &amp; y</p>]]></description><pubDate>30 Nov 2026</pubDate></item>",
    );
    for body in [atom, &*plain] {
        let mut repaired = repair::read(body, None).unwrap();
        repaired.repaired = false;
        let mut strict = parse::read(body, None, &Prints::NONE).unwrap();
        strict.prints.clear();
        assert_eq!(repaired, strict);
    }
}

proptest! {
    #[test]
    fn no_mutilation_panics(cut in 0usize..400, insert in "[<>&;/!\\[\\]\"'a-zé\u{0}-]{0,12}", at in 0usize..400) {
        let mut body = rss(TWO).into_bytes();
        body.truncate(cut.max(1));
        let at = at.min(body.len());
        body.splice(at..at, insert.bytes());
        match parse(&body, None, None) {
            Ok(document) => prop_assert!(document.entries.len() <= 2 + insert.len()),
            Err(error) => prop_assert!(!error.to_string().contains('\n')),
        }
    }
}
