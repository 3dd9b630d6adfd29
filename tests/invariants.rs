//! Each of the twelve invariants finds what breaks it, and nothing else; and the table refuses
//! what it can refuse by itself.

use shared::model::Priority;
use shared::store::{invariants, verify};
use watchalert_tests::world::{World, receipt, to};

/// A file with one row in each of the states that this version reaches, and an item behind the first.
fn furnished() -> World {
    let world = World::new();
    let screen = to("screen", "-");
    let epoch = world.take_over();
    world.enqueue("sent", &screen, Priority::Critical);
    let lease = world.lease(epoch, &screen);
    world.settle(lease, receipt("m"), None).expect("settled");
    world.enqueue("leased", &screen, Priority::High);
    drop(world.lease(epoch, &screen));
    world.enqueue("ready", &screen, Priority::Low);
    world.stranger().execute_batch(ITEM).expect("an item");
    world.all_invariants_hold();
    world
}

/// A feed and an item that was judged, for the alert 1.
const ITEM: &str = "\
INSERT INTO feed(url) VALUES('https://example.org/feed');
INSERT INTO item(feed_id,dedup_key,title,summary,first_seen_at,last_seen_at,state,severity,alert_id)
VALUES(1,'k','t','',0,0,'judged','high',1)";

/// Breaks the file behind the back of its CHECKs and triggers.
fn broken_by(number: u8, sabotage: &str) {
    let world = furnished();
    let stranger = world.stranger();
    let triggers: Vec<String> = stranger
        .prepare("SELECT name FROM sqlite_schema WHERE type='trigger'")
        .and_then(|mut statement| statement.query_map([], |row| row.get(0))?.collect())
        .expect("the triggers");
    for trigger in triggers {
        stranger
            .execute_batch(&format!("DROP TRIGGER {trigger}"))
            .expect("dropped");
    }
    stranger
        .execute_batch(&format!("PRAGMA ignore_check_constraints=ON; {sabotage}"))
        .expect("sabotaged");
    let now = world.clock.now();
    let found: Vec<u8> = world
        .read(move |db| invariants::check(db, now))
        .iter()
        .map(|violation| violation.number)
        .collect();
    assert!(found.contains(&number), "{number} not among {found:?}");
}

#[test]
fn a_row_that_vanished_breaks_the_first() {
    broken_by(1, "DELETE FROM outbox WHERE state='ready'");
    broken_by(1, "DELETE FROM alert WHERE id=1");
    broken_by(1, "DELETE FROM item");
}

#[test]
fn an_item_without_its_alert_breaks_the_second() {
    broken_by(2, "UPDATE item SET alert_id=777");
}

#[test]
fn an_alert_that_nobody_is_owed_breaks_the_third() {
    broken_by(
        3,
        "INSERT INTO alert(dedup_key,payload,severity,title,source,created_at)
         VALUES('x','{}','high','t','s',0); UPDATE ledger SET n=n+1 WHERE name='alert_in'",
    );
}

#[test]
fn half_a_state_breaks_the_fourth() {
    broken_by(4, "UPDATE outbox SET lease_epoch=1 WHERE state='ready'");
    broken_by(4, "UPDATE outbox SET parent_id=1 WHERE state='ready'");
    broken_by(4, "UPDATE outbox SET moved_to=1 WHERE state='ready'");
    broken_by(
        4,
        "UPDATE outbox SET state='dead',told_at=1 WHERE state='ready'",
    );
}

#[test]
fn a_fold_without_a_digest_breaks_the_fifth() {
    broken_by(
        5,
        "UPDATE outbox SET state='folded',parent_id=1 WHERE state='ready'",
    );
    broken_by(
        5,
        "INSERT INTO outbox(kind,chat_id,payload,created_at) VALUES('digest','-','{}',0)",
    );
}

#[test]
fn sent_without_an_attempt_breaks_the_sixth() {
    broken_by(6, "UPDATE outbox SET state='sent' WHERE state='ready'");
}

#[test]
fn a_lease_of_another_epoch_breaks_the_seventh() {
    broken_by(7, "UPDATE outbox SET lease_epoch=99 WHERE state='leased'");
}

#[test]
fn an_attempt_left_open_breaks_the_eighth() {
    broken_by(
        8,
        "INSERT INTO attempt(outbox_id,n,epoch,started_at) VALUES(1,2,1,0)",
    );
    broken_by(
        8,
        "UPDATE outbox SET state='ready',lease_epoch=NULL WHERE state='leased'",
    );
}

#[test]
fn a_death_that_nobody_was_told_breaks_the_ninth() {
    broken_by(
        9,
        "UPDATE outbox SET state='dead',last_error='x' WHERE state='ready'",
    );
    broken_by(
        9,
        "UPDATE outbox SET state='dead',last_error='x',told_at=1,told_by=1 WHERE state='ready'",
    );
}

