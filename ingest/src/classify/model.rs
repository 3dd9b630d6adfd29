//! The models of a configuration: which there are, what they are called, and one way to ask them.

use super::answer::{self, Answer};
use super::fault::{Fault, FaultKind};
use super::ollama::{self, Ollama};
use super::prompt::Prompt;
use super::wire::{Reply, Wire};
use super::{anthropic, openai};
use shared::config::{Classify, Cloud, CloudApi, Secret};
use shared::model::Judge;
use std::time::Duration;

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

/// In whose form an answer comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Api {
    Ollama,
    OpenAi,
    Anthropic,
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
            Self::OpenAi(cloud) | Self::Anthropic(cloud) => cloud.settings.timeout,
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
        let (api, reply) = match self {
            Self::Ollama(OllamaModel(ollama)) => (Api::Ollama, ollama.ask(prompt, limit).await?),
            Self::OpenAi(CloudModel { wire, settings }) => {
                let key = key(settings)?;
                let reply = openai::ask(wire, settings, &key, prompt, limit).await?;
                (Api::OpenAi, reply)
            }
            Self::Anthropic(CloudModel { wire, settings }) => {
                let key = key(settings)?;
                let reply = anthropic::ask(wire, settings, &key, prompt, limit).await?;
                (Api::Anthropic, reply)
            }
        };
        api.read(&reply)
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

impl Api {
    /// From the body of a reply, whatever is in it, to an answer.
    ///
    /// # Errors
    /// Why it cannot be used, told from the status and the server's own words.
    pub fn answer(self, status: u16, body: &[u8]) -> Result<Answer, Fault> {
        let body = body.to_vec();
        self.read(&Reply { status, body })
    }

    fn read(self, reply: &Reply) -> Result<Answer, Fault> {
        let text = match self {
            Self::Ollama => ollama::text_of(reply),
            Self::OpenAi => openai::text_of(reply),
            Self::Anthropic => anthropic::text_of(reply),
        };
        answer::parse(&text?)
    }
}

fn key(settings: &Cloud) -> Result<Secret, Fault> {
    let key = settings.key.resolve();
    key.map_err(|problem| Fault::new(FaultKind::Rejected, problem))
}
