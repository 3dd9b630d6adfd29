//! Logs: readable lines with fields on standard error; results go to standard output alone.

use super::environment::Environment;
use std::io;
use tracing_subscriber::EnvFilter;
use tracing_subscriber::fmt;

/// Sets up logging for the rest of the process. `default` is the filter without `RUST_LOG`.
/// A filter that cannot be read is told and replaced by the default.
pub fn start(environment: &Environment, default: &str) {
    let chosen = environment.log.as_deref().unwrap_or(default);
    let (filter, refused) = match EnvFilter::try_new(chosen) {
        Ok(filter) => (filter, None),
        Err(error) => (EnvFilter::new(default), Some(error)),
    };
    let format = fmt()
        .with_env_filter(filter)
        .with_writer(io::stderr)
        .with_target(false);
    // The journal stamps each line itself. A second start, as in tests, changes nothing.
    let started = if environment.journal {
        format.without_time().try_init()
    } else {
        format.try_init()
    };
    drop(started);
    if let Some(error) = refused {
        tracing::warn!(%error, "RUST_LOG cannot be read, the default filter is used");
    }
}

/// The default filter for so many `-v`.
pub fn filter(verbose: u8, otherwise: &'static str) -> &'static str {
    match verbose {
        0 => otherwise,
        1 => "warn,watchalert_shared=debug,watchalert_ingest=debug,watchalert_sender=debug",
        _ => "trace",
    }
}

/// The one sentence with which a program fails: on standard error, whatever the log filter.
#[expect(clippy::print_stderr, reason = "this is the one place that does")]
pub fn last_words(program: &str, failure: &dyn std::fmt::Display) {
    eprintln!("{program}: {failure}");
}
