//! What is wrong with a configuration: one sentence when it cannot be read, else every problem.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// Where in the file something stands.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// From 1; `None` for what is missing from the file altogether.
    pub line: Option<usize>,
    /// From 1; only syntax errors have one.
    pub column: Option<usize>,
    /// The path of the key, lists counted from 1: `feed[2].url` is the second feed's.
    pub key: String,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.line, self.column) {
            (None, _) => f.write_str(&self.key),
            (Some(line), None) => write!(f, "{} (line {line})", self.key),
            (Some(line), Some(column)) => {
                write!(f, "{} (line {line}, column {column})", self.key)
            }
        }
    }
}

/// One thing that is wrong, and what to do about it. Never holds a secret.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Problem {
    pub at: Place,
    pub what: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.at, self.what)
    }
}

/// Why there is no configuration to work with.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    #[error("{}", unreadable(.path, .why))]
    Unreadable { path: PathBuf, why: io::Error },
    /// Every problem, in the order of the file.
    #[error("{}", listed(.path, .problems))]
    Refused {
        path: PathBuf,
        problems: Vec<Problem>,
    },
}

fn unreadable(path: &Path, why: &io::Error) -> String {
    let path = path.display();
    match why.kind() {
        io::ErrorKind::NotFound => format!(
            "there is no configuration at {path}; put one there (deploy/config.example.toml is \
             a start) or name another with --config"
        ),
        io::ErrorKind::InvalidData => {
            format!("the configuration {path} is not UTF-8 text; save it as UTF-8")
        }
        _ => format!("the configuration {path} cannot be read: {why}"),
    }
}

fn listed(path: &Path, problems: &[Problem]) -> String {
    let count = match problems.len() {
        1 => "a problem".to_owned(),
        many => format!("{many} problems"),
    };
    problems.iter().fold(
        format!("the configuration {} has {count}:", path.display()),
        |list, problem| format!("{list}\n  {problem}"),
    )
}
