//! The wire: conversations with one mail server, over lettre's blocking connection. Each stage has its own
//! limit, each answer is looked at by itself, and a connection that served well is kept for a while.
//!
//! Not lettre's own `send`: it calls a 3yz a success, does not tell at which stage a refusal came, and not
//! whether the text was on its way. A greeting, a login and DATA have one good code each, so an answer that
//! somebody slipped in before TLS puts the conversation out of step and ends it.

use super::classify::{Answer, Reply, Stage};
use super::error::{answered, is_refused, replied, tls_error, words};
use super::letter::Letter;
use lettre::Address;
use lettre::transport::smtp::Error;
use lettre::transport::smtp::authentication::{Credentials, Mechanism};
use lettre::transport::smtp::client::{Certificate, SmtpConnection, TlsParameters};
use lettre::transport::smtp::commands::{Auth, Data, Mail, Rcpt, Rset};
use lettre::transport::smtp::extension::ClientId;
use lettre::transport::smtp::response::Response;
use shared::config::{Email as Configured, Encryption, Secret};
use shared::policy::text::{one_line, shorten, span};
use std::cell::Cell;
use std::fs;
use std::iter;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;
use tokio::time::Instant;

/// Shorter than a minute: few servers hang up before.
pub const IDLE: Duration = Duration::from_secs(50);
/// For the question whether a kept connection is still good, and for goodbyes.
const SHORT: Duration = Duration::from_secs(10);
const DETAIL: usize = 200;

/// How long is waited for each answer.
#[derive(Clone, Copy, Debug)]
pub struct Patience {
    /// Connection, TLS, greeting. RFC 5321 4.5.3.2 has 5 min; but until the text goes out nothing is lost
    /// by giving up, and the next try is a minute away.
    pub greeting: Duration,
    /// As long as RFC 5321 waits for DATA.
    pub command: Duration,
    /// Of RFC 5321, after the dot: giving up earlier makes copies (RFC 1047).
    pub text: Duration,
}

impl Patience {
    pub const LETTER: Self = Self {
        greeting: Duration::from_secs(60),
        command: Duration::from_secs(120),
        text: Duration::from_secs(600),
    };

    /// Of a person who waits for an answer.
    pub const LOOK: Self = Self {
        greeting: Duration::from_secs(10),
        command: Duration::from_secs(10),
        text: Duration::from_secs(10),
    };
}

/// How far a letter has come, between the thread that carries it and whoever waits for that.
#[derive(Debug, Default)]
pub struct Progress(AtomicU8);

impl Progress {
    const TALKS: u8 = 0;
    const SENDS: u8 = 1;
    const ABANDONED: u8 = 2;

    /// The text may go out, for nobody has given up.
    pub fn sends(&self) -> bool {
        self.moves_to(Self::SENDS)
    }

    /// It is given up, for the text has not gone out; and it will not.
    pub fn is_abandoned(&self) -> bool {
        self.moves_to(Self::ABANDONED)
    }

    fn moves_to(&self, next: u8) -> bool {
        let order = Ordering::SeqCst;
        let moved = self.0.compare_exchange(Self::TALKS, next, order, order);
        moved.is_ok()
    }
}

/// The way to one mail server.
#[derive(Debug)]
pub struct Line {
    configured: Configured,
    /// The last connection that served well, and since when it is idle at least.
    kept: Mutex<Option<(Talk, Instant)>>,
}

impl Line {
    pub fn new(configured: Configured) -> Self {
        Self {
            configured,
            kept: Mutex::default(),
        }
    }

    /// Carries one letter, blocking. A kept connection that turns out to be of no use costs nothing: the
    /// letter goes over a new one.
    pub fn carry(&self, letter: &Letter, progress: &Progress, now: Instant) -> Answer {
        if let Some(mut talk) = self.still_good(now) {
            let answer = talk.carry(letter, progress);
            if !is_hung_up(&answer) {
                self.keep(talk, &answer, now);
                return answer;
            }
        }
        let mut talk = match self.open(Patience::LETTER) {
            Ok(talk) => talk,
            Err(answer) => return answer,
        };
        let answer = talk.carry(letter, progress);
        self.keep(talk, &answer, now);
        answer
    }

