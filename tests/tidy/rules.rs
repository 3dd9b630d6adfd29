//! Who may import whom: the table, and the judge that reads it.

use super::lexer::lex;
use super::paths::{Mention, mentions};
use super::{File, Finding};
use std::collections::{BTreeMap, BTreeSet};

/// What a rule asks of the paths that a file names. A path in the lists stands for all below it.
pub(super) enum Law {
    /// None of these.
    Never(&'static [&'static str]),
    /// Of all crates nothing but these, unit tests aside.
    Only(&'static [&'static str]),
    /// Of our own crates nothing but these, unit tests aside.
    OnlyOfOurs(&'static [&'static str]),
    /// These in one file of all.
    InOneFile(&'static [&'static str]),
}

pub(super) struct Rule {
    pub(super) name: &'static str,
    /// Files and folders it binds, without their ending.
    pub(super) inside: &'static [&'static str],
    pub(super) except: &'static [&'static str],
    pub(super) law: Law,
    pub(super) remedy: &'static str,
}

const CODE: &[&str] = &["shared/src", "ingest/src", "sender/src"];
const EVERYWHERE: &[&str] = &[""];
const NOWHERE: &[&str] = &[];

pub(super) const RULES: &[Rule] = &[
    Rule {
        name: "ingest without sender",
        inside: &["ingest"],
        except: NOWHERE,
        law: Law::Never(&["watchalert_sender"]),
        remedy: "the two programs meet in the database alone",
    },
    Rule {
        name: "sender without ingest",
        inside: &["sender"],
        except: NOWHERE,
        law: Law::Never(&["watchalert_ingest"]),
        remedy: "the two programs meet in the database alone",
    },
    Rule {
        name: "shared without programs",
        inside: &["shared"],
        except: NOWHERE,
        law: Law::Never(&["watchalert_ingest", "watchalert_sender"]),
        remedy: "pass it in as a value, or move it to the program whose matter it is",
    },
    Rule {
        name: "nobody imports tests",
        inside: CODE,
        except: NOWHERE,
        law: Law::Never(&["watchalert_tests"]),
        remedy: "a test that needs the stand-ins belongs in tests/",
    },
    Rule {
        name: "pure model",
        inside: &["shared/src/model"],
        except: NOWHERE,
        law: Law::Only(&["std", "core", "serde", "shared::model"]),
        remedy: "the nouns know std and serde alone",
    },
    Rule {
        name: "pure shared policy",
        inside: &["shared/src/policy"],
        except: NOWHERE,
        law: Law::Only(&["std", "core", "shared::model", "shared::policy"]),
        remedy: "policy decides over values: let its caller do this",
    },
    Rule {
        name: "pure sender policy",
        inside: &["sender/src/policy"],
        except: NOWHERE,
        law: Law::Only(&[
            "std",
            "core",
            "shared::model",
            "shared::policy",
            "watchalert_sender::policy",
        ]),
        remedy: "policy decides over values: let its caller do this",
    },
    Rule {
        name: "pure render",
        inside: &["sender/src/render"],
        except: NOWHERE,
        law: Law::Only(&[
            "std",
            "core",
            "shared::model",
            "shared::policy",
            "watchalert_sender::render",
        ]),
        remedy: "rendering is a function of the alert: let its caller do this",
    },
    Rule {
        name: "pure means no I/O",
        inside: &[
            "shared/src/model",
            "shared/src/policy",
            "ingest/src/feed",
            "ingest/src/know",
            "ingest/src/route",
            "sender/src/policy",
            "sender/src/render",
        ],
        except: NOWHERE,
        law: Law::Never(&["std::fs", "std::net", "std::process", "std::thread"]),
        remedy: "take what it needs as a value",
    },
    Rule {
        name: "config below the model",
        inside: &["shared/src/config"],
        except: NOWHERE,
        law: Law::OnlyOfOurs(&["shared::model", "shared::config", "shared::policy"]),
        remedy: "the configuration knows the nouns and the pure rules alone",
    },
    Rule {
        name: "store below the model",
        inside: &["shared/src/store"],
        except: NOWHERE,
        law: Law::OnlyOfOurs(&[
            "shared::model",
            "shared::platform",
            "shared::policy",
            "shared::store",
        ]),
        remedy: "the store knows the nouns, the pure rules and the platform; pass the rest in as values",
    },
    Rule {
        name: "platform at the edge",
        inside: &["shared/src/platform"],
        except: NOWHERE,
        law: Law::OnlyOfOurs(&["shared::model", "shared::platform"]),
        remedy: "the platform serves the others and knows none of them",
    },
    Rule {
        name: "one door to SQLite",
        inside: EVERYWHERE,
        except: &["shared/src/store", "tests"],
        law: Law::Never(&["rusqlite", "r2d2", "scheduled_thread_pool"]),
        remedy: "call a named function of the store",
    },
    Rule {
        name: "few doors to HTTP",
        inside: EVERYWHERE,
        except: &[
            "ingest/src/fetch",
            "ingest/src/classify/wire",
            "sender/src/channel",
            "shared/src/platform/http",
        ],
        law: Law::Never(&["reqwest", "reqwest_ollama"]),
        remedy: "ask through fetch, a classifier or a channel, with their deadlines and caps",
    },
    Rule {
        name: "feed-rs in one file",
        inside: EVERYWHERE,
        except: &["tests", "ingest/benches"],
        law: Law::InOneFile(&["feed_rs"]),
        remedy: "it panics on real input: call the guarded parse",
    },
    Rule {
        name: "ollama-rs in one file",
        inside: EVERYWHERE,
        except: NOWHERE,
        law: Law::InOneFile(&["ollama_rs"]),
        remedy: "call the classifier",
    },
    Rule {
        name: "channel without store",
        inside: &["sender/src/channel"],
        except: NOWHERE,
        law: Law::Never(&["shared::store"]),
        remedy: "a channel gets a message and returns an outcome; the flight settles it",
    },
    Rule {
        name: "store without network",
        inside: &["shared/src/store"],
        except: NOWHERE,
        law: Law::Never(&[
            "std::net",
            "tokio::net",
            "reqwest",
            "hyper",
            "axum",
            "lettre",
        ]),
        remedy: "nothing waits for a network inside a transaction",
    },
    Rule {
        name: "Unix sockets at the edge",
        inside: CODE,
        except: &["shared/src/platform"],
        law: Law::Never(&["std::os::unix::net"]),
        remedy: "ring or hear the doorbell of shared::platform",
    },
    Rule {
        name: "the environment is an argument",
        inside: CODE,
        except: &["ingest/src/main", "sender/src/main"],
        law: Law::Never(&["std::env"]),
        remedy: "read it in main.rs and pass the value",
    },
    Rule {
        name: "time is an argument",
        inside: CODE,
        except: &[
            "ingest/src/main",
            "sender/src/main",
            "shared/src/platform/clock",
        ],
        law: Law::Never(&["std::time::Instant::now", "std::time::SystemTime::now"]),
        remedy: "ask the Clock that was passed in",
    },
    Rule {
        name: "chance is an argument",
        inside: CODE,
        except: &["ingest/src/main", "sender/src/main"],
        law: Law::Never(&[
            "fastrand::Rng::new",
            "fastrand::bool",
            "fastrand::f64",
            "fastrand::u32",
            "fastrand::u64",
            "fastrand::usize",
        ]),
        remedy: "make the generator in main.rs and pass it, or the number",
    },
];

