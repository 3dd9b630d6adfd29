//! What of a posted JSON means what: `preset`, `fields`, `severities` and `ends` of a `[[webhook]]`.

use super::reader::{Read, Section};
use super::value::{one_of, text};
use crate::model::Severity;
use std::collections::BTreeMap;
use toml::de::DeValue;

/// Whose JSON it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Preset {
    Grafana,
    UptimeKuma,
    ChangeDetection,
}

impl Preset {
    const ALL: [(&'static str, Self); 3] = [
        ("grafana", Self::Grafana),
        ("uptime-kuma", Self::UptimeKuma),
        ("changedetection", Self::ChangeDetection),
    ];
}

/// Where in a body something stands: `monitor.name`, `data.items[0].id`; `None`: it is guessed, or is not
/// there.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Fields {
    pub title: Option<String>,
    pub text: Option<String>,
    pub link: Option<String>,
    /// A word that `severities` knows, or one of ours.
    pub severity: Option<String>,
    /// What it is about: the same for a beginning and its end.
    pub id: Option<String>,
    /// How it stands; what `ends` names is an end.
    pub state: Option<String>,
}

/// Of Alertmanager the last two alone.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Generic {
    pub preset: Option<Preset>,
    pub fields: Fields,
    /// In small letters, in place of what is built in.
    pub severities: BTreeMap<String, Severity>,
    /// In small letters.
    pub ends: Vec<String>,
}

/// `is_any`: any JSON, and not Alertmanager's.
pub(super) fn read(section: &mut Section<'_>, is_any: bool) -> Generic {
    let example = "severities = { P1 = \"critical\" }";
    let severities = section.pairs("severities", example, |name, _place, value| {
        let severity = one_of("severity", Severity::ALL)(value)?;
        Ok((name.to_lowercase(), severity))
    });
    let severities = severities.into_iter().collect();
    if !is_any {
        return Generic {
            severities,
            ..Generic::default()
        };
    }
    let preset = section.get("preset", preset);
    let fields = fields(section);
    let ends = section.list("ends", text).unwrap_or_default();
    for key in ["fields", "ends"] {
        if preset.is_some() && section.has(key) {
            section.refuse(
                key,
                "a preset knows where everything stands; remove one of them",
            );
        }
    }
    Generic {
        preset,
        fields,
        severities,
        ends: ends.iter().map(|end| end.to_lowercase()).collect(),
    }
}

fn preset(value: &DeValue<'_>) -> Read<Preset> {
    let name = text(value)?;
    let known = Preset::ALL.iter().find(|(known, _)| *known == name);
    known.map(|(_, preset)| *preset).ok_or_else(|| {
        format!("{name:?} is none; write \"grafana\", \"uptime-kuma\" or \"changedetection\"")
    })
}

fn fields(section: &mut Section<'_>) -> Fields {
    let Some(mut fields) = section.section("fields", "fields = { title = \"monitor.name\" }")
    else {
        return Fields::default();
    };
    let mut field = |key| fields.get(key, path);
    let read = Fields {
        title: field("title"),
        text: field("text"),
        link: field("link"),
        severity: field("severity"),
        id: field("id"),
        state: field("state"),
    };
    fields.finish();
    read
}

/// With a dot before each step, a place in a list too.
fn path(value: &DeValue<'_>) -> Read<String> {
    let path = text(value)?;
    let steps = path.replace('[', ".").replace(']', "");
    if steps.split('.').any(str::is_empty) {
        return Err(format!(
            "{path:?} leads nowhere; write one like \"monitor.name\" or \"data.items[0].id\""
        ));
    }
    Ok(steps)
}
