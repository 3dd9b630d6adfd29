//! A write that fails at any point of a move, as on a full disk, leaves the file as it was; and the same
//! move passes as soon as there is room.

use rusqlite::types::Value;
use shared::model::{
    Blame, Category, DedupKey, Destination, Entry, Priority, Rating, Settlement, Severity,
    Timestamp,
};
use shared::store::alarms;
use shared::store::outbox::add::{self, Message};
use shared::store::outbox::{self, Claim, Epoch, Fallback, Notice, failover, operator};
use shared::store::posts::{self, Arrival, Post, Repeats};
use shared::store::{Db, StoreError, silences, timeline};
use std::sync::Arc;
use std::time::Duration;
use watchalert_tests::world::{Folds, World, alert, fault, owed, to};

const MINUTE: Duration = Duration::from_secs(60);

fn screen() -> Destination {
    to("screen", "-")
}

fn phone() -> Destination {
    to("phone", "-")
}

/// A world in which a chosen write fails, and with it everything of its transaction.
struct Broken {
    world: World,
    epoch: Epoch,
}

const TABLES: [&str; 13] = [
    "outbox",
    "attempt",
    "gate",
    "alert",
    "silence",
    "alarm",
    "item",
    "feed",
    "arrival",
    "ledger",
    "tally",
    "sender_lease",
    "also",
];

impl Broken {
    /// Six alerts that wait for the screen, and after a minute go to the phone; a message besides.
    fn new() -> Self {
        let world = World::in_memory();
        for number in 0..6 {
            let mut owed = owed(&format!("story {number}"), &screen(), Priority::Normal);
            owed.to[0].fallback = Some(Fallback {
                to: phone(),
                after: MINUTE,
            });
            let now = world.clock.now();
            world
                .write(move |db| outbox::enqueue(db, &owed, now))
                .expect("enqueued");
        }
        let epoch = world.take_over();
        let triggers = TABLES.map(|table| {
            ["INSERT", "UPDATE", "DELETE"].map(|what| {
                format!(
                    "CREATE TEMP TRIGGER fail_{table}_{what} BEFORE {what} ON main.{table} BEGIN
                       UPDATE room SET n=n-1; SELECT RAISE(ROLLBACK,'no room') WHERE (SELECT n FROM room)<0; END;"
                )
            })
        });
        let triggers = triggers.concat().concat();
        let break_it = format!(
            "CREATE TEMP TABLE room(n INTEGER); INSERT INTO room VALUES(1000000); {triggers}"
        );
        world
            .write(move |db: &Db| Ok(db.execute_batch(&break_it)?))
            .expect("broken");
        Self { world, epoch }
    }

    /// So many writes pass, and the next one does not.
    fn room_for(&self, writes: u32) {
        self.world
            .write(move |db: &Db| Ok(db.execute("UPDATE room SET n=?1", [writes]).map(drop)?))
            .expect("said");
    }

    /// Everything that is in the file.
    fn everything(&self) -> String {
        let db = self.world.stranger();
        let mut all = String::new();
        for table in TABLES {
            let mut statement = db.prepare(&format!("SELECT * FROM {table}")).expect(table);
            let columns = statement.column_count();
            let rows = statement.query_map([], |row| {
                let values = (0..columns).map(|column| row.get::<_, Value>(column));
                values.collect::<Result<Vec<_>, _>>()
            });
            for row in rows.expect(table) {
                all += &format!("{table} {:?}\n", row.expect("values"));
            }
        }
        all
    }

    /// Tries `step` with room for no write, for one, for two … until it passes. How many it takes.
    fn at_every_write(&self, name: &str, step: impl Fn(&Self) -> Result<(), StoreError>) -> u32 {
        let before = self.everything();
        for writes in 0..1_000 {
            self.room_for(writes);
            let done = step(self);
            self.room_for(1_000_000);
            if done.is_ok() {
                self.world.all_invariants_hold();
                assert_ne!(self.everything(), before, "{name} does nothing");
                return writes;
            }
            assert_eq!(self.everything(), before, "{name}, after {writes} writes");
            self.world.all_invariants_hold();
        }
        panic!("{name} never passes");
    }

    fn write<T: Send + 'static>(
        &self,
        work: impl FnMut(&Db) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        self.world.write(work)
    }

    fn now(&self) -> Timestamp {
        self.world.clock.now()
    }

    fn claim(&self) -> Result<Claim, StoreError> {
        let (epoch, now) = (self.epoch, self.now());
        self.write(move |db| outbox::claim(db, epoch, &screen(), &Folds(3), now))
    }
}

#[test]
fn folding_and_what_comes_of_a_digest() {
    let broken = Broken::new();
    let claimed = std::cell::RefCell::new(None);
    let took = broken.at_every_write("a claim that folds", |broken| {
        let Claim::Leased(lease) = broken.claim()? else {
            panic!("a digest");
        };
        *claimed.borrow_mut() = Some(lease);
        Ok(())
    });
    assert!(
        took > 8,
        "{took} writes: six members, two digests, gates, a lease"
    );
    let lease = Arc::from(claimed.into_inner().expect("a lease"));
    let now = broken.now();
    broken.at_every_write("a digest that is refused", |broken| {
        let lease = Arc::clone(&lease);
        let buried = Settlement::Bury("no".to_owned(), fault(Blame::Message, false));
        let settle = move |db: &Db| outbox::settle(db, &lease, &buried, Some(&phone()), now);
        broken.write(settle).map(drop)
    });
    let single = "SELECT count(*) FROM outbox WHERE single=1 AND state='ready' AND kind='alert'";
    assert_eq!(
        broken.world.ask(single),
        "3",
        "its three go out by themselves"
    );
}

