//! The sender, killed with `kill -9` while it folds digests, moves what a silent bot does not take to its
//! fallback, and delivers to ntfy and mail: nothing is lost, every repeat is marked and counted.

use super::town::Town;
use super::{ask, causes, verified};
use std::time::Duration;
use watchalert_tests::ntfy;
use watchalert_tests::programs::{BOUND, long, now, pause, seed, tell, within};
use watchalert_tests::proof::Proof;
use watchalert_tests::smtp::{Act, At};

/// No run may take longer.
const PATIENCE: Duration = Duration::from_secs(240);

#[test]
fn kills_amid_digests_failovers_ntfy_and_mail_lose_nothing_and_every_repeat_is_marked() {
    let kills = if long() { 50 } else { 10 };
    let seed = seed("kills-channels");
    let mut chance = fastrand::Rng::with_seed(seed);
    let (start, mut town) = (now(), Town::new());
    // Answers that get lost on the way, beside the kills.
    town.ntfy.script([ntfy::Fault::ResetAfter]);
    town.mail.set_times("sender.test", At::Text, Act::Close, 1);
    for _ in 0..kills {
        town.enqueue();
        let asked = town.heard() + chance.usize(1..=8);
        let longest = Duration::from_millis(chance.u64(100..=1_500));
        let after = Duration::from_micros(chance.u64(0..4_000));
        let sender = town.place.start_sender(&["run"]);
        within(longest, || town.heard() >= asked);
        pause(after);
        assert!(sender.kill(), "it ended by itself");
    }
    let killed = start.elapsed();
    let last = town.place.start_sender(&["run"]);
    let done = within(PATIENCE.saturating_sub(killed), || town.is_done());
    assert!(done, "within {PATIENCE:?}: {}", last.said());
    last.terminate();
    last.ended(BOUND).well();

    let arrived = town.account();
    let audit = verified(&town.place);
    assert_eq!(audit["audit"]["outbox"]["dead"], 0);
    let count = |sql: &str| ask(&town.place, sql).parse::<usize>().expect("a number");
    let moved = count("SELECT count(*) FROM outbox WHERE state='moved' AND kind='alert'");
    assert_eq!(moved, town.alerts);
    let folded = count("SELECT count(*) FROM outbox WHERE state='folded'");
    assert!(folded > 0, "nothing was folded");
    let counted = count("SELECT n FROM ledger WHERE name='repeat_marked'");
    assert!(
        arrived.marked <= counted,
        "{} marks arrived, {counted} counted",
        arrived.marked
    );
    let interrupted = count("SELECT count(*) FROM attempt WHERE outcome='interrupted'");
    Proof {
        what: "a sender of digests, failovers, ntfy and mail, killed",
        how: format!("{kills} kill -9"),
        seed: Some(seed),
        accepted: 2 * town.alerts,
        delivered: arrived.alerts,
        repeats: arrived.again,
        cause: &causes(&town.place),
        ..Proof::default()
    }
    .tell();
    tell(&format!(
        "kills-channels: seed {seed}, {} alerts to mail and by failover to ntfy, {kills} kill -9, {interrupted} attempts interrupted; 0 lost, {folded} in digests, {} came again, {} marked messages of {counted} counted; {:.0} s",
        town.alerts,
        arrived.again,
        arrived.marked,
        start.elapsed().as_secs_f64()
    ));
}
