//! What the environment says, read once in `main` and passed on as a value.

use std::ffi::OsString;
use std::path::PathBuf;

/// Where the configuration is when nobody says otherwise.
pub const DEFAULT_CONFIG: &str = "/etc/watchalert/config.toml";

/// How large a block glibc's allocator gives back as soon as it is freed; see mallopt(3).
pub const MALLOC_THRESHOLD: &str = "MALLOC_MMAP_THRESHOLD_";

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Environment {
    /// `WATCHALERT_CONFIG`
    pub config: Option<PathBuf>,
    /// `CREDENTIALS_DIRECTORY`, set by systemd.
    pub credentials: Option<PathBuf>,
    /// `NO_COLOR`, when it is not empty (<https://no-color.org>).
    pub no_color: bool,
    /// `JOURNAL_STREAM`: standard error goes to the journal, which adds the time itself.
    pub journal: bool,
    /// `RUST_LOG`, a filter in tracing's syntax.
    pub log: Option<String>,
    /// Whether [`MALLOC_THRESHOLD`] is set.
    pub malloc_threshold: bool,
    /// `WATCHALERT_CRASH_AT`, of tests: see [`crash`](super::crash).
    pub crash_at: Option<String>,
}

impl Environment {
    pub fn from_vars(vars: impl Iterator<Item = (OsString, OsString)>) -> Self {
        let mut environment = Self::default();
        for (name, value) in vars.filter(|(_, value)| !value.is_empty()) {
            match name.to_str() {
                Some("WATCHALERT_CONFIG") => environment.config = Some(value.into()),
                Some("CREDENTIALS_DIRECTORY") => environment.credentials = Some(value.into()),
                Some("NO_COLOR") => environment.no_color = true,
                Some("JOURNAL_STREAM") => environment.journal = true,
                Some(MALLOC_THRESHOLD) => environment.malloc_threshold = true,
                Some("WATCHALERT_CRASH_AT") => environment.crash_at = value.into_string().ok(),
                Some("RUST_LOG") => environment.log = value.into_string().ok(),
                _ => {}
            }
        }
        environment
    }

    /// `--config`, else the variable, else the system's place.
    pub fn config_path(&self, argument: Option<PathBuf>) -> PathBuf {
        argument
            .or_else(|| self.config.clone())
            .unwrap_or_else(|| PathBuf::from(DEFAULT_CONFIG))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_variable_is_no_variable() {
        let vars = [("NO_COLOR", ""), ("WATCHALERT_CONFIG", "/tmp/c.toml")];
        let vars = vars.map(|(name, value)| (OsString::from(name), OsString::from(value)));
        let environment = Environment::from_vars(vars.into_iter());
        assert!(!environment.no_color);
        assert_eq!(environment.config_path(None), PathBuf::from("/tmp/c.toml"));
        assert_eq!(
            environment.config_path(Some("x".into())),
            PathBuf::from("x")
        );
        let bare = Environment::default();
        assert_eq!(bare.config_path(None), PathBuf::from(DEFAULT_CONFIG));
    }
}
