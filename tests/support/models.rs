//! Models at the socket: Ollama's, OpenAI's and Anthropic's API on one loopback port, answering what a
//! test says, well-behaved or not.

use crate::feeds::{FeedServer, Reply, Request};
use serde_json::{Value, json};

/// What the model does with a question.
#[derive(Clone, Debug)]
pub enum Say {
    /// An answer in the form of the API that was asked.
    Text(String),
    /// The same, cut off at the limit of tokens.
    Cut(String),
    /// The same, whole, but the question filled all that the model reads.
    Overfull(String),
    /// These bytes, this status, this silence.
    Reply(Reply),
}

pub struct ModelServer(FeedServer);

impl ModelServer {
    /// Answers each question by `say`, which is given the user's part of the prompt. Ollama's other
    /// paths work.
    pub fn start(mut say: impl FnMut(&str) -> Say + Send + 'static) -> Self {
        let server = FeedServer::start();
        server.answer_by(move |request| {
            let body: Value = serde_json::from_slice(&request.body).unwrap_or_default();
            match request.path.as_str() {
                "/api/version" => json_reply(&json!({"version": "0.12.3"})),
                "/api/show" => json_reply(&json!({"capabilities": ["completion"]})),
                "/api/chat" if body["messages"].as_array().is_some_and(Vec::is_empty) => loaded(),
                "/api/chat" => chat(say(&question(&body))),
                "/v1/chat/completions" => completion(say(&question(&body))),
                "/v1/messages" => message(say(&question(&body))),
                _ => Reply::status(404).with_body("404 page not found"),
            }
        });
        Self(server)
    }

    /// Always the same.
    pub fn saying(say: Say) -> Self {
        Self::start(move |_| say.clone())
    }

    pub fn url(&self) -> String {
        self.0.url("")
    }

    /// Answers `path` like this from now on.
    pub fn set(&self, path: &str, reply: Reply) {
        self.0.set(path, reply);
    }

    pub fn requests_for(&self, path: &str) -> Vec<Request> {
        self.0.requests_for(path)
    }

    /// The questions that came to `path`, as JSON.
    pub fn questions(&self, path: &str) -> Vec<Value> {
        let requests = self.requests_for(path);
        let bodies = requests.iter().map(|request| &request.body);
        bodies
            .map(|body| serde_json::from_slice(body).expect("a question is JSON"))
            .collect()
    }
}

/// The text of a good answer.
pub fn verdict(severity: &str, summary: &str) -> Say {
    let answer = json!({
        "severity": severity, "category": "incident", "summary": summary, "reason": "the stand-in says so",
    });
    Say::Text(answer.to_string())
}

/// The words of the item in a question.
pub fn question(body: &Value) -> String {
    let messages = body["messages"].as_array();
    let last = messages.and_then(|messages| messages.last());
    let content = last.and_then(|message| message["content"].as_str());
    content.unwrap_or_default().to_owned()
}

fn json_reply(body: &Value) -> Reply {
    Reply::body(body.to_string()).header("Content-Type", "application/json")
}

fn loaded() -> Reply {
    json_reply(&json!({
        "model": "m", "created_at": "2026-11-30T08:00:00Z", "done": true, "done_reason": "load",
        "message": {"role": "assistant", "content": ""},
    }))
}

fn chat(say: Say) -> Reply {
    let (text, reason, read, tokens) = match say {
        Say::Text(text) => (text, "stop", 300, 40),
        Say::Cut(text) => (text, "length", 300, 400),
        Say::Overfull(text) => (text, "stop", 4096, 40),
        Say::Reply(reply) => return reply,
    };
    json_reply(&json!({
        "model": "m", "created_at": "2026-11-30T08:00:00Z", "done": true, "done_reason": reason,
        "message": {"role": "assistant", "content": text},
        "total_duration": 1, "load_duration": 1, "prompt_eval_count": read,
        "prompt_eval_duration": 1, "eval_count": tokens, "eval_duration": 1,
    }))
}

fn completion(say: Say) -> Reply {
    let (text, reason) = match say {
        Say::Text(text) | Say::Overfull(text) => (text, "stop"),
        Say::Cut(text) => (text, "length"),
        Say::Reply(reply) => return reply,
    };
    json_reply(&json!({
        "choices": [{"index": 0, "finish_reason": reason, "message": {"role": "assistant", "content": text}}],
    }))
}

fn message(say: Say) -> Reply {
    let (text, reason) = match say {
        Say::Text(text) | Say::Overfull(text) => (text, "tool_use"),
        Say::Cut(text) => (text, "max_tokens"),
        Say::Reply(reply) => return reply,
    };
    let input: Value = serde_json::from_str(&text).unwrap_or(Value::String(text));
    json_reply(&json!({
        "type": "message", "role": "assistant", "stop_reason": reason,
        "content": [{"type": "tool_use", "id": "t", "name": "verdict", "input": input}],
    }))
}
