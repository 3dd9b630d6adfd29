//! E-mail's row of the contract: every code at every stage, and conversations that end anywhere.

use super::{Case, OtherSide, Truth, keeps_the_contract, keeps_the_contract_once};
use std::collections::BTreeMap;
use watchalert_tests::smtp::{Act, At, PASSWORD, Smtp, Tls};

/// In what either login makes of it, behind a user whose name has the right length.
const IN_BASE64: &str = "aHVudGVyMiBvZiBub2JvZHk=";

/// A server that answers each case in its way, told by the domain that greets it.
pub(super) struct Email {
    server: Smtp,
    /// For cases that differ before anything was said: a server each.
    own: Vec<(String, Smtp)>,
    cases: Vec<Case>,
    hangs: bool,
}

impl Email {
    pub(super) fn with(cases: Vec<(String, Truth, At, Act)>) -> Self {
        let server = Smtp::start(Tls::Never);
        let mut own = Vec::new();
        let cases = cases.into_iter().map(|(name, truth, at, act)| {
            if at == At::Greeting {
                let alone = Smtp::start(Tls::Never);
                alone.set("", at, act);
                own.push((name.clone(), alone));
            } else {
                server.set(&domain(&name), at, act);
            }
            Case { name, truth }
        });
        Self {
            cases: cases.collect(),
            server,
            own,
            hangs: false,
        }
    }

    /// Codes that a reply can have, as the server's own words and as what it was told.
    pub(super) fn with_codes(at: At, echo: bool) -> Self {
        let codes = (200..=599).filter(|code| code / 10 % 10 <= 5 && *code != right(at));
        let cases = codes.map(|code| {
            let act = if echo {
                Act::Echo(code)
            } else {
                let class = code / 100;
                Act::Say(format!(
                    "{code}-first words\r\n{code} {class}.7.1 last words"
                ))
            };
            let truth = match (at, code / 100) {
                // What kind of success a greeting is matters to nobody here.
                (At::Text, 2) | (At::Greeting, 2 | 3) => Truth::Accepted,
                (At::Text, 3) => Truth::Unclear,
                // To whom it is forwarded.
                (At::Rcpt, 2) if code == 251 => Truth::Accepted,
                _ => Truth::Refused,
            };
            (format!("{at:?}-{code}").to_lowercase(), truth, at, act)
        });
        Self::with(cases.collect())
    }
}

fn right(at: At) -> u16 {
    match at {
        At::Greeting => 220,
        At::Auth => 235,
        At::Data => 354,
        _ => 250,
    }
}

fn domain(case: &str) -> String {
    format!("{case}.test")
}

impl OtherSide for Email {
    /// lettre traces nothing.
    fn talkative(&self) -> &'static str {
        " DEBUG "
    }

    fn cases(&self) -> Vec<Case> {
        self.cases.clone()
    }

    fn section(&self, case: &Case) -> String {
        let own = self.own.iter().find(|(name, _)| *name == case.name);
        let server = own.map_or(&self.server, |(_, server)| server);
        // An account of its own: none stands behind another's gate.
        let mut user = case.name.clone();
        while user.len() % 3 != 1 {
            user.push('x');
        }
        format!(
            "kind = \"email\"\nsmtp = \"smtp://{user}@127.0.0.1:{}\"\npassword_file = \"password\"\n\
             from = \"watch@{}\"\nto = [\"me@example.org\"]",
            server.address().port(),
            domain(&case.name)
        )
    }

    fn address(&self) -> &'static str {
        "me@example.org"
    }

    fn secret_files(&self) -> &[(&'static str, &'static str)] {
        &[("password", PASSWORD)]
    }

    fn secrets(&self) -> &[&'static str] {
        &[PASSWORD, IN_BASE64]
    }

    fn recover(&mut self) {
        self.hangs = false;
        self.server.recover();
        self.own.iter().for_each(|(_, server)| server.recover());
    }

    fn received(&self) -> BTreeMap<String, Vec<String>> {
        let mut received: BTreeMap<String, Vec<String>> = BTreeMap::new();
        let servers = self.own.iter().map(|(_, server)| server);
        for mail in servers.chain([&self.server]).flat_map(Smtp::mails) {
            let name = mail.domain.trim_end_matches(".test").to_owned();
            received.entry(name).or_default().push(mail.text);
        }
        received
    }

    fn hangs(&self) -> bool {
        let servers = self.own.iter().map(|(_, server)| server);
        let hanging: usize = servers.chain([&self.server]).map(Smtp::hanging).sum();
        self.hangs && hanging == self.cases.len()
    }
}

#[test]
fn every_code_as_a_greeting() {
    keeps_the_contract(&mut Email::with_codes(At::Greeting, false));
}

#[test]
fn every_code_at_the_login() {
    keeps_the_contract(&mut Email::with_codes(At::Auth, true));
}

#[test]
fn every_code_for_the_sender() {
    keeps_the_contract(&mut Email::with_codes(At::Mail, false));
}

#[test]
fn every_code_for_the_recipient() {
    keeps_the_contract(&mut Email::with_codes(At::Rcpt, false));
}

#[test]
fn every_code_before_the_text() {
    keeps_the_contract(&mut Email::with_codes(At::Data, true));
}

#[test]
fn every_code_after_the_text() {
    keeps_the_contract(&mut Email::with_codes(At::Text, false));
    keeps_the_contract(&mut Email::with_codes(At::Text, true));
}

/// The stages of a conversation, in their order.
const STAGES: [At; 8] = [
    At::Greeting,
    At::Ehlo,
    At::Auth,
    At::Mail,
    At::Rcpt,
    At::Data,
    At::Amid,
    At::Text,
];

fn everywhere(acts: &[(&str, Act)]) -> Email {
    let cases = acts.iter().flat_map(|(name, act)| {
        STAGES.map(|at| {
            let truth = match at {
                At::Text => Truth::Unclear,
                _ => Truth::Refused,
            };
            let name = format!("{name}-{at:?}").to_lowercase();
            (name, truth, at, act.clone())
        })
    });
    Email::with(cases.collect())
}

#[test]
fn a_conversation_that_ends_anywhere_leaves_the_mail_waiting() {
    keeps_the_contract_once(&mut everywhere(&[
        ("closed", Act::Close),
        ("half", Act::Half("25".to_owned())),
        ("half-line", Act::Half("250-ok\r\n250 o".to_owned())),
        (
            "rubbish",
            Act::SayAndClose("\u{1f980} of no number".to_owned()),
        ),
        (
            "page",
            Act::SayAndClose("HTTP/1.1 400 Bad Request".to_owned()),
        ),
        (
            "endless",
            Act::SayAndClose("250-".to_owned() + &"x".repeat(100_000)),
        ),
    ]));
}

#[test]
fn a_server_that_hangs_anywhere_leaves_the_mail_waiting() {
    let mut side = everywhere(&[("hangs", Act::Hang)]);
    side.hangs = true;
    keeps_the_contract_once(&mut side);
}
