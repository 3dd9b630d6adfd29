//! Disks that are full or read-only: a tick says so and ends, a sender rests and sends no storm of
//! copies, and both go on by themselves when there is room again.

use super::{QUIET, ask, causes, copies, enqueue, verified};
use std::fs::{self, File};
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;
use watchalert_tests::programs::{
    BOUND, Place, Program, Running, long, pause, tell, until, within,
};
use watchalert_tests::proof::Proof;

/// A small file system of its own over the folder of the database: room for the write-ahead log,
/// which grows to 4 MB before SQLite begins it anew, and little more.
struct Disk(PathBuf);

impl Disk {
    /// `None`: this machine lets us mount nothing, and the test is skipped.
    fn small(place: &Place) -> Option<Self> {
        Self::of("size=12m", place)
    }

    /// So large that a sender keeps some of it for when it is full.
    fn large(place: &Place) -> Option<Self> {
        Self::of("size=40m", place)
    }

    fn of(size: &str, place: &Place) -> Option<Self> {
        let folder = place.path("state");
        let mut mount = Command::new("mount");
        mount
            .args(["-t", "tmpfs", "-o", size, "tmpfs"])
            .arg(&folder);
        if mount.output().is_ok_and(|mounted| mounted.status.success()) {
            return Some(Self(folder));
        }
        tell("SKIPPED: this user may not mount a small disk here");
        None
    }

    /// Takes all that is left of it.
    fn fill(&self) {
        let mut ballast = File::create(self.ballast()).expect("a file");
        // Whole pages first, then what a page leaves.
        for size in [4096, 1] {
            let full = loop {
                if let Err(error) = ballast.write_all(&vec![0; size]) {
                    break error;
                }
            };
            assert_eq!(full.kind(), ErrorKind::StorageFull);
        }
    }

    fn free(&self) {
        fs::remove_file(self.ballast()).expect("removed");
    }

    fn ballast(&self) -> PathBuf {
        self.0.join("ballast")
    }

    fn make_read_only(&self, read_only: bool) {
        let options = if read_only {
            "remount,ro"
        } else {
            "remount,rw"
        };
        let mounted = Command::new("mount")
            .args(["-o", options])
            .arg(&self.0)
            .output();
        let mounted = mounted.expect("mount");
        assert!(mounted.status.success(), "{mounted:?}");
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        drop(Command::new("umount").arg("-l").arg(&self.0).status());
    }
}

/// Two consoles with rows that wait, on a disk too small to keep any of it back.
fn stocked(rows: usize) -> Option<(Place, Disk)> {
    let place = two_consoles("5 MiB");
    let disk = Disk::small(&place)?;
    stock(&place, rows);
    Some((place, disk))
}

fn two_consoles(free: &str) -> Place {
    let place = Place::new(QUIET);
    place.leave_free(
        free,
        &format!("default_channel = \"screen\"\n{QUIET}[channel.other]\nkind = \"console\"\n"),
    );
    place
}

fn stock(place: &Place, rows: usize) {
    place.run(Program::Sender, &["migrate"]).well();
    enqueue(place, names(rows), 100);
    let other = "UPDATE outbox SET channel='other' WHERE id%2";
    watchalert_tests::world::stranger(&place.database())
        .execute(other, [])
        .expect("moved");
}

fn names(rows: usize) -> impl Iterator<Item = String> {
    (0..rows).map(|row| row.to_string())
}

fn printed_rows(place: &Place) -> usize {
    place.printed().matches(" row ").count()
}

#[test]
fn a_read_only_disk_is_named_by_both_programs() {
    let Some((place, disk)) = stocked(1) else {
        return;
    };
    disk.make_read_only(true);
    for (program, arguments) in [(Program::Ingest, &[][..]), (Program::Sender, &["run"])] {
        let ended = place.run(program, arguments);
        let said = ended.refused(4);
        assert!(
            said.contains("read-only") || said.contains("cannot be written"),
            "{said}"
        );
    }
    disk.make_read_only(false);
    place.run(Program::Ingest, &[]).well();
    let last = place.start_sender(&["run", "--until-empty"]);
    last.ended(BOUND).well();
    assert_eq!(copies(&place.printed(), "0"), 1);
    verified(&place);
}

