//! The console: prints alerts to standard output, each with one write.

use crate::render::plain;
use shared::model::{Blame, Delivery, Fault, Outcome, Receipt};
use shared::platform::term::Style;
use std::fmt;
use std::io::{self, ErrorKind, Write};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Mutex;
use tokio::task::JoinError;
use tokio::time::timeout;

/// A terminal takes what it is given; a pipe whose reader stopped reading does not. This long for
/// a turn at standard output, and as long again for the print.
const PATIENCE: Duration = Duration::from_secs(10);

/// After this long even a print that has begun is not waited for.
pub const DEADLINE: Duration = Duration::from_secs(2 * PATIENCE.as_secs());

/// Where the console prints: standard output, or a buffer in a test. One print at a time: when one
/// hangs, the others wait for their turn without a thread of their own.
#[derive(Clone)]
pub struct Output(Arc<Mutex<dyn Write + Send>>);

impl Output {
    pub fn new(writer: impl Write + Send + 'static) -> Self {
        Self(Arc::new(Mutex::new(writer)))
    }

    /// `None`: an earlier print hangs, and this one has not begun.
    async fn print(&self, text: String) -> Option<Result<io::Result<()>, JoinError>> {
        let turn = Arc::clone(&self.0).lock_owned();
        let mut writer = timeout(PATIENCE, turn).await.ok()?;
        // One write for the whole text, so that a kill leaves no half of it. The turn goes along:
        // it ends when the print does, not when somebody stops waiting for it.
        let print = move || {
            writer.write_all(text.as_bytes())?;
            writer.flush()
        };
        Some(tokio::task::spawn_blocking(print).await)
    }
}

impl fmt::Debug for Output {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Output")
    }
}

#[derive(Debug)]
pub struct Console {
    output: Output,
    style: Style,
}

impl Console {
    pub fn new(output: Output, style: Style) -> Self {
        Self { output, style }
    }

    pub async fn send(&self, delivery: &Delivery) -> Outcome {
        let text = match plain::render(delivery) {
            Ok(message) => self.coloured(delivery, &message.text),
            Err(why) => return Outcome::Rejected(fault(Blame::Message, false, why)),
        };
        match self.output.print(text).await {
            Some(Ok(written)) => classify(written, delivery.id),
            Some(Err(panic)) => Outcome::Deferred(fault(Blame::Ours, true, panic.to_string())),
            None => {
                let detail = "standard output takes nothing".to_owned();
                Outcome::Deferred(fault(Blame::Channel, false, detail))
            }
        }
    }

    /// The first word, which names the severity, in its colour.
    fn coloured(&self, delivery: &Delivery, text: &str) -> String {
        let word = delivery.priority.name().to_uppercase();
        text.replacen(&word, &self.style.paint(delivery.priority, &word), 1)
    }
}

/// What a write to standard output means for the delivery.
fn classify(written: io::Result<()>, id: i64) -> Outcome {
    match written {
        Ok(()) => Outcome::Delivered(Receipt {
            message_id: format!("console-{id}"),
        }),
        // Nobody reads any more, and nothing was taken.
        Err(error) if error.kind() == ErrorKind::BrokenPipe => {
            let detail = "nobody reads standard output".to_owned();
            Outcome::Deferred(fault(Blame::Channel, false, detail))
        }
        // A part of the text may stand there already.
        Err(error) => Outcome::Deferred(fault(Blame::Channel, true, error.to_string())),
    }
}

fn fault(blame: Blame, maybe_delivered: bool, detail: String) -> Fault {
    Fault {
        blame,
        hold: None,
        retry_after: None,
        maybe_delivered,
        detail,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn behind_a_print_that_hangs_nothing_is_begun() {
        let output = Output::new(Vec::new());
        // Held as by a print whose reader stopped reading.
        let _turn = Arc::clone(&output.0).lock_owned().await;
        assert!(output.print("text".to_owned()).await.is_none());
    }

    #[test]
    fn every_end_of_a_write_has_its_meaning() {
        assert_eq!(
            classify(Ok(()), 7),
            Outcome::Delivered(Receipt {
                message_id: "console-7".to_owned()
            })
        );
        for (kind, blame, maybe) in [
            (ErrorKind::BrokenPipe, Blame::Channel, false),
            (ErrorKind::StorageFull, Blame::Channel, true),
            (ErrorKind::WriteZero, Blame::Channel, true),
        ] {
            let Outcome::Deferred(fault) = classify(Err(kind.into()), 7) else {
                panic!("{kind:?} can pass later");
            };
            assert_eq!(
                (fault.blame, fault.maybe_delivered),
                (blame, maybe),
                "{kind:?}"
            );
        }
    }
}
