//! What goes on behind the answers: what the spool holds is taken in, what came is judged, and what must be told of the
//! receiver itself is told.

use super::hook::Receiver;
use super::intake::take_in;
use super::judge::{ask_for_a_tick, judge};
use super::pace;
use super::server::open;
use shared::platform::{doorbell, systemd};
use shared::store::{Db, Remedy, Store, StoreError, beside, outbox};
use std::sync::Arc;
use std::time::Duration;
use tokio::time::{Instant, sleep};

/// The spool is looked into this often; oftener while what comes has to go there, behind what waits.
const EACH: Duration = Duration::from_secs(1);
const SOON: Duration = Duration::from_millis(20);
/// A tick is asked for this often at most: systemd gives up a unit that is started too often.
const TICK_EACH: Duration = Duration::from_secs(15);

/// What is to be done, and what was said.
struct State {
    is_new: bool,
    wants_tick: bool,
    asked_at: Option<Instant>,
    is_told: bool,
}

pub(super) async fn behind(receiver: Arc<Receiver>) {
    // What an earlier process has stored and not judged, too.
    let mut state = State {
        is_new: true,
        wants_tick: false,
        asked_at: None,
        is_told: false,
    };
    loop {
        systemd::alive();
        match round(&receiver, &mut state).await {
            Ok(()) => state.is_told = false,
            Err(error) => {
                state.is_new = true;
                if !state.is_told && error.remedy() == Remedy::Wait {
                    tracing::warn!("what came waits: {error}");
                } else if !state.is_told {
                    tracing::error!("what came waits: {error}");
                }
                state.is_told = true;
            }
        }
        let goes_on = receiver.spool.has_waiting() && !state.is_told;
        tokio::select! {
            () = receiver.arrived.notified() => state.is_new = true,
            () = sleep(if goes_on { SOON } else { EACH }) => {}
        }
    }
}

async fn round(receiver: &Receiver, state: &mut State) -> Result<(), StoreError> {
    let store = open(receiver).await?;
    let (config, clock) = (&receiver.config, &receiver.clock);
    let taken = take_in(config, &store, &receiver.spool, clock.now()).await;
    if let Err(error) = receiver.spool.count() {
        tracing::warn!(%error, "the spool cannot be counted");
    }
    if taken? > 0 || state.is_new {
        state.wants_tick |= judge(config, &store, clock.now()).await?;
        state.is_new = false;
    }
    tell_of_too_many(receiver, &store).await?;
    let now = Instant::now();
    let may_ask = state.asked_at.is_none_or(|at| now >= at + TICK_EACH);
    if state.wants_tick && may_ask {
        ask_for_a_tick(&store);
        state.asked_at = Some(now);
        state.wants_tick = false;
    }
    Ok(())
}

/// Once an hour for each webhook that gets more than it takes, as soon as the database takes that.
async fn tell_of_too_many(receiver: &Receiver, store: &Store) -> Result<(), StoreError> {
    let (config, now) = (&receiver.config, receiver.clock.now());
    for name in receiver.pacer.take_owed() {
        let Some(notice) = pace::notice(&name, config, now) else {
            continue;
        };
        let notify = move |db: &Db| outbox::notify(db, &notice, now).map(drop);
        if let Err(error) = store.write(notify).await {
            receiver.pacer.owe_notice(&name);
            return Err(error);
        }
        doorbell::ring(&beside(store.path(), ".bell"));
    }
    Ok(())
}
