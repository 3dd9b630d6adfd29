//! How one feed's server is asked, where the usual way does not do.

use super::Surroundings;
use super::reader::{Read, Section};
use super::secret::{self, Program, SecretFile};
use super::value::text;
use std::path::PathBuf;
use toml::de::DeValue;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Access {
    /// In place of our own.
    pub user_agent: Option<String>,
    /// Sent beside ours, to the feed's own host only.
    pub headers: Vec<Header>,
    /// Certificates (PEM) that are trusted for this feed beside the system's.
    pub ca_file: Option<PathBuf>,
    /// The only kind of address that is connected to.
    pub family: Option<Family>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Header {
    /// In lower case.
    pub name: String,
    pub value: HeaderText,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HeaderText {
    Plain(String),
    Secret(SecretFile),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Family {
    Ipv4,
    Ipv6,
}

/// Headers with which servers are told who asks: not for a file that others read.
const SECRET: [&str; 3] = ["authorization", "cookie", "proxy-authorization"];

/// Headers that the fetch itself writes.
const OURS: &[(&str, &str)] = &[
    (
        "accept-encoding",
        "what is packed otherwise could not be read",
    ),
    ("connection", "the connection is the program's own matter"),
    ("content-length", "a fetch sends no body"),
    ("host", "it follows from url"),
    ("if-modified-since", "it is sent by itself"),
    ("if-none-match", "it is sent by itself"),
    ("te", "the connection is the program's own matter"),
    ("transfer-encoding", "a fetch sends no body"),
    ("user-agent", "write user_agent = \"…\""),
];

pub(super) fn read(section: &mut Section<'_>, around: &Surroundings<'_>) -> Access {
    let user_agent = section.get("user_agent", |value| header_text(text(value)?));
    let ca_file = section.get("ca_file", |value| {
        existing(&text(value)?, Program::Ingest, around)
    });
    let family = section.get("family", |value| match &*text(value)? {
        "ipv4" => Ok(Family::Ipv4),
        "ipv6" => Ok(Family::Ipv6),
        other => Err(format!("{other:?} is none; write \"ipv4\" or \"ipv6\"")),
    });
    let headers = section.pairs(
        "headers",
        "headers = { Name = \"value\" }",
        |name, at, value| {
            let Some(name) = name.strip_suffix("_file") else {
                return plain(name, value);
            };
            let file = secret::at(secret::file_name(value)?, at, around);
            if around.program.needs_what_is_for(Program::Ingest)
                && let Err(problem) = file.resolve()
            {
                return Err(problem.what);
            }
            Ok(Header {
                name: header_name(name)?,
                value: HeaderText::Secret(file),
            })
        },
    );
    Access {
        user_agent,
        headers,
        ca_file,
        family,
    }
}

impl Access {
    /// Whether anybody but the feed's own host must not see the request.
    pub fn holds_secrets(&self) -> bool {
        self.headers
            .iter()
            .any(|header| matches!(header.value, HeaderText::Secret(_)))
    }
}

fn plain(name: &str, value: &DeValue<'_>) -> Read<Header> {
    let name = header_name(name)?;
    if SECRET.contains(&&*name) {
        return Err(format!(
            "secrets are not written here; put the whole value into a file and name that with \
             \"{name}_file\""
        ));
    }
    Ok(Header {
        name,
        value: HeaderText::Plain(header_text(text(value)?)?),
    })
}

fn header_name(name: &str) -> Read<String> {
    let lower = name.to_ascii_lowercase();
    if let Some((_, why)) = OURS.iter().find(|(ours, _)| *ours == lower) {
        return Err(format!("this header is not yours to set; {why}"));
    }
    let sound = |char: char| char.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(char);
    if lower.is_empty() || !lower.chars().all(sound) {
        return Err(format!(
            "{name:?} is not the name of a header; write one of letters, digits and hyphens"
        ));
    }
    Ok(lower)
}

fn header_text(text: String) -> Read<String> {
    if text.is_ascii() {
        Ok(text)
    } else {
        Err("does not fit into a header; write it in ASCII".to_owned())
    }
}

/// A file that is looked for by the program that needs it.
pub(super) fn existing(name: &str, owner: Program, around: &Surroundings<'_>) -> Read<PathBuf> {
    let path = around.directory.join(name);
    if around.program.needs_what_is_for(owner) && !path.is_file() {
        return Err(format!(
            "there is no file {}; write the certificate's in PEM, relative to this file",
            path.display()
        ));
    }
    Ok(path)
}
