//! Telegram's row of the contract: every status in every form, and connections that break everywhere.

use super::front::{Front, Manners};
use super::{Case, OtherSide, Truth, keeps_the_contract, keeps_the_contract_once};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use watchalert_tests::feeds::{FeedServer, Reply};
use watchalert_tests::programs::long;

/// Of nobody; the id alone is no secret.
const TOKEN: &str = "123456:AAE-hunter2_of_nobody";
const KEY: &str = "AAE-hunter2_of_nobody";

/// How the questions about the bot are answered meanwhile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Questions {
    AsBadly,
    Well,
    /// Each for a half of the statuses.
    Mixed,
}

/// The form of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// As the Bot API's own documents have it.
    Own,
    Page,
    Empty,
    Half,
    Rubbish,
    /// The address of the request comes back, in headers and body.
    Echo,
}

impl Form {
    pub(super) const ALL: [Self; 6] = [
        Self::Own,
        Self::Page,
        Self::Empty,
        Self::Half,
        Self::Rubbish,
        Self::Echo,
    ];

    /// Those that hold words of ours.
    pub(super) const TELLING: [Self; 3] = [Self::Own, Self::Page, Self::Echo];
}

/// A server that answers each case in its way.
pub(super) struct Telegram {
    server: FeedServer,
    cases: Vec<Case>,
    fronts: Vec<(String, Front)>,
    hangs: bool,
}

impl Telegram {
    /// Every status in these forms.
    pub(super) fn with_statuses(forms: &[Form], questions: Questions) -> Self {
        let every = |form: Form| (200..=599).map(move |status| (form, status));
        let cases = forms.iter().copied().flat_map(every);
        let answers = cases.map(|(form, status)| {
            let (case, reply) = answer(form, status);
            let well = match questions {
                Questions::AsBadly => false,
                Questions::Well => true,
                // The last bit tells pages from JSON in some forms.
                Questions::Mixed => status & 2 == 0,
            };
            let asked = if well { me() } else { reply.clone() };
            (case, reply, asked)
        });
        Self::start(answers.collect())
    }

    /// Of each case, what a message and what a question is answered with.
    fn start(answers: Vec<(Case, Reply, Reply)>) -> Self {
        let server = FeedServer::start();
        let serve = |(case, sent, asked)| {
            server.set(&path(&case, "sendMessage"), sent);
            server.set(&path(&case, "getMe"), asked);
            case
        };
        Self {
            cases: answers.into_iter().map(serve).collect(),
            server,
            fronts: Vec::new(),
            hangs: false,
        }
    }
}

impl OtherSide for Telegram {
    fn cases(&self) -> Vec<Case> {
        self.cases.clone()
    }

    fn section(&self, case: &Case) -> String {
        let front = self.fronts.iter().find(|(name, _)| *name == case.name);
        let address = front.map_or(self.server.address(), |(_, front)| front.address());
        format!(
            "kind = \"telegram\"\napi_url = \"http://{address}/{}\"\ntoken_file = \"token\"\nchat_id = 7001",
            case.name
        )
    }

    fn address(&self) -> &'static str {
        "7001"
    }

    fn secret_files(&self) -> &[(&'static str, &'static str)] {
        &[("token", TOKEN)]
    }

    fn secrets(&self) -> &[&'static str] {
        &[TOKEN, KEY]
    }

    fn recover(&mut self) {
        self.hangs = false;
        for case in &self.cases {
            let taken = Reply::body(accepted("taken")).header("Content-Type", "application/json");
            self.server.set(&path(case, "sendMessage"), taken);
            self.server.set(&path(case, "getMe"), me());
        }
        for (_, front) in &mut self.fronts {
            front.behave();
        }
    }

    fn received(&self) -> BTreeMap<String, Vec<String>> {
        let mut received: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for request in self.server.requests() {
            let mut places = request.path.split('/').skip(1);
            if let (Some(name), Some(_), Some("sendMessage")) =
                (places.next(), places.next(), places.next())
            {
                let body: Value = serde_json::from_slice(&request.body).expect("JSON");
                let text = body["text"].as_str().expect("a text").to_owned();
                received.entry(name.to_owned()).or_default().push(text);
            }
        }
        received
    }

    fn hangs(&self) -> bool {
        self.hangs && self.received().len() == self.cases.len()
    }
}

fn path(case: &Case, method: &str) -> String {
    format!("/{}/bot{TOKEN}/{method}", case.name)
}

