//! How a program fails: one sentence for a person, one exit code for the service manager.

use crate::config::ConfigError;
use crate::platform::exit::Exit;
use crate::store::StoreError;

/// Why a program ends before its work is done.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    #[error(transparent)]
    Config(#[from] ConfigError),
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error("{0}")]
    Usage(String),
    #[error("{0}")]
    AlreadyRunning(String),
    #[error("{0}")]
    Unexpected(String),
}

impl Failure {
    pub fn exit(&self) -> Exit {
        match self {
            Self::Config(_) => Exit::Configuration,
            Self::Store(_) => Exit::Database,
            Self::Usage(_) => Exit::Usage,
            Self::AlreadyRunning(_) => Exit::AlreadyRunning,
            Self::Unexpected(_) => Exit::Unexpected,
        }
    }
}