    /// Says goodbye to a connection that is idle since then; blocking.
    pub fn hang_up(&self, since: Instant) {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let is_it = kept.as_ref().is_some_and(|(_, idle)| *idle <= since);
        let talk = kept.take_if(|_| is_it);
        drop(kept);
        if let Some((talk, _)) = talk {
            talk.ends();
        }
    }

    /// Everything that comes before a text, for each recipient, and then that none will come; blocking.
    pub fn look(&self) -> Result<String, Answer> {
        let mut talk = self.open(Patience::LOOK)?;
        let from = address(&self.configured.from)?;
        for to in &self.configured.to {
            let to = address(to)?;
            let asked = talk.names(&from, &to).and_then(|()| talk.resets());
            if let Err(answer) = asked {
                talk.ends();
                return Err(answer);
            }
        }
        talk.ends();
        let place = self.place();
        let server = &self.configured.server;
        let user = server
            .user
            .as_ref()
            .map_or_else(String::new, |user| format!(" as {user}"));
        let how = match server.encryption {
            Encryption::Implicit => "TLS",
            Encryption::StartTls => "STARTTLS",
            Encryption::None => "no encryption",
        };
        let to = self.configured.to.join(", ");
        Ok(format!("{place}{user} ({how}) takes mail to {to}"))
    }

    fn place(&self) -> String {
        let server = &self.configured.server;
        format!("{}:{}", server.host, server.port)
    }

    fn still_good(&self, now: Instant) -> Option<Talk> {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let (mut talk, since) = kept.take()?;
        drop(kept);
        let is_good = now.duration_since(since) < IDLE
            && talk.connection.set_timeout(Some(SHORT)).is_ok()
            && talk.connection.test_connected();
        is_good.then_some(talk)
    }

    fn keep(&self, mut talk: Talk, answer: &Answer, now: Instant) {
        // After a text the next letter may come at once; after a refusal before it, once that is said.
        let is_good = match answer {
            Answer::Reply(Reply { code: 421, .. }) => false,
            Answer::Reply(reply) if reply.stage == Stage::Text => reply.code / 100 != 3,
            Answer::Reply(reply) => {
                reply.stage >= Stage::Mail && reply.code >= 400 && talk.resets().is_ok()
            }
            _ => false,
        };
        if is_good {
            let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
            *kept = Some((talk, now));
        }
    }

    fn open(&self, patience: Patience) -> Result<Talk, Answer> {
        let server = &self.configured.server;
        let hello = self.hello();
        let tls = match server.encryption {
            Encryption::None => None,
            Encryption::Implicit | Encryption::StartTls => Some(self.tls()?),
        };
        let at_once = tls
            .as_ref()
            .filter(|_| server.encryption == Encryption::Implicit);
        let connected = self.connect(patience, at_once);
        let mut connection = connected.map_err(|error| self.no_greeting(&error, tls.as_ref()))?;
        if let (Encryption::StartTls, Some(tls)) = (server.encryption, &tls) {
            if !connection.can_starttls() {
                let place = self.place();
                return Err(Answer::Misconfigured(format!(
                    "{place} offers no STARTTLS, and nothing is said in the clear; if that port speaks TLS \
                     at once, write smtps:// into smtp"
                )));
            }
            let begun = connection.starttls(tls, &hello);
            begun.map_err(|error| self.failed(Stage::StartTls, &error))?;
        }
        let mut talk = Talk {
            connection,
            patience,
            secrets: Vec::new(),
        };
        if let Some(user) = &server.user {
            talk.logs_in(user, &self.password()?)?;
        }
        Ok(talk)
    }

    fn connect(
        &self,
        patience: Patience,
        tls: Option<&TlsParameters>,
    ) -> Result<SmtpConnection, Error> {
        let server = &self.configured.server;
        let place = (server.host.as_str(), server.port);
        SmtpConnection::connect(place, Some(patience.greeting), &self.hello(), tls, None)
    }

    /// The name that servers know: of the sender's domain.
    fn hello(&self) -> ClientId {
        let domain = self.configured.from.rsplit_once('@');
        let domain = domain.map_or("localhost", |(_, domain)| domain);
        ClientId::Domain(domain.to_owned())
    }

