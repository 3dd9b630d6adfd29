//! `[ping]`: whom a tick tells that it happens, a dead man's switch elsewhere.

use super::Surroundings;
use super::error::Problem;
use super::reader::{Read, Section};
use super::secret::{self, Program, Secret, SecretFile};
use super::value::text;
use toml::de::DeValue;
use url::Url;

/// Each address may be missing.
#[derive(Clone, Debug, Default)]
pub struct Ping {
    pub start: Option<PingUrl>,
    pub success: Option<PingUrl>,
    pub fail: Option<PingUrl>,
}

/// Who knows such an address can call it, so it is a secret wherever it stands.
#[derive(Clone, Debug)]
pub enum PingUrl {
    Written(Secret),
    File(SecretFile),
}

impl PingUrl {
    /// # Errors
    /// What is wrong with the file that holds it.
    pub fn resolve(&self) -> Result<Secret, Problem> {
        match self {
            Self::Written(url) => Ok(url.clone()),
            Self::File(file) => file.resolve(),
        }
    }
}

pub(super) fn read(root: &mut Section<'_>, around: &Surroundings<'_>) -> Ping {
    let Some(mut section) = root.section("ping", "[ping]") else {
        return Ping::default();
    };
    let ping = Ping {
        start: one(&mut section, "start", "start_file", around),
        success: one(&mut section, "success", "success_file", around),
        fail: one(&mut section, "fail", "fail_file", around),
    };
    section.finish();
    ping
}

fn one(
    section: &mut Section<'_>,
    key: &'static str,
    file_key: &'static str,
    around: &Surroundings<'_>,
) -> Option<PingUrl> {
    if section.has(key) && section.has(file_key) {
        section.refuse(file_key, format!("stands beside {key}; remove one of them"));
    }
    let written = section.get(key, address).map(PingUrl::Written);
    let file = secret::read(section, file_key, Program::Ingest, around);
    if let Some(file) = &file
        && around.program.needs_what_is_for(Program::Ingest)
        && let Ok(url) = file.resolve()
        && let Err(what) = checked(url.expose())
    {
        section.refuse(file_key, what);
    }
    written.or(file.map(PingUrl::File))
}

fn address(value: &DeValue<'_>) -> Read<Secret> {
    let url = text(value)?;
    checked(&url)?;
    Ok(Secret::from(url))
}

/// The address is not shown.
fn checked(url: &str) -> Read<()> {
    let is_good =
        Url::parse(url).is_ok_and(|url| matches!(url.scheme(), "http" | "https") && url.has_host());
    is_good.then_some(()).ok_or_else(|| {
        "is no URL that can be called; write one such as \"https://hc.example.net/ping/…\""
            .to_owned()
    })
}
