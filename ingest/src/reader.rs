//! One feed of a tick: fetched, parsed and known once; what is new is stored together with the
//! feed's validators. One feed's trouble never costs another.

use crate::feed::Document;
use crate::fetch::{self, FaultKind, FetchClient, Fetched};
use crate::know::identify;
use crate::panics::caught_in;
use crate::parsing::Parsing;
use crate::plan::Planned;
use crate::report::{FeedReport, FeedResult, NextTry};
use crate::request::Asking;
use shared::config::SameHosts;
use shared::model::{DedupKey, Prints, Timestamp, Validators};
use shared::platform::clock::Clock;
use shared::policy::text::one_line;
use shared::store::items::{self, Parsed, Stored};
use shared::store::{Db, Remedy, Store, StoreError};
use shared::store::{feeds, health};
use std::collections::HashSet;
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
    pub same_hosts: SameHosts,
    /// `None` in a dry run: nothing is written.
    pub store: Option<Arc<Store>>,
    /// Entries of a feed's first fetch are news too.
    pub alert_existing: bool,
    /// Until then a feed may answer and be parsed.
    pub deadline: Instant,
    /// The end of the tick: until then what came may wait for a held database.
    pub end: Instant,
}

/// What reading one feed gave.
#[derive(Debug)]
pub struct Read {
    pub report: FeedReport,
    /// What it parsed, when it did; a dry run goes on from here.
    pub parsed: Option<Parsed>,
}

impl Read {
    /// Of a feed that nobody began to read.
    pub fn carried_over(planned: &Planned) -> Self {
        Self {
            report: FeedReport::of(planned, FeedResult::CarriedOver),
            parsed: None,
        }
    }
}

impl Reader {
    /// Reads one feed. One that gives nothing before the deadline has failed, as any other that
    /// fails: it is not the first one to be read again.
    ///
    /// # Errors
    /// The database's, which are not the feed's fault.
    pub async fn read(&self, planned: &Planned) -> Result<Read, StoreError> {
        let start = Instant::now();
        let fetched = match caught_in(timeout_at(self.deadline, self.fetch(planned))).await {
            Ok(in_time) => in_time.unwrap_or_else(|_elapsed| {
                Err(Trouble::of(&"no answer before the tick's deadline"))
            }),
            Err(words) => Err(Trouble::of(&format!("a bug while reading it: {words}"))),
        };
        let next_try = match &fetched {
            Err(trouble) => Some(NextTry::after(planned, trouble.retry_at, self.clock.now())),
            Ok(_) => None,
        };
        let (result, parsed) = self.record(planned, fetched).await?;
        let title = parsed.as_ref().and_then(|parsed| parsed.title.clone());
        let name = planned.feed.name.clone().or(title);
        Ok(Read {
            report: FeedReport {
                name: name.unwrap_or_else(|| planned.name()),
                took_seconds: start.elapsed().as_secs_f64(),
                next_try,
                ..FeedReport::of(planned, result)
            },
            parsed,
        })
    }

    /// What the database refuses is that feed's failure and no other's.
    async fn record(
        &self,
        planned: &Planned,
        fetched: Result<Fetch, Trouble>,
    ) -> Result<(FeedResult, Option<Parsed>), StoreError> {
        let trouble = match fetched {
            Ok(fetch) => match self.keep(planned, fetch).await {
                Err(error) if error.remedy() == Remedy::Skip => Trouble::of(&error),
                kept => return kept,
            },
            Err(trouble) => trouble,
        };
        let error = trouble.error.clone();
        self.blame(planned, trouble).await?;
        Ok((FeedResult::Failed { error }, None))
    }

    /// Items and validators in one transaction: no crash comes between them.
    async fn keep(
        &self,
        planned: &Planned,
        fetch: Fetch,
    ) -> Result<(FeedResult, Option<Parsed>), StoreError> {
        let id = planned.state.id;
        match fetch {
            Fetch::New { repaired, parsed } => {
                let items = parsed.clone();
                let write = self.write(move |db, now| items::store(db, &items, now));
                let read = |stored: Stored| FeedResult::Read {
                    new: stored.new,
                    known: stored.known,
                    seeded: stored.seeded,
                    repaired,
                };
                Ok(match write.await? {
                    Some(stored) => (read(stored), Some(parsed)),
                    None => (FeedResult::CarriedOver, None),
                })
            }
            Fetch::NotModified {
                validators,
                moved_to,
            } => {
                let write = self.write(move |db, now| {
                    feeds::not_modified(db, id, &validators, moved_to.as_deref(), now)
                });
                Ok(match write.await? {
                    Some(()) => (FeedResult::NotModified, None),
                    None => (FeedResult::CarriedOver, None),
                })
            }
        }
    }