    fn password(&self) -> Result<Secret, Answer> {
        let Some(file) = &self.configured.password else {
            return Err(Answer::Misconfigured("password_file is missing".to_owned()));
        };
        let read = file.resolve();
        read.map_err(|problem| Answer::Misconfigured(problem.to_string()))
    }

    fn tls(&self) -> Result<TlsParameters, Answer> {
        let mut builder = TlsParameters::builder(self.configured.server.host.clone());
        if let Some(file) = &self.configured.ca_file {
            let shown = file.display();
            let pem = fs::read(file).map_err(|why| {
                Answer::Misconfigured(format!("ca_file: {shown} cannot be read: {why}"))
            })?;
            let authority = Certificate::from_pem(&pem).map_err(|_says_no_more| {
                Answer::Misconfigured(format!("ca_file: {shown} holds no certificate in PEM"))
            })?;
            builder = builder.add_root_certificate(authority);
        }
        builder
            .build()
            .map_err(|error| Answer::NotSent(format!("no TLS: {}", words(&error))))
    }

    /// Two that take each other for something else: one waits for TLS, the other for a greeting.
    fn no_greeting(&self, error: &Error, tls: Option<&TlsParameters>) -> Answer {
        let answer = self.failed(Stage::Greeting, error);
        let is_silence = matches!(answer, Answer::NotSent(_)) && !is_refused(error);
        let may_be_mixed_up = self.configured.server.encryption == Encryption::StartTls;
        if is_silence && may_be_mixed_up && self.connect(Patience::LOOK, tls).is_ok() {
            let place = self.place();
            return Answer::Misconfigured(format!(
                "{place} speaks TLS at once and knows no STARTTLS there; write smtps:// into smtp"
            ));
        }
        answer
    }

    /// Before the text: nothing can have been taken.
    fn failed(&self, stage: Stage, error: &Error) -> Answer {
        let (place, scheme) = (self.place(), self.configured.server.encryption.scheme());
        match tls_error(error) {
            Some(rustls::Error::InvalidMessage(_)) if stage == Stage::Greeting => {
                Answer::Misconfigured(format!(
                    "{place} does not speak TLS at once, as {scheme} means; write smtp+starttls:// into \
                     smtp"
                ))
            }
            Some(rustls::Error::InvalidCertificate(why)) => Answer::Misconfigured(format!(
                "the certificate of {place} is not trusted: {}; for a server of your own name its \
                 authority's in ca_file",
                shorten(&one_line(&why.to_string()), DETAIL)
            )),
            _ => answered(stage, error),
        }
    }
}

/// The other side ended a conversation, and not for anything that was asked in it.
fn is_hung_up(answer: &Answer) -> bool {
    match answer {
        Answer::Reply(reply) => reply.code == 421 && reply.stage < Stage::Text,
        Answer::NotSent(_) => true,
        Answer::Misconfigured(_) | Answer::Lost(_) => false,
    }
}

/// One connection, greeted and logged in.
struct Talk {
    connection: SmtpConnection,
    patience: Patience,
    /// The forms of the password that went over it.
    secrets: Vec<Secret>,
}

impl std::fmt::Debug for Talk {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Talk")
    }
}

impl Talk {
    fn logs_in(&mut self, user: &str, password: &Secret) -> Result<(), Answer> {
        let credentials = Credentials::new(user.to_owned(), password.expose().to_owned());
        self.secrets = forms(&credentials, password);
        let known = [Mechanism::Plain, Mechanism::Login];
        let offered = self.connection.server_info().get_auth_mechanism(&known);
        if offered.is_none() {
            return Err(Answer::Misconfigured(
                "the server offers no login with a password (PLAIN or LOGIN); if it wants none, remove the \
                 user from smtp, and password_file"
                    .to_owned(),
            ));
        }
        self.waits(self.patience.command)?;
        let reply = self.connection.auth(&known, &credentials);
        self.expects(Stage::Auth, 235, reply)
    }

    /// Says who writes, and to whom.
    fn names(&mut self, from: &Address, to: &Address) -> Result<(), Answer> {
        self.waits(self.patience.command)?;
        let reply = self
            .connection
            .command(Mail::new(Some(from.clone()), Vec::new()));
        self.expects(Stage::Mail, 250, reply)?;
        let reply = self.connection.command(Rcpt::new(to.clone(), Vec::new()));
        // 251: it will be forwarded; RFC 5321 4.3.2.
        let code = match &reply {
            Ok(reply) if reply.has_code(251) => 251,
            _ => 250,
        };
        self.expects(Stage::Rcpt, code, reply)
    }

