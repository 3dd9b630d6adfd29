//! The table of counts beside the rows that it counts: what ended is in it once, and it forgets nothing.

use rusqlite::Connection;

/// What the counts say, and what the rows do. Rows that were pruned are in the counts alone.
const PAIRS: [(&str, &str, &str); 4] = [
    (
        "marked copies",
        "SELECT coalesce(sum(n),0) FROM tally WHERE name='repeat'",
        "SELECT n-(SELECT count(*) FROM attempt WHERE is_repeat AND ended_at IS NULL)
           FROM ledger WHERE name='repeat_marked'",
    ),
    (
        "attempts",
        "SELECT coalesce(sum(n),0) FROM tally WHERE name='attempt'",
        "SELECT count(*) FROM attempt WHERE outcome IS NOT NULL",
    ),
    (
        "answers with 429",
        "SELECT coalesce(sum(n),0) FROM tally WHERE name='limited'",
        "SELECT count(*) FROM attempt WHERE status=429",
    ),
    (
        "deliveries",
        "SELECT coalesce(sum(n),0) FROM tally WHERE name='delivered'",
        "SELECT count(*) FROM outbox LEFT JOIN outbox AS digest ON digest.id=outbox.parent_id
          WHERE outbox.kind<>'digest' AND 'sent' IN(outbox.state,coalesce(digest.state,''))",
    ),
];

/// Where they contradict each other.
pub fn contradictions(db: &Connection) -> Vec<String> {
    let number = |sql: &str| -> i64 {
        let mut statement = db.prepare_cached(sql).expect("a good statement");
        statement.query_row([], |row| row.get(0)).expect("a number")
    };
    let pruned = number("SELECT n FROM ledger WHERE name='outbox_pruned'");
    let mut found = Vec::new();
    for (what, counted, there) in PAIRS {
        let (counted, there) = (number(counted), number(there));
        let may_be_more = pruned > 0 && what != "marked copies";
        if counted < there || (counted > there && !may_be_more) {
            found.push(format!("{what}: {counted} counted, {there} in the rows"));
        }
    }
    found
}