#[test]
fn backoff_without_end_breaks_the_tenth() {
    broken_by(
        10,
        "UPDATE outbox SET next_attempt=9e9,attempts=1 WHERE state='ready'",
    );
}

#[test]
fn a_row_in_no_known_place_breaks_the_eleventh() {
    broken_by(11, "UPDATE outbox SET state='limbo' WHERE state='ready'");
    broken_by(11, "UPDATE sender_lease SET epoch=99");
}

#[test]
fn a_reference_into_nowhere_breaks_the_twelfth() {
    broken_by(12, "UPDATE outbox SET told_by=777 WHERE state='ready'");
}

/// A statement, and what the table says to it.
const FORBIDDEN: [(&str, &str); 16] = [
    (
        "DELETE FROM outbox WHERE state='ready'",
        "only finished rows may be deleted",
    ),
    (
        "DELETE FROM outbox WHERE state='leased'",
        "only finished rows may be deleted",
    ),
    (
        "UPDATE outbox SET state='sent' WHERE state='ready'",
        "illegal transition",
    ),
    (
        "UPDATE outbox SET state='ready' WHERE state='sent'",
        "illegal transition",
    ),
    (
        "UPDATE outbox SET state='dead' WHERE state='ready'",
        "dead_has_a_reason",
    ),
    (
        "UPDATE outbox SET state='dead',last_error='x' WHERE state='ready'",
        "dead_is_told",
    ),
    (
        "UPDATE outbox SET state='leased' WHERE state='ready'",
        "leased_iff_epoch",
    ),
    (
        "UPDATE outbox SET attempts=0 WHERE state='sent'",
        "attempts only grow",
    ),
    (
        "UPDATE outbox SET idempotency_key='x' WHERE state='ready'",
        "never change",
    ),
    (
        "UPDATE outbox SET expires_at=1 WHERE priority=0",
        "critical_never_expires",
    ),
    (
        "UPDATE alert SET title='x'",
        "an accepted alert never changes",
    ),
    ("DELETE FROM attempt", "stays as long as its row"),
    ("DELETE FROM alert", "its rows in the outbox go first"),
    (
        "INSERT INTO outbox(chat_id,payload,created_at) VALUES('1','nonsense',0)",
        "payload_is_an_object",
    ),
    (
        "INSERT INTO outbox(chat_id,payload,created_at) VALUES('1','[1]',0)",
        "payload_is_an_object",
    ),
    (
        "INSERT INTO outbox(chat_id,payload,created_at,state) VALUES('1','{}',0,'sent')",
        "a row starts ready",
    ),
];

#[test]
fn the_table_refuses_what_no_program_of_ours_does() {
    let world = furnished();
    let stranger = world.stranger();
    for (forbidden, said) in FORBIDDEN {
        let error = stranger
            .execute_batch(forbidden)
            .expect_err(forbidden)
            .to_string();
        assert!(error.contains(said), "{forbidden}: {error}");
    }
    let alerts = "SELECT group_concat(id||title) FROM alert";
    let (before, attempts) = (
        world.ask(alerts),
        "SELECT group_concat(outcome) FROM attempt",
    );
    for ignored in [
        "INSERT OR REPLACE INTO outbox(id,chat_id,payload,created_at) VALUES(1,'1','{}',0)",
        "INSERT OR REPLACE INTO alert(id,dedup_key,payload,severity,title,source,created_at) VALUES(1,'x','{}','low','t','s',0)",
        "INSERT OR REPLACE INTO alert(dedup_key,payload,severity,title,source,created_at) VALUES('sent','{}','low','t','s',0)",
        "INSERT OR REPLACE INTO attempt(outbox_id,n,epoch,started_at) VALUES(1,1,1,0)",
    ] {
        stranger.execute_batch(ignored).expect("ignored");
        assert_eq!(world.ask("SELECT state FROM outbox WHERE id=1"), "sent");
        assert_eq!(world.ask(alerts), before, "{ignored}");
        assert_eq!(world.ask(attempts), "ok", "{ignored}");
        world.all_invariants_hold();
    }
    stranger
        .execute_batch("DELETE FROM item")
        .expect("whoever prunes");
    let audit = world.read(verify::audit);
    assert_eq!(
        (audit.items.seen, audit.items.pruned, audit.unaccounted),
        (1, 1, 0)
    );
    world.all_invariants_hold();
}

#[test]
fn an_item_that_was_replaced_is_missed() {
    let world = furnished();
    let replace = "\
INSERT OR REPLACE INTO item(feed_id,dedup_key,title,summary,first_seen_at,last_seen_at,state)
VALUES(1,'k','t','',0,0,'seeded')";
    world.stranger().execute(replace, []).expect("replaced");
    assert_eq!(world.read(verify::audit).unaccounted, 1);
}
