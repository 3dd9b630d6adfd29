//! One parse at a time, and none for ever: the documents are large, the machine is small.

use crate::feed::{self, Document};
use shared::model::Prints;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Mutex;
use tokio::task::spawn_blocking;
use tokio::time::{Instant, timeout_at};
use url::Url;

/// A sound document of the largest size is read in less than a second; this one is at fault.
const LONGEST: Duration = Duration::from_secs(20);

/// Whose turn it is. Clones share it.
#[derive(Clone, Debug, Default)]
pub struct Parsing(Arc<Mutex<()>>);

impl Parsing {
    /// Parses one body in its turn, which ends at `deadline` at the latest.
    ///
    /// # Errors
    /// Why there is no document, in one sentence.
    pub(crate) async fn parse(
        &self,
        body: Vec<u8>,
        charset: Option<String>,
        base: Url,
        known: Prints,
        deadline: Instant,
    ) -> Result<Document, String> {
        self.run(deadline, move || {
            feed::parse_again(&body, charset.as_deref(), Some(&base), &known)
        })
        .await?
        .map_err(|error| error.to_string())
    }

    /// A parse that does not end in time keeps its thread, which nobody can take from it, but not
    /// the turn: the others are parsed beside it.
    async fn run<T: Send + 'static>(
        &self,
        deadline: Instant,
        parse: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, String> {
        let Ok(_turn) = timeout_at(deadline, self.0.lock()).await else {
            return Err("it was not its turn to be parsed before the tick's deadline".to_owned());
        };
        let limit = Instant::now() + LONGEST;
        match timeout_at(limit.min(deadline), spawn_blocking(parse)).await {
            Ok(Ok(parsed)) => Ok(parsed),
            Ok(Err(panic)) => Err(format!("a bug in the parser: {panic}")),
            Err(_elapsed) if deadline < limit => {
                Err("its parse did not end before the tick's deadline".to_owned())
            }
            Err(_elapsed) => Err(format!("its parse did not end within {LONGEST:?}")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc;

    #[tokio::test]
    async fn a_parse_that_does_not_end_gives_its_turn_back() {
        let parsing = Parsing::default();
        let soon = Instant::now() + Duration::from_millis(50);
        let later = Instant::now() + Duration::from_secs(60);
        let (release, held) = mpsc::channel::<()>();
        let endless = parsing.run(soon, move || held.recv().is_err()).await;
        assert_eq!(
            endless,
            Err("its parse did not end before the tick's deadline".to_owned())
        );
        assert_eq!(parsing.run(later, || 7).await, Ok(7));
        drop(release);
    }

    #[tokio::test]
    async fn whoever_waits_for_the_turn_waits_until_the_deadline() {
        let parsing = Parsing::default();
        let turn = parsing.0.lock().await;
        let late = parsing.run(Instant::now(), || 7).await;
        assert!(late.unwrap_err().contains("not its turn"));
        drop(turn);
        assert_eq!(
            parsing.run(Instant::now() + LONGEST, || 7).await,
            Ok(7),
            "the one that gave up holds nothing"
        );
    }
}
