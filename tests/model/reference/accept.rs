//! What comes in: alerts, notices, what strangers write, and what a person silences or decides.

use super::super::picture::{Hush, Picture, Row, Story};
use shared::model::{Destination, Priority, Timestamp};
use shared::store::outbox::Owed;
use std::collections::BTreeSet;
use std::time::Duration;

/// A row that a stranger inserts, as far as the INSERT says something.
#[derive(Clone, Debug, Default)]
pub struct Stray {
    pub id: Option<i64>,
    pub key: Option<String>,
    pub to: (String, String),
    pub priority: i64,
    pub not_before: Timestamp,
    pub next_attempt: Timestamp,
    pub expires_at: Option<Timestamp>,
    pub fallback: Option<(Timestamp, Destination)>,
}

pub const PAYLOAD: &str = r#"{"text":"from a stranger"}"#;

impl Picture {
    /// An alert, and a row for each of its destinations; or one more time that a known one was seen.
    pub fn enqueue(&mut self, owed: &Owed, now: Timestamp) -> i64 {
        let known = self
            .stories
            .values_mut()
            .find(|story| story.dedup_key == owed.dedup_key);
        if let Some(story) = known {
            story.seen += 1;
            return story.id;
        }
        self.last_story += 1;
        self.count("alert_in", 1);
        let payload = serde_json::to_string(&owed.alert).expect("an alert");
        let story = Story {
            id: self.last_story,
            dedup_key: owed.dedup_key.clone(),
            payload: payload.clone(),
            seen: 1,
            not_owed: owed.not_owed.clone(),
            created_at: now,
        };
        self.stories.insert(story.id, story);
        let silence = self.silence_over(&owed.alert.title, now);
        let mut served = BTreeSet::new();
        for addressee in &owed.to {
            let to = &addressee.destination;
            if !served.insert(to) {
                continue;
            }
            let mut row = Row::fresh("alert", to, owed.priority, now);
            row.alert_id = Some(self.last_story);
            row.idempotency_key = Some(format!(
                "a:{}:{}:{}",
                self.last_story, to.channel, to.chat_id
            ));
            row.payload.clone_from(&payload);
            row.not_before = addressee.not_before;
            if let Some((id, until)) = silence {
                row.silenced_by = Some(id);
                row.not_before = row.not_before.max(until);
            }
            if let Some(fallback) = &addressee.fallback {
                row.fallback_at = Some(now.max(row.not_before) + fallback.after);
                row.fallback_channel = Some(fallback.to.channel.clone());
                row.fallback_chat_id = Some(fallback.to.chat_id.clone());
            }
            self.add(row);
        }
        self.last_story
    }

    fn silence_over(&self, title: &str, now: Timestamp) -> Option<(i64, Timestamp)> {
        let holds = |hush: &&Hush| {
            hush.ended_at.is_none() && hush.until > now && matches(&hush.pattern, title)
        };
        let held = self.silences.values().filter(holds);
        let longest = held.max_by_key(|hush| (hush.until, -hush.id));
        longest.map(|hush| (hush.id, hush.until))
    }

    /// `None`: it was told before.
    pub fn notify(
        &mut self,
        event: &str,
        about: &str,
        to: &Destination,
        priority: Priority,
        now: Timestamp,
    ) -> i64 {
        let key = format!("n:{event}:{about}:{}:{}", to.channel, to.chat_id);
        if let Some(told) = self
            .rows
            .values()
            .find(|row| row.idempotency_key.as_ref() == Some(&key))
        {
            return told.id;
        }
        let mut row = Row::fresh("notice", to, priority, now);
        row.idempotency_key = Some(key);
        self.add(row)
    }

    pub fn insert(&mut self, stray: &Stray, now: Timestamp) {
        let to = Destination {
            channel: stray.to.0.clone(),
            // Drivers that bind numbers as floats write a fraction.
            chat_id: stray
                .to
                .1
                .strip_suffix(".0")
                .unwrap_or(&stray.to.1)
                .to_owned(),
        };
        let mut row = Row::fresh("raw", &to, Priority::Normal, now);
        row.priority = stray.priority;
        row.id = stray.id.unwrap_or(0);
        row.idempotency_key.clone_from(&stray.key);
        PAYLOAD.clone_into(&mut row.payload);
        row.not_before = stray.not_before;
        row.next_attempt = stray.next_attempt;
        row.expires_at = stray.expires_at;
        if let Some((at, to)) = &stray.fallback {
            row.fallback_at = Some(*at);
            row.fallback_channel = Some(to.channel.clone());
            row.fallback_chat_id = Some(to.chat_id.clone());
        }
        self.add(row);
    }

    pub fn begin_silence(&mut self, pattern: &str, until: Timestamp) {
        let id = self.silences.keys().max().map_or(1, |last| last + 1);
        let hush = Hush {
            id,
            pattern: pattern.to_owned(),
            until,
            ended_at: None,
        };
        self.silences.insert(id, hush);
        for row in self.rows.values_mut() {
            let title = &row.payload;
            if row.is("ready")
                && row.kind == "alert"
                && row.not_before < until
                && matches(pattern, title)
            {
                row.not_before = until;
                row.silenced_by = Some(id);
            }
        }
    }

    pub fn end_silence(&mut self, id: i64, now: Timestamp) {
        let Some(hush) = self
            .silences
            .get_mut(&id)
            .filter(|hush| hush.ended_at.is_none() && hush.until > now)
        else {
            return;
        };
        hush.ended_at = Some(now);
        for row in self.rows.values_mut() {
            if row.is("ready") && row.silenced_by == Some(id) {
                row.not_before = Timestamp::EPOCH;
                row.silenced_by = None;
            }
        }
    }

    /// Dead or expired → ready, by a person.
    pub fn requeue(&mut self, id: i64, now: Timestamp) {
        let row = self.row(id);
        if !row.is("dead") && !row.is("expired") {
            return;
        }
        row.enter("ready", now);
        row.next_attempt = now;
        row.revived_at = Some(now);
        row.tries_from = row.attempts;
        (row.failures, row.failing_at, row.failed_for) = (0, None, Duration::ZERO);
        (row.expires_at, row.told_at, row.told_by) = (None, None, None);
    }

    /// Ready, dead or expired → cancelled, by a person.
    pub fn discard(&mut self, id: i64, now: Timestamp) {
        let row = self.row(id);
        if row.is("ready") || row.is("dead") || row.is("expired") {
            row.enter("cancelled", now);
        }
    }

    /// What has no channel goes to the default one.
    pub fn address(&mut self, from: &Destination, to: &Destination, now: Timestamp) {
        for id in self.ids(|row| row.waits_for(from)) {
            let row = self.row(id);
            row.channel.clone_from(&to.channel);
            row.chat_id.clone_from(&to.chat_id);
            row.updated_at = Some(now);
        }
    }
}

/// The patterns of the model are words.
fn matches(pattern: &str, text: &str) -> bool {
    text.to_lowercase().contains(pattern)
}
