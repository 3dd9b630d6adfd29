//! `[channel.NAME]` with `kind = "email"`: a mail server, who writes, and to whom.

use super::Surroundings;
use super::access;
use super::reader::{Read, Section};
use super::secret::{self, Program, SecretFile};
use super::value::{text, whole_number};
use std::net::IpAddr;
use std::path::PathBuf;
use toml::de::DeValue;
use url::{Host, Url};

/// The strictest of the large providers: Exchange Online takes 30 messages a minute of a mailbox
/// (learn.microsoft.com, "Message storage and concurrent connection throttling for SMTP Authenticated
/// Submission"); others count by the day.
const PER_MINUTE: usize = 30;

/// A mail server that takes what is to be sent, and between whom.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Email {
    pub server: Server,
    /// There when the server's URL names a user.
    pub password: Option<SecretFile>,
    /// The sender's address, ASCII.
    pub from: String,
    /// At least one address, ASCII, none twice; each gets a mail of its own.
    pub to: Vec<String>,
    /// Certificates in PEM that are trusted beside the system's.
    pub ca_file: Option<PathBuf>,
    /// Mails that this account may send in any minute, 1 to 6,000; 30 by default.
    pub per_minute: usize,
}

/// Where the mail server is, and how it is spoken to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Server {
    pub encryption: Encryption,
    pub user: Option<String>,
    /// A name or an address, without brackets.
    pub host: String,
    pub port: u16,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encryption {
    /// `smtps`: TLS from the first byte; port 465 unless named.
    Implicit,
    /// `smtp+starttls`, and `smtp` to another machine: begun in the clear, and nothing said before TLS;
    /// port 587 unless named.
    StartTls,
    /// `smtp` to this machine alone; port 25 unless named.
    None,
}

impl Encryption {
    /// As it is written in the configuration.
    pub fn scheme(self) -> &'static str {
        match self {
            Self::Implicit => "smtps",
            Self::StartTls => "smtp+starttls",
            Self::None => "smtp",
        }
    }
}

pub(super) fn read(section: &mut Section<'_>, around: &Surroundings<'_>) -> Option<Email> {
    let missing = "is missing; write \"smtps://user@mail.example.net\", or with smtp+starttls";
    let server = section.need("smtp", missing, server);
    let password = secret::read(section, "password_file", Program::Sender, around);
    if let Some(server) = &server {
        let has_file = section.has("password_file") || section.has("password");
        match &server.user {
            Some(_) if !has_file => section.refuse(
                "password_file",
                "is missing; write the name of a file that holds the user's password",
            ),
            None if has_file => section.refuse(
                "password_file",
                "is of no use without a user; write one into smtp, before the host and an @",
            ),
            _ => {}
        }
    }
    let missing = "is missing; write the address that the mails come from";
    let from = section.need("from", missing, address);
    if !section.has("to") {
        section.refuse("to", "is missing; name at least one mail address");
    }
    let empty = "is empty; name at least one mail address";
    let to = section.filled_list("to", empty, address);
    let ca_file = section.get("ca_file", |value| {
        access::existing(&text(value)?, Program::Sender, around)
    });
    let per_minute = section.get("per_minute", whole_number(1..=6_000));
    Some(Email {
        per_minute: per_minute.unwrap_or(PER_MINUTE),
        server: server?,
        password,
        from: from?,
        to: to.filter(|to| !to.is_empty())?,
        ca_file,
    })
}

fn server(value: &DeValue<'_>) -> Read<Server> {
    let text = text(value)?;
    let like = "write one like \"smtps://user@mail.example.net\"";
    // Not shown: it may hold the password.
    let url = Url::parse(&text).map_err(|why| format!("is not a URL ({why}); {like}"))?;
    if url.password().is_some() {
        return Err(format!(
            "holds a password; {like}, and put the password into password_file"
        ));
    }
    let named = url.host_str().filter(|host| !host.is_empty());
    let host = named.and_then(|host| Host::parse(host).ok());
    let host = host.ok_or_else(|| format!("{text:?} names no host; {like}"))?;
    let is_bare = matches!(url.path(), "" | "/") && url.query().is_none();
    if !is_bare || url.fragment().is_some() {
        return Err(format!(
            "{text:?} holds more than user, host and port; {like}"
        ));
    }
    let (encryption, port) = match url.scheme() {
        "smtps" => (Encryption::Implicit, 465),
        "smtp" if is_here(&host) => (Encryption::None, 25),
        "smtp" | "smtp+starttls" => (Encryption::StartTls, 587),
        scheme => return Err(format!("the scheme {scheme:?} is not supported; {like}")),
    };
    let user = Some(url.username()).filter(|user| !user.is_empty());
    let user = user.map(decoded).transpose()?;
    Ok(Server {
        encryption,
        user,
        host: match host {
            Host::Domain(name) => name,
            Host::Ipv4(address) => address.to_string(),
            Host::Ipv6(address) => address.to_string(),
        },
        port: url.port().unwrap_or(port),
    })
}

