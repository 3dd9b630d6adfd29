//! The models of a configuration: which there are, what they are called, and one way to ask them.

use super::answer::{self, Answer};
use super::fault::{Fault, FaultKind};
use super::ollama::Ollama;
use super::prompt::Prompt;
use super::wire::Wire;
use super::{anthropic, openai};
use shared::config::{Classify, Cloud, CloudApi};
use shared::model::Judge;
use std::time::Duration;

/// For one answer of the cloud.
const CLOUD_LIMIT: Duration = Duration::from_secs(30);

/// Whom to ask.
#[derive(Clone, Debug)]
pub enum Model {
    Ollama(OllamaModel),
    OpenAi(CloudModel),
    Anthropic(CloudModel),
}

#[derive(Clone, Debug)]
pub struct OllamaModel(Ollama);

#[derive(Clone, Debug)]
pub struct CloudModel {
    wire: Wire,
    pub settings: Cloud,
}

/// What a configuration names; without both, nobody is asked.
#[derive(Clone, Debug)]
pub struct Models {
    pub classify: Classify,
    pub ollama: Option<Model>,
    pub cloud: Option<Model>,
}

impl Models {
    /// `None` when none is configured.
    ///
    /// # Errors
    /// When the system's certificates cannot be read.
    pub fn of(classify: &Classify) -> Result<Option<Self>, String> {
        if classify.ollama.is_none() && classify.cloud.is_none() {
            return Ok(None);
        }
        let wire = Wire::new().map_err(|error| error.to_string())?;
        let ollama = classify.ollama.clone().map(|settings| Ollama {
            wire: wire.clone(),
            settings,
        });
        let cloud = classify.cloud.clone().map(|settings| {
            let api = settings.api;
            let wire = wire.clone();
            let model = CloudModel { wire, settings };
            match api {
                CloudApi::OpenAi => Model::OpenAi(model),
                CloudApi::Anthropic => Model::Anthropic(model),
            }
        });
        Ok(Some(Self {
            classify: classify.clone(),
            ollama: ollama.map(OllamaModel).map(Model::Ollama),
            cloud,
        }))
    }
}

impl Model {
    /// As a person calls it.
    pub fn name(&self) -> String {
        match self {
            Self::Ollama(OllamaModel(ollama)) => format!("Ollama's {}", ollama.settings.model),
            Self::OpenAi(cloud) | Self::Anthropic(cloud) => {
                format!("the cloud's {}", cloud.settings.model)
            }
        }
    }

    /// Who a verdict of its says that judged.
    pub fn judge(&self) -> Judge {
        match self {
            Self::Ollama(_) => Judge::Model,
            Self::OpenAi(_) | Self::Anthropic(_) => Judge::Cloud,
        }
    }

    /// For one answer.
    pub fn limit(&self) -> Duration {
        match self {
            Self::Ollama(OllamaModel(ollama)) => ollama.settings.timeout,
            Self::OpenAi(_) | Self::Anthropic(_) => CLOUD_LIMIT,
        }
    }

    /// At the same time.
    pub fn at_once(&self) -> usize {
        match self {
            Self::Ollama(OllamaModel(ollama)) => ollama.settings.concurrency,
            Self::OpenAi(_) | Self::Anthropic(_) => 1,
        }
    }

    /// Whether anybody is there, and its version. Of a cloud only a request would tell.
    ///
    /// # Errors
    /// `Unreachable` when nobody is; with any other kind somebody is.
    pub async fn probe(&self) -> Result<String, Fault> {
        match self {
            Self::Ollama(OllamaModel(ollama)) => ollama.probe().await,
            Self::OpenAi(_) | Self::Anthropic(_) => Ok(String::new()),
        }
    }

    /// Asks, and reads the answer.
    pub async fn ask(&self, prompt: &Prompt, limit: Duration) -> Result<Answer, Fault> {
        let text = match self {
            Self::Ollama(OllamaModel(ollama)) => ollama.ask(prompt, limit).await?,
            Self::OpenAi(cloud) | Self::Anthropic(cloud) => {
                let CloudModel { wire, settings } = cloud;
                let key = settings.key.resolve();
                let key = key.map_err(|problem| Fault::new(FaultKind::Rejected, problem))?;
                if matches!(self, Self::OpenAi(_)) {
                    openai::ask(wire, settings, &key, prompt, limit).await?
                } else {
                    anthropic::ask(wire, settings, &key, prompt, limit).await?
                }
            }
        };
        answer::parse(&text)
    }

    /// Loads the model into memory and waits until it is there.
    pub async fn load(&self, limit: Duration) -> Result<(), Fault> {
        match self {
            Self::Ollama(OllamaModel(ollama)) => ollama.load(limit).await,
            Self::OpenAi(_) | Self::Anthropic(_) => Ok(()),
        }
    }

    /// Whether Ollama has pulled it.
    pub async fn look_for_model(&self) -> Result<(), Fault> {
        match self {
            Self::Ollama(OllamaModel(ollama)) => ollama.look_for_model().await,
            Self::OpenAi(_) | Self::Anthropic(_) => Ok(()),
        }
    }
}
