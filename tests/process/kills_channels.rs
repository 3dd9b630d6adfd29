//! The sender, killed with `kill -9` while it folds digests, moves what a silent bot does not take to its
//! fallback, and delivers to ntfy and mail: nothing is lost, every repeat is marked and counted.

use super::{ask, verified};
use shared::model::Priority;
use shared::platform::clock::Clock;
use shared::store::outbox::{self, Addressee, Fallback};
use shared::store::{Db, Store};
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::time::Duration;
use watchalert_tests::ntfy::{self, Ntfy};
use watchalert_tests::programs::{BOUND, Place, long, now, pause, seed, tell, within};
use watchalert_tests::smtp::{Act, At, PASSWORD, Seen, Smtp, Tls};
use watchalert_tests::telegram::{Fault, Options, Telegram};
use watchalert_tests::world::{owed, runtime, to};

const MARK: &str = "(possible repeat) ";
/// Alerts of one tick: more than go out by themselves.
const BATCH: usize = 6;
const CHAT: &str = "7001";
const TOPIC: &str = "alerts-of-nobody";
const READER: &str = "me@example.org";
/// No run may take longer.
const PATIENCE: Duration = Duration::from_secs(240);

struct Town {
    place: Place,
    telegram: Telegram,
    ntfy: Ntfy,
    mail: Smtp,
    store: Store,
    alerts: usize,
}

impl Town {
    fn new() -> Self {
        let telegram = Telegram::start(Options::default());
        // Whoever asks it is not answered as by a bot: all of its alerts go elsewhere.
        telegram.script([Fault::page(502).lasting(PATIENCE)]);
        let clock = Clock::system();
        let ntfy = Ntfy::start(ntfy::Options {
            requests: None,
            messages: None,
            ..ntfy::Options::strict(&clock)
        });
        let mail = Smtp::start(Tls::Never);
        let place = Place::new(&format!(
            "default_channel = \"screen\"\n[digest]\nwindow = \"1s\"\n[channel.screen]\nkind = \"console\"\n\
             [channel.ops]\nkind = \"telegram\"\napi_url = \"{}\"\ntoken_file = \"token\"\nchat_id = {CHAT}\n\
             [channel.phone]\nkind = \"ntfy\"\nurl = \"{}\"\ntopic = \"{TOPIC}\"\n\
             [channel.mail]\nkind = \"email\"\nsmtp = \"smtp://watch@{}\"\npassword_file = \"password\"\n\
             from = \"watch@sender.test\"\nto = [\"{READER}\"]\nper_minute = 6000\n",
            telegram.url(),
            ntfy.url(),
            mail.address()
        ));
        for (file, secret) in [("token", telegram.token()), ("password", PASSWORD)] {
            fs::write(place.path(file), secret).expect("written");
            let mode = Permissions::from_mode(0o600);
            fs::set_permissions(place.path(file), mode).expect("locked up");
        }
        let store = Store::open(&place.database()).expect("a fresh database");
        Self {
            place,
            telegram,
            ntfy,
            mail,
            store,
            alerts: 0,
        }
    }

    /// A tick's alerts: for the mailbox, and for the chat or, when it is late there, the phone.
    fn enqueue(&mut self) {
        let (first, now) = (self.alerts, Clock::system().now());
        self.alerts += BATCH;
        let enqueue = move |db: &Db| {
            for number in first..first + BATCH {
                let priority = match number % 23 {
                    0 => Priority::Critical,
                    _ => Priority::Normal,
                };
                let mut owed = owed(&format!("alert-{number:03}."), &to("ops", CHAT), priority);
                owed.to = vec![
                    to("mail", READER).into(),
                    Addressee {
                        fallback: Some(Fallback {
                            to: to("phone", TOPIC),
                            after: Duration::from_secs(1),
                        }),
                        ..to("ops", CHAT).into()
                    },
                ];
                outbox::enqueue(db, &owed, now)?;
            }
            Ok(())
        };
        let written = runtime().block_on(self.store.write(enqueue));
        written.expect("enqueued");
    }

