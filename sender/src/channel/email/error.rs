//! What lettre's errors say: a refusal with its stage, or why there is no answer.

use super::classify::{Answer, Reply, Stage};
use lettre::transport::smtp::Error;
use lettre::transport::smtp::response::Response;
use shared::policy::text::{one_line, shorten};
use std::error::Error as _;
use std::io;

/// Characters that are kept for a person.
const DETAIL: usize = 200;

pub(super) fn replied(stage: Stage, reply: &Response) -> Answer {
    let lines: Vec<&str> = reply.message().collect();
    Answer::Reply(Reply {
        stage,
        code: reply.code().into(),
        text: lines.join(" "),
    })
}

pub(super) fn answered(stage: Stage, error: &Error) -> Answer {
    match error.status() {
        Some(code) => Answer::Reply(Reply {
            stage,
            code: code.into(),
            text: error.source().map(ToString::to_string).unwrap_or_default(),
        }),
        None => Answer::NotSent(format!("no answer at {stage}: {}", words(error))),
    }
}

/// lettre does not call it a timeout when a socket's own ran out, which is `WouldBlock` here.
pub(super) fn words(error: &Error) -> String {
    let kind = io_error(error).map(io::Error::kind);
    if let Some(io::ErrorKind::TimedOut | io::ErrorKind::WouldBlock) = kind {
        return "none in time".to_owned();
    }
    shorten(&one_line(&error.to_string()), DETAIL)
}

pub(super) fn is_refused(error: &Error) -> bool {
    io_error(error).is_some_and(|error| error.kind() == io::ErrorKind::ConnectionRefused)
}

pub(super) fn io_error(error: &Error) -> Option<&io::Error> {
    error.source()?.downcast_ref()
}

pub(super) fn tls_error(error: &Error) -> Option<&rustls::Error> {
    io_error(error)?.get_ref()?.downcast_ref()
}