    fn resets(&mut self) -> Result<(), Answer> {
        self.waits(SHORT)?;
        let reply = self.connection.command(Rset);
        self.expects(Stage::Mail, 250, reply)
    }

    fn carry(&mut self, letter: &Letter, progress: &Progress) -> Answer {
        let answer = self.carried(letter, progress);
        answer.unwrap_or_else(|answer| answer)
    }

    fn carried(&mut self, letter: &Letter, progress: &Progress) -> Result<Answer, Answer> {
        let (Some(from), Some(to)) = (letter.envelope.from(), letter.envelope.to().first()) else {
            return Err(Answer::NotSent("the envelope is empty".to_owned()));
        };
        self.names(from, to)?;
        let reply = self.connection.command(Data);
        self.expects(Stage::Data, 354, reply)?;
        self.waits(self.patience.text)?;
        if !progress.sends() {
            return Err(Answer::NotSent("it was given up".to_owned()));
        }
        Ok(self.text(&letter.bytes))
    }

    /// Once the dot that ends it is on its way, no answer means that nobody knows.
    fn text(&mut self, bytes: &[u8]) -> Answer {
        let ends = Cell::new(false);
        let end = iter::from_fn(|| {
            ends.set(true);
            None
        });
        let reply = self.connection.message_iter(iter::once(bytes).chain(end));
        let answer = match reply {
            Ok(reply) => replied(Stage::Text, &reply),
            Err(error) => answered(Stage::Text, &error),
        };
        match self.censored(answer) {
            Answer::NotSent(why) if ends.get() => Answer::Lost(why),
            answer => answer,
        }
    }

    fn waits(&mut self, patience: Duration) -> Result<(), Answer> {
        let set = self.connection.set_timeout(Some(patience));
        set.map_err(|why| Answer::NotSent(format!("the connection broke: {why}")))
    }

    fn expects(
        &self,
        stage: Stage,
        code: u16,
        reply: Result<Response, Error>,
    ) -> Result<(), Answer> {
        match reply {
            Ok(reply) if reply.has_code(code) => Ok(()),
            Ok(reply) => Err(self.censored(replied(stage, &reply))),
            Err(error) => Err(self.censored(answered(stage, &error))),
        }
    }

    /// A server may repeat what it was told.
    fn censored(&self, answer: Answer) -> Answer {
        let censor = |text: String| {
            self.secrets.iter().fold(text, |text, secret| {
                text.replace(secret.expose(), "[password]")
            })
        };
        match answer {
            Answer::Reply(reply) => Answer::Reply(Reply {
                text: censor(reply.text),
                ..reply
            }),
            Answer::NotSent(why) => Answer::NotSent(censor(why)),
            Answer::Lost(why) => Answer::Lost(censor(why)),
            Answer::Misconfigured(what) => Answer::Misconfigured(censor(what)),
        }
    }

    fn ends(mut self) {
        if self.waits(SHORT).is_ok() {
            drop(self.connection.quit());
        }
    }
}

/// The password as it may come back: as it is, and in what either login makes of it.
fn forms(credentials: &Credentials, password: &Secret) -> Vec<Secret> {
    let said = |mechanism, challenge: Option<&str>| {
        let challenge = challenge.map(str::to_owned);
        let said = Auth::new(mechanism, credentials.clone(), challenge).ok()?;
        let said = said.to_string();
        said.split_whitespace().last().map(str::to_owned)
    };
    let both = [
        said(Mechanism::Plain, None),
        said(Mechanism::Login, Some("Password:")),
    ];
    let both = both.into_iter().flatten().map(Secret::from);
    both.chain([password.clone()]).collect()
}

fn address(text: &str) -> Result<Address, Answer> {
    let address = text.parse();
    address.map_err(|_says_no_more| Answer::Misconfigured(format!("{text:?} is no mail address")))
}

/// For a person who waits.
pub fn gave_up(after: Duration) -> String {
    format!(
        "the mail server kept the conversation longer than {}",
        span(after)
    )
}
