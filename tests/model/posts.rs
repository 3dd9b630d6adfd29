//! What webhooks bring: each delivery once, and an end where its beginning was told.

use super::machine::{Held, Machine, place};
use shared::model::{
    Category, DedupKey, Destination, Entry, Judge, Priority, Rating, Severity, Verdict,
};
use shared::store::items;
use shared::store::posts::{self, Arrival, Post, Received, Repeats, Thread};
use std::time::Duration;
use watchalert_tests::world::{alert, owed};

/// The items in their order, as the reference knows them.
#[derive(Debug, Default)]
pub struct Posts(Vec<Known>);

#[derive(Clone, Debug)]
struct Known {
    /// Thread, whether it ends that, and a number.
    name: (u8, bool, u8),
    severity: Severity,
    is_judged: bool,
    alert: Option<i64>,
}

impl Known {
    fn key(&self) -> DedupKey {
        let (thread, is_end, number) = self.name;
        DedupKey::new(format!(
            "{:032x}",
            u32::from(thread) << 16 | u32::from(is_end) << 8 | u32::from(number)
        ))
    }
}

impl Machine {
    pub fn post(&mut self, name: (u8, bool, u8), severity: u8) -> Held {
        let severities = [
            Severity::Critical,
            Severity::High,
            Severity::Normal,
            Severity::Ignore,
        ];
        let post = Known {
            name,
            severity: severities[usize::from(severity) % 4],
            is_judged: false,
            alert: None,
        };
        let arrival = arrival(&post);
        let now = self.now();
        let received = self.write(move |db| posts::receive(db, &arrival, now))?;
        let is_known = self.posts.0.iter().any(|known| known.name == name);
        match received {
            Received::Stored { new: 1, known: 0 } if !is_known => self.posts.0.push(post),
            Received::Repeated(_) if is_known => {}
            other => return Err(format!("{name:?} is answered {other:?}")),
        }
        Ok(())
    }

    /// Every item gets its verdict, in its order.
    pub fn judge(&mut self) -> Held {
        let pending = self.write(|db| items::pending(db, 0, 100))?;
        for item in pending {
            let place = self
                .posts
                .0
                .iter()
                .position(|known| known.key().as_str() == item.key);
            let place = place.ok_or("an item that nobody posted")?;
            let known = self.posts.0[place].clone();
            let (severity, to) = if known.name.1 {
                let id = item.id;
                let thread = self.write(move |db| posts::thread(db, id))?;
                let must = self.told(place);
                let is = match thread {
                    Thread::Open(beginning) => Some(beginning.to),
                    Thread::Closed => None,
                    Thread::Undecided => return Err("its beginning has a verdict".to_owned()),
                };
                if is != must {
                    return Err(format!("an end goes to {is:?}, must go to {must:?}"));
                }
                (
                    must.as_ref().map_or(Severity::Ignore, |_| Severity::Normal),
                    must.unwrap_or_default(),
                )
            } else {
                (known.severity, vec![self::place(known.name.2)])
            };
            self.posts.0[place].alert = self.decided(item.id, &known, severity, to)?;
            self.posts.0[place].is_judged = true;
        }
        Ok(())
    }

    fn decided(
        &mut self,
        item: i64,
        known: &Known,
        severity: Severity,
        to: Vec<Destination>,
    ) -> Held<Option<i64>> {
        let key = known.key();
        let alert_id = match severity.priority() {
            None => None,
            Some(priority) => {
                let mut owed = owed(key.as_str(), &place(0), Priority::Normal);
                owed.alert = alert(&format!("a post {:?}", known.name), severity);
                owed.priority = priority;
                owed.not_owed = to.is_empty().then(|| "nobody is there any more".to_owned());
                owed.to = to.into_iter().map(Into::into).collect();
                Some(self.accept(owed)?)
            }
        };
        let verdict = Verdict {
            severity,
            category: Category::Operations,
            summary: String::new(),
            reason: "the model says so".to_owned(),
            judge: Judge::Source,
        };
        let now = self.now();
        self.write(move |db| items::judged(db, item, &verdict, alert_id, now))?;
        Ok(alert_id)
    }

    /// Where the beginning of an end was told; `None`: nothing goes on.
    fn told(&self, end: usize) -> Option<Vec<Destination>> {
        let thread = self.posts.0[end].name.0;
        let before = self.posts.0[..end].iter().rev();
        let mut of_this = before.filter(|known| known.name.0 == thread);
        let last =
            of_this.find(|known| known.name.1 || known.alert.is_some() || !known.is_judged)?;
        if last.name.1 {
            return None;
        }
        let mut told = Vec::new();
        for row in self.must.rows.values() {
            let to = row.to();
            if row.kind == "alert" && row.alert_id == last.alert && !told.contains(&to) {
                told.push(to);
            }
        }
        Some(told)
    }
}

fn arrival(known: &Known) -> Arrival {
    let (thread, is_end, number) = known.name;
    let title = format!("a post {:?}", known.name);
    let rating = Rating {
        severity: known.severity,
        category: Category::Operations,
    };
    let post = Post {
        entry: Entry {
            title: title.clone(),
            rating: Some(rating),
            ..Entry::default()
        },
        key: known.key(),
        thread: Some(DedupKey::new(format!("thread {thread}"))),
        is_end,
    };
    Arrival {
        name: "model".to_owned(),
        delivery: Some(format!("{thread} {is_end} {number}")),
        body: title,
        repeats: Repeats::Within(Duration::from_secs(3_600)),
        posts: vec![post],
    }
}
