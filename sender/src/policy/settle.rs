//! From the outcome of an attempt to what follows for its row. Time decides death, not a count.

use shared::model::{
    Blame, Delivery, DeliveryKind, Fault, Hold, LONGEST_BACKOFF, Outcome, Priority, Settlement,
    Timestamp,
};
use shared::policy::backoff::backoff;
use shared::policy::text::span;
use std::time::Duration;

/// Copies of one delivery that may have arrived, before it is left to a person.
pub const COPIES: u32 = 3;
/// Tries of a delivery that is refused for reasons we do not know.
pub const UNRECOGNISED_TRIES: u32 = 3;
/// The wait before the second copy; it doubles for the third. Longer than the 8 s for which
/// Telegram's server may hold a request (DELIVERY A1.2), so that a late answer is past.
pub const COPY_WAIT: Duration = Duration::from_secs(20);
/// A destination that refuses us may come back within a week.
const SUSPENDED: Duration = Duration::from_hours(7 * 24);
/// On which terms age kills.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Terms {
    /// The age of death.
    pub give_up_after: Duration,
    /// The wall clock has been steady for a while, so that the age of a refusal can be believed.
    pub ages_are_sure: bool,
}

/// Decides. `chance` is uniform in `[0, 1)`.
pub fn decide(
    outcome: Outcome,
    delivery: &Delivery,
    terms: &Terms,
    now: Timestamp,
    chance: f64,
) -> Settlement {
    let fault = match outcome {
        Outcome::Delivered(receipt) => return Settlement::Complete(receipt),
        Outcome::Begun(receipt, rest) => return Settlement::Continue(receipt, rest),
        Outcome::Rejected(fault) if !fault.maybe_delivered => match rejected(fault, delivery) {
            Ok(buried) => return buried,
            Err(fault) => fault,
        },
        Outcome::Deferred(fault) | Outcome::Rejected(fault) => fault,
    };
    if fault.maybe_delivered {
        return unknown(fault, delivery, now);
    }
    if fault.hold == Some(Hold::Suspended) && is_broadcast(delivery) {
        let reason = format!("a broadcast, and its chat refuses us: {}", fault.detail);
        return Settlement::Bury(reason, fault);
    }
    if let Some(reason) = dies_of(&fault, delivery, terms, now) {
        return Settlement::Bury(reason, fault);
    }
    if matches!(
        fault.hold,
        Some(Hold::RateLimited | Hold::Suspended | Hold::Stopped)
    ) {
        // The gate makes it wait, and everything behind it too; the row itself is due at once.
        return Settlement::RetryAt(Timestamp::EPOCH, fault);
    }
    let wait = backoff(delivery.failures + 1, fault.retry_after, chance).min(LONGEST_BACKOFF);
    Settlement::RetryAt(now + wait, fault)
}

/// What was written to many at low priority is not worth a week of probes for each who has left.
pub fn is_broadcast(delivery: &Delivery) -> bool {
    delivery.kind == DeliveryKind::Raw && delivery.priority == Priority::Low
}

/// A row dies of how long it has failed, and of how long its chat has refused us; never of how long it
/// waited for anything else.
fn dies_of(fault: &Fault, delivery: &Delivery, terms: &Terms, now: Timestamp) -> Option<String> {
    let limit = age_of_death(fault.hold, terms.give_up_after)?;
    let is_over = match fault.hold {
        Some(Hold::Suspended) => {
            let since = delivery.refused_since.map(|at| at.max(delivery.owed_since));
            terms.ages_are_sure && since.is_some_and(|since| now.since(since) >= limit)
        }
        _ => delivery.failing_for(now) >= limit,
    };
    is_over.then(|| format!("not delivered within {}: {}", span(limit), fault.detail))
}

/// Until when something must be owed to die with a row that was buried for `fault`: everything else
/// that waited as long for a destination which refuses us. `None`: the row died for itself.
pub fn dies_with(fault: &Fault, terms: &Terms, now: Timestamp) -> Option<Timestamp> {
    let limit = age_of_death(fault.hold, terms.give_up_after)?;
    (fault.hold == Some(Hold::Suspended)).then(|| now.minus(limit))
}

/// A flood wait and a refused token cost nothing but time: what waits behind them never dies.
fn age_of_death(hold: Option<Hold>, give_up_after: Duration) -> Option<Duration> {
    match hold {
        Some(Hold::RateLimited | Hold::Stopped) => None,
        Some(Hold::Suspended) => Some(give_up_after.max(SUSPENDED)),
        Some(Hold::Down) | None => Some(give_up_after),
    }
}

