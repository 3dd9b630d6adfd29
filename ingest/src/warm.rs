//! `warm`: the model is loaded with patience of its own. A tick must not wait for that: a request that
//! its deadline cuts off would end the loading too.

use crate::classify::model::Models;
use shared::Failure;
use shared::config::Config;
use std::time::Duration;

/// Returns, in a sentence, when the model is loaded: at once when it is already.
///
/// # Errors
/// Nobody is there, or no such model, or not within `limit`.
pub(crate) async fn run(config: &Config, limit: Duration) -> Result<String, Failure> {
    let models = Models::of(&config.classify).map_err(Failure::Unexpected)?;
    let Some(ollama) = models.and_then(|models| models.ollama) else {
        return Ok("no [classify.ollama] is configured: there is nothing to load".to_owned());
    };
    match ollama.load(limit).await {
        Ok(()) => Ok(format!("{} is loaded", ollama.name())),
        Err(fault) => Err(Failure::Unexpected(format!("Ollama {fault}"))),
    }
}
