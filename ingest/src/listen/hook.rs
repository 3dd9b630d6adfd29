//! One delivery, from its headers to its answer: whose it is, what it says, and that it is kept.

use super::beat::{self, Doors};
use super::body::{self, BodyError, Read};
use super::pace::{self, Pacer};
use super::room::{Held, Room, is_large, too_large};
use super::seats::Seat;
use super::signature::{self, Offered};
use super::spool::{Kept, Spool, Spooled};
use crate::panics::caught;
use axum::body::Body;
use axum::http::{HeaderMap, StatusCode, header};
use http_body_util::BodyExt;
use sha2::{Digest, Sha256};
use shared::config::{Config, Problem, Webhook, WebhookKind};
use shared::model::{Category, DedupKey, Entry, Rating, Severity, Timestamp};
use shared::platform::clock::Clock;
use shared::store::posts::{self, Arrival, Post, Received};
use shared::store::{Db, Remedy, Store, StoreError, room};
use std::io;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;
use tokio::sync::Notify;
use tokio::task::spawn_blocking;
use tokio::time::{Instant, timeout, timeout_at};

/// The database is given so long before the spool takes a delivery: senders wait for a second, or less.
const PATIENCE: Duration = Duration::from_millis(500);
/// After it was in vain the database is not asked for so long.
const HELD: Duration = Duration::from_millis(250);
/// A note that does not come is done without: what counts is the call.
const NOTE_TIME: Duration = Duration::from_secs(1);

const OTHERS_WAIT: &str = "it is held, or others wait";

/// What the sender of a delivery is told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Answer {
    pub(super) status: StatusCode,
    pub(super) text: String,
}

pub(super) fn answer(status: StatusCode, text: impl Into<String>) -> Answer {
    Answer {
        status,
        text: text.into(),
    }
}

/// What every delivery needs.
pub(super) struct Receiver {
    pub(super) config: Config,
    /// Once it could be opened: before that, all goes to the spool.
    pub(super) store: OnceLock<Arc<Store>>,
    pub(super) clock: Clock,
    pub(super) spool: Arc<Spool>,
    room: Room,
    /// Of the heartbeats.
    doors: Doors,
    pub(super) pacer: Pacer,
    /// Something new is there to be judged.
    pub(super) arrived: Notify,
    /// The database did not answer a moment ago.
    held_until: Mutex<Option<Instant>>,
}

impl Receiver {
    /// # Errors
    /// A token that cannot be read.
    pub(super) fn new(config: Config, clock: Clock) -> Result<Self, Problem> {
        Ok(Self {
            doors: Doors::open(&config)?,
            spool: Arc::new(Spool::beside(&config.state_path)),
            pacer: Pacer::new(&config, Instant::now()),
            config,
            store: OnceLock::new(),
            clock,
            room: Room::new(),
            arrived: Notify::new(),
            held_until: Mutex::new(None),
        })
    }

    /// `Err` is an answer too: one that ends it early.
    pub(super) async fn receive(
        &self,
        name: &str,
        headers: &HeaderMap,
        body: Body,
        seat: &Seat,
    ) -> Result<Answer, Answer> {
        let mut webhooks = self.config.webhooks.iter();
        let webhook = webhooks.find(|webhook| webhook.name == name);
        let webhook = webhook.ok_or_else(|| answer(StatusCode::NOT_FOUND, "no such webhook"))?;
        require_type(headers)?;
        let length = self.length(headers)?;
        let (body, _held) = self.verified(webhook, headers, body, length).await?;
        seat.is_served();
        let now = self.clock.now();
        if !self.pacer.takes(name, Instant::now()) {
            return Err(self.refuse(name));
        }
        let spooled = spooled(webhook, headers, body, now);
        let (arrival, spooled) = parsed(webhook, spooled).await?;
        // Feeds are read again when there is room; a delivery may come once. So it has the last of it.
        if let Err(error) = room::require(&self.config.state_path, self.config.min_free / 4) {
            tracing::error!(webhook = name, "a delivery is refused: {error}");
            return Err(answer(StatusCode::SERVICE_UNAVAILABLE, "the disk is full"));
        }
        Ok(self.keep(arrival, spooled).await)
    }