fn me() -> Reply {
    Reply::body(r#"{"ok":true,"result":{"id":123456,"is_bot":true}}"#)
        .header("Content-Type", "application/json")
}

/// As the Bot API answers who sent a message.
fn accepted(text: &str) -> String {
    let text = text.repeat(20);
    format!(
        r#"{{"ok":true,"result":{{"message_id":4711,"chat":{{"id":7001,"type":"private"}},"date":1796025600,"text":"{text}"}}}}"#
    )
}

/// The Bot API's own words for a status.
fn own(status: u16) -> String {
    let description = match status {
        200 => return accepted("own"),
        400 => "Bad Request: SOMETHING_NEW_HAPPENED",
        401 => "Unauthorized",
        403 => "Forbidden: bot was blocked by the user",
        404 => "Not Found",
        413 => "Request Entity Too Large",
        429 => "Too Many Requests: retry after 7",
        500 => "Internal Server Error: restart",
        _ => "Something new",
    };
    let refusal = json!({"ok": false, "error_code": status, "description": description});
    refusal.to_string()
}

fn answer(form: Form, status: u16) -> (Case, Reply) {
    let name = format!("{form:?}-{status}").to_lowercase();
    let address = format!("/{name}/bot{TOKEN}/sendMessage");
    let page = format!("<html><body><h1>{status}</h1>{address}</body></html>");
    let (kind, body) = match form {
        Form::Own => ("application/json", own(status).into_bytes()),
        Form::Page => ("text/html", page.into_bytes()),
        Form::Empty => ("text/plain", Vec::new()),
        Form::Half => {
            let whole = own(status);
            ("application/json", whole[..whole.len() / 2].into())
        }
        Form::Rubbish => {
            let mut dice = fastrand::Rng::with_seed(u64::from(status));
            let bytes = std::iter::repeat_with(|| dice.u8(..)).take(100 * 1024);
            ("application/json", bytes.collect())
        }
        Form::Echo if status % 2 == 1 => ("text/html", page.into_bytes()),
        Form::Echo if status == 200 => ("application/json", accepted(&address).into_bytes()),
        Form::Echo => {
            let said = json!({"ok": false, "error_code": status, "description": format!("No {address} here: {KEY}")});
            ("application/json", said.to_string().into_bytes())
        }
    };
    let mut reply = Reply::status(status)
        .with_body(body)
        .header("Content-Type", kind);
    if form == Form::Echo {
        let headers = [
            ("Location", address.as_str()),
            ("Retry-After", TOKEN),
            ("Set-Cookie", TOKEN),
        ];
        for (header, value) in headers {
            reply = reply.header(header, value);
        }
    }
    // The half of an acceptance still names the message.
    let shows_message = matches!(form, Form::Own | Form::Half | Form::Echo);
    let truth = match status {
        200 if shows_message => Truth::Accepted,
        300..=499 => Truth::Refused,
        _ => Truth::Unclear,
    };
    (Case { name, truth }, reply)
}

fn every_status(form: Form) {
    let each: &[Questions] = if long() {
        &[Questions::AsBadly, Questions::Well]
    } else {
        &[Questions::Mixed]
    };
    for questions in each {
        keeps_the_contract(&mut Telegram::with_statuses(&[form], *questions));
    }
}

#[test]
fn every_status_in_the_bot_apis_own_form() {
    every_status(Form::Own);
}

#[test]
fn every_status_as_a_page() {
    every_status(Form::Page);
}

#[test]
fn every_status_without_a_body() {
    every_status(Form::Empty);
}

#[test]
fn every_status_with_half_a_body() {
    every_status(Form::Half);
}

#[test]
fn every_status_with_a_hundred_kilobytes_of_rubbish() {
    every_status(Form::Rubbish);
}

#[test]
fn every_status_with_the_address_of_the_request() {
    every_status(Form::Echo);
}

/// Answers that do not come whole, with what they are worth.
fn broken(names: &[(&str, Truth, Reply)]) -> Telegram {
    let case = |(name, truth, reply): &(&str, Truth, Reply)| {
        let name = (*name).to_owned();
        let truth = *truth;
        (Case { name, truth }, reply.clone(), reply.clone())
    };
    Telegram::start(names.iter().map(case).collect())
}

#[test]
fn a_connection_that_breaks_leaves_the_delivery_waiting() {
    let whole = || Reply::body(accepted("own"));
    let mut side = broken(&[
        ("refused", Truth::Refused, Reply::cut()),
        ("before", Truth::Unclear, Reply::cut()),
        ("amid-request", Truth::Unclear, Reply::cut()),
        ("after-request", Truth::Unclear, Reply::cut()),
        ("amid-answer", Truth::Unclear, whole().reset_after(20)),
    ]);
    for (name, manners) in [
        ("refused", Manners::NotThere),
        ("before", Manners::ResetAfter(0)),
        ("amid-request", Manners::ResetAfter(40)),
    ] {
        let front = Front::before(side.server.address(), manners);
        side.fronts.push((name.to_owned(), front));
    }
    keeps_the_contract_once(&mut side);
}

#[test]
fn a_server_that_hangs_leaves_the_delivery_waiting() {
    let whole = || Reply::body(accepted("own"));
    let mut side = broken(&[
        ("at-once", Truth::Unclear, Reply::hang()),
        ("behind-the-head", Truth::Unclear, whole().stall_after(0)),
        ("amid-answer", Truth::Unclear, whole().stall_after(20)),
    ]);
    side.hangs = true;
    keeps_the_contract_once(&mut side);
}
