//! Judging by a model, beside the reading of feeds: whom to ask is decided once a tick, then items are
//! asked about one after the other, the graver and the older first, until the tick's deadline.

use crate::asking::{Judged, Place, Question, Said, Waiting};
use crate::classify::model::{Model, Models};
use crate::classify::{Fare, Fault, FaultKind, FeedFacts, News, Waits, places_in_time};
use shared::Failure;
use shared::config::Config;
use shared::model::{Judge, Timestamp};
use shared::platform::clock::Clock;
use shared::policy::text::span;
use shared::store::Store;
use shared::store::models::{self, Health, Name};
use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;
use std::time::Duration;
use tokio::task::JoinSet;
use tokio::time::Instant;

/// After so many questions in vain, in a row, a tick asks no more: it is not the items.
const PATIENCE: u32 = 5;

/// What a tick asks of models.
pub(crate) struct Judging {
    models: Option<Arc<Models>>,
    store: Arc<Store>,
    clock: Clock,
    waits: Waits,
    queue: BTreeMap<Place, Waiting>,
    /// Asked about in vain: not again in this tick.
    later: Vec<Waiting>,
    /// Every item that was in the queue: one that is read from the database again is not new.
    seen: HashSet<i64>,
    ready: Vec<Judged>,
    asking: JoinSet<Event>,
    whom: Whom,
    ollama: Fare,
    cloud: Fare,
    /// Questions in vain, in a row.
    in_vain: u32,
    /// By the clock's steady time, and by the runtime's.
    end: (Duration, Instant),
}

/// Whom this tick asks.
#[derive(Debug)]
enum Whom {
    NobodyYet,
    /// Ollama is asked whether it is there.
    Probing,
    Ollama(Model),
    Cloud(Model),
    /// What is left waits for a later tick.
    NobodyMore,
}

enum Event {
    Probed(Result<String, Fault>),
    Asked(Box<Waiting>, Judge, Said),
}

impl Judging {
    /// # Errors
    /// The database's, and when there can be no HTTP client.
    pub(crate) async fn of(
        config: &Config,
        store: &Arc<Store>,
        clock: &Clock,
        deadline: Instant,
    ) -> Result<Self, Failure> {
        let models = Models::of(&config.classify)
            .map_err(|error| Failure::Unexpected(format!("no HTTP client: {error}")))?;
        let health = |db: &_| {
            let ollama = models::health(db, Name::Ollama)?;
            Ok((ollama, models::health(db, Name::Cloud)?))
        };
        let (ollama, cloud) = match models {
            Some(_) => store.read(health).await?,
            None => (Health::default(), Health::default()),
        };
        Ok(Self {
            models: models.map(Arc::new),
            store: Arc::clone(store),
            clock: clock.clone(),
            waits: Waits {
                takes: Duration::ZERO,
                at_once: 1,
                deadline: config.ingest.deadline,
                interval: config.ingest.interval,
                give_up_after: config.classify.give_up_after,
            },
            queue: BTreeMap::new(),
            later: Vec::new(),
            seen: HashSet::new(),
            ready: Vec::new(),
            asking: JoinSet::new(),
            whom: Whom::NobodyYet,
            ollama: Fare::of(ollama),
            cloud: Fare::of(cloud),
            in_vain: 0,
            end: (clock.steady() + config.ingest.deadline, deadline),
        })
    }

    /// Whether a model may be asked about what such a feed says.
    pub(crate) fn is_for(&self, facts: &FeedFacts) -> bool {
        let models = self.models.as_ref();
        models.is_some_and(|models| models.classify.asks_about(facts.cloud))
    }

    pub(crate) fn add(&mut self, waiting: Waiting) {
        let id = waiting.pending.id;
        if self.seen.insert(id) {
            self.queue.insert(waiting.place(), waiting);
        }
    }

    /// Whether [`next`](Self::next) has something to wait for.
    pub(crate) fn is_busy(&self) -> bool {
        !self.ready.is_empty() || !self.asking.is_empty() || self.may_ask()
    }

    /// The next item that is judged; `None`: this tick judges no more. May be dropped while it waits.
    pub(crate) async fn next(&mut self) -> Option<Judged> {
        loop {
            if let Some(judged) = self.ready.pop() {
                return Some(judged);
            }
            self.start();
            match self.asking.join_next().await? {
                Ok(Event::Probed(probed)) => self.choose(probed),
                Ok(Event::Asked(waiting, judge, said)) => self.hear(*waiting, judge, said),
                Err(panic) => {
                    tracing::error!("a bug while asking a model: {panic}");
                    self.whom = Whom::NobodyMore;
                }
            }
        }
    }

    /// What has waited long enough is judged by the rules; the rest is left for the next tick.
    pub(crate) fn give_up(&mut self) -> Vec<Judged> {
        let (now, longest) = (self.clock.now(), self.waits.give_up_after);
        let why = format!("no model has judged it within {}", span(longest));
        let queue = std::mem::take(&mut self.queue).into_values();
        let later = std::mem::take(&mut self.later);
        let old = queue
            .chain(later)
            .filter(|waiting| now.since(waiting.pending.first_seen) >= longest);
        old.map(|waiting| waiting.unclassified(&why)).collect()
    }

    /// How the models fared, to be kept, and what is new of it.
    pub(crate) fn settle(&mut self, now: Timestamp) -> Vec<(Name, Health, Option<News>)> {
        if self.models.is_none() {
            return Vec::new();
        }
        let fares = [
            (Name::Ollama, std::mem::take(&mut self.ollama)),
            (Name::Cloud, std::mem::take(&mut self.cloud)),
        ];
        let settled = fares.map(|(name, fare)| {
            let (health, news) = fare.settle(now);
            (name, health, news)
        });
        settled.into()
    }

