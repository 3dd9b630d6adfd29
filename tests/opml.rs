//! Feeds from an OPML file, and the commands that change it.

use std::fs;
use std::process::{Command, Stdio};
use watchalert_tests::desk::Desk;
use watchalert_tests::feeds::Reply;
use watchalert_tests::programs::Program;

const OPML: &str = "[feeds]\nopml = \"feeds.opml\"\n";

fn desk(paths: &[&str]) -> Desk {
    let desk = Desk::new();
    desk.configure(paths, OPML);
    desk
}

fn list(desk: &Desk) -> String {
    fs::read_to_string(desk.path("feeds.opml")).unwrap_or_default()
}

#[test]
fn feeds_of_the_opml_file_are_read_and_a_feed_of_the_configuration_wins() {
    let desk = desk(&["/a"]);
    let opml = format!(
        "<opml><body><outline text='Security'><outline text='Mine' xmlUrl='{}'/><outline text='Other' xmlUrl='{}'/></outline>
         <outline text='Bad' xmlUrl='gopher://old.example/'/><outline text='x xmlUrl='y'/></body></opml>",
        desk.server.url("/b"),
        desk.server.url("/a"),
    );
    fs::write(desk.path("feeds.opml"), opml).expect("written");
    for path in ["/a", "/b"] {
        desk.show(path, &[("old", "Heron 1.0 is out")]);
    }
    desk.tick();
    let json: serde_json::Value =
        serde_json::from_str(&desk.said(&["feeds", "--json"])).expect("JSON");
    let names: Vec<&str> = json
        .as_array()
        .expect("a list")
        .iter()
        .filter_map(|feed| feed["name"].as_str())
        .collect();
    assert_eq!(names, ["News of /a", "Mine"]);
    assert_eq!(json[1]["tags"][0], "Security");
    assert_eq!(json[1]["health"], "ok");
    let checked = desk.said(&["check"]);
    assert!(
        checked.contains("\"Bad\" is left out") && checked.contains("line 2: an outline"),
        "{checked}"
    );
}

#[test]
fn a_feed_is_tried_shown_and_added_and_removed_again() {
    let desk = desk(&[]);
    desk.show("/a", &[("1", "Heron 1.1"), ("2", "Heron 1.0")]);
    let url = desk.server.url("/a");
    let said = desk.said(&["feeds", "add", &url, "--tag", "releases"]);
    assert!(
        said.starts_with("News of /a: 2 entries\n") && said.contains("Heron 1.1"),
        "{said}"
    );
    assert!(
        list(&desk).contains(&format!("xmlUrl=\"{url}\"")),
        "{}",
        list(&desk)
    );
    desk.tick();
    assert_eq!(desk.server.requests_for("/a").len(), 2, "it is watched");
    let refused = desk.refused(&["feeds", "add", &url]);
    assert!(refused.contains("is configured already"), "{refused}");
    let exported = desk.said(&["feeds", "export"]);
    assert!(
        exported.contains("<outline text=\"releases\">"),
        "{exported}"
    );
    desk.said(&["feeds", "remove", "News of /a"]);
    assert!(!list(&desk).contains("xmlUrl"), "{}", list(&desk));
    assert!(desk.said(&["feeds"]).starts_with("no feed is configured"));
}

#[test]
fn of_a_page_its_one_feed_is_added_and_of_several_one_must_be_chosen() {
    let desk = desk(&[]);
    let link = |path: &str| {
        format!(
            "<link rel=\"alternate\" type=\"application/rss+xml\" title=\"T {path}\" href=\"{path}\">"
        )
    };
    let page =
        |links: &str| Reply::body(format!("<!doctype html><html><head>{links}</head></html>"));
    desk.show("/a", &[("1", "Heron 1.1")]);
    desk.server
        .set("/several", page(&format!("{}{}", link("/a"), link("/b"))));
    desk.server.set("/one", page(&link("/a")));
    desk.server.set("/none", page(""));
    let refused = desk.refused(&["feeds", "add", &desk.server.url("/several")]);
    assert!(
        refused.contains("names several feeds") && refused.contains("T /b"),
        "{refused}"
    );
    let refused = desk.refused(&["feeds", "add", &desk.server.url("/none")]);
    assert!(
        refused.contains("cannot be added: this is a web page"),
        "{refused}"
    );
    let refused = desk.refused(&["feeds", "add", &desk.server.url("/nowhere")]);
    assert!(refused.contains("404"), "{refused}");
    assert_eq!(list(&desk), "", "nothing was written so far");
    desk.said(&["feeds", "add", &desk.server.url("/one")]);
    assert!(list(&desk).contains(&desk.server.url("/a")));
}

