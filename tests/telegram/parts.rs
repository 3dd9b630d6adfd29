//! Long alerts and upgraded groups, with limits to the letter.

use super::{GROUP, PERSON, Room, minutes};
use shared::model::{Priority, Severity};
use shared::store::outbox;
use std::time::Duration;
use watchalert_tests::telegram::{Chat, ChatKind, Fault, Limits};
use watchalert_tests::world::{owed, to};

impl Room {
    /// An alert of several messages.
    fn enqueue_long(&self, key: &str, chat: &str) {
        let mut owed = owed(key, &to("ops", chat), Priority::High);
        owed.alert.severity = Severity::High;
        owed.alert.summary = format!("Words of {key}. ").repeat(600);
        let now = self.world.clock.now();
        self.world
            .write(move |db| outbox::enqueue(db, &owed, now))
            .expect("enqueued");
    }
}

#[test]
fn long_alerts_keep_the_groups_minute_to_the_letter() {
    let room = Room::new();
    for number in 0..9 {
        room.enqueue_long(&format!("long {number}"), GROUP);
    }
    room.drain_within(minutes(10));
    assert_eq!(room.state("sent"), "9");
    let texts = room.texts();
    assert!(
        texts.len() > 20,
        "more than a minute's worth: {}",
        texts.len()
    );
    assert!(room.telegram.answers_429().is_empty());
    assert!(room.telegram.breaches(Limits::strict()).is_empty());
    let numbered = |text: &String| text.get(..6).map(str::to_owned);
    let parts = room
        .world
        .ask("SELECT length(message_id)-length(replace(message_id,',',''))+1 FROM outbox LIMIT 1");
    let of: usize = parts.parse().expect("a number");
    let expected: Vec<Option<String>> = (0..9)
        .flat_map(|_| (1..=of).map(move |part| Some(format!("({part}/{of}) "))))
        .collect();
    assert_eq!(
        texts.iter().map(numbered).collect::<Vec<_>>(),
        expected,
        "in order, each once"
    );
}

#[test]
fn an_urgent_alert_goes_between_the_parts_of_a_long_one() {
    let room = Room::new();
    room.enqueue_long("long", PERSON);
    room.send();
    room.enqueue(1, PERSON, Priority::Critical);
    room.drain_within(minutes(10));
    let texts = room.texts();
    assert!(texts[0].starts_with("(1/"), "{texts:?}");
    assert!(texts[1].contains("Title of 7001 0"), "{texts:?}");
    assert!(texts[2].starts_with("(2/"), "{texts:?}");
}

#[test]
fn an_upgraded_group_keeps_its_queue_and_its_minute_over_restarts() {
    let room = Room::new();
    let new = -1_002_003_001_i64;
    room.telegram.add_chat(Chat::new(new, ChatKind::Supergroup));
    room.enqueue(45, GROUP, Priority::High);
    room.drain_within(Duration::from_secs(40));
    room.telegram.script([Fault::upgraded(-100_200_300, new)]);
    room.drain_within(minutes(10));
    assert_eq!(room.state("sent"), "45");
    assert_eq!(room.telegram.accepted_in(new).len(), 25);
    let refused = room
        .telegram
        .requests()
        .iter()
        .filter(|asked| asked.status == Some(400))
        .count();
    assert_eq!(refused, 1, "the old id is asked once");
    assert!(room.telegram.breaches(Limits::strict()).is_empty());
    let later = room.arrivals()[20];
    assert!(
        later >= 60.0,
        "the new id goes on with the old one's minute: {later}"
    );
    assert_eq!(
        room.world
            .ask("SELECT alias_of FROM gate WHERE alias_of IS NOT NULL"),
        new.to_string()
    );
}
