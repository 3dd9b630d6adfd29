//! One feed of a tick: fetched, parsed and known once; what is new is stored together with the
//! feed's validators. One feed's trouble never costs another.

use crate::feed::Document;
use crate::fetch::{self, FetchClient, FetchRequest, Fetched};
use crate::know::identify;
use crate::parsing::Parsing;
use crate::plan::Planned;
use crate::report::{FeedReport, FeedResult};
use shared::model::{Timestamp, Validators};
use shared::platform::clock::Clock;
use shared::policy::text::one_line;
use shared::store::feeds;
use shared::store::items::{self, Parsed, Stored};
use shared::store::{Db, Store, StoreError};
use std::fmt::Display;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::{Instant, sleep, timeout_at};

/// The pause before a database that is held by somebody is asked again.
const AGAIN: Duration = Duration::from_millis(250);

/// What reading a feed needs.
#[derive(Clone, Debug)]
pub struct Reader {
    pub client: FetchClient,
    pub clock: Clock,
    pub parsing: Parsing,
    /// `None` in a dry run: nothing is written.
    pub store: Option<Arc<Store>>,
    /// Entries of a feed's first fetch are news too.
    pub alert_existing: bool,
    /// When the tick's time is over.
    pub deadline: Instant,
}

/// What reading one feed gave.
#[derive(Debug)]
pub struct Read {
    pub report: FeedReport,
    /// What it parsed, when it did; a dry run goes on from here.
    pub parsed: Option<Parsed>,
}

impl Reader {
    /// Reads one feed. At the tick's deadline it is left as it was, for the next tick.
    ///
    /// # Errors
    /// The database's, which are not the feed's fault.
    pub async fn read(&self, planned: &Planned) -> Result<Read, StoreError> {
        let start = Instant::now();
        let (result, parsed) = match timeout_at(self.deadline, self.read_in_time(planned)).await {
            Ok(read) => read?,
            Err(_elapsed) => (FeedResult::CarriedOver, None),
        };
        let title = parsed.as_ref().and_then(|parsed| parsed.title.clone());
        let name = planned.feed.name.clone().or(title);
        Ok(Read {
            report: FeedReport {
                url: fetch::shown(&planned.feed.url),
                name: name.unwrap_or_else(|| planned.name()),
                result,
                took_seconds: start.elapsed().as_secs_f64(),
            },
            parsed,
        })
    }

    async fn read_in_time(
        &self,
        planned: &Planned,
    ) -> Result<(FeedResult, Option<Parsed>), StoreError> {
        let id = planned.state.id;
        match self.fetch(planned).await {
            Ok(Fetch::New { repaired, parsed }) => {
                let stored = self.keep(&parsed).await?;
                let result = FeedResult::Read {
                    new: stored.new,
                    known: stored.known,
                    seeded: stored.seeded,
                    repaired,
                };
                Ok((result, Some(parsed)))
            }
            Ok(Fetch::NotModified(validators)) => {
                self.write(move |db, now| feeds::not_modified(db, id, &validators, now))
                    .await?;
                Ok((FeedResult::NotModified, None))
            }
            Err(Trouble { error, retry_at }) => {
                let told = error.clone();
                self.write(move |db, now| feeds::failed(db, id, &told, retry_at, now))
                    .await?;
                Ok((FeedResult::Failed { error }, None))
            }
        }
    }

    async fn fetch(&self, planned: &Planned) -> Result<Fetch, Trouble> {
        let now = self.clock.now();
        let secret = match &planned.feed.authorization {
            Some(file) => Some(file.resolve().map_err(|problem| Trouble::of(&problem))?),
            None => None,
        };
        let request = FetchRequest {
            url: &planned.feed.url,
            validators: &planned.state.validators,
            last_full: planned.state.full_at,
            authorization: secret.as_ref(),
            ..FetchRequest::unconditional(&planned.feed.url)
        };
        match fetch::fetch(&self.client, &request, now).await {
            Fetched::NotModified { validators } => Ok(Fetch::NotModified(validators)),
            Fetched::Failed(fault) => Err(Trouble {
                retry_at: fault.retry_after.map(|wait| now + wait),
                ..Trouble::of(&fault)
            }),
            Fetched::New {
                body,
                charset,
                final_url,
                validators,
                ..
            } => {
                let parse = self.parsing.parse(body, charset, final_url, self.deadline);
                let document = parse.await.map_err(|error| Trouble::of(&error))?;
                Ok(self.know(planned, document, validators))
            }
        }
    }

    fn know(&self, planned: &Planned, document: Document, validators: Validators) -> Fetch {
        let known = identify(document.entries, planned.state.guids_unreliable);
        if known.guids_unreliable && !planned.state.guids_unreliable {
            tracing::warn!(feed = %planned.name(), "the feed repeats its ids: from now on its items are known by their links");
        }
        Fetch::New {
            repaired: document.repaired,
            parsed: Parsed {
                feed_id: planned.state.id,
                title: document.title,
                items: known.items,
                guids_unreliable: known.guids_unreliable,
                validators,
                seed: !self.alert_existing,
            },
        }
    }

    /// Items and validators in one transaction: no crash comes between them.
    async fn keep(&self, parsed: &Parsed) -> Result<Stored, StoreError> {
        let parsed = parsed.clone();
        self.write(move |db, now| items::store(db, &parsed, now))
            .await
    }

    /// Writes, for as long as the tick lasts: a database that somebody holds is asked again. In a
    /// dry run nothing is written.
    async fn write<T: Default + Send + 'static>(
        &self,
        work: impl Fn(&Db, Timestamp) -> Result<T, StoreError> + Send + Sync + 'static,
    ) -> Result<T, StoreError> {
        let Some(store) = &self.store else {
            return Ok(T::default());
        };
        let work = Arc::new(work);
        loop {
            let (work, now) = (Arc::clone(&work), self.clock.now());
            match store.write(move |db| work(db, now)).await {
                Err(StoreError::Locked { .. }) => sleep(AGAIN).await,
                written => return written,
            }
        }
    }
}

/// What a feed's server gave.
enum Fetch {
    NotModified(Validators),
    New {
        /// The document was faulty and was read all the same.
        repaired: bool,
        parsed: Parsed,
    },
}

/// Why a feed could not be read.
struct Trouble {
    error: String,
    /// Not before then, said the server.
    retry_at: Option<Timestamp>,
}

impl Trouble {
    fn of(error: &dyn Display) -> Self {
        Self {
            error: one_line(&error.to_string()),
            retry_at: None,
        }
    }
}