/// Every mention in `files` that breaks a rule of the table.
pub(super) fn findings(files: &[File], known: &BTreeSet<String>) -> Vec<Finding> {
    let named: Vec<(&File, Vec<Mention>)> = files
        .iter()
        .filter(|file| file.is_rust())
        .map(|file| (file, mentions(file, &lex(&file.text), known)))
        .collect();
    RULES
        .iter()
        .flat_map(|rule| rule.findings(&named))
        .collect()
}

impl Rule {
    fn findings(&self, named: &[(&File, Vec<Mention>)]) -> Vec<Finding> {
        let offences = named
            .iter()
            .filter(|(file, _)| self.binds(file))
            .flat_map(|(file, mentions)| mentions.iter().map(move |m| (*file, m)))
            .filter(|(_, mention)| self.forbids(mention));
        let mut by_file: BTreeMap<&str, Vec<Finding>> = BTreeMap::new();
        for (file, mention) in offences {
            let finding = self.finding(file, mention);
            by_file.entry(&file.path).or_default().push(finding);
        }
        if let Law::InOneFile(_) = self.law
            && by_file.len() == 1
        {
            return Vec::new();
        }
        by_file.into_values().flatten().collect()
    }

    fn binds(&self, file: &File) -> bool {
        self.inside.iter().any(|place| file.is_within(place))
            && !self.except.iter().any(|place| file.is_within(place))
    }

    fn forbids(&self, mention: &Mention) -> bool {
        let path = mention.path.as_str();
        let ours = starts_with_any(path, &["shared", "watchalert_ingest", "watchalert_sender"]);
        match self.law {
            Law::Never(list) | Law::InOneFile(list) => starts_with_any(path, list),
            Law::Only(list) => !mention.in_unit_tests && !starts_with_any(path, list),
            Law::OnlyOfOurs(list) => ours && !mention.in_unit_tests && !starts_with_any(path, list),
        }
    }

    fn finding(&self, file: &File, mention: &Mention) -> Finding {
        Finding {
            path: file.path.clone(),
            line: mention.line,
            rule: self.name,
            what: format!("`{}`", mention.path),
            remedy: self.remedy,
        }
    }
}

fn starts_with_any(path: &str, prefixes: &[&str]) -> bool {
    prefixes.iter().any(|prefix| {
        path.strip_prefix(prefix)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with("::"))
    })
}
