//! Ollama: is it there, has it the model, what does it say. Requests and answers are ollama-rs's types;
//! our own wire carries them, since its client bounds no body and forgets the status and why an answer
//! ended.

use super::answer;
use super::fault::{Fault, FaultKind};
use super::prompt::Prompt;
use super::wire::{Reply, Wire};
use ollama_rs::generation::chat::request::ChatMessageRequest;
use ollama_rs::generation::chat::{ChatMessage, ChatMessageResponse};
use ollama_rs::generation::parameters::{FormatType, JsonStructure, KeepAlive, TimeUnit};
use ollama_rs::models::ModelOptions;
use serde::Deserialize;
use serde_json::{Value, json};
use shared::config;
use std::time::Duration;
use url::Url;

/// Decides for a whole tick whether it can be reached.
const PROBE: Duration = Duration::from_secs(5);

/// Holds the longest prompt in nearly every script, and its answer. Without it the default of a
/// model's file would cut a prompt in silence.
const CONTEXT: u64 = 4096;
/// A model that repeats itself for ever is cut here.
const MOST_TOKENS: u16 = 400;

#[derive(Clone, Debug)]
pub(super) struct Ollama {
    pub(super) wire: Wire,
    pub(super) settings: config::Ollama,
}

impl Ollama {
    /// Its version.
    ///
    /// # Errors
    /// `Unreachable`, also when no answer comes in time, or a gateway's; anything else says that it is there.
    pub(super) async fn probe(&self) -> Result<String, Fault> {
        let nobody = |fault: Fault| Fault {
            kind: FaultKind::Unreachable,
            ..fault
        };
        let reply = self.wire.get(&self.url("api/version")?, PROBE).await;
        let reply = reply.map_err(|fault| match fault.kind {
            FaultKind::Timeout | FaultKind::Stumbled => nobody(fault),
            _ => fault,
        })?;
        // A gateway, and nobody behind it.
        if matches!(reply.status, 502 | 504) {
            return Err(nobody(Fault::of_status(reply.status, &reply.body)));
        }
        let version: Value = reply.parsed()?;
        let version = version.get("version").and_then(Value::as_str);
        let none = || Fault::new(FaultKind::Rejected, "it answers, but names no version");
        version.map(str::to_owned).ok_or_else(none)
    }

    pub(super) async fn ask(&self, prompt: &Prompt, limit: Duration) -> Result<Reply, Fault> {
        let messages = vec![
            ChatMessage::system(prompt.system.clone()),
            ChatMessage::user(prompt.user.clone()),
        ];
        let format: JsonStructure = serde_json::from_value(answer::schema())
            .map_err(|error| Fault::new(FaultKind::Rejected, error))?;
        let request = self
            .request(messages)
            .format(FormatType::StructuredJson(Box::new(format)))
            .options(
                ModelOptions::default()
                    .num_ctx(CONTEXT)
                    .num_predict(MOST_TOKENS.into())
                    .temperature(prompt.temperature)
                    .seed(prompt.seed.cast_signed()),
            );
        self.post("api/chat", &json!(request), limit).await
    }

    /// Loads the model into memory, and waits until it is there.
    pub(super) async fn load(&self, limit: Duration) -> Result<(), Fault> {
        let request = self.request(Vec::new());
        let reply = self.post("api/chat", &json!(request), limit).await?;
        reply.parsed::<Value>().map(drop)
    }

    /// Whether the model was pulled.
    pub(super) async fn look_for_model(&self) -> Result<(), Fault> {
        let body = json!({"model": self.settings.model});
        let reply = self.post("api/show", &body, PROBE).await?;
        reply.parsed::<Value>().map(drop)
    }

    fn request(&self, messages: Vec<ChatMessage>) -> ChatMessageRequest {
        let keep_alive = KeepAlive::Until {
            time: self.settings.keep_alive.as_secs(),
            unit: TimeUnit::Seconds,
        };
        ChatMessageRequest::new(self.settings.model.clone(), messages).keep_alive(keep_alive)
    }

