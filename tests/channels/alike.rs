//! The same alert through every channel: it arrives whole wherever it is taken, with its link, its
//! severity and its number, once.

use super::{CHAT, House, MINUTE, READER, TOPIC};
use watchalert_tests::difficult::{alerts, mail_shows, ntfy_shows, telegram_shows};
use watchalert_tests::smtp::Seen;
use watchalert_tests::world::to;

#[test]
fn a_difficult_alert_arrives_whole_and_once_through_each_of_three_channels() {
    let house = House::new();
    for alert in alerts() {
        let before = (
            house.ops.accepted_count(),
            house.ntfy.published().len(),
            house.mail.mails().len(),
        );
        let places = [("ops", CHAT), ("phone", TOPIC), ("mail", READER)];
        let places = places.map(|(channel, chat)| to(channel, chat).into());
        house.owe(alert.clone(), places.into());
        house.drain_within(MINUTE);
        telegram_shows(&alert, &house.ops.accepted()[before.0..]);
        let published = house.ntfy.published();
        assert_eq!(published.len(), before.1 + 1, "{}", alert.title);
        ntfy_shows(&alert, &published[before.1]);
        let mails = house.mail.mails();
        assert_eq!(mails.len(), before.2 + 1, "{}", alert.title);
        mail_shows(&alert, &Seen::of(&mails[before.2].text));
    }
    // Nothing had to be mended, shortened or sent again for it.
    let attempts = "SELECT count(*)||' of '||sum(outcome='ok') FROM attempt";
    let (tried, ok) = house
        .world
        .ask(attempts)
        .split_once(" of ")
        .map(|(tried, ok)| (tried.to_owned(), ok.to_owned()))
        .expect("figures");
    assert_eq!(tried, ok);
    assert!(
        house
            .ops
            .requests()
            .iter()
            .all(|asked| asked.status == Some(200))
    );
    assert!(house.ntfy.codes().is_empty());
    assert_eq!(house.count("state<>'sent'"), 0);
    house.world.all_invariants_hold();
}
