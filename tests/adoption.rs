//! Whose file is it? The article's is adopted, whatever else stands in it; anybody else's is refused
//! in one sentence and left as it is.

use rusqlite::Connection;
use shared::model::Destination;
use shared::store::outbox::{self, Claim, waiting};
use shared::store::{Remedy, Store, StoreError, Viewer};
use std::fs;
use std::path::{Path, PathBuf};
use tempfile::TempDir;
use watchalert_tests::world::{START, Unlimited, ask, runtime, stranger, to};

/// The article's table, with one row.
const ARTICLE: &str = "\
CREATE TABLE outbox(id INTEGER PRIMARY KEY, chat_id TEXT, payload TEXT, attempts INTEGER, next_attempt REAL, created_at REAL);
INSERT INTO outbox VALUES(1,'-100','{\"text\":\"a\"}',3,0,1.0);";

fn made_by(script: &str) -> (TempDir, PathBuf) {
    let dir = tempfile::tempdir().expect("a folder");
    let path = dir.path().join("state.db");
    fs::write(&path, []).expect("an empty file");
    stranger(&path).execute_batch(script).expect(script);
    (dir, path)
}

fn adopted(script: &str) -> (TempDir, Store, Connection) {
    let (dir, path) = made_by(script);
    let store = Store::open(&path).expect(script);
    let db = stranger(&path);
    (dir, store, db)
}

#[test]
fn the_age_of_an_adopted_row_counts_from_its_adoption() {
    let (_dir, store, db) = adopted(ARTICLE);
    assert_eq!(
        ask(&db, "SELECT abs(revived_at-unixepoch())<60 FROM outbox"),
        "1"
    );
    let claim = |db: &shared::store::Db, to: &Destination| {
        let epoch = outbox::take_over(db, "test", START)?.epoch;
        waiting::address(
            db,
            &Destination {
                channel: String::new(),
                ..to.clone()
            },
            to,
            START,
        )?;
        outbox::claim(db, epoch, to, &Unlimited, START)
    };
    let place = to("screen", "-100");
    let claim = runtime().block_on(store.write(move |db| claim(db, &place)));
    let Ok(Claim::Leased(lease)) = claim else {
        panic!("{claim:?}");
    };
    let revived: f64 = ask(&db, "SELECT revived_at FROM outbox")
        .parse()
        .expect("a time");
    assert!((lease.held().owed_since.unix_seconds() - revived).abs() < 0.01);
}

#[test]
fn indexes_triggers_and_views_of_the_article_are_in_nobodys_way() {
    for thing in [
        "CREATE INDEX outbox_due ON outbox(next_attempt)",
        "CREATE UNIQUE INDEX \"outbox ready\" ON outbox(created_at,id)",
        "CREATE TRIGGER rows_start_ready AFTER INSERT ON outbox BEGIN SELECT RAISE(ABORT,'no'); END",
        "CREATE TRIGGER again AFTER DELETE ON outbox BEGIN INSERT INTO outbox SELECT * FROM outbox; END",
        "CREATE VIEW queue AS SELECT * FROM outbox",
        "CREATE VIEW Recent AS SELECT * FROM nowhere",
    ] {
        let (_dir, _store, db) = adopted(&format!("{ARTICLE} {thing};"));
        assert_eq!(
            ask(&db, "SELECT id||state FROM outbox"),
            "1ready",
            "{thing}"
        );
        assert_eq!(ask(&db, "SELECT text FROM queue"), "a", "{thing}");
    }
}

