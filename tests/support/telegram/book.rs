//! The stand-in's judgement: what a call deserves, and what the script makes of it.

use super::super::feeds::{Reply, Request};
use super::answer::{Answer, Denial, ok, page, told};
use super::chats::{Chat, Chats, Found};
use super::fault::{Fault, Scope, Script, What};
use super::limits::{Limit, Meter};
use super::record::{Asked, Flooded, Message, Record};
use super::request::{Call, Parameters};
use super::{Options, markup, text};
use serde_json::{Value, json};
use shared::model::Timestamp;
use shared::platform::clock::Clock;
use std::collections::HashMap;
use std::time::Duration;

#[derive(Debug)]
pub(super) struct Book {
    token: String,
    clock: Clock,
    /// The wall clock and the steady one, when this began: the other side has a clock of its own, which
    /// nobody sets.
    began: (Timestamp, Duration),
    tell: Option<fn(&Asked)>,
    pub(super) chats: Chats,
    pub(super) meter: Meter,
    pub(super) script: Script,
    /// Where a scripted 429 holds, and until when.
    floods: HashMap<Scope, Timestamp>,
    last_ids: HashMap<i64, i64>,
    pub(super) record: Record,
}

/// What the call deserves by itself.
enum Verdict {
    Done {
        result: Value,
        message_id: Option<i64>,
    },
    Refused(Denial),
}

impl Book {
    pub(super) fn new(options: Options) -> Self {
        Self {
            token: options.token,
            began: (options.clock.now(), options.clock.steady()),
            clock: options.clock,
            tell: options.tell,
            chats: Chats::new(options.chats),
            meter: Meter::new(options.limits),
            script: Script::new(options.storm),
            floods: HashMap::new(),
            last_ids: HashMap::new(),
            record: Record::default(),
        }
    }

    pub(super) fn now(&self) -> Timestamp {
        let (at, steady) = self.began;
        at + self.clock.steady().saturating_sub(steady)
    }

    /// Answers a request and writes it down.
    pub(super) fn ask(&mut self, request: &Request) -> Reply {
        let now = self.now();
        let mut asked = Asked {
            at: now,
            verb: request.method.clone(),
            method: String::new(),
            parameters: Parameters::default(),
            status: None,
            message_id: None,
            remark: String::new(),
            over_at: None,
        };
        let answer = match Call::of(request) {
            None => Denial::row("not-found").into(),
            Some(call) => {
                call.method.clone_into(&mut asked.method);
                match call.parameters {
                    Err(why) => Denial::bad_request(why).into(),
                    Ok(parameters) => {
                        let answer = self.answer(call.token, call.method, &parameters, now);
                        asked.parameters = parameters;
                        answer
                    }
                }
            }
        };
        asked.status = answer.status;
        asked.message_id = answer.message_id;
        asked.remark = answer.remark;
        asked.over_at = answer.reply.over_at(now);
        if let Some(tell) = self.tell {
            tell(&asked);
        }
        let bytes = asked.parameters.bytes() + asked.method.len() + asked.remark.len();
        self.record.requests.push(asked, bytes);
        answer.reply
    }

    /// The client of that request, counted from 1, is gone.
    pub(super) fn hung_up(&mut self, number: usize) {
        let now = self.now();
        if let Some(asked) = self.record.requests.get_mut(number) {
            asked.over_at = asked.over_at.min(Some(now)).or(Some(now));
        }
    }

    fn answer(
        &mut self,
        token: &str,
        method: &str,
        parameters: &Parameters,
        now: Timestamp,
    ) -> Answer {
        if token != self.token {
            let out_of_shape = token.starts_with('0') || token.len() > 80;
            let row = if out_of_shape {
                "token-invalid"
            } else {
                "unauthorized"
            };
            return Denial::row(row).into();
        }
        let sending = method
            .eq_ignore_ascii_case("sendMessage")
            .then(|| self.addressed(parameters))
            .flatten();
        if let Some(wait) = self.flooded(sending, now) {
            return self.too_many(sending, None, wait, now).into();
        }
        let mut fault = self.script.next(sending, now);
        while let Some(Fault {
            what: What::Upgrade { to },
            scope: Scope::Chat(group),
            ..
        }) = fault
        {
            self.chats.upgrade(group, to);
            self.script.spend(&Fault::upgraded(group, to), now);
            fault = self.script.next(sending, now);
        }
        let Some(fault) = fault else {
            let verdict = self.judge(method, parameters, now);
            return verdict.told();
        };
        if let What::Flood(wait) = fault.what {
            self.script.spend(&fault, now);
            self.floods.insert(fault.scope, now + wait);
            return self.too_many(sending, None, wait, now).into();
        }
        if !fault.accepts {
            self.script.spend(&fault, now);
            return self.spoiled(fault.what, None, now);
        }
        match self.judge(method, parameters, now) {
            Verdict::Refused(denial) => denial.into(),
            Verdict::Done { result, message_id } => {
                self.script.spend(&fault, now);
                self.spoiled(fault.what, Some((&result, message_id)), now)
            }
        }
    }

