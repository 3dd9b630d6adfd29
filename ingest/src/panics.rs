//! Panics that cost one entry or one feed, never the tick.

use shared::policy::text::one_line;
use std::cell::{Cell, RefCell};
use std::future::{Future, poll_fn};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::sync::Once;
use std::task::Poll;

thread_local! {
    static CAUGHT_HERE: Cell<bool> = const { Cell::new(false) };
    static WORDS: RefCell<String> = const { RefCell::new(String::new()) };
}

/// Runs what may panic. The error is the panic's place and words in one line; they are not
/// printed, for the caller tells them.
pub(crate) fn caught<T>(work: impl FnOnce() -> T) -> Result<T, String> {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let inner = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            if CAUGHT_HERE.get() {
                WORDS.set(one_line(&panic.to_string()));
            } else {
                inner(panic);
            }
        }));
    });
    let outer = CAUGHT_HERE.replace(true);
    let done = catch_unwind(AssertUnwindSafe(work));
    CAUGHT_HERE.set(outer);
    done.map_err(|_panic| WORDS.take())
}

/// The same for a future, in each of its steps.
pub(crate) async fn caught_in<T>(work: impl Future<Output = T>) -> Result<T, String> {
    let mut work = pin!(work);
    poll_fn(|context| match caught(|| work.as_mut().poll(context)) {
        Ok(Poll::Pending) => Poll::Pending,
        Ok(Poll::Ready(done)) => Poll::Ready(Ok(done)),
        Err(words) => Poll::Ready(Err(words)),
    })
    .await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_becomes_one_line_with_its_place() {
        assert_eq!(caught(|| 7), Ok(7));
        let words = caught(|| -> u8 { panic!("of the\nfirst") }).unwrap_err();
        assert!(words.contains("panics.rs") && words.ends_with("of the first"));
        let nested = caught(|| {
            assert!(caught(|| panic!("inside")).is_err());
            panic!("outside")
        });
        let words: Result<(), String> = nested;
        assert!(words.unwrap_err().ends_with("outside"));
    }

    #[tokio::test]
    async fn a_future_that_panics_after_it_waited_is_caught_too() {
        let work = async {
            tokio::task::yield_now().await;
            panic!("late")
        };
        let words: Result<(), String> = caught_in(work).await;
        assert!(words.unwrap_err().ends_with("late"));
        assert_eq!(caught_in(async { 7 }).await, Ok(7));
    }
}
