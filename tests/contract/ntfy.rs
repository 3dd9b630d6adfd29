//! The contract's row for ntfy: every status in every form, and connections that break everywhere.

use super::front::{Front, Manners};
use super::{Case, OtherSide, Truth, keeps_the_contract, keeps_the_contract_once};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use watchalert_tests::feeds::{FeedServer, Reply};
use watchalert_tests::programs::long;

/// Of nobody.
const TOKEN: &str = "tk_hunter2OfNobody";
const PASSWORD: &str = "hunter2 of nobody";
/// `ada` and the password, as they go over the wire.
const BASIC: &str = "YWRhOmh1bnRlcjIgb2Ygbm9ib2R5";

/// What is said of the server's health meanwhile.
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
    /// As ntfy's own source has it.
    Own,
    Page,
    Empty,
    Half,
    Rubbish,
    /// The header with the secret comes back, in headers and body.
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
pub(super) struct Ntfy {
    server: FeedServer,
    cases: Vec<Case>,
    fronts: Vec<(String, Front)>,
    hangs: bool,
}

impl Ntfy {
    /// Every status in these forms.
    pub(super) fn with_statuses(forms: &[Form], questions: Questions) -> Self {
        let every = |form: Form| (200..=599).map(move |status| (form, status));
        let cases = forms.iter().copied().flat_map(every);
        let answers = cases.map(|(form, status)| {
            let (case, reply) = answer(form, status);
            let well = match questions {
                Questions::AsBadly => false,
                Questions::Well => true,
                Questions::Mixed => status & 2 == 0,
            };
            let asked = if well { health() } else { reply.clone() };
            (case, reply, asked)
        });
        Self::start(answers.collect())
    }

