//! `[feeds] same_hosts`: host names under which the same pages are.

use super::reader::{Read, Section, described};
use super::value::text;
use toml::de::DeValue;
use url::Host;

/// Groups of host names, each name in one group. Empty: every host is its own.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SameHosts(Vec<Vec<String>>);

impl SameHosts {
    /// The other names of a host, as URLs spell them.
    pub fn others<'s>(&'s self, host: &'s str) -> impl Iterator<Item = &'s str> {
        let group = self.group(host).into_iter().flatten().map(String::as_str);
        group.filter(move |name| *name != host)
    }

    /// The one name that stands for the host when two are compared.
    pub fn first<'s>(&'s self, host: &'s str) -> &'s str {
        let first = self.group(host).and_then(|group| group.first());
        first.map_or(host, String::as_str)
    }

    fn group(&self, host: &str) -> Option<&Vec<String>> {
        self.0
            .iter()
            .find(|group| group.iter().any(|name| name == host))
    }
}

pub(super) fn read(section: &mut Section<'_>) -> SameHosts {
    let groups = section.list("same_hosts", group).unwrap_or_default();
    let mut seen = Vec::new();
    for host in groups.iter().flatten() {
        if seen.contains(&host) {
            section.refuse(
                "same_hosts",
                format!("{host:?} stands in two lists; make one of them"),
            );
        }
        seen.push(host);
    }
    SameHosts(groups)
}

fn group(value: &DeValue<'_>) -> Read<Vec<String>> {
    let Some(elements) = value.as_array() else {
        let found = described(value);
        return Err(format!(
            "must be a list of hosts, not {found}; write [[\"a.example\", \"b.example\"]]"
        ));
    };
    let mut hosts = Vec::new();
    for element in elements {
        let host = host(&text(element.get_ref())?)?;
        if hosts.contains(&host) {
            return Err(format!("{host:?} stands twice; remove one"));
        }
        hosts.push(host);
    }
    match hosts.len() {
        0 | 1 => Err("one name is the same as itself; write two or more".to_owned()),
        _ => Ok(hosts),
    }
}

fn host(text: &str) -> Read<String> {
    let bare = text.trim().trim_end_matches('.');
    match Host::parse(bare) {
        Ok(host) if !bare.contains(['/', ':']) => Ok(host.to_string()),
        _ => Err(format!(
            "{text:?} is no host name; write it as \"www.example.org\""
        )),
    }
}
