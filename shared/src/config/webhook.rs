//! `[[webhook]]`: who may post to us, and how we know that it is him.

use super::Surroundings;
use super::generic::{self, Generic};
use super::github::{self, Branch, Events};
use super::reader::{Read, Section};
use super::secret::{self, Program, SecretFile};
use super::value::{DAY, TEN_YEARS, address_name, duration, flag, text};
use std::collections::HashSet;
use std::time::Duration;
use toml::de::DeValue;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Webhook {
    /// The last part of its address, `/hook/NAME`: small letters, digits, `-` and `_`, at most 64.
    pub name: String,
    pub kind: WebhookKind,
    /// What signs a body (GitHub, Sentry), or the bearer token that comes with it.
    pub secret: SecretFile,
    pub tags: Vec<String>,
    /// Whether a cloud model may read what it says; no by default: bodies are private.
    pub cloud: bool,
    /// Of GitHub: what matters how much, in place of what is built in.
    pub events: Events,
    /// Of GitHub: on which branches pushes and runs matter; empty: as is built in.
    pub branches: Vec<Branch>,
    /// Of Alertmanager and any JSON: what means what.
    pub generic: Generic,
    /// Nothing for so long is told; `None`: it may be silent for ever.
    pub quiet_after: Option<Duration>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WebhookKind {
    Github,
    Sentry,
    Alertmanager,
    Generic,
}

impl WebhookKind {
    pub const ALL: [Self; 4] = [
        Self::Github,
        Self::Sentry,
        Self::Alertmanager,
        Self::Generic,
    ];

    pub const fn name(self) -> &'static str {
        match self {
            Self::Github => "github",
            Self::Sentry => "sentry",
            Self::Alertmanager => "alertmanager",
            Self::Generic => "generic",
        }
    }

    /// The key that names its secret: one that signs, or one that is shown.
    const fn secret_key(self) -> &'static str {
        match self {
            Self::Github | Self::Sentry => "secret_file",
            Self::Alertmanager | Self::Generic => "token_file",
        }
    }
}

impl Webhook {
    /// Its source, as the database and the rules know it.
    pub fn url(&self) -> String {
        format!("webhook:{}", self.name)
    }
}

pub(super) fn read_all(root: &mut Section<'_>, around: &Surroundings<'_>) -> Vec<Webhook> {
    let mut names = HashSet::new();
    let mut webhooks = Vec::new();
    for mut section in root.tables("webhook") {
        if let Some(webhook) = read(&mut section, around) {
            if !names.insert(webhook.name.clone()) {
                let what = format!("{:?} is another webhook's name; choose one", webhook.name);
                section.refuse("name", what);
            }
            webhooks.push(webhook);
        }
        section.finish();
    }
    webhooks
}

fn read(section: &mut Section<'_>, around: &Surroundings<'_>) -> Option<Webhook> {
    let missing = "is missing; write the name that ends its address, /hook/NAME";
    let name = section.need("name", missing, address_name);
    let missing = "is missing; write \"github\", \"sentry\", \"alertmanager\" or \"generic\"";
    let kind = section.need("kind", missing, kind);
    let tags = section.list("tags", text).unwrap_or_default();
    let cloud = section.get("cloud", flag).unwrap_or_default();
    let quiet_after = section.get("quiet_after", duration(DAY..=TEN_YEARS));
    let kind = kind?;
    let key = kind.secret_key();
    if !section.has(key) {
        let what = "is missing; write the name of a file that holds it: who has no secret could be anybody";
        section.refuse(key, what);
    }
    let (events, branches) = if kind == WebhookKind::Github {
        github::read(section)
    } else {
        (Events::new(), Vec::new())
    };
    let generic = match kind {
        WebhookKind::Alertmanager => generic::read(section, false),
        WebhookKind::Generic => generic::read(section, true),
        WebhookKind::Github | WebhookKind::Sentry => Generic::default(),
    };
    let secret = secret::read(section, key, Program::Ingest, around);
    Some(Webhook {
        name: name?,
        kind,
        secret: secret?,
        tags,
        cloud,
        events,
        branches,
        generic,
        quiet_after,
    })
}

fn kind(value: &DeValue<'_>) -> Read<WebhookKind> {
    let name = text(value)?;
    let known = WebhookKind::ALL
        .into_iter()
        .find(|kind| kind.name() == name);
    known.ok_or_else(|| {
        format!("{name:?} is none; write \"github\", \"sentry\", \"alertmanager\" or \"generic\"")
    })
}
