//! A town with a silent bot, its fallback ntfy, and a mail server: what process tests send into, and what arrived there.

use super::ask;
use shared::model::Priority;
use shared::platform::clock::Clock;
use shared::store::outbox::{self, Addressee, Fallback};
use shared::store::{Db, Store};
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::time::Duration;
use watchalert_tests::ntfy::{self, Ntfy};
use watchalert_tests::programs::Place;
use watchalert_tests::smtp::{PASSWORD, Seen, Smtp, Tls};
use watchalert_tests::telegram::{Fault, Options, Telegram};
use watchalert_tests::world::{owed, runtime, stranger, to};

const MARK: &str = "(possible repeat) ";
/// Alerts of one tick: more than go out by themselves.
const BATCH: usize = 6;
const CHAT: &str = "7001";
const TOPIC: &str = "alerts-of-nobody";
const READER: &str = "me@example.org";
/// The bot is silent for longer than any test runs.
const EVER: Duration = Duration::from_secs(24 * 3_600);

pub(super) struct Town {
    pub(super) place: Place,
    telegram: Telegram,
    pub(super) ntfy: Ntfy,
    pub(super) mail: Smtp,
    store: Store,
    pub(super) alerts: usize,
    fallback_after: Duration,
}

/// What has come to mail and phone.
pub(super) struct Arrived {
    /// In both, each once.
    pub(super) alerts: usize,
    /// Copies beyond the first.
    pub(super) again: usize,
    /// Messages with the mark.
    pub(super) marked: usize,
}

impl Town {
    pub(super) fn new() -> Self {
        Self::with_fallback_after(Duration::from_secs(1))
    }

    pub(super) fn with_fallback_after(fallback_after: Duration) -> Self {
        let telegram = Telegram::start(Options::default());
        // Whoever asks it is not answered as by a bot: all of its alerts go elsewhere.
        telegram.script([Fault::page(502).lasting(EVER)]);
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
            fallback_after,
        }
    }

    /// A tick's alerts: for the mailbox, and for the chat or, when it is late there, the phone.
    pub(super) fn enqueue(&mut self) {
        let (first, after) = (self.alerts, self.fallback_after);
        let now = Clock::system().now();
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
                            after,
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

    /// What waits for the bot has waited for long enough.
    pub(super) fn make_late(&self) {
        let late = "UPDATE outbox SET fallback_at=unixepoch()-1 WHERE state='ready' AND fallback_at IS NOT NULL";
        stranger(&self.place.database())
            .execute_batch(late)
            .expect("made late");
    }

    /// One alert, for the mailbox alone.
    pub(super) fn enqueue_mail(&self) {
        let (owed, now) = (
            owed("alert-000.", &to("mail", READER), Priority::Normal),
            Clock::system().now(),
        );
        let enqueue = move |db: &Db| outbox::enqueue(db, &owed, now).map(drop);
        runtime()
            .block_on(self.store.write(enqueue))
            .expect("enqueued");
    }

    /// What has come to any of the three.
    pub(super) fn heard(&self) -> usize {
        self.telegram.request_count() + self.ntfy.requests().len() + self.mail.said().len()
    }

    pub(super) fn is_done(&self) -> bool {
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

    /// Every alert is there in each of the two places; what came again is marked.
    pub(super) fn account(&self) -> Arrived {
        let (mut alerts, mut again, mut marked) = (0, 0, 0);
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
                alerts += 1;
                again += copies.len() - 1;
            }
        }
        Arrived {
            alerts,
            again,
            marked,
        }
    }
}
