//! One conversation: RFC 5321 as far as a client that submits mail needs it, with AUTH and STARTTLS.

use super::stream::Stream;
use super::{Act, At, Mail, PASSWORD, Shared, Tls};
use std::io;
use std::net::TcpStream;
use std::sync::Arc;

pub(super) struct Session<'s> {
    stream: Stream,
    shared: &'s Arc<Shared>,
    connection: usize,
    domain: String,
    user: Option<String>,
    from: String,
    to: Vec<String>,
}

/// The conversation goes on, or it is over.
type Goes = io::Result<()>;

fn over() -> io::Error {
    io::ErrorKind::ConnectionAborted.into()
}

impl<'s> Session<'s> {
    pub(super) fn begin(socket: TcpStream, shared: &'s Arc<Shared>) -> Goes {
        let connection = {
            let mut book = shared.locked();
            book.connections += 1;
            book.connections
        };
        let mut stream = Stream::clear(socket)?;
        if shared.tls == Tls::AtOnce {
            stream.encrypt(&shared.config)?;
        }
        let mut session = Self {
            stream,
            shared,
            connection,
            domain: String::new(),
            user: None,
            from: String::new(),
            to: Vec::new(),
        };
        session.answer(At::Greeting, "", "220 mail.test ESMTP")?;
        loop {
            let line = session.line()?;
            session.hear(&line)?;
        }
    }

    fn line(&mut self) -> io::Result<String> {
        let line = String::from_utf8_lossy(&self.stream.line()?).into_owned();
        self.shared.locked().said.push(line.clone());
        Ok(line)
    }

    fn hear(&mut self, line: &str) -> Goes {
        let (verb, rest) = line.split_once(' ').unwrap_or((line, ""));
        match verb.to_ascii_uppercase().as_str() {
            "EHLO" => {
                rest.clone_into(&mut self.domain);
                let offers = self.offers();
                self.answer(At::Ehlo, line, &offers)
            }
            "STARTTLS" => {
                self.answer(At::StartTls, line, "220 go ahead")?;
                self.stream.encrypt(&self.shared.config)
            }
            "AUTH" => self.log_in(line, rest),
            "MAIL" => {
                let is_again = !self.from.is_empty();
                rest.clone_into(&mut self.from);
                self.to.clear();
                if is_again && let Some(act) = self.shared.script(&self.domain, At::MailAgain) {
                    return self.act(act, line);
                }
                self.answer(At::Mail, line, "250 2.1.0 ok")
            }
            "RCPT" => {
                self.to.push(rest.to_owned());
                self.answer(At::Rcpt, line, "250 2.1.5 ok")
            }
            "DATA" => self.take_text(line),
            "NOOP" => self.answer(At::Noop, line, "250 2.0.0 ok"),
            "RSET" => self.say("250 2.0.0 ok"),
            "QUIT" => self.say("221 2.0.0 bye").and(Err(over())),
            _ => self.say("502 5.5.1 what"),
        }
    }

    fn offers(&self) -> String {
        let mut lines = vec!["250-mail.test", "250-SIZE 1000000"];
        if self.shared.tls == Tls::OnDemand && !self.stream.is_encrypted {
            lines.push("250-STARTTLS");
        } else {
            lines.push("250-AUTH PLAIN LOGIN");
        }
        lines.push("250 ENHANCEDSTATUSCODES");
        lines.join("\r\n")
    }

    fn log_in(&mut self, line: &str, rest: &str) -> Goes {
        let said = unpacked(rest.strip_prefix("PLAIN ").unwrap_or_default());
        let said = String::from_utf8_lossy(&said).into_owned();
        let mut said = said.split('\0').skip(1);
        let right = match (said.next(), said.next()) {
            (Some(user), Some(PASSWORD)) => {
                self.user = Some(user.to_owned());
                "235 2.7.0 welcome"
            }
            _ => "535 5.7.8 no such user, or another password",
        };
        self.answer(At::Auth, line, right)
    }

    fn take_text(&mut self, line: &str) -> Goes {
        if let Some(act) = self.shared.script(&self.domain, At::Data) {
            return self.act(act, line);
        }
        self.say("354 go ahead")?;
        let amid = self.shared.script(&self.domain, At::Amid);
        let mut text = String::new();
        loop {
            let line = self.stream.line()?;
            if line == b"." {
                break;
            }
            let line = line.strip_prefix(b".").unwrap_or(&line);
            text += &String::from_utf8_lossy(line);
            text += "\r\n";
            if let Some(act) = &amid {
                return self.act(act.clone(), "");
            }
        }
        let act = self.shared.script(&self.domain, At::Text);
        self.shared.locked().mails.push(Mail {
            domain: self.domain.clone(),
            from: self.from.clone(),
            to: self.to.clone(),
            text,
            is_encrypted: self.stream.is_encrypted,
            user: self.user.clone(),
            connection: self.connection,
            is_taken: matches!(act, None | Some(Act::Late(_))),
        });
        match act {
            Some(act) => self.act(act, line),
            None => self.say("250 2.0.0 queued as 4711"),
        }
    }

    /// What the script has for it, or what is right. A script that names no domain is for the time before
    /// anybody has said one.
    fn answer(&mut self, at: At, line: &str, right: &str) -> Goes {
        match self.shared.script(&self.domain, at) {
            Some(act) => self.act(act, line),
            None => self.say(right),
        }
    }

    fn act(&mut self, act: Act, line: &str) -> Goes {
        match act {
            Act::Say(text) => self.say(&text),
            Act::SayAndClose(text) => self.say(&text).and(Err(over())),
            Act::Echo(code) => self.say(&format!("{code} {line}")),
            Act::Half(text) => self.stream.write(&text).and(Err(over())),
            Act::Close => Err(over()),
            Act::Hang => {
                self.shared.hang();
                Err(over())
            }
            Act::Late(text) => {
                self.shared.hang();
                self.say(&text)
            }
        }
    }

    fn say(&mut self, text: &str) -> Goes {
        self.stream.write(&format!("{text}\r\n"))
    }
}

/// Base64, whose end may be filled up.
pub(super) fn unpacked(text: &str) -> Vec<u8> {
    const LETTERS: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let digit = |c| u32::try_from(LETTERS.find(c)?).ok();
    let digits: Vec<u32> = text.chars().filter_map(digit).collect();
    let bytes = digits.chunks(4).flat_map(|four| {
        let bits = (0..4).fold(0, |bits, at| bits << 6 | four.get(at).unwrap_or(&0));
        let [_, bytes @ ..] = u32::to_be_bytes(bits);
        bytes.into_iter().take(four.len() - 1)
    });
    bytes.collect()
}