    /// Of each case, what a publication and what a question is answered with.
    fn start(answers: Vec<(Case, Reply, Reply)>) -> Self {
        let server = FeedServer::start();
        let serve = |(case, sent, asked): (Case, Reply, Reply)| {
            server.set(&path(&case, ""), sent);
            server.set(&path(&case, "v1/health"), asked.clone());
            server.set(&path(&case, "t/auth"), asked);
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

impl OtherSide for Ntfy {
    fn cases(&self) -> Vec<Case> {
        self.cases.clone()
    }

    /// A half logs in with a token, a half with a password.
    fn section(&self, case: &Case) -> String {
        let front = self.fronts.iter().find(|(name, _)| *name == case.name);
        let address = front.map_or(self.server.address(), |(_, front)| front.address());
        let login = match case.name.bytes().last() {
            Some(byte) if byte % 2 == 0 => "token_file = \"token\"",
            _ => "user = \"ada\"\npassword_file = \"password\"",
        };
        format!(
            "kind = \"ntfy\"\nurl = \"http://{address}/{}\"\ntopic = \"t\"\n{login}",
            case.name
        )
    }

    fn address(&self) -> &'static str {
        "t"
    }

    fn secret_files(&self) -> &[(&'static str, &'static str)] {
        &[("token", TOKEN), ("password", PASSWORD)]
    }

    fn secrets(&self) -> &[&'static str] {
        &[TOKEN, PASSWORD, BASIC]
    }

    fn recover(&mut self) {
        self.hangs = false;
        for case in &self.cases {
            let taken = Reply::body(accepted("taken")).header("Content-Type", "application/json");
            self.server.set(&path(case, ""), taken);
            self.server.set(&path(case, "v1/health"), health());
        }
        for (_, front) in &mut self.fronts {
            front.behave();
        }
    }

    fn received(&self) -> BTreeMap<String, Vec<String>> {
        let mut received: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for request in self.server.requests() {
            if request.method == "POST" {
                let name = request.path.trim_matches('/').to_owned();
                let body: Value = serde_json::from_slice(&request.body).expect("JSON");
                let text = |field: &str| body[field].as_str().unwrap_or_default().to_owned();
                let shown = format!("{}\n{}", text("title"), text("message"));
                received.entry(name).or_default().push(shown);
            }
        }
        received
    }

    fn hangs(&self) -> bool {
        self.hangs && self.received().len() == self.cases.len()
    }
}

fn path(case: &Case, below: &str) -> String {
    format!("/{}/{below}", case.name)
}

fn health() -> Reply {
    Reply::body("{\"healthy\":true}\n").header("Content-Type", "application/json")
}

/// As ntfy answers who published a message.
fn accepted(text: &str) -> String {
    let text = text.repeat(20);
    format!(
        "{{\"id\":\"sPs71M8A2Tab\",\"time\":1796025600,\"expires\":1796068800,\"event\":\"message\",\"topic\":\"t\",\"message\":\"{text}\"}}\n"
    )
}

/// ntfy's own words for a status.
fn own(status: u16) -> String {
    let (code, error) = match status {
        200 => return accepted("own"),
        400 => (40_099, "invalid request: something new"),
        401 => (40_101, "unauthorized"),
        403 => (40_301, "forbidden"),
        404 => (40_401, "page not found"),
        413 => (41_303, "JSON body too large"),
        429 => (42_901, "limit reached: too many requests"),
        500 => (50_001, "internal server error"),
        _ => (u64::from(status) * 100 + 99, "something new"),
    };
    let refusal = json!({"code": code, "http": status, "error": error});
    format!("{refusal}\n")
}

fn answer(form: Form, status: u16) -> (Case, Reply) {
    let name = format!("{form:?}-{status}").to_lowercase();
    let secrets = format!("Bearer {TOKEN}, Basic {BASIC}, {PASSWORD}");
    // What this case was asked with, and nothing that it cannot know.
    let asked = match name.bytes().last() {
        Some(byte) if byte % 2 == 0 => format!("Bearer {TOKEN}"),
        _ => format!("Basic {BASIC}"),
    };
    let page = format!("<html><body><h1>{status}</h1>{asked}</body></html>");
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
        Form::Echo if status % 3 == 1 => ("text/html", page.into_bytes()),
        Form::Echo if status == 200 => ("application/json", accepted(&asked).into_bytes()),
        Form::Echo => {
            let code = u64::from(status) * 100 + 99;
            let said = json!({"code": code, "http": status, "error": format!("No {asked} here")});
            ("application/json", said.to_string().into_bytes())
        }
    };
    let mut reply = Reply::status(status)
        .with_body(body)
        .header("Content-Type", kind);
    if form == Form::Echo {
        for header in ["Location", "Retry-After", "Set-Cookie", "WWW-Authenticate"] {
            reply = reply.header(header, &secrets);
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
        keeps_the_contract(&mut Ntfy::with_statuses(&[form], *questions));
    }
}

#[test]
fn every_status_in_ntfys_own_form() {
    every_status(Form::Own);
}

#[test]
fn every_status_as_a_page_in_front_of_ntfy() {
    every_status(Form::Page);
}

#[test]
fn every_status_of_an_ntfy_without_a_body() {
    every_status(Form::Empty);
}

#[test]
fn every_status_of_an_ntfy_with_half_a_body() {
    every_status(Form::Half);
}

#[test]
fn every_status_of_an_ntfy_with_a_hundred_kilobytes_of_rubbish() {
    every_status(Form::Rubbish);
}

#[test]
fn every_status_of_an_ntfy_with_the_header_of_the_request() {
    every_status(Form::Echo);
}

/// Answers that do not come whole, with what they are worth.
fn broken(names: &[(&str, Truth, Reply)]) -> Ntfy {
    let case = |(name, truth, reply): &(&str, Truth, Reply)| {
        let name = (*name).to_owned();
        let truth = *truth;
        (Case { name, truth }, reply.clone(), reply.clone())
    };
    Ntfy::start(names.iter().map(case).collect())
}

#[test]
fn a_connection_to_ntfy_that_breaks_leaves_the_delivery_waiting() {
    let whole = || Reply::body(accepted("own"));
    let mut side = broken(&[
        ("refused", Truth::Refused, Reply::cut()),
        ("before", Truth::Unclear, Reply::cut()),
        ("amid-request", Truth::Unclear, Reply::cut()),
        ("after-request", Truth::Unclear, Reply::cut()),
        ("amid-answer", Truth::Unclear, whole().reset_after(10)),
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
fn an_ntfy_that_hangs_leaves_the_delivery_waiting() {
    let whole = || Reply::body(accepted("own"));
    let mut side = broken(&[
        ("at-once", Truth::Unclear, Reply::hang()),
        ("behind-the-head", Truth::Unclear, whole().stall_after(0)),
        ("amid-answer", Truth::Unclear, whole().stall_after(10)),
    ]);
    side.hangs = true;
    keeps_the_contract_once(&mut side);
}