    /// The id that a `sendMessage` names, whether or not it exists.
    fn addressed(&self, parameters: &Parameters) -> Option<i64> {
        let name = parameters.get("chat_id")?;
        match self.chats.find(name) {
            Found::Here(chat) => Some(chat.id),
            Found::UpgradedTo(_) | Found::Nowhere => name.parse().ok(),
        }
    }

    fn flooded(&mut self, sending: Option<i64>, now: Timestamp) -> Option<Duration> {
        self.floods.retain(|_, until| now < *until);
        [Some(Scope::Bot), sending.map(Scope::Chat)]
            .iter()
            .flatten()
            .filter_map(|scope| self.floods.get(scope))
            .map(|until| until.since(now))
            .max()
    }

    /// Telegram's 429, with the seconds in both places.
    fn too_many(
        &mut self,
        chat_id: Option<i64>,
        limit: Option<Limit>,
        wait: Duration,
        now: Timestamp,
    ) -> Denial {
        let retry_after = wait.as_millis().div_ceil(1000).max(1);
        let retry_after = u64::try_from(retry_after).unwrap_or(u64::MAX);
        let flood = Flooded {
            at: now,
            chat_id,
            retry_after,
            limit,
            wait,
        };
        self.record.floods.push(flood, 0);
        let description = format!("Too Many Requests: retry after {retry_after}");
        Denial {
            code: 429,
            description,
            parameters: Some(json!({"retry_after": retry_after})),
        }
    }

    fn judge(&mut self, method: &str, parameters: &Parameters, now: Timestamp) -> Verdict {
        match method.to_ascii_lowercase().as_str() {
            "getme" => done(self.me()),
            "getchat" => match self.chat(parameters) {
                Ok(chat) => done(chat.json()),
                Err(denial) => Verdict::Refused(denial),
            },
            "getchatmember" => match self.member(parameters) {
                Ok(member) => done(member),
                Err(denial) => Verdict::Refused(denial),
            },
            "sendmessage" => match self.send(parameters, now) {
                Ok((result, message_id)) => Verdict::Done {
                    result,
                    message_id: Some(message_id),
                },
                Err(denial) => Verdict::Refused(denial),
            },
            _ => Verdict::Refused(Denial::row("method-not-found")),
        }
    }

    fn me(&self) -> Value {
        let id = self.token.split(':').next().and_then(|id| id.parse().ok());
        let id: i64 = id.unwrap_or(1);
        json!({"id": id, "is_bot": true, "first_name": "Stand-in", "username": "stand_in_bot"})
    }

    fn chat(&self, parameters: &Parameters) -> Result<Chat, Denial> {
        let name = parameters.get("chat_id").unwrap_or_default();
        if name.is_empty() {
            return Err(Denial::row("chat-id-empty"));
        }
        match self.chats.find(name) {
            Found::Here(chat) => Ok(chat),
            Found::Nowhere => Err(Denial::row("chat-not-found")),
            Found::UpgradedTo(id) => {
                let description = "Bad Request: group chat was upgraded to a supergroup chat";
                Err(Denial {
                    code: 400,
                    description: description.to_owned(),
                    parameters: Some(json!({"migrate_to_chat_id": id})),
                })
            }
        }
    }

    /// Only of the bot itself it is known what it is in a chat.
    fn member(&self, parameters: &Parameters) -> Result<Value, Denial> {
        let chat = self.chat(parameters)?;
        let me = self.me();
        if parameters.get("user_id") != Some(me["id"].to_string().as_str()) {
            return Err(Denial::bad_request("user not found"));
        }
        let mut member = chat.bot;
        member["user"] = me;
        Ok(member)
    }

