//! What an operator asks and decides. Holds no SQL: it calls named functions of the store.

use shared::Failure;
use std::io::{self, BufRead, Write};

pub mod add;
pub mod backup;
pub mod check;
pub(crate) mod gates;
pub mod queue;
pub mod shift;
pub mod silence;
pub mod status;
pub mod test;
pub mod verify;

/// Asks on the terminal.
fn is_confirmed(question: &str, out: &mut dyn Write) -> Result<bool, Failure> {
    let asked = write!(out, "{question}? [y/N] ").and_then(|()| out.flush());
    let mut answer = String::new();
    let heard = asked.and_then(|()| io::stdin().lock().read_line(&mut answer));
    heard.map_err(|error| Failure::Unexpected(format!("cannot ask: {error}")))?;
    Ok(matches!(answer.trim(), "y" | "Y" | "yes"))
}
