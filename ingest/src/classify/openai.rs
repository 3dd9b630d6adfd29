//! Any endpoint that speaks OpenAI's `chat/completions`:
//! <https://platform.openai.com/docs/api-reference/chat>.

use super::answer;
use super::fault::{Fault, FaultKind};
use super::prompt::Prompt;
use super::wire::{Header, Reply, Wire};
use serde_json::{Value, json};
use shared::config::{Cloud, Secret};
use std::time::Duration;

const MOST_TOKENS: u32 = 400;

pub(super) async fn ask(
    wire: &Wire,
    cloud: &Cloud,
    key: &Secret,
    prompt: &Prompt,
    limit: Duration,
) -> Result<Reply, Fault> {
    let url = cloud.url.join("chat/completions");
    let url = url.map_err(|error| Fault::new(FaultKind::Rejected, error))?;
    let headers = [Header::Key("authorization", "Bearer ", key)];
    wire.post(&url, &headers, &request(cloud, prompt), limit)
        .await
}

fn request(cloud: &Cloud, prompt: &Prompt) -> Value {
    json!({
        "model": cloud.model,
        "messages": [
            {"role": "system", "content": prompt.system},
            {"role": "user", "content": prompt.user},
        ],
        "temperature": prompt.temperature,
        "max_tokens": MOST_TOKENS,
        "response_format": {"type": "json_schema", "json_schema": {
            "name": "verdict", "strict": true, "schema": answer::schema(),
        }},
    })
}

/// What the model said, as text.
pub(super) fn text_of(reply: &Reply) -> Result<String, Fault> {
    let json: Value = reply.parsed()?;
    let choice = json.pointer("/choices/0");
    let choice = choice.ok_or_else(|| reply.bad("no choice in the answer"))?;
    match choice.get("finish_reason").and_then(Value::as_str) {
        Some("length") => return Err(reply.bad("cut off at its token limit")),
        Some("content_filter") => return Err(reply.bad("withheld by the provider's filter")),
        _ => {}
    }
    let text = choice.pointer("/message/content").and_then(Value::as_str);
    text.map(str::to_owned)
        .ok_or_else(|| reply.bad("no text in the answer"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(status: u16, body: &str) -> Result<String, FaultKind> {
        text_of(&Reply::new(status, body)).map_err(|fault| fault.kind)
    }

    #[test]
    fn each_reply_is_a_text_or_has_its_cause() {
        let choice = |finish: &str| {
            format!(
                r#"{{"choices":[{{"finish_reason":"{finish}","message":{{"content":"{{}}"}}}}]}}"#
            )
        };
        assert_eq!(read(200, &choice("stop")), Ok("{}".to_owned()));
        for (status, body, kind) in [
            (200, choice("length"), FaultKind::BadOutput),
            (200, choice("content_filter"), FaultKind::BadOutput),
            (
                200,
                r#"{"choices":[{"message":{"refusal":"no","content":null}}]}"#.to_owned(),
                FaultKind::BadOutput,
            ),
            (200, r#"{"choices":[]}"#.to_owned(), FaultKind::BadOutput),
            (200, "<html>".to_owned(), FaultKind::BadOutput),
            (401, String::new(), FaultKind::Rejected),
            (429, String::new(), FaultKind::Busy),
            (502, String::new(), FaultKind::Stumbled),
        ] {
            assert_eq!(read(status, &body), Err(kind), "{status} {body}");
        }
    }
}
