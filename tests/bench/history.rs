//! Claims in a file with a million delivered rows and a hundred thousand that wait, beside the
//! same claims in a file that holds next to nothing.

use super::Scale;
use super::figures::{Bar, Sample, Table, short};
use super::protocol::{chat, enqueue, store, take_over};
use rusqlite::{Connection, params};
use shared::platform::clock::Clock;
use shared::store::Store;
use shared::store::outbox::{self, Claim, Epoch, waiting};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;
use watchalert_tests::world::{Unlimited, ask, receipt, stranger};

const CHATS: u32 = 64;
/// Of the oldest row.
const AGE_SECONDS: f64 = 1_200_000.0;

pub async fn claims(table: &mut Table, dir: &Path, scale: Scale) {
    let large = dir.join("history.db");
    drop(store(dir, "history.db"));
    let began = Instant::now();
    fill(&large, scale);
    let filled = began.elapsed();
    let size = large.metadata().map_or(0, |file| file.len()) / (1 << 20);
    println!(
        "(a file of {size} MiB, {} rows of history, {} waiting, made in {:.0} s)",
        scale.history,
        scale.waiting,
        filled.as_secs_f64()
    );

    let files = [store(dir, "history.db"), store(dir, "empty.db")];
    let mut epochs = Vec::new();
    for file in &files {
        epochs.push(take_over(file).await);
    }
    let (mut inside, mut whole) = ([vec![], vec![]], [vec![], vec![]]);
    for turn in 0..scale.claims {
        // Alternately, so that what the disk does meanwhile meets both.
        for (place, file) in files.iter().enumerate() {
            let (claim, job) = claim(file, epochs[place], turn).await;
            inside[place].push(claim);
            whole[place].push(job);
        }
    }
    let [large, empty] = inside.map(|times| Sample::new(times).median());
    compare(
        table,
        "claim itself, median: history against empty",
        large,
        empty,
    );
    let [large, empty] = whole.map(|times| Sample::new(times).median());
    compare(
        table,
        "claim with its commit, median: history against empty",
        large,
        empty,
    );
    look_at_everything(table, &files[0]).await;
}

fn compare(table: &mut Table, what: &str, large: Duration, empty: Duration) {
    let ratio = large.as_secs_f64() / empty.as_secs_f64();
    let figure = format!("{} / {} = {ratio:.2}", short(large), short(empty));
    let bar = Bar {
        text: "1.5",
        reached: ratio <= 1.5,
    };
    table.line(what, &figure, "", Some(bar));
}

/// How long the claim took on the writer thread, and with everything around it.
async fn claim(store: &Arc<Store>, epoch: Epoch, turn: usize) -> (Duration, Duration) {
    let number = turn % usize::try_from(CHATS).unwrap_or(1);
    enqueue(store, number, turn).await;
    let (destination, now) = (chat(number), Clock::system().now());
    let began = Instant::now();
    let claimed = store.write(move |db| {
        let began = Instant::now();
        let claim = outbox::claim(db, epoch, &destination, &Unlimited, now)?;
        Ok((claim, began.elapsed()))
    });
    let (claim, inside) = claimed.await.expect("a claim");
    let whole = began.elapsed();
    let Claim::Leased(lease) = claim else {
        panic!("something waits for chat {number}: {claim:?}");
    };
    let settlement = receipt("a-receipt");
    let settled = store.write(move |db| outbox::settle(db, &lease, &settlement, None, now));
    settled.await.expect("settled");
    (inside, whole)
}

/// What the sender reads when it starts and each minute.
async fn look_at_everything(table: &mut Table, store: &Store) {
    let looked = store.read(|db| {
        let mut took = Vec::new();
        for _ in 0..9 {
            let began = Instant::now();
            let found = waiting::all(db, Clock::system().now())?;
            took.push(began.elapsed());
            assert_eq!(found.len(), usize::try_from(CHATS).unwrap_or(0));
        }
        Ok(Sample::new(took).median())
    });
    let took = looked.await.expect("looked");
    table.line(
        "a look at all that waits, each minute",
        &short(took),
        "",
        None,
    );
}

/// Writes what years of use would leave. The triggers that guard every move of a row, and would
/// be passed a million times, are taken away and put back; the ledger is set to what they count.
fn fill(path: &Path, scale: Scale) {
    const TRIGGERS: &str =
        "SELECT name,sql FROM sqlite_master WHERE type='trigger' AND tbl_name='outbox'";
    let db = stranger(path);
    db.execute_batch(
        "PRAGMA journal_mode=DELETE; PRAGMA synchronous=OFF; PRAGMA cache_size=-131072; BEGIN",
    )
    .expect("faster");
    let triggers: Vec<(String, String)> = {
        let mut statement = db.prepare(TRIGGERS).expect("the schema");
        let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)));
        rows.expect("triggers")
            .map(|row| row.expect("a trigger"))
            .collect()
    };
    for (name, _) in &triggers {
        db.execute_batch(&format!("DROP TRIGGER {name}"))
            .expect("dropped");
    }
    rows(&db, 0, scale.history, "sent");
    rows(&db, scale.history, scale.waiting, "ready");
    db.execute_batch(
        "INSERT INTO attempt(outbox_id,n,epoch,started_at,ended_at,outcome)
           SELECT id,1,0,created_at,updated_at,'ok' FROM outbox WHERE state='sent';
         UPDATE ledger SET n=(SELECT count(*) FROM outbox) WHERE name='outbox_in';",
    )
    .expect("attempts and ledger");
    for (_, sql) in &triggers {
        db.execute_batch(sql).expect("put back");
    }
    db.execute_batch("COMMIT; PRAGMA journal_mode=WAL")
        .expect("kept");
    assert_eq!(ask(&db, "PRAGMA journal_mode"), "wal");
    drop(db);
    let file = std::fs::File::open(path).expect("the file");
    file.sync_all().expect("on the disk");
}

fn rows(db: &Connection, first: u32, count: u32, state: &str) {
    const ROWS: &str = "\
WITH RECURSIVE n(i) AS (SELECT ?1 UNION ALL SELECT i+1 FROM n WHERE i+1<?1+?2)
INSERT INTO outbox(idempotency_key,kind,channel,chat_id,payload,priority,state,attempts,next_attempt,message_id,created_at,updated_at)
SELECT 'h:'||i,'raw','screen','chat-'||(i%?3),json_object('text',printf('row %d of the history: %s',i,?4)),i%4,?5,
       ?5='sent',?6+i,iif(?5='sent','m'||i,NULL),?6+i,iif(?5='sent',?6+i,NULL) FROM n";
    // A row a second until now: none is old enough to be pruned.
    let since = Clock::system().now().unix_seconds() - AGE_SECONDS;
    let text = "A crafted address runs commands as root. ".repeat(5);
    db.execute(ROWS, params![first, count, CHATS, text, state, since])
        .expect("rows");
}
