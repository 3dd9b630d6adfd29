//! Quiet hours from evening to morning: what comes at night for a Telegram chat waits for the local morning
//! and comes folded, also in the nights in which the clocks are set; what is critical does not wait.

use super::{CHAT, House, MINUTE};
use shared::config::{Config, Program, Surroundings};
use shared::model::{Alert, Priority, Timestamp};
use shared::store::Db;
use shared::store::outbox::{self, Addressee};
use std::time::Duration;
use watchalert_tests::life::Home;
use watchalert_tests::world::{owed, to};

const HOUR: Duration = Duration::from_secs(3_600);

fn at(text: &str) -> Timestamp {
    let shown = format!("'{text}'");
    let db = rusqlite::Connection::open_in_memory().expect("SQLite");
    let seconds: f64 = db
        .query_row(&format!("SELECT unixepoch({shown})"), [], |row| row.get(0))
        .expect("a time");
    Timestamp::from_unix_seconds(seconds)
}
