//! Adopts a file made by the article's code: its outbox becomes ours, row by row, and everything
//! else in it stays as it is.

use super::error::StoreError;
use rusqlite::Connection;

/// Where its outbox stands while ours is filled from it.
const ASIDE: &str = "article_outbox";

/// Its `outbox` has the article's columns and none of our states.
pub(super) fn is_the_articles(db: &Connection) -> Result<bool, StoreError> {
    const COLUMNS: &str = "\
SELECT count(*)=5 FROM pragma_table_info('outbox')
 WHERE lower(name) IN('id','chat_id','payload','next_attempt','created_at')
   AND EXISTS(SELECT 1 FROM sqlite_schema WHERE type='table' AND lower(name)='outbox')";
    Ok(db.query_row(COLUMNS, [], |row| row.get(0))?)
}

/// A thing of the file's own that has a name which our schema needs.
pub(super) fn in_the_way(
    db: &Connection,
    steps: &[&'static str],
) -> Result<Option<String>, StoreError> {
    const THINGS: &str = "\
SELECT name FROM sqlite_schema
 WHERE type<>'view' AND lower(tbl_name)<>'outbox' ORDER BY name";
    let needed = |name: &String| {
        let mut ours = created(steps).chain([ASIDE]);
        ours.any(|ours| ours.eq_ignore_ascii_case(name))
    };
    Ok(names(db, THINGS)?.into_iter().find(needed))
}

/// Renames the outbox and drops what would keep our own from being made: the indexes and triggers
/// that stand on it, and views with our names.
pub(super) fn set_aside(db: &Connection, steps: &[&'static str]) -> Result<(), StoreError> {
    const ON_IT: &str = "\
SELECT type||' '||quote(name) FROM sqlite_schema
 WHERE type IN('index','trigger') AND lower(tbl_name)='outbox' AND sql IS NOT NULL";
    const NAMED: &str = "\
SELECT type||' '||quote(name) FROM sqlite_schema WHERE type='view' AND name=:name COLLATE NOCASE";
    for thing in names(db, ON_IT)? {
        db.execute_batch(&format!("DROP {thing}"))?;
    }
    for ours in created(steps) {
        let mut statement = db.prepare(NAMED)?;
        let found: Vec<String> = statement
            .query_map(&[(":name", ours)], |row| row.get(0))?
            .collect::<rusqlite::Result<_>>()?;
        for thing in found {
            db.execute_batch(&format!("DROP {thing}"))?;
        }
    }
    // Without it (and with foreign keys on), views and references of other tables would follow the
    // old table into its grave.
    db.execute_batch(
        "PRAGMA legacy_alter_table=ON; ALTER TABLE outbox RENAME TO article_outbox; PRAGMA legacy_alter_table=OFF",
    )?;
    Ok(())
}

/// Its rows become ready, under their own ids where those are ids at all, and their age counts
/// from now. A payload that is no JSON object is kept as the text of one, a chat that no
/// destination can have as 'x' and its bytes: it was accepted once, so it is owed. Its `attempts`
/// are not ours to continue.
pub(super) fn take_in(db: &Connection) -> Result<(), StoreError> {
    const TAKE_IN: &str = "\
INSERT INTO outbox(id,chat_id,payload,next_attempt,created_at,revived_at)
SELECT CASE WHEN place THEN id END,
       CASE WHEN chat GLOB '*[^ -~]*' OR length(chat)<>length(CAST(chat AS BLOB)) THEN 'x'||hex(chat) ELSE chat END,
       CASE WHEN json_valid(text) AND json_type(text)='object' THEN text ELSE json_object('text',text) END,
       next_attempt, created_at, unixepoch()
  FROM (SELECT id, typeof(id)='integer' AND id BETWEEN 1 AND 1000000000000000 AS place,
               coalesce(CAST(chat_id AS TEXT),'') AS chat, coalesce(CAST(payload AS TEXT),'') AS text,
               CAST(coalesce(next_attempt,0) AS REAL) AS next_attempt, CAST(coalesce(created_at,0) AS REAL) AS created_at
          FROM article_outbox)
 ORDER BY place DESC, id";
    db.execute(TAKE_IN, [])?;
    let lost: i64 = db.query_row(
        "SELECT (SELECT count(*) FROM article_outbox)-(SELECT count(*) FROM outbox)",
        [],
        |row| row.get(0),
    )?;
    if lost != 0 {
        return Err(StoreError::Bug(format!(
            "adopting the old outbox would lose {lost} rows"
        )));
    }
    db.execute_batch("DROP TABLE article_outbox")?;
    Ok(())
}

/// What the scripts create, by name.
fn created<'s>(steps: &'s [&'static str]) -> impl Iterator<Item = &'static str> + 's {
    steps
        .iter()
        .flat_map(|script| script.lines())
        .filter_map(|line| {
            let mut words = line.strip_prefix("CREATE ")?.split([' ', '(']);
            words.next()?;
            words.next()
        })
}

fn names(db: &Connection, statement: &str) -> Result<Vec<String>, StoreError> {
    let mut statement = db.prepare(statement)?;
    let names = statement.query_map([], |row| row.get(0))?;
    Ok(names.collect::<rusqlite::Result<_>>()?)
}
