//! Sixty alerts at once for Telegram, ntfy and mail: few messages in each, every alert once with its link;
//! and a mailbox whose server allows few mails in a minute.

use super::{CHAT, House, MINUTE, READER, SECOND, TOPIC, screen};
use shared::model::Priority;
use shared::store::Db;
use shared::store::outbox;
use watchalert_tests::smtp::{Act, At, Mail, Seen};
use watchalert_tests::world::{owed, to};

fn house() -> House {
    House {
        digests: true,
        ..House::new()
    }
}

/// No key is the beginning of another.
fn keys(name: &str, count: usize) -> Vec<String> {
    (0..count).map(|n| format!("{name}-{n:03}.")).collect()
}

fn enqueue(house: &House, places: &[(&str, &str)], keys: &[String], priority: Priority) {
    for key in keys {
        let mut owed = owed(key, &screen(), priority);
        owed.to = places
            .iter()
            .map(|(channel, chat)| to(channel, chat).into())
            .collect();
        let now = house.world.clock.now();
        let enqueue = move |db: &Db| outbox::enqueue(db, &owed, now).map(|_| ());
        house.world.write(enqueue).expect("enqueued");
    }
}

/// In how many of the texts an alert stands with its link, and how often in each.
fn told(texts: &[String], key: &str) -> Vec<(usize, usize)> {
    let (title, link) = (
        format!("Title of {key}"),
        format!("https://example.org/{key}"),
    );
    let count = |text: &String| {
        let ends = |rest: &&str| !rest.starts_with(|c: char| c.is_ascii_alphanumeric());
        let links = text.split(&link).skip(1).filter(ends);
        (text.matches(&title).count(), links.count())
    };
    let found = texts.iter().map(count);
    found.filter(|(titles, _)| *titles > 0).collect()
}

#[test]
fn sixty_at_once_are_few_messages_in_each_channel_and_each_alert_is_told_once_with_its_link() {
    let house = house();
    let (grave, others) = (keys("grave", 2), keys("story", 58));
    let places = [("ops", CHAT), ("phone", TOPIC), ("mail", READER)];
    enqueue(&house, &places, &others, Priority::Normal);
    enqueue(&house, &places, &grave, Priority::Critical);
    house.drain_within(10 * MINUTE);
    let seen: Vec<Seen> = house
        .mail
        .mails()
        .iter()
        .map(|mail| Seen::of(&mail.text))
        .collect();
    let plain: Vec<String> = seen.iter().map(|mail| mail.plain.clone()).collect();
    let html: Vec<String> = seen.iter().map(|mail| mail.html.clone()).collect();
    let phone: Vec<String> = house
        .ntfy
        .published()
        .iter()
        .map(|one| {
            let click = one.click.clone().unwrap_or_default();
            format!("{}\n{}\n{click}", one.title, one.message)
        })
        .collect();
    // What is grave by itself, and one digest.
    assert_eq!(seen.len(), 3);
    assert!(phone.len() <= 2 + 3, "{}", phone.len());
    for key in grave.iter().chain(&others) {
        for (what, texts) in [("plain", &plain), ("phone", &phone)] {
            let told = told(texts, key);
            assert_eq!(told, [(1, 1)], "{what} {key}");
        }
        assert_eq!(told(&html, key).len(), 1, "{key}");
        let links = house
            .ops
            .accepted()
            .into_iter()
            .flat_map(|message| message.entities);
        let own = format!("https://example.org/{key}");
        assert_eq!(links.filter(|one| one.detail == own).count(), 1, "{key}");
    }
    assert!(
        seen[2].subject.starts_with("[NORMAL] 58 alerts: "),
        "{}",
        seen[2].subject
    );
    assert!(
        seen[..2]
            .iter()
            .all(|mail| mail.subject.starts_with("[CRITICAL] "))
    );
    assert!(house.ntfy.codes().is_empty() && house.ops.answers_429().is_empty());
    assert_eq!(house.count("state NOT IN('sent','folded')"), 0);
}

#[test]
fn a_digest_by_mail_that_may_have_arrived_comes_again_under_the_same_name_and_marked() {
    let house = house();
    house.mail.set_times("sender.test", At::Text, Act::Close, 1);
    enqueue(
        &house,
        &[("mail", READER)],
        &keys("story", 6),
        Priority::Normal,
    );
    house.drain_within(10 * MINUTE);
    let mails = house.mail.mails();
    let [first, copy] = mails.as_slice() else {
        panic!("two copies of {mails:#?}");
    };
    assert_eq!(copy.header("Message-ID"), first.header("Message-ID"));
    let subjects = [first, copy].map(|mail| Seen::of(&mail.text).subject);
    assert_eq!(subjects[1], format!("(possible repeat) {}", subjects[0]));
    assert_eq!(
        house
            .world
            .ask("SELECT n FROM ledger WHERE name='repeat_marked'"),
        "1"
    );
}

#[test]
fn what_is_in_a_digest_that_a_mail_server_refuses_comes_by_itself() {
    let house = house();
    let no = Act::Say("554 5.6.0 nothing with so many links".to_owned());
    house.mail.set_times("sender.test", At::Text, no, 1);
    let all = keys("story", 6);
    enqueue(&house, &[("mail", READER)], &all, Priority::Normal);
    house.drain_within(60 * MINUTE);
    let taken = house.mail.mails().into_iter().filter(|mail| mail.is_taken);
    let plain: Vec<String> = taken.map(|mail| Seen::of(&mail.text).plain).collect();
    assert_eq!(plain.len(), 6);
    for key in &all {
        assert_eq!(told(&plain, key), [(1, 1)], "{key}");
    }
    assert_eq!(house.count("state='dead'"), 0);
}

#[test]
fn a_mail_account_sends_no_more_in_any_minute_than_it_may_and_loses_nothing() {
    let house = House::new();
    for reader in 0..3 {
        let chat = format!("reader{reader}@example.org");
        enqueue(
            &house,
            &[("mail", &chat)],
            &keys(&format!("of{reader}"), 20),
            Priority::High,
        );
    }
    let arrived = |house: &House| house.mail.mails().len();
    house.send();
    assert_eq!(arrived(&house), 10, "a third of thirty at once");
    let mut each_third = vec![10];
    while arrived(&house) < 60 && each_third.len() < 200 {
        house.world.advance(3 * SECOND);
        house.send();
        each_third.push(arrived(&house));
    }
    let in_a_minute = each_third.windows(20).map(|minute| minute[19] - minute[0]);
    assert!(in_a_minute.max() <= Some(30));
    // Ten at once, then twenty a minute.
    assert!(
        (48..=60).contains(&each_third.len()),
        "{}",
        each_third.len()
    );
    let mails: Vec<Mail> = house.mail.mails();
    assert!(mails.iter().all(|mail| mail.is_taken));
    assert_eq!(house.count("state='sent'"), 60);
    house.world.all_invariants_hold();
}
