//! What a route answers, well-behaved or not.

use super::Request;
use shared::model::Timestamp;
use shared::platform::clock::Clock;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::time::Duration;

/// One scripted answer. A reply with an `ETag` or a `Last-Modified` answers 304 by itself to a
/// request that names them.
#[derive(Clone, Debug)]
pub struct Reply {
    pub(super) status: u16,
    pub(super) headers: Vec<(String, String)>,
    pub(super) body: Vec<u8>,
    pub(super) delay: Duration,
    pub(super) held: Option<(Clock, Timestamp)>,
    pub(super) ending: Ending,
}

/// How the body goes out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ending {
    /// All of it, with its length.
    Whole,
    /// Headers that promise the whole body, so many bytes of it, then a reset.
    Reset { after: usize },
    /// As `Reset`, but silence in place of the reset.
    Stall { after: usize },
    /// The body again and again, without a length and without an end.
    Endless,
    /// Nothing at all; the connection stays open.
    Hang,
    /// Nothing at all; the connection is reset.
    Cut,
}

impl Reply {
    pub fn status(status: u16) -> Self {
        Self {
            status,
            headers: Vec::new(),
            body: Vec::new(),
            delay: Duration::ZERO,
            held: None,
            ending: Ending::Whole,
        }
    }

    /// 200 with this body and nothing to recognise it by.
    pub fn body(body: impl Into<Vec<u8>>) -> Self {
        Self::status(200).with_body(body)
    }

    /// A feed from a server that knows its trade: content type, and an `ETag` that follows the
    /// text.
    pub fn feed(text: impl Into<String>) -> Self {
        let text = text.into();
        let mut hasher = DefaultHasher::new();
        text.hash(&mut hasher);
        let etag = format!("\"{:016x}\"", hasher.finish());
        Self::body(text)
            .header("Content-Type", "application/rss+xml; charset=utf-8")
            .header("ETag", &etag)
    }

    /// 301, 302, 303, 307 or 308 to a URL or path.
    pub fn redirect(status: u16, location: &str) -> Self {
        Self::status(status).header("Location", location)
    }

    /// Bytes that the [`gzip`](super::packed) functions packed.
    pub fn gzip(packed: Vec<u8>) -> Self {
        Self::body(packed).header("Content-Encoding", "gzip")
    }

    /// Accepts the request and never answers.
    pub fn hang() -> Self {
        Self {
            ending: Ending::Hang,
            ..Self::status(200)
        }
    }

    /// Resets the connection in place of an answer.
    pub fn cut() -> Self {
        Self {
            ending: Ending::Cut,
            ..Self::status(200)
        }
    }

    /// Sends this text without end.
    pub fn endless(text: impl Into<Vec<u8>>) -> Self {
        Self {
            ending: Ending::Endless,
            ..Self::body(text)
        }
    }

    #[must_use]
    pub fn with_body(mut self, body: impl Into<Vec<u8>>) -> Self {
        self.body = body.into();
        self
    }

    #[must_use]
    pub fn with_status(mut self, status: u16) -> Self {
        self.status = status;
        self
    }

    /// Adds a header; one of the same name stays.
    #[must_use]
    pub fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Resets the connection after so many bytes of the body.
    #[must_use]
    pub fn reset_after(mut self, bytes: usize) -> Self {
        self.ending = Ending::Reset { after: bytes };
        self
    }

    /// Falls silent after so many bytes of the body.
    #[must_use]
    pub fn stall_after(mut self, bytes: usize) -> Self {
        self.ending = Ending::Stall { after: bytes };
        self
    }

    /// Answers only after this pause.
    #[must_use]
    pub fn delayed(mut self, delay: Duration) -> Self {
        self.delay = delay;
        self
    }

    /// Answers only once that clock has come so far.
    #[must_use]
    pub fn held_until(mut self, clock: &Clock, time: Timestamp) -> Self {
        self.held = Some((clock.clone(), time));
        self
    }

    /// When it will have gone out, or broken off; None: never.
    pub(crate) fn over_at(&self, now: Timestamp) -> Option<Timestamp> {
        match self.ending {
            Ending::Hang | Ending::Stall { .. } | Ending::Endless => None,
            Ending::Whole | Ending::Cut | Ending::Reset { .. } => {
                Some(self.held.as_ref().map_or(now, |(_, time)| *time))
            }
        }
    }

    /// The answer to this very request: 304 when it names what we have.
    pub(super) fn to(mut self, request: &Request) -> Self {
        if self.status == 200 && self.is_known_to(request) {
            self.status = 304;
            self.body.clear();
        }
        self
    }

    /// As RFC 9110 wants it: when there is an `If-None-Match`, the date does not count.
    fn is_known_to(&self, request: &Request) -> bool {
        let validator = match request.header("if-none-match") {
            Some(etag) => ("etag", etag),
            None => match request.header("if-modified-since") {
                Some(date) => ("last-modified", date),
                None => return false,
            },
        };
        self.headers
            .iter()
            .any(|(name, value)| (name.to_ascii_lowercase().as_str(), value.as_str()) == validator)
    }
}
