//! Who else touches the file: the ingest, strangers, and a person at the command line.

use super::machine::{Held, Machine, place};
use super::reference::Stray;
use super::step::{Form, Insert, Story};
use rusqlite::{Connection, ToSql, params};
use shared::model::{Gatekeeper, Priority, Timestamp};
use shared::store::outbox::{self, Addressee, Fallback, operator};
use shared::store::silences;
use std::time::Duration;
use watchalert_tests::world::owed;

const PATTERNS: [&str; 3] = ["k1", "title of k", "nothing"];
/// So many breaches in one step.
const TRIED: usize = 8;
const HOUR: Duration = Duration::from_secs(3_600);

impl Machine {
    pub fn enqueue(&mut self, story: &Story) -> Held {
        let now = self.now();
        for number in 0..story.count {
            let key = format!("k{}", u16::from(story.key) + 40 * u16::from(number));
            let priority = Priority::from_rank(i64::from(story.priority)).expect("a priority");
            let mut owed = owed(&key, &place(0), priority);
            // A different one for each, so that two may be each other's.
            let fallback = |bit: u8| {
                story.fallback.map(|(to, secs)| Fallback {
                    to: place(to.wrapping_add(bit.wrapping_mul(5))),
                    after: Duration::from_secs(u64::from(secs)),
                })
            };
            let places = (0..6).filter(|bit| story.to >> bit & 1 == 1);
            owed.to = places
                .map(|bit| Addressee {
                    not_before: if story.quiet {
                        now + HOUR
                    } else {
                        Timestamp::EPOCH
                    },
                    fallback: fallback(bit),
                    destination: place(bit),
                })
                .collect();
            // Named twice it is one place.
            owed.to.extend(owed.to.first().cloned());
            self.accept(owed)?;
        }
        Ok(())
    }

    /// Returns the number of the alert.
    pub fn accept(&mut self, owed: outbox::Owed) -> Held<i64> {
        let (now, before) = (self.now(), self.must.last_row);
        let must = self.must.enqueue(&owed, now);
        let enqueued = self.write(move |db| outbox::enqueue(db, &owed, now))?;
        self.truth.owe(before, self.must.last_row);
        if enqueued.alert_id() == must {
            Ok(must)
        } else {
            Err(format!("{enqueued:?}, and the alert is {must}"))
        }
    }

    /// A stranger writes a row that is good.
    pub fn insert(&mut self, insert: &Insert) -> Held {
        let now = self.now();
        let at = Timestamp::from_unix_millis(now.unix_millis() + insert.secs * 1_000);
        let to = place(insert.place);
        let mut stray = Stray {
            to: (to.channel, to.chat_id),
            priority: i64::from(insert.priority),
            ..Stray::default()
        };
        match insert.form {
            Form::Article => {
                stray.to = (String::new(), "7".to_owned());
                stray.priority = 2;
                stray.next_attempt = now;
            }
            Form::Float => {
                stray.to = ("ops".to_owned(), "-1001.0".to_owned());
            }
            Form::Keyed => {
                let key = format!("mine {}", insert.secs.rem_euclid(9));
                if self
                    .must
                    .rows
                    .values()
                    .any(|row| row.idempotency_key.as_ref() == Some(&key))
                {
                    return Ok(());
                }
                stray.key = Some(key);
            }
            Form::NotBefore => stray.not_before = at,
            Form::NextAttempt => stray.next_attempt = at,
            Form::Expires if insert.priority > 0 => stray.expires_at = Some(at),
            Form::Expires => {}
            Form::Fallback => stray.fallback = Some((at, place(insert.place / 6))),
            Form::OwnId => stray.id = Some(self.must.last_row + 1 + insert.secs.rem_euclid(9)),
        }
        written(&self.db, &stray, insert.form, now)
            .map_err(|error| format!("{insert:?}: {error}"))?;
        self.must.insert(&stray, now);
        self.truth.owe(self.must.last_row - 1, self.must.last_row);
        Ok(())
    }

    /// A stranger tries what no tool may do; whether the table refuses it or lets it pass by, nothing may
    /// come of it.
    pub fn breach(&self, which: u8, row: u8) {
        let Some(id) = self.some_row(row) else {
            return;
        };
        let state = STATES[usize::from(row) % STATES.len()];
        let now = self.now().unix_seconds();
        let (first, count) = (usize::from(which), BREACHES.len());
        for breach in BREACHES.iter().cycle().skip(first % count).take(TRIED) {
            let mut statement = self.db.prepare_cached(breach).expect("a good statement");
            let values: [(&str, &dyn ToSql); 3] =
                [(":id", &id), (":state", &state), (":now", &now)];
            for (name, value) in values {
                if let Some(place) = statement.parameter_index(name).expect("named") {
                    statement.raw_bind_parameter(place, value).expect("bound");
                }
            }
            drop(statement.raw_execute());
        }
    }