    /// A delivery or a call that comes too fast: once a minute a line of the log, and `behind` tells it.
    fn refuse(&self, name: &str) -> Answer {
        if let Some(untold) = self.pacer.tells_too_many(name, Instant::now()) {
            tracing::error!(name, untold, "refused: more in a minute than it takes");
        }
        answer(StatusCode::TOO_MANY_REQUESTS, "too many in a minute")
    }

    /// How long the body says it is, when that is not too long.
    fn length(&self, headers: &HeaderMap) -> Result<Option<u64>, Answer> {
        let length = text(headers, header::CONTENT_LENGTH.as_str());
        let length: Option<u64> = length.and_then(|length| length.parse().ok());
        if length.is_some_and(|length| length > self.config.listen.max_body) {
            return Err(too_large());
        }
        Ok(length)
    }

    /// The body and its room, when it is what its sender signed.
    async fn verified(
        &self,
        webhook: &Webhook,
        headers: &HeaderMap,
        body: Body,
        length: Option<u64>,
    ) -> Result<(Vec<u8>, Held), Answer> {
        let secret = webhook.secret.resolve().map_err(|problem| {
            tracing::error!(
                webhook = webhook.name,
                "its secret cannot be read: {problem}"
            );
            answer(StatusCode::SERVICE_UNAVAILABLE, "not ready; try again")
        })?;
        let refused = || {
            if let Some(untold) = self.pacer.tells_refusal(&webhook.name, Instant::now()) {
                tracing::warn!(
                    webhook = webhook.name,
                    untold,
                    "a delivery without the right signature or token is refused"
                );
            }
            answer(
                StatusCode::UNAUTHORIZED,
                "the signature or token is missing or wrong",
            )
        };
        let offered = Offered {
            github: text(headers, "x-hub-signature-256"),
            sentry: text(headers, "sentry-hook-signature")
                .or_else(|| text(headers, "sentry-app-signature")),
            authorization: text(headers, header::AUTHORIZATION.as_str()),
        };
        let proof = signature::offered(webhook.kind, &secret, &offered).ok_or_else(refused)?;
        let (body, held) = self
            .room
            .read(body, length, self.config.listen.max_body)
            .await?;
        if !signature::is_whole(&proof, &secret, &body) {
            return Err(refused());
        }
        Ok((body, held))
    }

    /// In the database, or, when that does not take it in time, in the spool.
    async fn keep(&self, arrival: Arrival, spooled: Spooled) -> Answer {
        let Some(store) = self.open_store() else {
            return self.keep_for_later(Kept::Post(spooled), OTHERS_WAIT).await;
        };
        let now = spooled.received();
        let spool = Arc::clone(&self.spool);
        // Asked again in its turn: what gave up before it is on its way to the spool.
        let receive = move |db: &Db| {
            if spool.has_waiting() {
                Ok(None)
            } else {
                posts::receive(db, &arrival, now).map(Some)
            }
        };
        let why = match timeout(PATIENCE, store.write(receive)).await {
            Ok(Ok(Some(received))) => {
                self.arrived.notify_one();
                return told(received);
            }
            Ok(Ok(None)) => OTHERS_WAIT.to_owned(),
            Ok(Err(error)) if error.remedy() == Remedy::Skip => {
                tracing::error!(
                    webhook = spooled.hook,
                    "a delivery cannot be stored: {error}"
                );
                return answer(StatusCode::INTERNAL_SERVER_ERROR, "it cannot be stored");
            }
            Ok(Err(error)) => refusal(&error),
            // It may still be stored: then the spool brings what is known.
            Err(_elapsed) => "it did not answer in time".to_owned(),
        };
        self.is_held_now();
        self.keep_for_later(Kept::Post(spooled), &why).await
    }

