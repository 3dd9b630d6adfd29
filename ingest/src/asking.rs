//! One item and one model: what was answered before, what the cloud may cost, the question, and what
//! came of it.

use crate::classify::answer::Answer;
use crate::classify::model::{Model, Models};
use crate::classify::prompt::Prompt;
use crate::classify::{Fault, FaultKind, FeedFacts, Ruling};
use shared::model::{Judge, Severity, Verdict};
use shared::platform::clock::Clock;
use shared::store::items::Pending;
use shared::store::models;
use shared::store::{Store, StoreError};
use std::sync::Arc;
use std::time::Duration;

/// An item that the rules leave open.
#[derive(Clone, Debug)]
pub(crate) struct Waiting {
    pub pending: Pending,
    pub facts: FeedFacts,
    pub ruling: Ruling,
    /// So often it was asked about in vain.
    pub unusable: u32,
}

/// An item that was judged.
#[derive(Clone, Debug)]
pub(crate) struct Judged {
    pub pending: Pending,
    pub facts: FeedFacts,
    pub verdict: Verdict,
    /// The same words had been asked about before.
    pub remembered: bool,
}

/// The order of the queue: what may not fall low, what was asked about in vain least often, the oldest.
pub(crate) type Place = (Severity, u32, i64);

/// What came of asking about one item.
pub(crate) enum Said {
    Answer {
        answer: Answer,
        judge: Judge,
        /// `None`: it was remembered.
        took: Option<Duration>,
    },
    Failed(Fault),
    /// The cloud's requests of the day are used up.
    OverBudget,
    /// The tick ended first, which is nobody's fault.
    CutShort,
}

impl Waiting {
    pub(crate) fn place(&self) -> Place {
        let bounds = self.ruling.open.unwrap_or_default();
        let least = bounds.least.unwrap_or(Severity::Ignore);
        (least, self.unusable, self.pending.id)
    }

    pub(crate) fn answered(
        self,
        answer: &Answer,
        judge: Judge,
        remembered: bool,
        by: &str,
    ) -> Judged {
        Judged {
            verdict: self.ruling.answered(answer, judge, by),
            pending: self.pending,
            facts: self.facts,
            remembered,
        }
    }

    pub(crate) fn unclassified(self, why: &str) -> Judged {
        Judged {
            verdict: self.ruling.unclassified(why),
            pending: self.pending,
            facts: self.facts,
            remembered: false,
        }
    }
}

/// One item put to one model.
pub(crate) struct Question {
    pub(crate) models: Arc<Models>,
    pub(crate) model: Model,
    pub(crate) store: Arc<Store>,
    pub(crate) clock: Clock,
    /// Of the tick.
    pub(crate) left: Duration,
}

impl Question {
    pub(crate) async fn ask(self, waiting: &Waiting) -> Said {
        let source = &waiting.facts.name;
        let entry = &waiting.pending.entry;
        let prompt = Prompt::about(&self.models.classify, entry, source, waiting.unusable);
        let key = prompt.key(&self.model.name());
        if let Some((answer, judge)) = self.remembered(&key).await {
            return Said::Answer {
                answer,
                judge,
                took: None,
            };
        }
        if let Some(said) = self.spend().await {
            return said;
        }
        let limit = self.model.limit();
        let begun = self.clock.steady();
        let asked = self.model.ask(&prompt, limit.min(self.left)).await;
        match asked {
            Ok(answer) => {
                let judge = self.model.judge();
                self.remember(key, &answer, judge).await;
                Said::Answer {
                    answer,
                    judge,
                    took: Some(self.clock.steady().saturating_sub(begun)),
                }
            }
            Err(fault) if fault.kind == FaultKind::Timeout && self.left < limit => Said::CutShort,
            Err(fault) => {
                if fault.kind.may_be_the_item() {
                    let item = waiting.pending.id;
                    let noted = self.store.write(move |db| models::was_unusable(db, item));
                    told(noted.await);
                }
                Said::Failed(fault)
            }
        }
    }

    async fn remembered(&self, key: &str) -> Option<(Answer, Judge)> {
        let key = key.to_owned();
        let found = self.store.read(move |db| models::answer(db, &key)).await;
        let (text, judge) = found.ok().flatten()?;
        Some((serde_json::from_str(&text).ok()?, judge))
    }

    async fn remember(&self, key: String, answer: &Answer, judge: Judge) {
        let Ok(text) = serde_json::to_string(answer) else {
            return;
        };
        let now = self.clock.now();
        let kept = self
            .store
            .write(move |db| models::remember(db, &key, &text, judge, now));
        told(kept.await);
    }

    /// A request to the cloud is counted before it goes out. What cannot be counted is not sent.
    async fn spend(&self) -> Option<Said> {
        let (Model::OpenAi(cloud) | Model::Anthropic(cloud)) = &self.model else {
            return None;
        };
        let (limit, now) = (cloud.settings.daily_limit, self.clock.now());
        let spent = self
            .store
            .write(move |db| models::spend(db, limit, now))
            .await;
        match spent {
            Ok(true) => None,
            Ok(false) => Some(Said::OverBudget),
            Err(error) => {
                told(Err(error));
                Some(Said::CutShort)
            }
        }
    }
}

/// What a model said stands also when it cannot be noted down.
fn told(noted: Result<(), StoreError>) {
    if let Err(error) = noted {
        tracing::warn!("what a model did is not recorded: {error}");
    }
}