    /// `sendMessage`, checked in Telegram's order: the request by itself, the chat, then the limits.
    fn send(&mut self, parameters: &Parameters, now: Timestamp) -> Result<(Value, i64), Denial> {
        let parsed = text::of(parameters).map_err(|why| Denial::bad_request(&why))?;
        let markup = parameters.get("reply_markup").unwrap_or_default();
        let buttons = markup::buttons(markup).map_err(|why| Denial::bad_request(&why))?;
        let chat = self.chat(parameters)?;
        let thread = parameters.get("message_thread_id").unwrap_or("0");
        let thread = thread
            .parse()
            .map_or(Some(-1), |id| (id != 0).then_some(id));
        if thread.is_some_and(|thread| !chat.threads.contains(&thread)) {
            return Err(Denial::row("thread-not-found"));
        }
        text::fits(&parsed.content).map_err(|why| Denial::bad_request(&why))?;
        let in_group = chat.kind.is_group();
        if let Some((limit, wait)) = self.meter.wait(chat.id, in_group, now) {
            return Err(self.too_many(Some(chat.id), Some(limit), wait, now));
        }
        self.meter.spend(chat.id, in_group, now);
        let last = self.last_ids.entry(chat.id).or_insert(0);
        *last += 1;
        let preview = parameters.get("link_preview_options");
        let message = Message {
            chat_id: chat.id,
            chat_kind: chat.kind,
            message_id: *last,
            at: now,
            text: parsed.content,
            raw: parameters.get("text").unwrap_or_default().to_owned(),
            entities: parsed.entities,
            entities_dropped: parsed.dropped,
            buttons,
            silent: parameters.is_true("disable_notification"),
            thread,
            link_preview_options: preview.and_then(|given| serde_json::from_str(given).ok()),
            deleted: false,
        };
        let result = told(&message, &chat, markup);
        let id = message.message_id;
        let bytes = message.raw.len() * 2 + message.entities.len() * 64 + markup.len();
        self.record.messages.push(message, bytes);
        Ok((result, id))
    }

    /// The answer as the fault makes it; `truth` is that of a call which was carried out.
    fn spoiled(
        &mut self,
        what: What,
        truth: Option<(&Value, Option<i64>)>,
        now: Timestamp,
    ) -> Answer {
        let message_id = truth.and_then(|(_, id)| id);
        let result = truth.map(|(result, _)| result.clone());
        let body = json!({"ok": true, "result": result}).to_string();
        let half = body.len() / 2;
        let (reply, status, remark) = match what {
            What::Refuse(refusal) => {
                if let Some(message) = self.record.messages.last_mut()
                    && refusal.was_sent
                {
                    message.deleted = true;
                }
                let answer = Answer::from(Denial::from(refusal));
                (answer.reply, answer.status, answer.remark)
            }
            What::Page(status) => {
                let page = page(status);
                let reply = Reply::body(page).with_status(status);
                let reply = reply.header("Content-Type", "text/html");
                (reply, Some(status), "an HTML page".to_owned())
            }
            What::Cut => (Reply::cut(), None, "reset".to_owned()),
            What::Hang => (Reply::hang(), None, "silence".to_owned()),
            What::CutAmid => {
                let reply = ok(body).reset_after(half);
                (reply, None, "reset in the midst of the answer".to_owned())
            }
            What::Hold(time) => {
                let reply = ok(body).held_until(&self.clock, now + time);
                (reply, Some(200), format!("held for {time:?}"))
            }
            What::Half => {
                // A character that is cut in two is part of the fault.
                let reply = ok(body.as_bytes()[..half].to_vec());
                (reply, Some(200), "half of the answer".to_owned())
            }
            What::Garbage | What::Flood(_) | What::Upgrade { .. } => {
                let reply = ok("\u{fffd}OK<!-- not what you think -->");
                (reply, Some(200), "garbage".to_owned())
            }
        };
        Answer {
            reply,
            status,
            message_id,
            remark,
        }
    }
}

impl Verdict {
    fn told(self) -> Answer {
        match self {
            Self::Refused(denial) => denial.into(),
            Self::Done { result, message_id } => Answer {
                reply: ok(json!({"ok": true, "result": result}).to_string()),
                status: Some(200),
                message_id,
                remark: String::new(),
            },
        }
    }
}

fn done(result: Value) -> Verdict {
    Verdict::Done {
        result,
        message_id: None,
    }
}