/// Buries what will never pass; gives the fault back when another try is worth it.
fn rejected(fault: Fault, delivery: &Delivery) -> Result<Settlement, Fault> {
    let tried = delivery.unrecognised + 1;
    match fault.blame {
        Blame::Message => {
            let reason = format!("refused: {}", fault.detail);
            Ok(Settlement::Bury(reason, fault))
        }
        Blame::Ours if tried >= UNRECOGNISED_TRIES => {
            let reason = format!("refused {tried} times, reason unknown: {}", fault.detail);
            Ok(Settlement::Bury(reason, fault))
        }
        Blame::Ours | Blame::Destination | Blame::Channel => Err(fault),
    }
}

/// It may have arrived: a marked copy later, at once for what is critical, and never too many.
fn unknown(fault: Fault, delivery: &Delivery, now: Timestamp) -> Settlement {
    let copies = delivery.unknown_outcomes + 1;
    if copies >= COPIES {
        let reason = format!("outcome unknown after {copies} copies: {}", fault.detail);
        return Settlement::Bury(reason, fault);
    }
    let wait = match (delivery.priority, copies) {
        (Priority::Critical, 1) => Duration::ZERO,
        // The last copy is a minute after the first like everybody's: what hurries must not use up
        // its copies within a trouble that others outlive.
        (Priority::Critical, _) => COPY_WAIT * 3,
        _ => COPY_WAIT * 2_u32.pow(copies - 1),
    };
    Settlement::RetryAt(now + wait, fault)
}

#[cfg(test)]
mod tests {
    use super::*;
    use shared::model::{Content, Destination, Receipt};

    const NOW: Timestamp = Timestamp::from_unix_millis(1_796_025_600_000);
    const DAYS: Duration = Duration::from_hours(72);
    const SURE: Terms = Terms {
        give_up_after: DAYS,
        ages_are_sure: true,
    };

    fn delivery() -> Delivery {
        let to = Destination {
            channel: "ops".to_owned(),
            chat_id: "1".to_owned(),
        };
        let (kind, content) = (DeliveryKind::Raw, Content::Unreadable(String::new()));
        Delivery::untried(1, kind, to, Priority::High, content, NOW)
    }

    fn fault(blame: Blame, maybe_delivered: bool) -> Fault {
        Fault {
            blame,
            hold: None,
            retry_after: None,
            maybe_delivered,
            detail: "no".to_owned(),
        }
    }

    /// The settlement in a word: the wait in seconds, or the reason of the burial.
    fn said(outcome: Outcome, delivery: &Delivery, attempt: i64) -> String {
        said_on(&SURE, outcome, delivery, attempt)
    }

    fn said_on(terms: &Terms, outcome: Outcome, delivery: &Delivery, attempt: i64) -> String {
        let failures = u32::try_from(attempt - 1).expect("from 1");
        let delivery = &Delivery {
            failures,
            ..delivery.clone()
        };
        match decide(outcome, delivery, terms, NOW, 0.5) {
            Settlement::Complete(receipt) => receipt.message_id,
            Settlement::Continue(receipt, rest) => {
                format!("{}, {} left", receipt.message_id, rest.len())
            }
            Settlement::RetryAt(at, _) => format!("{} s", at.since(NOW).as_secs()),
            Settlement::Bury(reason, _) => reason,
            Settlement::Release => "released".to_owned(),
        }
    }

    #[test]
    fn delivered_is_complete() {
        let receipt = Receipt {
            message_id: "m".to_owned(),
        };
        assert_eq!(said(Outcome::Delivered(receipt), &delivery(), 1), "m");
    }

    #[test]
    fn what_failed_for_now_waits_longer_each_time_and_costs_nothing_but_time() {
        let waits: Vec<String> = [1, 2, 3, 9, 5000]
            .map(|attempt| {
                said(
                    Outcome::Deferred(fault(Blame::Channel, false)),
                    &delivery(),
                    attempt,
                )
            })
            .into();
        assert_eq!(waits, ["2 s", "4 s", "8 s", "300 s", "300 s"]);
    }

    #[test]
    fn a_row_dies_of_how_long_it_has_failed() {
        let mut old = delivery();
        old.failed_for = DAYS.saturating_sub(Duration::from_secs(300));
        old.failing_at = Some(NOW.minus(Duration::from_secs(299)));
        for blame in [Blame::Channel, Blame::Destination] {
            let outcome = || Outcome::Deferred(fault(blame, false));
            assert_eq!(said(outcome(), &old, 1), "2 s");
        }
        old.failing_at = Some(NOW.minus(Duration::from_secs(300)));
        for hold in [None, Some(Hold::Down)] {
            let down = Fault {
                hold,
                ..fault(Blame::Channel, false)
            };
            let reason = said(Outcome::Deferred(down), &old, 1);
            assert_eq!(reason, "not delivered within 3 d: no");
        }
    }