    /// A request is begun only when there is time for its answer, as far as that can be known.
    fn may_ask(&self) -> bool {
        if self.queue.is_empty() {
            return false;
        }
        let left = self.left();
        match &self.whom {
            Whom::NobodyMore => false,
            Whom::NobodyYet | Whom::Probing => !left.is_zero(),
            Whom::Ollama(_) => {
                !left.is_zero() && self.ollama.typical().is_none_or(|takes| left >= takes)
            }
            Whom::Cloud(_) => !left.is_zero() && self.queue.values().any(|w| w.facts.cloud),
        }
    }

    fn left(&self) -> Duration {
        let by_clock = self.end.0.saturating_sub(self.clock.steady());
        by_clock.min(self.end.1.saturating_duration_since(Instant::now()))
    }

    fn start(&mut self) {
        let Some(models) = self.models.clone() else {
            return;
        };
        while self.may_ask() {
            let model = match &self.whom {
                Whom::NobodyYet => match (&models.ollama, &models.cloud) {
                    (Some(ollama), _) => {
                        let ollama = ollama.clone();
                        self.whom = Whom::Probing;
                        self.asking
                            .spawn(async move { Event::Probed(ollama.probe().await) });
                        return;
                    }
                    (None, Some(cloud)) => {
                        self.whom = Whom::Cloud(cloud.clone());
                        continue;
                    }
                    (None, None) => return,
                },
                Whom::Ollama(model) | Whom::Cloud(model) => model.clone(),
                Whom::Probing | Whom::NobodyMore => return,
            };
            if self.asking.len() >= model.at_once() {
                return;
            }
            let Some(waiting) = self.take() else {
                return;
            };
            let question = Question {
                models: Arc::clone(&models),
                model,
                store: Arc::clone(&self.store),
                clock: self.clock.clone(),
                left: self.left(),
            };
            let judge = question.model.judge();
            self.asking.spawn(async move {
                let said = question.ask(&waiting).await;
                Event::Asked(Box::new(waiting), judge, said)
            });
        }
    }

    /// The first of the queue that may be asked about.
    fn take(&mut self) -> Option<Waiting> {
        let cloud = matches!(self.whom, Whom::Cloud(_));
        let mut places = self.queue.iter();
        let (place, _) = places.find(|(_, waiting)| !cloud || waiting.facts.cloud)?;
        let place = *place;
        self.queue.remove(&place)
    }

    /// The probe decides for the whole tick.
    fn choose(&mut self, probed: Result<String, Fault>) {
        let Some(models) = self.models.clone() else {
            return;
        };
        self.whom = match (probed, &models.ollama, &models.cloud) {
            (Err(fault), _, cloud) if fault.kind == FaultKind::Unreachable => {
                tracing::warn!("Ollama {fault}");
                self.ollama.failed(&fault);
                match cloud {
                    Some(cloud) => Whom::Cloud(cloud.clone()),
                    None => Whom::NobodyMore,
                }
            }
            (_, Some(ollama), _) => Whom::Ollama(ollama.clone()),
            (_, None, _) => Whom::NobodyMore,
        };
    }

    fn hear(&mut self, waiting: Waiting, asked: Judge, said: Said) {
        match said {
            Said::Answer {
                answer,
                judge,
                took,
            } => {
                if let Some(took) = took {
                    self.in_vain = 0;
                    self.fare(asked).worked(took);
                }
                let judged = waiting.answered(&answer, judge, took.is_none(), &self.by(judge));
                self.ready.push(judged);
                self.spare_the_surplus();
            }
            Said::Failed(fault) => {
                let item = waiting.pending.id;
                tracing::warn!(item, "the model {fault}");
                self.fare(asked).failed(&fault);
                self.in_vain += 1;
                if !fault.kind.may_be_the_item() || self.in_vain >= PATIENCE {
                    self.whom = Whom::NobodyMore;
                }
                self.later.push(waiting);
            }
            Said::OverBudget => {
                tracing::warn!("the cloud's requests of this day are used up");
                self.whom = Whom::NobodyMore;
                self.later.push(waiting);
            }
            Said::CutShort => {
                self.whom = Whom::NobodyMore;
                self.later.push(waiting);
            }
        }
    }

    fn fare(&mut self, asked: Judge) -> &mut Fare {
        match asked {
            Judge::Cloud => &mut self.cloud,
            _ => &mut self.ollama,
        }
    }

    fn by(&self, judge: Judge) -> String {
        let models = self.models.as_ref();
        let model = models.and_then(|models| match judge {
            Judge::Cloud => models.cloud.as_ref(),
            _ => models.ollama.as_ref(),
        });
        model.map(Model::name).unwrap_or_default()
    }

    /// What would wait too long is judged by the rules at once.
    fn spare_the_surplus(&mut self) {
        let Whom::Ollama(model) = &self.whom else {
            return;
        };
        let Some(takes) = self.ollama.typical() else {
            return;
        };
        let waits = Waits {
            takes,
            at_once: model.at_once(),
            ..self.waits
        };
        let now = self.clock.now();
        let mut place = 0;
        let (kept, surplus): (Vec<_>, Vec<_>) = std::mem::take(&mut self.queue)
            .into_iter()
            .partition(|(_, waiting)| {
                let waited = now.since(waiting.pending.first_seen);
                let in_time = place < places_in_time(&waits, waited);
                place += usize::from(in_time);
                in_time
            });
        self.queue = kept.into_iter().collect();
        let longest = span(waits.give_up_after);
        let why = format!("it would have waited for the model for more than {longest}");
        let surplus = surplus.into_iter();
        self.ready
            .extend(surplus.map(|(_, waiting)| waiting.unclassified(&why)));
    }
}
