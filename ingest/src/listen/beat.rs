//! Calls of heartbeats: `GET|POST|HEAD /heartbeat/TOKEN-OR-NAME[/start|/fail|/EXIT-STATUS]`.

use crate::beats::{Changed, Watched};
use sha2::{Digest, Sha256};
use shared::config::{Config, Problem};
use shared::model::{Heard, Signal, Timestamp};
use shared::platform::doorbell;
use shared::policy::text::{one_line, shorten};
use shared::store::{Db, Store, StoreError, beside};

/// What an address of a heartbeat begins with.
pub const PREFIX: &str = "/heartbeat/";

/// Characters of a body that are kept, and bytes of it that need be read for that.
const NOTE: usize = 300;
pub const MOST_OF_A_BODY: usize = 4 * NOTE;

/// Who may call, by what stands in the address: the hash of a token, or of a name without one.
#[derive(Clone)]
pub struct Doors(Vec<([u8; 32], String)>);

impl Doors {
    /// Reads the tokens.
    ///
    /// # Errors
    /// What is wrong with the file of one.
    pub fn open(config: &Config) -> Result<Self, Problem> {
        let doors = config.beats.iter().map(|beat| {
            let hash = match &beat.token {
                Some(file) => hash(file.resolve()?.expose()),
                None => hash(&beat.name),
            };
            Ok((hash, beat.name.clone()))
        });
        doors.collect::<Result<_, _>>().map(Self)
    }

    /// Which heartbeat a call is of, and what it says. `target` is the path with or without its query;
    /// `None` is a 404, whatever is wrong with it: who guesses learns nothing.
    pub fn hear(&self, target: &str, body: &[u8], now: Timestamp) -> Option<Heard> {
        let path = target.split(['?', '#']).next()?;
        let said = path.strip_prefix(PREFIX)?;
        let said = said.strip_suffix('/').unwrap_or(said);
        let (who, what) = said.split_once('/').unwrap_or((said, ""));
        // Both are looked at, whatever is found: the time that takes tells nothing.
        let (name, signal) = (self.named(who), signal(what));
        Some(Heard {
            name: name?.to_owned(),
            signal: signal?,
            note: note(body),
            at: now,
        })
    }

    /// Compares with every door, whole hashes: how far a guess was right takes no time.
    fn named(&self, who: &str) -> Option<&str> {
        let asked = hash(who);
        let mut found = None;
        for (hash, name) in &self.0 {
            let differs = hash.iter().zip(asked).fold(0, |all, (a, b)| all | (a ^ b));
            if differs == 0 {
                found = Some(name.as_str());
            }
        }
        found
    }
}

fn hash(text: &str) -> [u8; 32] {
    Sha256::digest(text).into()
}

fn signal(what: &str) -> Option<Signal> {
    match what {
        "" => Some(Signal::Success),
        "start" => Some(Signal::Start),
        "fail" => Some(Signal::Fail),
        status => {
            let is_number = status.chars().all(|c| c.is_ascii_digit());
            let status = status.parse().ok().filter(|_| is_number);
            status.map(Signal::Status)
        }
    }
}

/// The beginning of a body on one line; `None` when it says nothing.
fn note(body: &[u8]) -> Option<String> {
    let beginning = body.get(..MOST_OF_A_BODY).unwrap_or(body);
    let line = shorten(&one_line(&String::from_utf8_lossy(beginning)), NOTE);
    Some(line).filter(|line| !line.is_empty())
}

/// Stores a call, and tells what it changes: a failure at once, and the end of a trouble. Once this has
/// returned it may be answered. A call of a heartbeat that is not configured any more changes nothing.
///
/// # Errors
/// `Locked` and the like: the call then goes into a file, and comes here again, with the time at which
/// it came; twice does no harm.
pub async fn receive(
    store: &Store,
    config: &Config,
    heard: Heard,
    now: Timestamp,
) -> Result<Changed, StoreError> {
    let received = receive_unless(store, config, heard, now, || false).await?;
    Ok(received.unwrap_or_default())
}