    #[test]
    fn what_waited_while_nobody_tried_does_not_die_at_its_first_failure() {
        let mut old = delivery();
        old.owed_since = NOW.minus(DAYS * 10);
        let outcome = || Outcome::Deferred(fault(Blame::Channel, false));
        assert_eq!(said(outcome(), &old, 1), "2 s");
        old.failing_at = Some(NOW.minus(DAYS * 9));
        assert_eq!(said(outcome(), &old, 2), "4 s", "nor at its second");
        assert_eq!(old.failing_for(NOW), LONGEST_BACKOFF);
    }

    #[test]
    fn a_clock_that_was_just_set_kills_nothing() {
        let mut old = delivery();
        old.owed_since = NOW.minus(DAYS * 10);
        old.refused_since = Some(old.owed_since);
        let unsure = Terms {
            ages_are_sure: false,
            ..SURE
        };
        let blocked = || {
            Outcome::Deferred(Fault {
                hold: Some(Hold::Suspended),
                ..fault(Blame::Destination, false)
            })
        };
        assert_eq!(said_on(&unsure, blocked(), &old, 1), "0 s");
        let dead = said_on(&SURE, blocked(), &old, 1);
        assert_eq!(dead, "not delivered within 7 d: no");
    }

    #[test]
    fn a_message_that_cannot_pass_is_buried_at_once() {
        let outcome = Outcome::Rejected(fault(Blame::Message, false));
        assert_eq!(said(outcome, &delivery(), 1), "refused: no");
    }

    #[test]
    fn a_refusal_that_we_do_not_know_gets_three_tries() {
        let mut refused = delivery();
        let outcome = || Outcome::Rejected(fault(Blame::Ours, false));
        assert_eq!(said(outcome(), &refused, 1), "2 s");
        refused.unrecognised = 1;
        assert_eq!(said(outcome(), &refused, 2), "4 s");
        refused.unrecognised = 2;
        assert_eq!(
            said(outcome(), &refused, 3),
            "refused 3 times, reason unknown: no"
        );
    }

    #[test]
    fn an_unknown_outcome_is_resent_after_20_and_40_s_and_then_left_to_a_person() {
        let mut lost = delivery();
        let outcome = || Outcome::Deferred(fault(Blame::Channel, true));
        assert_eq!(said(outcome(), &lost, 1), "20 s");
        lost.unknown_outcomes = 1;
        assert_eq!(said(outcome(), &lost, 2), "40 s");
        lost.unknown_outcomes = 2;
        assert_eq!(
            said(outcome(), &lost, 3),
            "outcome unknown after 3 copies: no"
        );
        lost.unknown_outcomes = 0;
        lost.priority = Priority::Critical;
        assert_eq!(
            said(outcome(), &lost, 1),
            "0 s",
            "what is critical does not wait"
        );
        lost.unknown_outcomes = 1;
        assert_eq!(
            said(outcome(), &lost, 2),
            "60 s",
            "but outlives what others outlive"
        );
    }

    #[test]
    fn what_waits_behind_a_gate_is_due_at_once_and_dies_late_or_never() {
        let mut old = delivery();
        let held = |hold| {
            Outcome::Deferred(Fault {
                hold: Some(hold),
                ..fault(Blame::Channel, false)
            })
        };
        for hold in [Hold::RateLimited, Hold::Suspended, Hold::Stopped] {
            assert_eq!(said(held(hold), &old, 1), "0 s");
        }
        old.owed_since = NOW.minus(Duration::from_hours(8 * 24));
        assert_eq!(said(held(Hold::RateLimited), &old, 1), "0 s");
        assert_eq!(said(held(Hold::Stopped), &old, 1), "0 s");
        assert_eq!(
            said(held(Hold::Suspended), &old, 1),
            "0 s",
            "it waited for something else: this chat refuses us for the first time"
        );
        old.refused_since = Some(NOW.minus(Duration::from_hours(7 * 24)));
        assert_eq!(
            said(held(Hold::Suspended), &old, 1),
            "not delivered within 7 d: no"
        );
    }

    #[test]
    fn a_wait_that_the_receiver_sets_is_obeyed() {
        let mut told = fault(Blame::Destination, false);
        told.retry_after = Some(Duration::from_secs(600));
        assert_eq!(said(Outcome::Deferred(told), &delivery(), 1), "600 s");
    }

    #[test]
    fn what_waits_for_a_destination_that_refuses_us_dies_together() {
        let refused = |hold| Fault {
            hold,
            ..fault(Blame::Destination, false)
        };
        let week = Duration::from_hours(7 * 24);
        assert_eq!(
            dies_with(&refused(Some(Hold::Suspended)), &SURE, NOW),
            Some(NOW.minus(week))
        );
        for other in [
            None,
            Some(Hold::Down),
            Some(Hold::Stopped),
            Some(Hold::RateLimited),
        ] {
            assert_eq!(dies_with(&refused(other), &SURE, NOW), None, "{other:?}");
        }
    }
}
