//! Progress of a tick started by hand: a bar on a terminal, nothing anywhere else.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use shared::policy::text::{one_line, shorten};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::time::Duration;

/// Whether progress is shown, on standard error.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    pub shown: bool,
}

/// The bar over the feeds; it names the one that has been read longest.
#[derive(Debug)]
pub struct Feeds {
    bar: ProgressBar,
    reading: RefCell<BTreeMap<usize, String>>,
}

impl Progress {
    pub fn feeds(self, count: usize) -> Feeds {
        let target = if self.shown && count > 0 {
            ProgressDrawTarget::stderr()
        } else {
            ProgressDrawTarget::hidden()
        };
        let length = u64::try_from(count).unwrap_or(u64::MAX);
        let bar = ProgressBar::with_draw_target(Some(length), target);
        if let Ok(style) =
            ProgressStyle::with_template("feeds {bar:30} {pos}/{len} {elapsed} {wide_msg}")
        {
            bar.set_style(style);
        }
        bar.enable_steady_tick(Duration::from_millis(200));
        Feeds {
            bar,
            reading: RefCell::default(),
        }
    }
}

impl Feeds {
    pub fn started(&self, place: usize, name: &str) {
        let name = shorten(&one_line(name), 40);
        self.reading.borrow_mut().insert(place, name);
        self.tell();
    }

    pub fn finished(&self, place: usize) {
        self.reading.borrow_mut().remove(&place);
        self.bar.inc(1);
        self.tell();
    }

    pub fn end(&self) {
        self.bar.finish_and_clear();
    }

    fn tell(&self) {
        let reading = self.reading.borrow();
        let longest = reading.values().next().cloned().unwrap_or_default();
        self.bar.set_message(longest);
    }
}
