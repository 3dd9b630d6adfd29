//! `[classify]`: which model judges what the rules leave open, and when it is not waited for.

use super::Surroundings;
use super::ingest::Ingest;
use super::reader::{Read, Section};
use super::secret::{self, Program, SecretFile};
use super::telegram::is_loopback;
use super::value::{DAY, MINUTE, duration, one_of, text, whole_number};
use crate::model::UnknownName;
use std::fmt;
use std::str::FromStr;
use std::time::Duration;
use toml::de::DeValue;
use url::Url;

/// Without a model in it the built-in rules judge.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Classify {
    /// What the user cares about, in the user's words; at most 1,000 characters.
    pub interests: Option<String>,
    /// The language of summaries, as people or IETF tags name it; `en` by default.
    pub language: String,
    /// An item that has waited so long for a model is judged by the rules; 10 min by default.
    pub give_up_after: Duration,
    pub ollama: Option<Ollama>,
    pub cloud: Option<Cloud>,
}

impl Default for Classify {
    fn default() -> Self {
        Self {
            interests: None,
            language: "en".to_owned(),
            give_up_after: 10 * MINUTE,
            ollama: None,
            cloud: None,
        }
    }
}

impl Classify {
    /// Whether there is a model that may be asked about a source; `cloud`: the source allows that one.
    pub fn asks_about(&self, cloud: bool) -> bool {
        self.ollama.is_some() || (self.cloud.is_some() && cloud)
    }
}

/// `[classify.ollama]`: a model on a machine of the user's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ollama {
    /// `http` or `https`; a path ends in a slash.
    pub url: Url,
    pub model: String,
    /// For one answer; shorter than the tick's deadline.
    pub timeout: Duration,
    /// How long the model stays loaded after an answer; 30 min by default.
    pub keep_alive: Duration,
    /// Requests at the same time, 1 to 8.
    pub concurrency: usize,
}

/// `[classify.cloud]`: who judges while Ollama cannot be reached, or when there is none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cloud {
    pub api: CloudApi,
    /// `https`, or `http` on this machine; a path ends in a slash.
    pub url: Url,
    pub model: String,
    pub key: SecretFile,
    /// For one answer, 30 s by default; shorter than the tick's deadline.
    pub timeout: Duration,
    /// Requests in a day (UTC), 1 to 100,000; 200 by default.
    pub daily_limit: u32,
}

/// Whose requests the cloud understands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CloudApi {
    /// `chat/completions`, which many others offer too.
    OpenAi,
    /// `messages`.
    Anthropic,
}

impl CloudApi {
    const ALL: [Self; 2] = [Self::OpenAi, Self::Anthropic];
}

impl fmt::Display for CloudApi {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::OpenAi => "openai",
            Self::Anthropic => "anthropic",
        })
    }
}

impl FromStr for CloudApi {
    type Err = UnknownName;

    fn from_str(name: &str) -> Result<Self, UnknownName> {
        let mut known = Self::ALL.into_iter();
        known
            .find(|api| api.to_string() == name)
            .ok_or_else(|| UnknownName(name.to_owned()))
    }
}

pub(super) fn read(root: &mut Section<'_>, ingest: &Ingest, around: &Surroundings<'_>) -> Classify {
    let default = Classify::default();
    let Some(mut section) = root.section("classify", "[classify]") else {
        return default;
    };
    let classify = Classify {
        interests: section.get("interests", short(1000)),
        language: section
            .get("language", short(40))
            .unwrap_or(default.language),
        give_up_after: section
            .get("give_up_after", duration(MINUTE..=DAY))
            .unwrap_or(default.give_up_after),
        ollama: section
            .section("ollama", "[classify.ollama]")
            .and_then(|section| read_ollama(section, ingest)),
        cloud: section
            .section("cloud", "[classify.cloud]")
            .and_then(|section| read_cloud(section, ingest, around)),
    };
    section.finish();
    classify
}