#[test]
fn a_tick_on_a_full_disk_says_so_and_the_next_one_with_room_goes_on() {
    let place = Place::new(QUIET);
    let news = place.path("news.xml");
    let show = |entries: usize| {
        let items = (0..entries).map(|entry| format!("<item><guid>{entry}</guid><title>CVE-2026-{}</title><link>https://example.org/{entry}.</link></item>", 30_000 + entry));
        let items: String = items.collect();
        fs::write(
            &news,
            format!("<rss version=\"2.0\"><channel><title>News</title>{items}</channel></rss>"),
        )
        .expect("a feed");
    };
    show(1);
    place.configure(&format!(
        "{QUIET}[[feed]]\nurl = \"file://{}\"\n",
        news.display()
    ));
    let Some(disk) = Disk::small(&place) else {
        return;
    };
    place.run(Program::Ingest, &[]).well();

    show(200);
    disk.fill();
    for _ in 0..2 {
        let ended = place.run(Program::Ingest, &["--now"]);
        let said = ended.refused(4);
        assert!(said.contains("no room"), "{said}");
    }
    disk.free();
    place.run(Program::Ingest, &["--now"]).well();
    let last = place.start_sender(&["run", "--until-empty"]);
    last.ended(BOUND).well();
    let printed = place.printed();
    for entry in 1..200 {
        assert_eq!(
            printed
                .matches(&format!("https://example.org/{entry}.\n"))
                .count(),
            1,
            "{entry}"
        );
    }
    assert_eq!(verified(&place)["audit"]["alerts"]["owed"], 199);
}

#[test]
fn what_is_sent_on_a_full_disk_is_written_down_in_the_room_that_was_kept() {
    const ROWS: usize = 200;
    let place = two_consoles("16 MiB");
    let Some(disk) = Disk::large(&place) else {
        return;
    };
    stock(&place, ROWS);
    let ballast = place.path("state/state.db.ballast");
    let mut sender = place.start_sender(&[]);
    until("the sender is at work", || printed_rows(&place) >= 20);
    assert_eq!(fs::metadata(&ballast).expect("kept").len(), 8 << 20);
    disk.fill();
    until("everything is delivered all the same", || {
        printed_rows(&place) >= ROWS
    });
    let sent = || {
        ask(
            &place,
            "SELECT count(*) FROM outbox WHERE state='sent' AND kind='raw'",
        )
    };
    until("and written down", || sent() == ROWS.to_string());
    assert!(!ballast.exists(), "it was used");
    assert!(sender.said().contains("kept for this is used now"));

    // Meanwhile nothing new is taken in, by any door, and each says so.
    for (program, arguments) in [
        (Program::Ingest, &["--now"][..]),
        (Program::Sender, &["queue", "add", "hello"]),
    ] {
        let ended = place.run(program, arguments);
        let said = ended.refused(4);
        assert!(
            said.contains("less than the 16 MiB of state.min_free"),
            "{said}"
        );
    }
    disk.free();
    place
        .run(Program::Sender, &["queue", "add", "hello"])
        .well();
    until("the new one is delivered", || {
        place.printed().contains("hello")
    });
    assert!(sender.runs());
    sender.terminate();
    sender.ended(BOUND).well();
    let printed = place.printed();
    for name in names(ROWS) {
        assert_eq!(copies(&printed, &name), 1, "{name}");
    }
    assert_eq!(verified(&place)["audit"]["repeats_marked"], 0);
}

const RESULT_WAITS: &str = "a result waits in memory: no room";

/// A sender in the midst of its work when the disk became full, with a delivery that is printed
/// and cannot be settled. When the disk stops a claim instead, there is room for another try.
fn stuck(place: &Place, disk: &Disk) -> Running {
    let sender = place.start_sender(&[]);
    for printed in [20, 40, 60, 80, 100, 120, 140] {
        until("the sender is at work", || printed_rows(place) >= printed);
        let met = || sender.said().matches("no room").count();
        let before = met();
        disk.fill();
        until("it meets the full disk", || met() > before);
        if within(Duration::from_millis(500), || {
            sender.said().contains(RESULT_WAITS)
        }) {
            return sender;
        }
        disk.free();
    }
    panic!("no result waits: {}", sender.said());
}