    async fn post(&self, path: &str, body: &Value, limit: Duration) -> Result<Reply, Fault> {
        let url = self.url(path)?;
        self.wire.post(&url, &[], body, limit).await
    }

    fn url(&self, path: &str) -> Result<Url, Fault> {
        let joined = self.settings.url.join(path);
        joined.map_err(|error| Fault::new(FaultKind::Rejected, error))
    }
}

/// What ollama-rs reads, and why the answer ended.
#[derive(Deserialize)]
struct Said {
    #[serde(flatten)]
    response: ChatMessageResponse,
    done_reason: Option<String>,
}

/// What the model said, as text.
pub(super) fn text_of(reply: &Reply) -> Result<String, Fault> {
    let said: Said = reply.parsed()?;
    let counted = said.response.final_data.as_ref();
    let is_cut = said.done_reason.as_deref() == Some("length")
        || counted.is_some_and(|data| data.eval_count >= u64::from(MOST_TOKENS));
    if is_cut {
        let what = format!("cut off after {MOST_TOKENS} tokens");
        return Err(Fault::new(FaultKind::BadOutput, what));
    }
    // A question that did not fit was cut in silence.
    let used = counted.map(|data| data.prompt_eval_count.saturating_add(data.eval_count));
    if used.is_some_and(|tokens| tokens >= CONTEXT) {
        let what = format!("the question filled all {CONTEXT} tokens that it reads");
        return Err(Fault::new(FaultKind::BadOutput, what));
    }
    if !said.response.done {
        return Err(Fault::new(
            FaultKind::BadOutput,
            "the answer is not finished",
        ));
    }
    Ok(said.response.message.content)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chat(content: &str, done_reason: &str, tokens: u64) -> Reply {
        counted(content, done_reason, 200, tokens)
    }

    fn counted(content: &str, done_reason: &str, read: u64, tokens: u64) -> Reply {
        let body = json!({
            "model": "m", "created_at": "2026-11-30T08:00:00Z", "done": true, "done_reason": done_reason,
            "message": {"role": "assistant", "content": content},
            "total_duration": 1, "load_duration": 1, "prompt_eval_count": read,
            "prompt_eval_duration": 1, "eval_count": tokens, "eval_duration": 1,
        });
        Reply::new(200, body.to_string())
    }

    #[test]
    fn the_text_of_a_whole_answer_is_handed_on_as_it_came() {
        for read in [200, 4083] {
            assert_eq!(
                text_of(&counted("{\"a\":1}", "stop", read, 12)),
                Ok("{\"a\":1}".to_owned())
            );
        }
    }

    #[test]
    fn an_answer_that_was_cut_or_is_none_is_bad_output() {
        for (reply, detail) in [
            (chat("{\"sev", "length", 400), "cut off after 400 tokens"),
            (chat("{\"sev", "stop", 400), "cut off after 400 tokens"),
            (chat("   ", "length", 7), "cut off"),
            (counted("{}", "stop", 4096, 12), "filled all 4096 tokens"),
            (counted("{}", "stop", 4084, 12), "filled all 4096 tokens"),
            (
                counted("{}", "stop", u64::MAX, 12),
                "filled all 4096 tokens",
            ),
            (Reply::new(200, "{\"model\":\"m\",\"crea"), "EOF"),
            (Reply::new(200, "<html>Welcome</html>"), "Welcome"),
            (
                Reply::new(
                    200,
                    "{\"error\":\"an error was encountered while running the model\"}",
                ),
                "encountered",
            ),
            (Reply::new(200, ""), "EOF"),
        ] {
            let fault = text_of(&reply).unwrap_err();
            assert_eq!(fault.kind, FaultKind::BadOutput);
            assert!(fault.detail.contains(detail), "{fault}");
        }
    }

    #[test]
    fn the_schema_reaches_the_wire_whole() {
        let format: JsonStructure = serde_json::from_value(answer::schema()).unwrap();
        assert_eq!(
            json!(FormatType::StructuredJson(Box::new(format))),
            answer::schema()
        );
    }
}