fn read_ollama(mut section: Section<'_>, ingest: &Ingest) -> Option<Ollama> {
    let url = if section.has("url") {
        section.get("url", |value| address(value, "http://127.0.0.1:11434"))
    } else {
        Url::parse("http://127.0.0.1:11434").ok()
    };
    let model = section.get("model", text);
    let timeout = timeout(&mut section, "classify.ollama.timeout", MINUTE, ingest);
    let keep_alive = section.get("keep_alive", duration(MINUTE..=DAY));
    let concurrency = section.get("concurrency", whole_number(1..=8));
    section.finish();
    Some(Ollama {
        url: url?,
        model: model.unwrap_or_else(|| "qwen2.5:7b".to_owned()),
        timeout,
        keep_alive: keep_alive.unwrap_or(30 * MINUTE),
        concurrency: concurrency.unwrap_or(1),
    })
}

/// Half of a short deadline by default: a tick shall come to an answer.
fn timeout(section: &mut Section<'_>, key: &str, default: Duration, ingest: &Ingest) -> Duration {
    let deadline = ingest.deadline;
    let given = section.get("timeout", duration(Duration::from_secs(1)..=DAY));
    if let Some(timeout) = given.filter(|timeout| *timeout >= deadline) {
        let (timeout, deadline) = (
            humantime::format_duration(timeout),
            humantime::format_duration(deadline),
        );
        let what = format!(
            "one answer may take {timeout} and a whole tick {deadline}; make {key} shorter than \
             ingest.deadline"
        );
        section.refuse("timeout", what);
    }
    given.unwrap_or_else(|| default.min(deadline / 2))
}

fn read_cloud(
    mut section: Section<'_>,
    ingest: &Ingest,
    around: &Surroundings<'_>,
) -> Option<Cloud> {
    let missing = "is missing; write \"openai\" (any compatible endpoint) or \"anthropic\"";
    let api = section.need("api", missing, one_of("api", &CloudApi::ALL));
    let missing = "is missing; write the endpoint without its last word, such as \"https://llm.example.net/v1\"";
    let url = section.need("url", missing, cloud_address);
    let missing = "is missing; write the model's name as its provider does";
    let model = section.need("model", missing, text);
    if !section.has("key_file") && !section.has("key") {
        let missing = "is missing; write the name of a file that holds the API key";
        section.refuse("key_file", missing);
    }
    let key = secret::read(&mut section, "key_file", Program::Ingest, around);
    let timeout = timeout(&mut section, "classify.cloud.timeout", MINUTE / 2, ingest);
    let daily_limit = section.get("daily_limit", whole_number(1..=100_000));
    section.finish();
    Some(Cloud {
        api: api?,
        url: url?,
        model: model?,
        key: key?,
        timeout,
        daily_limit: daily_limit.map_or(200, |limit| u32::try_from(limit).unwrap_or(u32::MAX)),
    })
}

/// Text that leaves room for others in a prompt.
fn short(limit: usize) -> impl Fn(&DeValue<'_>) -> Read<String> {
    move |value| {
        let text = text(value)?;
        match text.chars().count() {
            length if length > limit => Err(format!(
                "has {length} characters; write at most {limit}, every request carries them"
            )),
            _ => Ok(text),
        }
    }
}

/// A base that paths are joined to.
fn address(value: &DeValue<'_>, example: &str) -> Read<Url> {
    let text = text(value)?;
    let like = format!("write one like \"{example}\"");
    // First of all, for what comes after it shows the URL.
    if text.contains('@') {
        return Err(format!("holds a user name or a password; {like}"));
    }
    let mut url =
        Url::parse(&text).map_err(|why| format!("{text:?} is not a URL ({why}); {like}"))?;
    if url.query().is_some() || url.fragment().is_some() {
        return Err(format!("holds a query or a fragment; {like}"));
    }
    if !matches!(url.scheme(), "http" | "https") || !url.has_host() {
        return Err(format!("{text:?} is neither http nor https; {like}"));
    }
    if !url.path().ends_with('/') {
        url.set_path(&format!("{}/", url.path()));
    }
    Ok(url)
}

fn cloud_address(value: &DeValue<'_>) -> Read<Url> {
    let url = address(value, "https://llm.example.net/v1")?;
    if url.scheme() == "http" && !is_loopback(&url) {
        return Err(format!(
            "\"{url}\" would send the key unencrypted; write https, or the address of a server \
             on this machine"
        ));
    }
    Ok(url)
}
