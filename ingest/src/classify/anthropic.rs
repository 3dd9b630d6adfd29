//! Anthropic's `messages`, whose structured answer is the input of a tool that the model must call:
//! <https://docs.anthropic.com/en/api/messages>.

use super::answer;
use super::fault::{Fault, FaultKind};
use super::prompt::Prompt;
use super::wire::{Header, Reply, Wire};
use serde_json::{Value, json};
use shared::config::{Cloud, Secret};
use std::time::Duration;

const MOST_TOKENS: u32 = 500;

pub(super) async fn ask(
    wire: &Wire,
    cloud: &Cloud,
    key: &Secret,
    prompt: &Prompt,
    limit: Duration,
) -> Result<Reply, Fault> {
    let url = cloud.url.join("messages");
    let url = url.map_err(|error| Fault::new(FaultKind::Rejected, error))?;
    let headers = [
        Header::Key("x-api-key", "", key),
        Header::Plain("anthropic-version", "2023-06-01"),
    ];
    wire.post(&url, &headers, &request(cloud, prompt), limit)
        .await
}

fn request(cloud: &Cloud, prompt: &Prompt) -> Value {
    json!({
        "model": cloud.model,
        "max_tokens": MOST_TOKENS,
        "system": prompt.system,
        "messages": [{"role": "user", "content": prompt.user}],
        "tools": [{
            "name": "verdict",
            "description": "Takes the verdict on the item.",
            "input_schema": answer::schema(),
        }],
        "tool_choice": {"type": "tool", "name": "verdict"},
    })
}

/// What the model said, as text.
pub(super) fn text_of(reply: &Reply) -> Result<String, Fault> {
    let json: Value = reply.parsed()?;
    if json.get("stop_reason").and_then(Value::as_str) == Some("max_tokens") {
        return Err(reply.bad("cut off at its token limit"));
    }
    let blocks = json.get("content").and_then(Value::as_array);
    let blocks = blocks.ok_or_else(|| reply.bad("no content in the answer"))?;
    let input = blocks.iter().find_map(|block| block.get("input"));
    let text = blocks.iter().find_map(|block| block.get("text")?.as_str());
    input
        .map(Value::to_string)
        .or_else(|| text.map(str::to_owned))
        .ok_or_else(|| reply.bad("no verdict in the answer"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(status: u16, body: &str) -> Result<String, FaultKind> {
        text_of(&Reply::new(status, body)).map_err(|fault| fault.kind)
    }

    #[test]
    fn each_reply_is_a_text_or_has_its_cause() {
        let tool = r#"{"stop_reason":"tool_use","content":[{"type":"text","text":"Well"},{"type":"tool_use","name":"verdict","input":{"severity":"low"}}]}"#;
        assert_eq!(read(200, tool), Ok(r#"{"severity":"low"}"#.to_owned()));
        let text = r#"{"stop_reason":"end_turn","content":[{"type":"text","text":"{}"}]}"#;
        assert_eq!(read(200, text), Ok("{}".to_owned()));
        for (status, body, kind) in [
            (
                200,
                r#"{"stop_reason":"max_tokens","content":[]}"#,
                FaultKind::BadOutput,
            ),
            (200, r#"{"content":[]}"#, FaultKind::BadOutput),
            (200, "{}", FaultKind::BadOutput),
            (200, "<html>", FaultKind::BadOutput),
            (
                401,
                r#"{"error":{"type":"authentication_error","message":"invalid x-api-key"}}"#,
                FaultKind::Rejected,
            ),
            (529, "", FaultKind::Busy),
            (504, "", FaultKind::Timeout),
        ] {
            assert_eq!(read(status, body), Err(kind), "{status} {body}");
        }
    }
}