#[test]
fn a_sender_on_a_full_disk_sends_no_storm_and_goes_on_when_there_is_room() {
    const ROWS: usize = 200;
    let Some((place, disk)) = stocked(ROWS) else {
        return;
    };
    let mut sender = stuck(&place, &disk);
    // It goes on with what room its own log has, and no further: what it prints it also commits,
    // or holds, as the counts at the end show.
    pause(Duration::from_secs(if long() { 30 } else { 3 }));
    let second = printed_rows(&place);
    assert!(sender.runs(), "{}", sender.said());

    disk.free();
    until("the rest is printed", || printed_rows(&place) >= ROWS);
    assert!(sender.runs());
    sender.terminate();
    sender.ended(BOUND).well();
    let printed = place.printed();
    for name in names(ROWS) {
        assert_eq!(copies(&printed, &name), 1, "{name}");
    }
    assert_eq!(ask(&place, "SELECT max(attempts) FROM outbox"), "1");
    assert_eq!(verified(&place)["audit"]["repeats_marked"], 0);
    Proof {
        what: "a sender whose disk comes to be full",
        how: format!("{second} sent before there was room again"),
        accepted: ROWS,
        delivered: ROWS,
        ..Proof::default()
    }
    .tell();
}

/// Stops a sender on a full disk, after `meanwhile`, and starts one when there is room again.
/// Returns how many completions the journal kept, and what the second sender printed.
fn stopped_and_started_again(place: &Place, disk: &Disk, meanwhile: impl Fn()) -> (usize, String) {
    let sender = stuck(place, disk);
    meanwhile();
    sender.terminate();
    let ended = sender.ended(BOUND);
    assert_eq!((ended.code, ended.words()), (Some(0), vec![]), "{ended:#?}");
    let kept = lines(&place.path("state/state.db.unsettled"));
    disk.free();
    let before = place.printed().len();
    let last = place.start_sender(&["run", "--until-empty"]);
    last.ended(BOUND).well();
    let printed = place.printed();
    for name in names(200) {
        assert!(copies(&printed, &name) >= 1, "{name}");
    }
    (kept, printed[before..].to_owned())
}

/// The journal has its room reserved on the full disk itself.
#[test]
fn completions_that_found_no_room_are_kept_in_the_journal_and_not_sent_again() {
    if !long() {
        tell("SKIPPED: a stop on a full disk takes 15 s; WATCHALERT_LONG=1 tries it");
        return;
    }
    let Some((place, disk)) = stocked(200) else {
        return;
    };
    let (kept, _) = stopped_and_started_again(&place, &disk, || ());
    let printed = place.printed();
    for name in names(200) {
        assert_eq!(copies(&printed, &name), 1, "{name}");
    }
    assert_eq!(verified(&place)["audit"]["repeats_marked"], 0);
    assert!((1..=2).contains(&kept), "{kept} completions kept");
    Proof {
        what: "a sender on a full disk, stopped",
        how: format!("{kept} completions in its journal"),
        accepted: 200,
        delivered: 200,
        ..Proof::default()
    }
    .tell();
}

/// Somebody took the reserved room away: then the repeat is marked.
#[test]
fn completions_that_can_be_kept_nowhere_are_repeated_and_marked() {
    if !long() {
        tell("SKIPPED: a stop on a full disk takes 15 s; WATCHALERT_LONG=1 tries it");
        return;
    }
    let Some((place, disk)) = stocked(200) else {
        return;
    };
    let (kept, again) = stopped_and_started_again(&place, &disk, || {
        fs::remove_file(place.path("state/state.db.unsettled.spare")).expect("removed");
        disk.fill();
    });
    let marked = again.matches("(possible repeat) ").count();
    assert_eq!(kept, 0);
    assert!((1..=2).contains(&marked), "{marked}");
    assert_eq!(place.printed().matches(" row ").count(), 200 + marked);
    assert_eq!(verified(&place)["audit"]["repeats_marked"], marked);
    Proof {
        what: "a sender on a full disk, stopped, with no room for its journal",
        how: "once".to_owned(),
        accepted: 200,
        delivered: 200,
        repeats: marked,
        cause: &causes(&place),
        ..Proof::default()
    }
    .tell();
}

fn lines(path: &Path) -> usize {
    fs::read_to_string(path).map_or(0, |text| text.lines().count())
}