/// The same; `None`, and nothing stored, when it would overtake something.
///
/// # Errors
/// As [`receive`].
pub async fn receive_unless(
    store: &Store,
    config: &Config,
    heard: Heard,
    now: Timestamp,
    overtakes: impl Fn() -> bool + Send + 'static,
) -> Result<Option<Changed>, StoreError> {
    let Some(beat) = config.beats.iter().find(|beat| beat.name == heard.name) else {
        tracing::warn!(
            name = heard.name,
            "a call of a heartbeat that is not configured"
        );
        return Ok(Some(Changed::default()));
    };
    let watched = Watched::of(beat, config, now);
    let hear = move |db: &Db| {
        if overtakes() {
            Ok(None)
        } else {
            watched.hear(db, &heard, now).map(Some)
        }
    };
    let changed = store.write(hear).await?;
    if changed.as_ref().is_some_and(|changed| changed.rows > 0) {
        doorbell::ring(&beside(store.path(), ".bell"));
    }
    Ok(changed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use shared::config::{Program, Surroundings};
    use std::os::unix::fs::PermissionsExt;

    const NOW: Timestamp = Timestamp::from_unix_millis(1_796_025_600_000);

    fn doors() -> Doors {
        let dir = tempfile::tempdir().expect("a folder");
        let token = dir.path().join("token");
        std::fs::write(&token, "s3cret-s3cret-s3cret\n").expect("written");
        let mode = std::fs::Permissions::from_mode(0o600);
        std::fs::set_permissions(token, mode).expect("set");
        let text = "[[heartbeat]]\nname = 'open'\nevery = '1h'\n\
                    [[heartbeat]]\nname = 'hidden'\nevery = '1h'\ntoken_file = 'token'\n\
                    [channel.screen]\nkind = 'console'\n";
        let around = Surroundings {
            directory: dir.path(),
            credentials: None,
            program: Program::Ingest,
        };
        let config = Config::parse(text, &around).expect("good");
        Doors::open(&config).expect("open")
    }

    #[test]
    fn an_address_says_which_heartbeat_it_is_and_what_it_says() {
        let doors = doors();
        for (target, expected) in [
            ("/heartbeat/open", Some(("open", Signal::Success))),
            ("/heartbeat/open/", Some(("open", Signal::Success))),
            ("/heartbeat/open?from=cron", Some(("open", Signal::Success))),
            ("/heartbeat/open/start", Some(("open", Signal::Start))),
            ("/heartbeat/open/fail", Some(("open", Signal::Fail))),
            ("/heartbeat/open/0", Some(("open", Signal::Status(0)))),
            ("/heartbeat/open/255?x", Some(("open", Signal::Status(255)))),
            (
                "/heartbeat/s3cret-s3cret-s3cret/7",
                Some(("hidden", Signal::Status(7))),
            ),
            // Its name is no way in, and neither is half a token.
            ("/heartbeat/hidden", None),
            ("/heartbeat/s3cret-s3cret-s3cre", None),
            ("/heartbeat/s3cret-s3cret-s3crets", None),
            ("/heartbeat/open/256", None),
            ("/heartbeat/open/-1", None),
            ("/heartbeat/open/+1", None),
            ("/heartbeat/open/log", None),
            ("/heartbeat/open/start/now", None),
            ("/heartbeat/OPEN", None),
            ("/heartbeat/", None),
            ("/heartbeat", None),
            ("/hook/open", None),
            ("", None),
        ] {
            let heard = doors.hear(target, b"", NOW);
            let found = heard
                .as_ref()
                .map(|heard| (heard.name.as_str(), heard.signal));
            assert_eq!(found, expected, "{target}");
        }
    }

    #[test]
    fn a_body_becomes_a_note_of_one_line() {
        let heard = |body: &[u8]| {
            doors()
                .hear("/heartbeat/open", body, NOW)
                .expect("known")
                .note
        };
        assert_eq!(heard(b"\r\n  \n"), None);
        assert_eq!(
            heard(b"disk\nfull \x1b[31m\xff").as_deref(),
            Some("disk full [31m\u{fffd}")
        );
        assert_eq!(
            heard(&vec![b'x'; 100_000]).expect("text").chars().count(),
            NOTE
        );
    }

    #[test]
    fn a_call_that_waits_in_a_file_is_small_names_no_token_and_comes_back_the_same() {
        let heard = doors().hear("/heartbeat/s3cret-s3cret-s3cret/3", b"no space", NOW);
        let heard = heard.expect("known");
        let json = serde_json::to_string(&heard).expect("JSON");
        assert_eq!(
            json,
            r#"{"name":"hidden","signal":{"status":3},"note":"no space","at":1796025600.0}"#
        );
        let back: Heard = serde_json::from_str(&json).expect("the same");
        assert_eq!(back, heard);
    }

    proptest! {
        #[test]
        fn no_address_makes_it_panic_or_opens_another_door(target in "\\PC{0,40}", tail in "[a-z0-9/?#-]{0,20}") {
            let doors = doors();
            let plain = doors.hear(&target, b"", NOW);
            prop_assert!(plain.is_none() || target.starts_with("/heartbeat/open"));
            let below = doors.hear(&format!("/heartbeat/{tail}"), b"", NOW);
            prop_assert!(below.is_none() || tail.starts_with("open"));
        }
    }
}