    pub fn retry(&mut self, row: u8) -> Held {
        let (Some(id), now) = (self.some_row(row), self.now()) else {
            return Ok(());
        };
        self.write(move |db| operator::requeue(db, id, now))?;
        self.must.requeue(id, now);
        self.shown(id)
    }

    pub fn discard(&mut self, row: u8) -> Held {
        let (Some(id), now) = (self.some_row(row), self.now()) else {
            return Ok(());
        };
        // A digest is not a person's to discard: the command line takes none.
        if self.must.rows[&id].kind == "digest" {
            return Ok(());
        }
        self.write(move |db| operator::discard(db, id, now))?;
        self.must.discard(id, now);
        if self.must.rows[&id].is("cancelled") {
            self.truth.given_up(id);
        }
        self.shown(id)
    }

    /// A person sees the row and each attempt.
    fn shown(&self, id: i64) -> Held {
        let shown = operator::show(&self.db, id).map_err(|error| error.to_string())?;
        let (entry, attempts) = shown.ok_or_else(|| format!("row {id} is not shown"))?;
        let row = &self.must.rows[&id];
        let is_right =
            entry.state.name() == row.state && attempts.len() == self.must.tries_of(id).count();
        if is_right {
            Ok(())
        } else {
            Err(format!("row {id} is shown as {entry:?}"))
        }
    }

    pub fn silence(&mut self, pattern: u8, secs: i64) -> Held {
        let (now, text) = (self.now(), PATTERNS[usize::from(pattern) % PATTERNS.len()]);
        let until = now + Duration::from_secs(secs.unsigned_abs());
        self.write(move |db| silences::begin(db, text, until, now))?;
        self.must.begin_silence(text, until);
        Ok(())
    }

    pub fn end_silence(&mut self, number: u8) -> Held {
        let (now, id) = (self.now(), i64::from(number % 4) + 1);
        self.write(move |db| silences::end(db, id, now))?;
        self.must.end_silence(id, now);
        Ok(())
    }

    /// A person closes the gate of a chat for a while.
    pub fn pause(&mut self, number: u8, secs: i64) -> Held {
        const PAUSE: &str = "\
INSERT INTO gate(scope,key,paused_until,stretch) VALUES('chat',?1,?2,0)
    ON CONFLICT(scope,key) DO UPDATE SET paused_until=?2";
        let key = self.channels.keys(&place(number)).chat;
        let until = self.now() + Duration::from_secs(secs.unsigned_abs());
        let paused = self.db.execute(PAUSE, params![key, until.unix_seconds()]);
        paused.map_err(|error| error.to_string())?;
        let name = ("chat".to_owned(), key);
        self.must.gates.entry(name).or_default().paused_until = until;
        Ok(())
    }
}

fn written(db: &Connection, stray: &Stray, form: Form, now: Timestamp) -> rusqlite::Result<usize> {
    // The article's, word for word.
    const ARTICLE: &str =
        "INSERT INTO outbox (chat_id, payload, next_attempt, created_at) VALUES (?, ?, ?, ?)";
    const OWN: &str = "\
INSERT INTO outbox(id,idempotency_key,channel,chat_id,payload,priority,not_before,next_attempt,expires_at,
                   fallback_at,fallback_channel,fallback_chat_id,created_at)
VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?)";
    let payload = super::reference::PAYLOAD;
    if matches!(form, Form::Article) {
        let (chat, seconds) = (&stray.to.1, stray.next_attempt.unix_seconds());
        return db.execute(ARTICLE, params![chat, payload, seconds, now.unix_seconds()]);
    }
    let fallback = stray.fallback.as_ref();
    db.execute(
        OWN,
        params![
            stray.id,
            stray.key,
            stray.to.0,
            stray.to.1,
            payload,
            stray.priority,
            stray.not_before.unix_seconds(),
            stray.next_attempt.unix_seconds(),
            stray.expires_at.map(Timestamp::unix_seconds),
            fallback.map(|(at, _)| at.unix_seconds()),
            fallback.map(|(_, to)| &to.channel),
            fallback.map(|(_, to)| &to.chat_id),
            now.unix_seconds(),
        ],
    )
}

const STATES: [&str; 8] = [
    "ready",
    "leased",
    "folded",
    "moved",
    "sent",
    "dead",
    "expired",
    "cancelled",
];

