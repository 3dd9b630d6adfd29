//! What the stand-in knows, counts and remembers, and the faults that it commits on purpose.

use super::super::feeds::{Reply, Request};
use super::Options;
use super::judge::{Refusal, judged};
use serde_json::{Value, json};
use shared::model::Timestamp;
use std::collections::{BTreeSet, VecDeque};

/// One notification that subscribers got.
#[derive(Clone, Debug, PartialEq)]
pub struct Published {
    pub at: Timestamp,
    pub id: String,
    pub topic: String,
    pub title: String,
    pub message: String,
    pub priority: u64,
    /// As the server has them, which splits at commas.
    pub tags: Vec<String>,
    pub click: Option<String>,
    pub actions: Vec<Value>,
    /// None of a server that does not know them.
    pub sequence_id: Option<String>,
    /// The message was too long and is a file now.
    pub is_attachment: bool,
}

/// One request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Asked {
    pub at: Timestamp,
    /// With its method.
    pub what: String,
    pub code: Option<u64>,
}

/// What a publication meets.
#[derive(Clone, Debug)]
pub enum Fault {
    /// ntfy's own refusal, with status and code.
    Code(u64),
    /// An HTML page of the proxy in front.
    Page(u16),
    /// The connection is reset.
    Reset,
    /// Nothing comes back, and the connection stays.
    Hang,
    /// It is published, then the connection is reset.
    ResetAfter,
    /// It is published, then the server fails.
    FailAfter,
    /// It is published, and half of the answer comes.
    Half,
}

#[derive(Debug)]
pub(super) struct Book {
    pub(super) options: Options,
    pub(super) script: VecDeque<Fault>,
    /// What every request meets, questions too.
    pub(super) weather: Option<Fault>,
    pub(super) forbidden: BTreeSet<String>,
    pub(super) published: Vec<Published>,
    pub(super) requests: Vec<Asked>,
    /// When the visitor has rested.
    rested: Timestamp,
    /// Requests with a wrong secret.
    strangers: usize,
}

impl Book {
    pub(super) fn new(options: Options) -> Self {
        Self {
            options,
            script: VecDeque::new(),
            weather: None,
            forbidden: BTreeSet::new(),
            published: Vec::new(),
            requests: Vec::new(),
            rested: Timestamp::EPOCH,
            strangers: 0,
        }
    }

    /// Answers a request and writes it down.
    pub(super) fn ask(&mut self, request: &Request) -> Reply {
        let answer = self.answer(request);
        let code = answer.as_ref().err().map(|refusal| refusal.code);
        self.requests.push(Asked {
            at: self.options.clock.now(),
            what: format!("{} {}", request.method, request.path),
            code,
        });
        answer.unwrap_or_else(Refusal::reply)
    }

    fn answer(&mut self, request: &Request) -> Result<Reply, Refusal> {
        match self.weather {
            Some(Fault::Code(code)) => return Err(Refusal::of(code)),
            Some(Fault::Page(status)) => return Ok(page(status)),
            Some(Fault::Hang) => return Ok(Reply::hang()),
            Some(_) => return Ok(Reply::cut()),
            None => {}
        }
        match (request.method.as_str(), request.path.as_str()) {
            // Nobody's limits count it.
            ("GET", "/v1/health") => Ok(said(&json!({"healthy": true}))),
            ("GET", path) if path.ends_with("/auth") => {
                self.spend()?;
                let topic = path.trim_start_matches('/').trim_end_matches("/auth");
                self.admit(request, topic)?;
                Ok(said(&json!({"success": true})))
            }
            ("POST", "/") => self.publish(request),
            _ => Err(Refusal::of(40_401)),
        }
    }

    fn publish(&mut self, request: &Request) -> Result<Reply, Refusal> {
        self.spend()?;
        let fault = self.script.pop_front();
        match fault {
            Some(Fault::Code(code)) => return Err(Refusal::of(code)),
            Some(Fault::Page(status)) => return Ok(page(status)),
            Some(Fault::Reset) => return Ok(Reply::cut()),
            Some(Fault::Hang) => return Ok(Reply::hang()),
            Some(Fault::ResetAfter | Fault::FailAfter | Fault::Half) | None => {}
        }
        let mut published = judged(&request.body, &self.options)?;
        self.admit(request, &published.topic)?;
        if self.is_spent_today() {
            return Err(Refusal::of(42_908));
        }
        published.at = self.options.clock.now();
        published.id = format!("{:012}", self.published.len());
        let answer = told(&published);
        self.published.push(published);
        match fault {
            Some(Fault::ResetAfter) => Ok(Reply::cut()),
            Some(Fault::FailAfter) => Err(Refusal::of(50_001)),
            Some(Fault::Half) => Ok(Reply::body(&answer.as_bytes()[..answer.len() / 2])),
            _ => Ok(Reply::body(answer).header("Content-Type", "application/json")),
        }
    }

    /// One more request of this visitor.
    fn spend(&mut self) -> Result<(), Refusal> {
        let Some((burst, every)) = self.options.requests else {
            return Ok(());
        };
        let now = self.options.clock.now();
        let credit = every * burst.saturating_sub(1);
        if self.rested.minus(credit) > now {
            return Err(Refusal::of(42_901));
        }
        self.rested = self.rested.max(now) + every;
        Ok(())
    }

    fn admit(&mut self, request: &Request, topic: &str) -> Result<(), Refusal> {
        let given = request.header("authorization");
        if let Some(wanted) = &self.options.authorization {
            match given {
                None => return Err(Refusal::of(40_301)),
                Some(given) if given != wanted => {
                    self.strangers += 1;
                    let code = if self.strangers > 30 { 42_909 } else { 40_101 };
                    return Err(Refusal::of(code));
                }
                Some(_) => {}
            }
        }
        if self.forbidden.contains(topic) {
            return Err(Refusal::of(40_301));
        }
        Ok(())
    }

    fn is_spent_today(&self) -> bool {
        let day = |at: Timestamp| at.unix_millis().div_euclid(86_400_000);
        let today = day(self.options.clock.now());
        let of_today = self.published.iter().filter(|it| day(it.at) == today);
        let count = of_today.count();
        self.options.messages.is_some_and(|most| count >= most)
    }
}

fn said(body: &Value) -> Reply {
    Reply::body(format!("{body}\n")).header("Content-Type", "application/json")
}

/// In the order of the server's own fields.
fn told(published: &Published) -> String {
    let rest = json!({
        "topic": published.topic, "title": published.title, "message": published.message,
        "priority": published.priority, "tags": published.tags,
    });
    let rest = rest.to_string();
    let sequence = published.sequence_id.as_ref();
    let sequence = sequence.map_or_else(String::new, |id| format!("\"sequence_id\":\"{id}\","));
    let time = published.at.unix_millis().div_euclid(1000);
    format!(
        "{{\"id\":\"{}\",{sequence}\"time\":{time},\"expires\":{},\"event\":\"message\",{}\n",
        published.id,
        time + 43_200,
        rest.trim_start_matches('{')
    )
}

fn page(status: u16) -> Reply {
    let body = format!("<html><body><h1>{status}</h1><hr>nginx</body></html>");
    Reply::status(status)
        .with_body(body)
        .header("Content-Type", "text/html")
}
