//! Old files become new ones: nothing in them is lost, and the result is what a fresh file is.

use rusqlite::Connection;
use shared::store::outbox::waiting;
use shared::store::{SCHEMA, Store, StoreError, backup, invariants};
use std::path::{Path, PathBuf};
use std::thread;
use tempfile::TempDir;
use watchalert_tests::world::{START, World, ask, runtime, stranger, to};

fn made_by(script: &str) -> (TempDir, PathBuf) {
    let dir = tempfile::tempdir().expect("a folder");
    let path = dir.path().join("state.db");
    let old = Connection::open_in_memory().expect("opens");
    let script = std::fs::read_to_string(format!(
        "{}/fixtures/schema/{script}",
        env!("CARGO_MANIFEST_DIR")
    ))
    .expect("the fixture");
    old.execute_batch(&script).expect("the old schema");
    old.execute("VACUUM INTO ?1", [path.to_str().expect("a path")])
        .expect("written");
    (dir, path)
}

/// Every table, index, trigger and view, with its text.
fn schema(path: &Path) -> Vec<String> {
    stranger(path)
        .prepare("SELECT type||' '||name||' '||coalesce(sql,'') FROM sqlite_schema WHERE name NOT LIKE 'sqlite_%' ORDER BY 1")
        .and_then(|mut statement| statement.query_map([], |row| row.get(0))?.collect())
        .expect("the schema")
}

fn holds(store: &Store) {
    let violations = runtime()
        .block_on(store.read(|db| invariants::check(db, START)))
        .expect("checked");
    assert_eq!(violations, Vec::new());
}

#[test]
fn a_file_of_the_articles_code_is_adopted_with_every_row() {
    let (_dir, path) = made_by("article.sql");
    let store = Store::open(&path).expect("adopted");
    let db = stranger(&path);
    assert_eq!(
        ask(&db, "SELECT group_concat(id||state,' ') FROM outbox"),
        "1ready 3ready 4ready 5ready 6ready 7ready"
    );
    assert_eq!(
        ask(&db, "SELECT chat_id FROM outbox WHERE id=5"),
        "-1001234567890"
    );
    assert_eq!(
        ask(
            &db,
            "SELECT json_extract(payload,'$.text') FROM outbox WHERE id=3"
        ),
        "not JSON at all"
    );
    assert_eq!(
        ask(
            &db,
            "SELECT json_extract(payload,'$.text') FROM outbox WHERE id=4"
        ),
        "blob"
    );
    assert_eq!(
        ask(
            &db,
            "SELECT group_concat(chat_id,' ') FROM outbox WHERE id>5"
        ),
        "x4AFC7267656E x370038",
        "a chat that no destination can have keeps its bytes"
    );
    assert_eq!(
        ask(&db, "SELECT created_at FROM outbox WHERE id=1"),
        "1796020000.25"
    );
    assert_eq!(
        ask(&db, "SELECT url FROM seen"),
        "https://example.org/1",
        "tables that are not ours stay"
    );
    assert_eq!(ask(&db, "PRAGMA auto_vacuum"), "2");
    assert_eq!(ask(&db, "PRAGMA journal_mode"), "wal");
    holds(&store);
    let waiting = runtime()
        .block_on(store.read(|db| waiting::all(db, START)))
        .expect("read");
    assert_eq!(waiting.len(), 5, "{waiting:?}");
    assert!(
        waiting
            .iter()
            .any(|waiting| waiting.destination == to("", "42"))
    );
}

#[test]
fn an_old_schema_becomes_exactly_a_new_one() {
    let (_dir, path) = made_by("v1.sql");
    let store = Store::open(&path).expect("upgraded");
    let fresh = World::new();
    assert_eq!(schema(&path), schema(&fresh.database()));
    let db = stranger(&path);
    assert_eq!(ask(&db, "PRAGMA user_version"), SCHEMA.to_string());
    assert_eq!(
        ask(&db, "SELECT group_concat(id||state,' ') FROM outbox"),
        "1ready 2leased"
    );
    assert_eq!(ask(&db, "SELECT epoch FROM sender_lease"), "7");
    holds(&store);
}

/// A snapshot has none, nor has a file whose disk failed while it was being made.
#[test]
fn a_file_without_a_write_ahead_log_gets_one_when_it_is_opened() {
    let world = World::new();
    world.enqueue("one", &to("screen", "-"), shared::model::Priority::High);
    let path = world.dir.path().join("restored.db");
    backup::write(&world.database(), &path, START).expect("a snapshot");
    let mode = || ask(&stranger(&path), "PRAGMA journal_mode");
    assert_eq!(mode(), "delete");
    let store = Store::open(&path).expect("restored");
    assert_eq!(mode(), "wal");
    holds(&store);
}

#[test]
fn a_newer_schema_is_refused_in_one_sentence() {
    let world = World::new();
    let path = world.database();
    world
        .stranger()
        .pragma_update(None, "user_version", SCHEMA + 1)
        .expect("set");
    let refused = Store::open(&path).expect_err("refused").to_string();
    assert!(
        refused.contains("newer than the") && refused.lines().count() == 1,
        "{refused}"
    );
    let refused = world.write(|_| Ok(()));
    assert!(
        matches!(refused, Err(StoreError::Newer { .. })),
        "a running program notices too: {refused:?}"
    );
}

#[test]
fn a_file_that_is_not_there_is_not_made_by_those_who_only_look() {
    let dir = tempfile::tempdir().expect("a folder");
    let path = dir.path().join("state.db");
    assert!(matches!(
        Store::open_existing(&path),
        Err(StoreError::Missing(_))
    ));
    assert!(!path.exists());
}

#[test]
fn many_processes_may_create_the_same_file_at_once() {
    for _round in 0..10 {
        let dir = tempfile::tempdir().expect("a folder");
        let path = dir.path().join("state.db");
        thread::scope(|scope| {
            let racers: Vec<_> = (0..4)
                .map(|_| scope.spawn(|| Store::open(&path).map(drop)))
                .collect();
            for racer in racers {
                assert_eq!(racer.join().expect("no panic"), Ok(()));
            }
        });
    }
}
