//! `check`: the configuration in numbers and, with `--live`, whether each model answers one question, in
//! which no word of a feed stands.

use crate::classify::model::{Model, Models};
use crate::classify::prompt::Prompt;
use crate::classify::{Fault, FaultKind};
use shared::config::Config;
use shared::platform::term;
use std::io::{self, Write};
use std::time::Duration;

/// A model that must be loaded first takes its time; a person is waiting.
const LOADING: Duration = Duration::from_mins(5);

/// What was found out about one model.
struct Found {
    /// The path of the key that is to blame, of the whole section when none is.
    key: &'static str,
    works: bool,
    what: String,
}

/// Prints what there is, and with `live` a line for each model. `false`: at least one does not work.
pub(crate) async fn check(
    config: &Config,
    live: bool,
    out: &mut dyn Write,
) -> (bool, io::Result<()>) {
    let summary = config.print_summary(out);
    if !live {
        let hint = "(whether its channels work: watchalert-sender check --live; its models: watchalert-ingest check --live)";
        return (true, summary.and_then(|()| writeln!(out, "{hint}")));
    }
    let found = look(config).await;
    let all_work = found.iter().all(|found| found.works);
    (all_work, summary.and_then(|()| print(&found, out)))
}

async fn look(config: &Config) -> Vec<Found> {
    let models = match Models::of(&config.classify) {
        Ok(Some(models)) => models,
        Ok(None) => return Vec::new(),
        Err(what) => {
            return vec![Found {
                key: "classify",
                works: false,
                what,
            }];
        }
    };
    let mut found = Vec::new();
    if let Some(ollama) = &models.ollama {
        found.push(match look_at_ollama(ollama, &models).await {
            Ok(what) => works("classify.ollama", what),
            Err((key, fault)) => fails(key, &fault),
        });
    }
    if let Some(cloud) = &models.cloud {
        found.push(
            match cloud
                .ask(&Prompt::trial(&models.classify), cloud.limit())
                .await
            {
                Ok(_) => works("classify.cloud", format!("{} answers", cloud.name())),
                Err(fault) => fails(key_of_cloud(&fault), &fault),
            },
        );
    }
    found
}

async fn look_at_ollama(ollama: &Model, models: &Models) -> Result<String, (&'static str, Fault)> {
    const URL: &str = "classify.ollama.url";
    const MODEL: &str = "classify.ollama.model";
    let version = ollama.probe().await.map_err(|fault| (URL, fault))?;
    ollama
        .look_for_model()
        .await
        .map_err(|fault| (MODEL, fault))?;
    ollama.load(LOADING).await.map_err(|fault| (MODEL, fault))?;
    let trial = Prompt::trial(&models.classify);
    let answer = ollama.ask(&trial, ollama.limit()).await;
    let answer = answer.map_err(|fault| match fault.kind {
        FaultKind::Timeout => ("classify.ollama.timeout", fault),
        _ => (MODEL, fault),
    })?;
    Ok(format!(
        "{} answers (version {version}; a release of nobody's program: {})",
        ollama.name(),
        answer.severity
    ))
}

fn key_of_cloud(fault: &Fault) -> &'static str {
    match fault.kind {
        FaultKind::Unreachable | FaultKind::Timeout => "classify.cloud.url",
        FaultKind::ModelMissing | FaultKind::BadOutput => "classify.cloud.model",
        FaultKind::Rejected => "classify.cloud.key_file",
        FaultKind::Busy | FaultKind::Stumbled => "classify.cloud",
    }
}

fn works(key: &'static str, what: String) -> Found {
    Found {
        key,
        works: true,
        what,
    }
}

fn fails(key: &'static str, fault: &Fault) -> Found {
    Found {
        key,
        works: false,
        what: fault.to_string(),
    }
}

fn print(found: &[Found], out: &mut dyn Write) -> io::Result<()> {
    if found.is_empty() {
        return writeln!(
            out,
            "no model is configured: the built-in rules judge, and there is nothing to try"
        );
    }
    let mut rows = term::table(&["model", "works", "what was found"]);
    for found in found {
        let works = if found.works { "yes" } else { "NO" };
        rows.add_row([found.key, works, found.what.as_str()]);
    }
    let sum = match found.iter().filter(|found| !found.works).count() {
        0 => "every model answers",
        1 => "1 model does not answer",
        _ => "no model answers",
    };
    writeln!(
        out,
        "{}\n{sum}; no word of a feed was sent",
        rows.trim_fmt()
    )
}
