//! What a verified body says.

use shared::config::Webhook;
use shared::model::{Entry, Timestamp};
use shared::policy::text::one_line;
use shared::store::posts::Post;

use crate::know::hash;

/// A delivery, verified.
#[derive(Clone, Copy, Debug)]
pub struct Request<'r> {
    /// `X-GitHub-Event`, `Sentry-Hook-Resource`.
    pub event: Option<&'r str>,
    pub content_type: Option<&'r str>,
    pub body: &'r [u8],
    pub now: Timestamp,
}

/// Why a body says nothing, in one sentence for its sender.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BodyError {
    #[error("the body is not JSON: {0}")]
    NotJson(String),
}

/// # Errors
/// The body cannot be read.
pub fn read(_webhook: &Webhook, request: &Request<'_>) -> Result<Vec<Post>, BodyError> {
    let value: serde_json::Value = serde_json::from_slice(request.body)
        .map_err(|error| BodyError::NotJson(error.to_string()))?;
    let title = value.get("title").and_then(serde_json::Value::as_str);
    let Some(title) = title else {
        return Ok(Vec::new());
    };
    let key = hash("post", &[title]);
    Ok(vec![Post {
        entry: Entry {
            title: one_line(title),
            ..Entry::default()
        },
        key,
        thread: None,
        is_end: false,
    }])
}