/// Each with all that the CHECKs ask for, so that nothing but what it breaks stands in its way.
const BREACHES: [&str; 34] = [
    "INSERT OR REPLACE INTO outbox(id,chat_id,payload,created_at) VALUES(:id,'7','{}',1)",
    "INSERT OR REPLACE INTO outbox(idempotency_key,kind,alert_id,chat_id,payload,created_at)
     SELECT idempotency_key,kind,alert_id,chat_id,payload,1 FROM outbox WHERE id=:id AND idempotency_key IS NOT NULL",
    "INSERT INTO outbox(chat_id,payload,state,created_at) VALUES('7','{}','sent',1)",
    "INSERT INTO outbox(chat_id,payload,state,created_at) VALUES('7','{}','cancelled',1)",
    "INSERT INTO outbox(id,chat_id,payload,created_at) VALUES(5000000000000000,'7','{}',1)",
    "INSERT INTO outbox(id,chat_id,payload,created_at) VALUES(-1,'7','{}',1)",
    "INSERT INTO outbox(chat_id,payload,created_at) VALUES('7','nonsense',1)",
    "INSERT INTO outbox(chat_id,payload,created_at) VALUES('7','[1]',1)",
    "INSERT INTO outbox(chat_id,payload,created_at) VALUES('caf\u{e9}','{}',1)",
    "INSERT INTO outbox(idempotency_key,chat_id,payload,created_at) VALUES('n:dead:'||:id,'7','{}',1)",
    "INSERT INTO outbox(idempotency_key,chat_id,payload,created_at) VALUES('d:'||:id||':9:9','7','{}',1)",
    "INSERT INTO outbox(idempotency_key,chat_id,payload,created_at) VALUES('a:'||:id||':x:y','7','{}',1)",
    "INSERT INTO outbox(kind,chat_id,payload,created_at) VALUES('digest','7','{}',1)",
    "INSERT INTO outbox(kind,chat_id,payload,created_at) VALUES('alert','7','{}',1)",
    "INSERT INTO outbox(chat_id,payload,priority,expires_at,created_at) VALUES('7','{}',0,1,1)",
    "INSERT INTO outbox(chat_id,payload,fallback_at,created_at) VALUES('7','{}',1,1)",
    "DELETE FROM outbox WHERE id=:id AND state NOT IN('sent','moved','expired','cancelled')
        AND NOT (state='folded' AND (SELECT state FROM outbox AS digest WHERE digest.id=outbox.parent_id)
                                     IN('sent','moved','expired','cancelled'))",
    "UPDATE outbox SET state=:state,lease_epoch=iif(:state='leased',1,NULL),parent_id=iif(:state='folded',id,NULL),
            moved_to=iif(:state='moved',id,NULL),last_error='x',told_at=1,rest=iif(:state='sent',NULL,rest),expires_at=NULL
      WHERE id=:id AND state<>:state AND state||'>'||:state NOT IN('ready>leased','ready>folded','ready>moved',
            'ready>expired','ready>cancelled','ready>dead','leased>sent','leased>ready','leased>dead','folded>ready',
            'dead>ready','expired>ready','dead>cancelled','expired>cancelled')",
    "UPDATE outbox SET attempts=attempts-1 WHERE id=:id AND attempts>0",
    "UPDATE outbox SET attempts=2000000000 WHERE id=:id",
    "UPDATE outbox SET created_at=created_at+1 WHERE id=:id",
    "UPDATE outbox SET idempotency_key='other '||id WHERE id=:id",
    "UPDATE outbox SET kind='raw',alert_id=NULL,idempotency_key=NULL WHERE id=:id AND kind<>'raw'",
    "UPDATE outbox SET lease_epoch=7 WHERE id=:id AND state<>'leased'",
    "UPDATE outbox SET parent_id=id WHERE id=:id AND state<>'folded'",
    "UPDATE outbox SET moved_to=id WHERE id=:id AND state<>'moved'",
    "UPDATE outbox SET state='dead',last_error='x' WHERE id=:id AND state='ready' AND kind<>'notice' AND told_at IS NULL",
    "UPDATE outbox SET state='dead',told_at=1,last_error=NULL WHERE id=:id AND state='ready'",
    "UPDATE outbox SET expires_at=1 WHERE id=:id AND priority=0",
    "UPDATE outbox SET rest=NULL,chat_id='8' WHERE rest IS NOT NULL AND :id=:id",
    "INSERT OR REPLACE INTO attempt(outbox_id,n,epoch,started_at) SELECT outbox_id,n,9,1 FROM attempt WHERE outbox_id=:id",
    "DELETE FROM attempt WHERE outbox_id=:id",
    "INSERT OR REPLACE INTO alert(dedup_key,payload,severity,title,source,created_at)
     SELECT dedup_key,'{}','low','other','other',1 FROM alert WHERE id=(SELECT alert_id FROM outbox WHERE id=:id)",
    "DELETE FROM alert WHERE id=(SELECT alert_id FROM outbox WHERE id=:id)",
];