fn is_here(host: &Host<String>) -> bool {
    match host {
        // Not names below it: those are looked up, and may lead anywhere.
        Host::Domain(name) => name == "localhost",
        Host::Ipv4(address) => IpAddr::from(*address).is_loopback(),
        Host::Ipv6(address) => IpAddr::from(*address).is_loopback(),
    }
}

/// `watch%40example.net` is `watch@example.net`.
fn decoded(user: &str) -> Read<String> {
    let mut bytes = Vec::new();
    let mut rest = user.as_bytes();
    while let Some((&first, behind)) = rest.split_first() {
        let digits = behind
            .get(..2)
            .and_then(|pair| std::str::from_utf8(pair).ok());
        let byte = digits.and_then(|pair| u8::from_str_radix(pair, 16).ok());
        let coded = byte.filter(|_| first == b'%');
        bytes.push(coded.unwrap_or(first));
        let taken = if coded.is_some() { 2 } else { 0 };
        rest = behind.get(taken..).unwrap_or_default();
    }
    let user = String::from_utf8(bytes).ok();
    user.filter(|user| !user.chars().any(char::is_control))
        .ok_or_else(|| "holds a user name that is no plain text".to_owned())
}

/// A mail address in plain ASCII: nothing of it can end a header or a command.
fn address(value: &DeValue<'_>) -> Read<String> {
    let text = text(value)?;
    if is_address(&text) {
        return Ok(text);
    }
    let instead = "write one like \"me@example.net\", in ASCII and without a name";
    Err(format!("{text:?} is no mail address; {instead}"))
}

/// RFC 5321: a dot-string and a domain, within the lengths of 4.5.3.1.
pub fn is_address(text: &str) -> bool {
    let Some((local, domain)) = text.rsplit_once('@') else {
        return false;
    };
    let is_atom = |atom: &str| {
        let plain = |c: char| c.is_ascii_alphanumeric() || "!#$%&'*+/=?^_`{|}~-".contains(c);
        !atom.is_empty() && atom.chars().all(plain)
    };
    let is_label = |label: &str| {
        let plain = |c: char| c.is_ascii_alphanumeric() || c == '-';
        (1..=63).contains(&label.len())
            && label.chars().all(plain)
            && !label.starts_with('-')
            && !label.ends_with('-')
    };
    (1..=64).contains(&local.len())
        && text.len() <= 254
        && local.split('.').all(is_atom)
        && domain.split('.').all(is_label)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_plain_ascii_that_ends_no_header() {
        for good in [
            "me@example.net",
            "a.b+c@x-y.example",
            "root@localhost",
            "o'b@x.y",
        ] {
            assert!(is_address(good), "{good}");
        }
        for bad in [
            "",
            "me",
            "@example.net",
            "me@",
            "me@x..y",
            ".me@x.y",
            "me@x.y\r\nBcc: you@x.y",
            "me @x.y",
            "<me@x.y>",
            "Me <me@x.y>",
            "mé@x.y",
            "me@-x.y",
            "me@x.y,you@x.y",
            "\"a b\"@x.y",
        ] {
            assert!(!is_address(bad), "{bad}");
        }
        assert!(!is_address(&format!("{}@x.y", "a".repeat(65))));
    }

    #[test]
    fn a_server_is_told_by_its_scheme() {
        let read = |url: &str| {
            let read = server(&DeValue::String(url.to_owned().into()))?;
            let user = read.user.clone().unwrap_or_default();
            Ok::<_, String>(format!(
                "{} {user} {} {}",
                read.encryption.scheme(),
                read.host,
                read.port
            ))
        };
        for (url, expected) in [
            ("smtps://me@mail.x.y", "smtps me mail.x.y 465"),
            ("smtps://me%40x.y@mail.x.y:99", "smtps me@x.y mail.x.y 99"),
            ("smtps://me@x.y@mail.x.y", "smtps me@x.y mail.x.y 465"),
            (
                "smtp+starttls://me@mail.x.y/",
                "smtp+starttls me mail.x.y 587",
            ),
            ("smtp://me@mail.x.y", "smtp+starttls me mail.x.y 587"),
            ("smtp://localhost", "smtp  localhost 25"),
            ("smtp://[::1]:2525", "smtp  ::1 2525"),
            (
                "smtp+starttls://a%zz@127.0.0.1:2625",
                "smtp+starttls a%zz 127.0.0.1 2625",
            ),
        ] {
            assert_eq!(read(url).as_deref(), Ok(expected));
        }
        for bad in [
            "mail.x.y",
            "smtps://",
            "http://x.y",
            "smtps://x.y/path",
            "smtps://u:hunter2@x.y",
        ] {
            let told = read(bad).unwrap_err();
            assert!(!told.contains("hunter2"), "{told}");
        }
    }
}