#[test]
fn what_else_stands_in_the_articles_file_goes_on_working() {
    let (_dir, _store, db) = adopted(&format!(
        "{ARTICLE}
         CREATE TABLE seen(url TEXT, row INTEGER REFERENCES outbox(id)); INSERT INTO seen VALUES('u',1);
         CREATE VIEW pending AS SELECT count(*) AS n FROM outbox;
         CREATE TRIGGER tell AFTER INSERT ON seen BEGIN
           INSERT INTO outbox(chat_id,payload,next_attempt,created_at) VALUES('7','{{}}',0,0); END;"
    ));
    db.execute("INSERT INTO seen VALUES('v',NULL)", [])
        .expect("inserted");
    assert_eq!(ask(&db, "SELECT n FROM pending"), "2");
    assert_eq!(
        ask(&db, "SELECT count(*) FROM pragma_foreign_key_check"),
        "0"
    );
    assert_eq!(
        ask(&db, "SELECT \"table\" FROM pragma_foreign_key_list('seen')"),
        "outbox"
    );
}

#[test]
fn rows_of_the_article_without_a_possible_id_get_one() {
    let more = "INSERT INTO outbox(id,chat_id,payload) VALUES(-5,'7','{}'),(0,'7','{}'),(9223372036854775807,'7','{}')";
    let (_dir, _store, db) = adopted(&format!("{ARTICLE} {more};"));
    assert_eq!(ask(&db, "SELECT group_concat(id) FROM outbox"), "1,2,3,4");
}

/// Files that are not ours, and what is said of each.
const OTHERS: [(&str, &str); 8] = [
    ("CREATE TABLE bookmarks(url)", "no outbox to adopt"),
    (
        "CREATE TABLE outbox(id INTEGER, mail TEXT)",
        "no outbox to adopt",
    ),
    (
        "CREATE VIEW outbox AS SELECT 1 AS id,2 AS chat_id,3 AS payload,4 AS next_attempt,5 AS created_at",
        "no outbox to adopt",
    ),
    (
        "CREATE TABLE bookmarks(url); PRAGMA user_version=1",
        "not our mark",
    ),
    (
        "CREATE TABLE bookmarks(url); PRAGMA user_version=2",
        "not our mark",
    ),
    (
        "CREATE TABLE bookmarks(url); PRAGMA user_version=9",
        "not our mark",
    ),
    (
        "CREATE TABLE bookmarks(url); PRAGMA application_id=77",
        "no outbox to adopt",
    ),
    (
        "CREATE TABLE outbox(id INTEGER PRIMARY KEY, chat_id, payload, next_attempt, created_at); CREATE TABLE Feed(url)",
        "a `Feed` of its own",
    ),
];

/// The error of somebody who opens the file, and whether it is as it was.
fn refused(path: &Path, said: &str, opened: Result<(), StoreError>) {
    let error = opened.expect_err(said);
    assert!(matches!(error, StoreError::NotOurs { .. }), "{error}");
    assert_eq!(error.remedy(), Remedy::Stop);
    let sentence = error.to_string();
    assert!(
        sentence.contains(path.to_str().expect("a path")),
        "{sentence}"
    );
    assert_eq!(sentence.lines().count(), 1, "{sentence}");
}

#[test]
fn somebody_elses_database_is_refused_and_left_as_it_is() {
    for (script, said) in OTHERS {
        let (_dir, path) = made_by(script);
        let before = fs::read(&path).expect("read");
        let opened = Store::open(&path).map(drop);
        let sentence = format!("{opened:?}");
        assert!(sentence.contains(said), "{script}: {sentence}");
        refused(&path, said, opened);
        refused(&path, said, Store::open_existing(&path).map(drop));
        refused(&path, said, Viewer::open(&path).map(drop));
        assert!(
            fs::read(&path).expect("read") == before,
            "{script}: it was touched"
        );
    }
}

#[test]
fn who_only_looks_at_a_file_that_could_become_ours_is_told_how() {
    for script in ["", ARTICLE] {
        let (_dir, path) = made_by(script);
        let refused = Viewer::open(&path).expect_err("not yet ours").to_string();
        assert!(refused.contains("watchalert-sender migrate"), "{refused}");
    }
}

#[test]
fn an_empty_file_becomes_ours_and_bears_our_mark() {
    let (_dir, _store, db) = adopted("");
    assert_eq!(ask(&db, "PRAGMA application_id"), 0x7761_7463.to_string());
}