    /// What has come to any of the three.
    fn heard(&self) -> usize {
        self.telegram.request_count() + self.ntfy.requests().len() + self.mail.said().len()
    }

    fn is_done(&self) -> bool {
        let waits = "SELECT count(*) FROM outbox WHERE state IN('ready','leased')";
        ask(&self.place, waits) == "0"
    }

    /// Everything that came in whole, in order, each with its mark if it has one.
    fn arrived(&self) -> [Vec<String>; 2] {
        let mails = self.mail.mails().into_iter().map(|mail| {
            let seen = Seen::of(&mail.text);
            format!("{}\n{}", seen.subject, seen.plain)
        });
        let notes = self.ntfy.published().into_iter();
        let notes = notes.map(|note| format!("{}\n{}", note.title, note.message));
        [mails.collect(), notes.collect()]
    }

    /// Every alert is there in each of the two places; what came again is marked. Returns how many came
    /// again, and how many marked messages arrived.
    fn account(&self) -> (usize, usize) {
        let (mut again, mut marked) = (0, 0);
        for (what, texts) in ["mail", "phone"].iter().zip(self.arrived()) {
            marked += texts.iter().filter(|text| text.contains(MARK)).count();
            for number in 0..self.alerts {
                let title = format!("Title of alert-{number:03}.");
                let copies: Vec<&String> =
                    texts.iter().filter(|text| text.contains(&title)).collect();
                assert!(!copies.is_empty(), "{title} is lost for the {what}");
                let bare = copies.iter().skip(1).filter(|copy| !copy.starts_with(MARK));
                assert_eq!(
                    bare.count(),
                    0,
                    "{title}, {what}: a repeat without its mark"
                );
                again += copies.len() - 1;
            }
        }
        (again, marked)
    }
}

#[test]
fn kills_amid_digests_failovers_ntfy_and_mail_lose_nothing_and_every_repeat_is_marked() {
    let kills = if long() { 50 } else { 10 };
    let seed = seed("kills-channels");
    let mut chance = fastrand::Rng::with_seed(seed);
    let (start, mut town) = (now(), Town::new());
    // Answers that get lost on the way, beside the kills.
    town.ntfy.script([ntfy::Fault::ResetAfter]);
    town.mail.set_times("sender.test", At::Text, Act::Close, 1);
    for _ in 0..kills {
        town.enqueue();
        let asked = town.heard() + chance.usize(1..=8);
        let longest = Duration::from_millis(chance.u64(100..=1_500));
        let after = Duration::from_micros(chance.u64(0..4_000));
        let sender = town.place.start_sender(&["run"]);
        within(longest, || town.heard() >= asked);
        pause(after);
        assert!(sender.kill(), "it ended by itself");
    }
    let killed = start.elapsed();
    let last = town.place.start_sender(&["run"]);
    let done = within(PATIENCE.saturating_sub(killed), || town.is_done());
    assert!(done, "within {PATIENCE:?}: {}", last.said());
    last.terminate();
    last.ended(BOUND).well();

    let (again, marked) = town.account();
    let audit = verified(&town.place);
    assert_eq!(audit["audit"]["outbox"]["dead"], 0);
    let count = |sql: &str| ask(&town.place, sql).parse::<usize>().expect("a number");
    let moved = count("SELECT count(*) FROM outbox WHERE state='moved' AND kind='alert'");
    assert_eq!(moved, town.alerts);
    let folded = count("SELECT count(*) FROM outbox WHERE state='folded'");
    assert!(folded > 0, "nothing was folded");
    let counted = count("SELECT n FROM ledger WHERE name='repeat_marked'");
    assert!(
        marked <= counted,
        "{marked} marks arrived, {counted} counted"
    );
    let interrupted = count("SELECT count(*) FROM attempt WHERE outcome='interrupted'");
    tell(&format!(
        "kills-channels: seed {seed}, {} alerts to mail and by failover to ntfy, {kills} kill -9, {interrupted} attempts interrupted; 0 lost, {folded} in digests, {again} came again, {marked} marked messages of {counted} counted; {:.0} s",
        town.alerts,
        start.elapsed().as_secs_f64()
    ));
}
