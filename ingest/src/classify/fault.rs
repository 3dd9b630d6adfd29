//! Why a model gave no answer that can be used, and how that is told from what came back; pure.

use serde_json::Value;
use shared::policy::text::{one_line, shorten};
use std::fmt::{self, Display};

/// One cause decides who is asked next, and when.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FaultKind {
    /// Refused, no route, no such name; when probed, also a gateway with nobody behind it.
    Unreachable,
    /// It is there and did not answer in time: slow, or still loading.
    Timeout,
    /// It is there and has no such model: a person must load it.
    ModelMissing,
    /// It is there and has no time for us.
    Busy,
    /// It broke over the question, and may be whole again for the next one.
    Stumbled,
    /// It answered, but not what was asked for, or cannot take this question.
    BadOutput,
    /// It will not answer: a wrong key, address or request.
    Rejected,
}

impl FaultKind {
    /// Whether the item may be to blame, and another one be answered: it loops over this one, breaks
    /// over it, or its filter wants none of it. Anything else would meet every item.
    pub fn may_be_the_item(self) -> bool {
        matches!(self, Self::Timeout | Self::Stumbled | Self::BadOutput)
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    pub kind: FaultKind,
    /// One line without a secret.
    pub detail: String,
}

impl Fault {
    pub(super) fn new(kind: FaultKind, detail: impl Display) -> Self {
        Self {
            kind,
            detail: shorten(&one_line(&detail.to_string()), 300),
        }
    }

    /// Of an answer whose status is not 200. A gateway answers 502 and 504 in place of a model that broke
    /// or is slow; a page or a redirect comes from something that is none.
    pub(super) fn of_status(status: u16, body: &[u8]) -> Self {
        let said = said(body);
        Self::new(kind_of(status, &said), format!("HTTP {status}: {said}"))
    }
}

impl Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = match self.kind {
            FaultKind::Unreachable => "cannot be reached",
            FaultKind::Timeout => "does not answer in time",
            FaultKind::ModelMissing => "does not have the model",
            FaultKind::Busy => "is busy",
            FaultKind::Stumbled => "stumbles",
            FaultKind::BadOutput => "gives answers of no use",
            FaultKind::Rejected => "refuses to answer",
        };
        write!(f, "{what} ({})", self.detail)
    }
}

/// The words of an error in one of the three forms there are: `{"error":"…"}`, `{"error":{"message":"…"}}`
/// with a code or type, or a text of any kind.
pub(super) fn said(body: &[u8]) -> String {
    let text = String::from_utf8_lossy(body);
    let json: Option<Value> = serde_json::from_str(&text).ok();
    let error = json.as_ref().and_then(|json| json.get("error"));
    let words = match error {
        Some(Value::String(words)) => words.clone(),
        Some(Value::Object(object)) => ["type", "code", "message"]
            .iter()
            .filter_map(|key| object.get(*key)?.as_str())
            .collect::<Vec<_>>()
            .join(", "),
        _ => text.into_owned(),
    };
    shorten(&one_line(&words), 200)
}

pub(super) fn kind_of(status: u16, said: &str) -> FaultKind {
    let said = said.to_ascii_lowercase();
    let names_no_model = said.contains("model")
        && ["not found", "not_found", "does not exist"]
            .iter()
            .any(|words| said.contains(words));
    match status {
        400..=599 if names_no_model => FaultKind::ModelMissing,
        408 | 504 => FaultKind::Timeout,
        // 400, 413, 422: too long, withheld by a filter, or in a form that it does not know.
        200..=299 | 400 | 413 | 422 => FaultKind::BadOutput,
        429 | 503 | 529 => FaultKind::Busy,
        500 | 502 => FaultKind::Stumbled,
        _ => FaultKind::Rejected,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_answer_has_its_cause() {
        use FaultKind::{BadOutput, Busy, ModelMissing, Rejected, Stumbled, Timeout};
        for (status, body, kind) in [
            (
                404,
                r#"{"error":"model 'qwen2.5:7b' not found"}"#,
                ModelMissing,
            ),
            (
                404,
                r#"{"error":"model \"x\" not found, try pulling it first"}"#,
                ModelMissing,
            ),
            (
                404,
                r#"{"error":{"message":"The model `g` does not exist","code":"model_not_found"}}"#,
                ModelMissing,
            ),
            (
                404,
                r#"{"type":"error","error":{"type":"not_found_error","message":"model: c"}}"#,
                ModelMissing,
            ),
            (500, r#"{"error":"model 'x' not found"}"#, ModelMissing),
            (404, "404 page not found", Rejected),
            (
                503,
                r#"{"error":"server busy, please try again.  maximum pending requests exceeded"}"#,
                Busy,
            ),
            (
                500,
                r#"{"error":"llama runner process has terminated: signal: killed"}"#,
                Stumbled,
            ),
            (
                429,
                r#"{"error":{"type":"rate_limit_error","message":"slow down"}}"#,
                Busy,
            ),
            (
                529,
                r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#,
                Busy,
            ),
            (502, "<html>Bad Gateway</html>", Stumbled),
            (504, "", Timeout),
            (408, "", Timeout),
            (
                401,
                r#"{"error":{"message":"Incorrect API key provided"}}"#,
                Rejected,
            ),
            (400, r#"{"error":"invalid format"}"#, BadOutput),
            (400, r#"{"error":{"code":"content_filter"}}"#, BadOutput),
            (413, "", BadOutput),
            (302, "", Rejected),
        ] {
            assert_eq!(
                Fault::of_status(status, body.as_bytes()).kind,
                kind,
                "{status} {body}"
            );
        }
    }

    #[test]
    fn a_fault_is_one_short_line_of_the_server_s_own_words() {
        let fault = Fault::of_status(503, br#"{"error":"server busy,\nplease try again."}"#);
        assert_eq!(
            fault.to_string(),
            "is busy (HTTP 503: server busy, please try again.)"
        );
        let page = Fault::of_status(500, "x".repeat(100_000).as_bytes());
        assert!(page.to_string().chars().count() < 330);
    }
}