    /// A call of a heartbeat; `None` when it is none.
    pub(super) async fn hear(&self, target: &str, body: Body, seat: &Seat) -> Option<Answer> {
        let note = beginning(body).await;
        let now = self.clock.now();
        let heard = self.doors.hear(target, &note, now)?;
        seat.is_served();
        let name = pace::of_beat(&heard.name);
        if !self.pacer.takes(&name, Instant::now()) {
            return Some(self.refuse(&name));
        }
        let Some(store) = self.open_store() else {
            return Some(self.keep_for_later(Kept::Beat(heard), OTHERS_WAIT).await);
        };
        let spool = Arc::clone(&self.spool);
        let overtakes = move || spool.has_waiting();
        let kept = beat::receive_unless(store, &self.config, heard.clone(), now, overtakes);
        let why = match timeout(PATIENCE, kept).await {
            Ok(Ok(Some(_changed))) => return Some(answer(StatusCode::OK, "heard")),
            Ok(Ok(None)) => OTHERS_WAIT.to_owned(),
            Ok(Err(error)) => refusal(&error),
            Err(_elapsed) => "it did not answer in time".to_owned(),
        };
        self.is_held_now();
        Some(self.keep_for_later(Kept::Beat(heard), &why).await)
    }

    /// `None`: it is not open, or did not answer a moment ago, or what comes now would overtake what waits
    /// in the spool: an end must not come before its beginning.
    fn open_store(&self) -> Option<&Arc<Store>> {
        let store = self.store.get();
        store.filter(|_| !self.is_held() && !self.spool.has_waiting())
    }

    fn is_held_now(&self) {
        let mut held_until = self
            .held_until
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        *held_until = Some(Instant::now() + HELD);
    }

    fn is_held(&self) -> bool {
        let held_until = self
            .held_until
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        held_until.is_some_and(|until| Instant::now() < until)
    }

    async fn keep_for_later(&self, kept: Kept, why: &str) -> Answer {
        // Before anything else is done: from here on nothing that comes later goes before it.
        let _coming = self.spool.expect();
        let spool = Arc::clone(&self.spool);
        let keeping = spawn_blocking(move || spool.keep(&kept)).await;
        match keeping.unwrap_or_else(|panic| Err(io::Error::other(panic))) {
            Ok(()) => {
                tracing::debug!("spooled, for the database takes nothing: {why}");
                answer(StatusCode::ACCEPTED, "accepted")
            }
            Err(error) => {
                tracing::error!(
                    "a delivery is refused: the database takes nothing ({why}), and neither does the spool: {error}"
                );
                answer(
                    StatusCode::SERVICE_UNAVAILABLE,
                    "it can be kept nowhere; try again",
                )
            }
        }
    }
}

/// Why the database took nothing. That somebody holds it for a while is no trouble; that its disk fails is.
fn refusal(error: &StoreError) -> String {
    if !matches!(error, StoreError::Locked { .. }) {
        tracing::warn!("what comes is kept beside the database for now: {error}");
    }
    error.to_string()
}

/// What a heartbeat says beside that it is one: its beginning, for a moment.
async fn beginning(mut body: Body) -> Vec<u8> {
    let mut read = Vec::new();
    let end = Instant::now() + NOTE_TIME;
    while read.len() < beat::MOST_OF_A_BODY
        && let Ok(Some(Ok(frame))) = timeout_at(end, body.frame()).await
    {
        if let Ok(data) = frame.into_data() {
            read.extend_from_slice(data.get(..beat::MOST_OF_A_BODY).unwrap_or(&data));
        }
    }
    read
}

fn told(received: Received) -> Answer {
    match received {
        Received::Stored { new: 0, known: 0 } => answer(StatusCode::OK, "pong"),
        Received::Stored { new, known } => {
            answer(StatusCode::OK, format!("stored: {new} new, {known} known"))
        }
        Received::Repeated(at) => {
            let second = at.unix_millis().div_euclid(1_000);
            answer(
                StatusCode::OK,
                format!("a duplicate of what came at Unix second {second}"),
            )
        }
    }
}