    async fn blame(&self, planned: &Planned, trouble: Trouble) -> Result<(), StoreError> {
        let (id, retry_at) = (planned.state.id, trouble.retry_at);
        let write = self.write(move |db, now| {
            feeds::failed(db, id, &trouble.error, retry_at, now)?;
            if trouble.gone {
                health::gone(db, id, now)?;
            }
            Ok(())
        });
        let feed = planned.name();
        match write.await {
            Ok(Some(())) => {}
            Ok(None) => tracing::warn!(%feed, "its failure is not recorded: the database is held"),
            Err(error) if error.remedy() == Remedy::Skip => {
                tracing::error!(%feed, "its failure is not recorded: {error}");
            }
            Err(error) => return Err(error),
        }
        Ok(())
    }

    async fn fetch(&self, planned: &Planned) -> Result<Fetch, Trouble> {
        let now = self.clock.now();
        let asking = Asking::of(planned).map_err(|problem| Trouble::of(&problem))?;
        match fetch::fetch(&self.client, &asking.request(), now).await {
            Fetched::NotModified {
                validators,
                permanent_redirect,
            } => Ok(Fetch::NotModified {
                validators,
                moved_to: asking.moved_to(permanent_redirect),
            }),
            Fetched::Failed(fault) => Err(Trouble {
                retry_at: fault.retry_after.map(|wait| now + wait),
                gone: fault.kind == FaultKind::Gone,
                ..Trouble::of(&fault)
            }),
            Fetched::New {
                mut body,
                charset,
                final_url,
                validators,
                max_age,
                redirects,
                permanent_redirect,
            } => {
                let known = planned.state.prints.clone();
                // The body keeps its part of the room until it is parsed.
                let parse =
                    self.parsing
                        .parse(body.take(), charset, final_url, known, self.deadline);
                let document = parse.await.map_err(|error| match redirects {
                    Some(way) => Trouble::of(&format!("{error} (redirected: {way})")),
                    None => Trouble::of(&error),
                })?;
                let ttl = document.ttl.max(max_age);
                let repaired = document.repaired;
                let parsed = Parsed {
                    validators,
                    ttl,
                    moved_to: asking.moved_to(permanent_redirect),
                    ..self.know(planned, document)
                };
                Ok(Fetch::New { repaired, parsed })
            }
        }
    }

    fn know(&self, planned: &Planned, document: Document) -> Parsed {
        let known = identify(
            document.entries,
            planned.state.guids_unreliable,
            &self.same_hosts,
        );
        if known.guids_unreliable && !planned.state.guids_unreliable {
            tracing::warn!(feed = %planned.name(), "the feed repeats its ids: from now on its items are known by their links");
        }
        let is_unchanged = |place: &usize| {
            let print = document.prints.get(*place);
            print.is_some_and(|print| planned.state.prints.hold(*print))
        };
        let unchanged: HashSet<DedupKey> = std::iter::zip(&known.items, &known.places)
            .filter(|(_, place)| is_unchanged(place))
            .map(|(item, _)| item.key.clone())
            .collect();
        Parsed {
            feed_id: planned.state.id,
            title: document.title,
            items: known.items,
            unchanged,
            prints: Prints::of(document.prints),
            guids_unreliable: known.guids_unreliable,
            validators: Validators::NONE,
            ttl: None,
            moved_to: None,
            seed: !self.alert_existing,
            tells_edits: planned.feed.tells_edits,
        }
    }

    /// Writes, for as long as the tick lasts: a database that somebody holds is asked again, and
    /// `None` says that it was held to the end. In a dry run nothing is written.
    async fn write<T: Default + Send + 'static>(
        &self,
        work: impl Fn(&Db, Timestamp) -> Result<T, StoreError> + Send + Sync + 'static,
    ) -> Result<Option<T>, StoreError> {
        let Some(store) = &self.store else {
            return Ok(Some(T::default()));
        };
        let work = Arc::new(work);
        let writing = async {
            loop {
                let (work, now) = (Arc::clone(&work), self.clock.now());
                match store.write(move |db| work(db, now)).await {
                    Err(StoreError::Locked { .. }) => sleep(AGAIN).await,
                    written => return written,
                }
            }
        };
        match timeout_at(self.end, writing).await {
            Ok(written) => written.map(Some),
            Err(_elapsed) => Ok(None),
        }
    }
}

/// What a feed's server gave.
enum Fetch {
    NotModified {
        validators: Validators,
        moved_to: Option<String>,
    },
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
    /// For good, said the server.
    gone: bool,
}

impl Trouble {
    fn of(error: &dyn Display) -> Self {
        Self {
            error: one_line(&error.to_string()),
            retry_at: None,
            gone: false,
        }
    }
}