#[test]
fn a_death_its_notice_and_a_handover() {
    let broken = Broken::new();
    let (epoch, now) = (broken.epoch, broken.now());
    let lease = Arc::from(broken.world.lease(epoch, &screen()));
    broken.at_every_write("a row that goes to its fallback", |broken| {
        let lease = Arc::clone(&lease);
        let buried = Settlement::Bury("no".to_owned(), fault(Blame::Message, false));
        let settle = move |db: &Db| outbox::settle(db, &lease, &buried, Some(&phone()), now);
        broken.write(settle).map(drop)
    });
    let lease = Arc::from(broken.world.lease(epoch, &phone()));
    broken.at_every_write("a death with its notice", |broken| {
        let lease = Arc::clone(&lease);
        let buried = Settlement::Bury("no".to_owned(), fault(Blame::Message, false));
        let settle = move |db: &Db| outbox::settle(db, &lease, &buried, Some(&screen()), now);
        broken.write(settle).map(drop)
    });
    let dead = "SELECT count(*) FROM outbox WHERE state='dead' AND told_by IS NOT NULL";
    assert_eq!(broken.world.ask(dead), "1");
    broken.at_every_write("a person's second try", |broken| {
        let dead = broken.world.ask("SELECT id FROM outbox WHERE state='dead'");
        let id: i64 = dead.parse().expect("a number");
        broken
            .write(move |db| operator::requeue(db, id, now))
            .map(drop)
    });
    broken.at_every_write("a person's last word", |broken| {
        broken
            .write(move |db| operator::discard(db, 2, now))
            .map(drop)
    });
}

#[test]
fn what_is_late_goes_elsewhere_and_what_has_expired_ends() {
    let broken = Broken::new();
    broken.world.advance(2 * MINUTE);
    let now = broken.now();
    broken.at_every_write("a failover of six", |broken| {
        let moved = broken.write(move |db| failover::fail_over(db, &screen(), true, now))?;
        assert_eq!(moved, 6);
        Ok(())
    });
    let message = Message {
        to: screen(),
        text: "soon over".to_owned(),
        key: Some("k".to_owned()),
        priority: Priority::Low,
        not_before: Timestamp::EPOCH,
        expires_at: Some(now + MINUTE),
    };
    broken.at_every_write("a message of a person", |broken| {
        let messages = [message.clone()];
        broken
            .write(move |db| add::add(db, &messages, now))
            .map(drop)
    });
    broken.world.advance(2 * MINUTE);
    let now = broken.now();
    broken.at_every_write("an expiry and its notice", |broken| {
        broken
            .write(move |db| failover::expire(db, Some(&phone()), now))
            .map(drop)
    });
    assert_eq!(
        broken
            .world
            .ask("SELECT count(*) FROM outbox WHERE state='expired'"),
        "1"
    );
}

#[test]
fn silences_alarms_clocks_and_second_senders() {
    let broken = Broken::new();
    let now = broken.now();
    broken.at_every_write("a silence that holds six", |broken| {
        let begun = broken.write(move |db| silences::begin(db, "story", now + MINUTE, now))?;
        assert_eq!(begun.1, 6);
        Ok(())
    });
    broken.at_every_write("its end", |broken| {
        broken.write(move |db| silences::end(db, 1, now)).map(drop)
    });
    broken.at_every_write("an alarm", |broken| {
        let notice = move |_| {
            Some(Notice {
                event: "late".to_owned(),
                about: "1".to_owned(),
                to: phone(),
                alert: alert("late", Severity::High),
            })
        };
        broken
            .write(move |db| alarms::note(db, "late", true, notice, now))
            .map(drop)
    });
    let epoch = broken.epoch;
    drop(broken.world.lease(epoch, &screen()));
    broken.at_every_write("a clock that was set", |broken| {
        broken.write(move |db| timeline::follow(db, epoch, 3_600_000, now))
    });
    broken.at_every_write("a new sender", |broken| {
        broken
            .write(move |db| outbox::take_over(db, "second", now))
            .map(drop)
    });
}

#[test]
fn what_a_webhook_brings_is_there_whole_or_not_at_all() {
    let broken = Broken::new();
    let now = broken.now();
    let post = |number: u8| Post {
        entry: Entry {
            title: format!("push {number}"),
            rating: Some(Rating {
                severity: Severity::Normal,
                category: Category::Other,
            }),
            ..Entry::default()
        },
        key: DedupKey::new(format!("{number:032x}")),
        thread: None,
        is_end: false,
    };
    let arrival = Arrival {
        name: "infra".to_owned(),
        delivery: Some("1".to_owned()),
        body: "hash".to_owned(),
        repeats: Repeats::Within(MINUTE),
        posts: (0..3).map(post).collect(),
    };
    broken.at_every_write("a delivery with three posts", |broken| {
        let arrival = arrival.clone();
        broken
            .write(move |db| posts::receive(db, &arrival, now))
            .map(drop)
    });
    assert_eq!(
        broken
            .world
            .ask("SELECT count(*) FROM item WHERE state='pending'"),
        "3"
    );
}