/// JSON, or the form in which GitHub can send it.
fn require_type(headers: &HeaderMap) -> Result<(), Answer> {
    let Some(found) = text(headers, header::CONTENT_TYPE.as_str()) else {
        return Ok(());
    };
    let essence = found.split(';').next().unwrap_or_default().trim();
    let essence = essence.to_ascii_lowercase();
    let is_known = essence == "application/json"
        || essence.ends_with("+json")
        || essence == "application/x-www-form-urlencoded";
    is_known
        .then_some(())
        .ok_or_else(|| answer(StatusCode::UNSUPPORTED_MEDIA_TYPE, "write application/json"))
}

fn text<'h>(headers: &'h HeaderMap, name: &str) -> Option<&'h str> {
    headers.get(name)?.to_str().ok()
}

fn spooled(webhook: &Webhook, headers: &HeaderMap, body: Vec<u8>, now: Timestamp) -> Spooled {
    let (event, delivery) = match webhook.kind {
        WebhookKind::Github => ("x-github-event", "x-github-delivery"),
        WebhookKind::Sentry => ("sentry-hook-resource", "request-id"),
        WebhookKind::Alertmanager | WebhookKind::Generic => ("", ""),
    };
    // A number of somebody's own has at most 200 letters.
    let short = |name: &str| text(headers, name).filter(|text| text.len() <= 200);
    Spooled {
        hook: webhook.name.clone(),
        event: short(event).map(str::to_owned),
        delivery: short(delivery).map(str::to_owned),
        content_type: short(header::CONTENT_TYPE.as_str()).map(str::to_owned),
        at: now.unix_millis(),
        body,
    }
}

/// What the body says; a large one keeps nobody else waiting meanwhile.
async fn parsed(webhook: &Webhook, spooled: Spooled) -> Result<(Arrival, Spooled), Answer> {
    let (webhook, is_large) = (webhook.clone(), is_large(&spooled.body));
    let parse = move || (arrival(&webhook, &spooled), spooled);
    let (arrival, spooled) = if is_large {
        spawn_blocking(parse)
            .await
            .map_err(|_cut_off| answer(StatusCode::SERVICE_UNAVAILABLE, "it ends; try again"))?
    } else {
        parse()
    };
    match arrival {
        Ok(arrival) => Ok((arrival, spooled)),
        Err(error) => Err(answer(StatusCode::BAD_REQUEST, error.to_string())),
    }
}

/// What the body says. One that a bug of ours cannot read is told as what it is: it came.
pub(super) fn arrival(webhook: &Webhook, spooled: &Spooled) -> Result<Arrival, BodyError> {
    let request = body::Request {
        event: spooled.event.as_deref(),
        content_type: spooled.content_type.as_deref(),
        body: &spooled.body,
        now: spooled.received(),
    };
    let hash = hash(&spooled.body);
    let read = match caught(|| body::read(webhook, &request)) {
        Ok(read) => read?,
        Err(words) => Read {
            posts: vec![unread(webhook, spooled, &hash, &words)],
            repeats: body::UNIQUE,
        },
    };
    Ok(Arrival {
        name: webhook.name.clone(),
        delivery: spooled.delivery.clone(),
        body: hash,
        repeats: read.repeats,
        posts: read.posts,
    })
}

fn unread(webhook: &Webhook, spooled: &Spooled, hash: &str, words: &str) -> Post {
    tracing::error!(
        webhook = webhook.name,
        "a bug while reading a delivery: {words}"
    );
    let event = spooled.event.as_deref().unwrap_or("of unknown kind");
    Post {
        entry: Entry {
            title: format!("A delivery to {} ({event}) could not be read", webhook.name),
            summary: "See the log; please report it.".to_owned(),
            rating: Some(Rating {
                severity: Severity::Normal,
                category: Category::Operations,
            }),
            ..Entry::default()
        },
        key: DedupKey::new(hash.to_owned()),
        thread: None,
        is_end: false,
    }
}

/// 128 bits of it.
fn hash(body: &[u8]) -> String {
    let digest = Sha256::digest(body);
    let hex = digest.iter().take(16);
    hex.fold(String::new(), |hex, byte| format!("{hex}{byte:02x}"))
}