#[test]
fn without_an_opml_file_the_block_to_paste_is_printed_and_works() {
    let desk = Desk::new();
    desk.show("/a", &[("1", "Heron 1.1")]);
    let url = desk.server.url("/a");
    let said = desk.said(&["feeds", "add", &url, "--tag", "releases"]);
    let (_, block) = said.split_once("[[feed]]").expect("a block");
    let config = desk.path("config.toml");
    let text = fs::read_to_string(&config).expect("read");
    fs::write(&config, format!("{text}\n[[feed]]{block}")).expect("written");
    assert!(desk.said(&["check"]).contains("1 feed"));
    let refused = desk.refused(&["feeds", "remove", &url]);
    assert!(
        refused.contains("is a [[feed]] of the configuration"),
        "{refused}"
    );
}

#[test]
fn an_import_adds_what_is_new_and_keeps_what_is_there() {
    let desk = desk(&["/a"]);
    let mine = "<opml version=\"2.0\"><!-- mine -->\n<body>\n</body></opml>\n";
    fs::write(desk.path("feeds.opml"), mine).expect("written");
    let theirs = format!(
        "<opml><body><outline text='F'><outline text='B' xmlUrl='{}'/></outline><outline text='A' xmlUrl='{}'/></body></opml>",
        desk.server.url("/b"),
        desk.server.url("/a"),
    );
    let file = desk.path("theirs.opml");
    fs::write(&file, theirs).expect("written");
    let file = file.to_str().expect("UTF-8").to_owned();
    assert!(
        desk.said(&["feeds", "import", &file])
            .starts_with("1 added to ")
    );
    assert!(list(&desk).contains("<!-- mine -->") && list(&desk).contains("text=\"F\""));
    assert!(
        desk.said(&["feeds", "import", &file])
            .starts_with("0 added to ")
    );
    assert!(desk.said(&["check"]).contains("2 feeds"));
    fs::write(desk.path("feeds.opml"), "not a list").expect("written");
    let refused = desk.refused(&["feeds", "import", &file]);
    assert!(refused.contains("it has no <body>"), "{refused}");
    assert_eq!(list(&desk), "not a list", "and it is left as it is");
}

#[test]
fn a_feed_that_no_page_names_is_found_where_feeds_often_lie() {
    let desk = desk(&[]);
    let page = Reply::body("<!doctype html><html><head><title>News</title></head></html>");
    desk.server.set("/news", page);
    desk.show("/feed.xml", &[("1", "Heron 1.1")]);
    desk.said(&["feeds", "add", &desk.server.url("/news")]);
    assert!(list(&desk).contains(&desk.server.url("/feed.xml")));
    let asked: Vec<String> = desk
        .server
        .requests()
        .into_iter()
        .map(|one| one.path)
        .collect();
    assert_eq!(asked[..2], ["/news", "/news/feed"], "below the page first");
}

#[test]
fn what_a_choice_shows_can_be_typed_as_it_stands() {
    let desk = desk(&[]);
    let links = ["/?feed=rss2", "/?feed=comments"]
        .map(|href| format!("<link rel=alternate type=application/rss+xml href='{href}'>"));
    let page = format!(
        "<!doctype html><html><head>{}</head></html>",
        links.concat()
    );
    desk.server.set("/", Reply::body(page));
    desk.show("/?feed=rss2", &[("1", "Heron 1.1")]);
    let refused = desk.refused(&["feeds", "add", &desk.server.url("/")]);
    let shown = refused.lines().nth(1).expect("the first of two").trim();
    desk.said(&["feeds", "add", shown]);
    assert!(list(&desk).contains("/?feed=rss2"));
}

#[test]
fn an_address_with_a_password_is_refused_without_showing_it() {
    let desk = desk(&[]);
    for address in [
        "https://me:hunter2@example.org/feed",
        "https://me:hunter2@example.org:port/feed",
    ] {
        let refused = desk.refused(&["feeds", "add", address]);
        assert!(!refused.contains("hunter2"), "{refused}");
    }
}

#[test]
fn of_several_that_add_at_the_same_time_none_is_lost() {
    let desk = desk(&[]);
    let paths: Vec<String> = (0..8).map(|n| format!("/{n}")).collect();
    for path in &paths {
        desk.show(path, &[("1", "Heron 1.1")]);
    }
    let config = desk.path("config.toml");
    let start = |path: &String| {
        Command::new(Program::Ingest.path())
            .args(["--config".as_ref(), config.as_os_str()])
            .args(["feeds", "add", &desk.server.url(path)])
            .stdout(Stdio::null())
            .spawn()
            .expect("started")
    };
    let running: Vec<_> = paths.iter().map(start).collect();
    for mut child in running {
        assert!(child.wait().expect("ended").success());
    }
    for path in &paths {
        let url = format!("\"{}\"", desk.server.url(path));
        assert!(list(&desk).contains(&url), "{path}");
    }
}
