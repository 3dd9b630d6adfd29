//! Kills at random moments, again and again, while alerts pass from feeds to the console: none is
//! lost, and every copy beyond the first is marked and has its interrupted attempt.

use super::{causes, verified};
use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;
use watchalert_tests::feeds::{FeedServer, Reply};
use watchalert_tests::programs::{
    BOUND, Place, Program, long, now, pause, seed, tell, until, within,
};
use watchalert_tests::proof::Proof;
use watchalert_tests::world::stranger;

/// Destinations, so that several deliveries are in flight at a kill.
const SCREENS: usize = 4;
/// A sender lives at most this long; it starts within about 30 ms.
const LIFE: Duration = Duration::from_millis(200);
const PATIENCE: Duration = Duration::from_secs(5);

/// Feeds whose entries appear little by little.
pub(super) struct News {
    server: FeedServer,
    feeds: usize,
    entries: usize,
}

impl News {
    pub(super) fn new(feeds: usize, entries: usize) -> Self {
        let news = Self {
            server: FeedServer::start(),
            feeds,
            entries,
        };
        news.show(0);
        news
    }

    pub(super) fn total(&self) -> usize {
        self.feeds * self.entries
    }

    /// One entry that was there from the beginning, and the first `count` of the others.
    pub(super) fn show(&self, count: usize) {
        for feed in 0..self.feeds {
            let mut items = item(&format!("old-{feed}"), "An old story");
            for entry in 0..count {
                let urgent = if entry % 7 == 0 { "urgent: " } else { "" };
                let title = format!(
                    "{urgent}a story about CVE-2026-{}",
                    10_000 + feed * 100 + entry
                );
                items += &item(&format!("{feed}/{entry}"), &title);
            }
            let channel = format!(
                "<title>Feed {feed}</title><link>https://example.org/</link><description>d</description>{items}"
            );
            let text = format!("<rss version=\"2.0\"><channel>{channel}</channel></rss>");
            self.server.set(&format!("/{feed}"), Reply::feed(text));
        }
    }

    pub(super) fn config(&self) -> String {
        let mut text = "default_channel = \"screen0\"\n[ingest]\nallow_private = true\n\
            [[rule]]\nname = \"urgent\"\nmatch = { title = \"^urgent\" }\nforce = \"critical\"\n"
            .to_owned();
        for feed in 0..self.feeds {
            let (url, tag) = (self.server.url(&format!("/{feed}")), feed % SCREENS);
            text += &format!("[[feed]]\nurl = \"{url}\"\ntags = [\"t{tag}\"]\n");
        }
        for screen in 0..SCREENS {
            text += &format!("[channel.screen{screen}]\nkind = \"console\"\n");
            text += &format!("[[route]]\ntag = [\"t{screen}\"]\nto = [\"screen{screen}\"]\n");
        }
        text
    }
}

fn item(path: &str, title: &str) -> String {
    let link = format!("https://example.org/{path}");
    format!("<item><guid>{link}</guid><link>{link}</link><title>{title}</title></item>")
}

/// What the kills of one program met.
#[derive(Default, Debug)]
struct Kills {
    starts: usize,
    /// The process lived when the signal came.
    hits: usize,
    /// It had asked at least one feed, or printed at least one alert by then.
    in_the_middle: usize,
}

/// Ticks: half of them killed somewhere within the time that a whole one takes, the other half as
/// long after their first request; then one that ends by itself.
fn kill_ticks(place: &Place, news: &News, kills: usize, seed: u64, done: &AtomicUsize) -> Kills {
    let mut chance = fastrand::Rng::with_seed(seed);
    let mut met = Kills::default();
    let start = now();
    place.run(Program::Ingest, &["--now"]).well();
    let mut whole = start.elapsed();
    while met.hits < kills {
        assert!(
            met.starts < 20 * kills,
            "ticks end before they are killed: {met:?}"
        );
        // The last tick, which ends by itself, brings the rest.
        news.show(news.entries * (met.hits + 1) / (kills + 1));
        let asked = news.server.requests().len();
        let tick = place.start(place.command(Program::Ingest, &["--now"]));
        met.starts += 1;
        let in_the_midst = chance.bool();
        if in_the_midst {
            within(PATIENCE, || news.server.requests().len() > asked);
        }
        pause(whole.mul_f64(chance.f64()));
        if tick.kill() {
            met.hits += 1;
            met.in_the_middle += usize::from(news.server.requests().len() > asked);
            done.store(met.hits, Ordering::Release);
        } else {
            // It was quicker than the others: more of the kills shall meet one that lives.
            whole = whole.mul_f64(0.9);
        }
    }
    news.show(news.entries);
    place.run(Program::Ingest, &["--now"]).well();
    met
}

/// Senders, one for each tick that was: half of them killed somewhere in the first moments of their
/// lives, the other half in the midst of their deliveries.
fn kill_senders(place: &Place, kills: usize, seed: u64, ticks: &AtomicUsize) -> Kills {
    let mut chance = fastrand::Rng::with_seed(seed ^ 0x5eed);
    let mut met = Kills::default();
    while met.hits < kills {
        until("a tick has ended", || {
            ticks.load(Ordering::Acquire) > met.hits
        });
        let in_the_midst = chance.bool();
        kill_sender(place, in_the_midst, &mut chance, &mut met);
    }
    // On a machine so busy that none of them met a delivery in flight, a few more.
    let caught = "SELECT count(*) FROM attempt WHERE outcome IS NOT 'ok'";
    while met.hits < 3 * kills && super::ask(place, caught) == "0" {
        kill_sender(place, true, &mut chance, &mut met);
    }
    met
}

fn kill_sender(place: &Place, in_the_midst: bool, chance: &mut fastrand::Rng, met: &mut Kills) {
    let before = place.printed().len();
    let sender = place.start_sender(&[]);
    met.starts += 1;
    let life = if in_the_midst {
        // Unless none is left to print.
        within(PATIENCE, || place.printed().len() > before);
        LIFE / 4
    } else {
        LIFE
    };
    pause(life.mul_f64(chance.f64()));
    met.in_the_middle += usize::from(place.printed().len() > before);
    met.hits += usize::from(sender.kill());
}

/// How often a link stands in the output.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Copies {
    plain: i64,
    marked: i64,
}

fn copies(printed: &str) -> HashMap<String, Copies> {
    let mut found: HashMap<String, Copies> = HashMap::new();
    let mut marked = false;
    for line in printed.lines() {
        if !line.starts_with(' ') && !line.is_empty() {
            marked = line.contains("(possible repeat) ");
        } else if let Some(path) = line.strip_prefix("    https://example.org/") {
            let copies = found.entry(path.to_owned()).or_default();
            if marked {
                copies.marked += 1;
            } else {
                copies.plain += 1;
            }
        }
    }
    found
}

/// What the outbox says of one alert.
struct Row {
    path: String,
    state: String,
    attempts: i64,
    interrupted: i64,
    ok: i64,
}

fn rows(place: &Place) -> Vec<Row> {
    let sql = "SELECT replace(link,'https://example.org/',''),state,attempts,\
        (SELECT count(*) FROM attempt WHERE outbox_id=outbox.id AND outcome='interrupted'),\
        (SELECT count(*) FROM attempt WHERE outbox_id=outbox.id AND outcome='ok')\
        FROM outbox JOIN alert ON alert.id=alert_id";
    let db = stranger(&place.database());
    let mut statement = db.prepare(sql).expect("a statement");
    let rows = statement.query_map([], |row| {
        Ok(Row {
            path: row.get(0)?,
            state: row.get(1)?,
            attempts: row.get(2)?,
            interrupted: row.get(3)?,
            ok: row.get(4)?,
        })
    });
    rows.and_then(Iterator::collect).expect("rows")
}

/// Every alert is printed; each copy beyond the first is marked and explained by an interruption.
/// Returns all copies that bear the mark.
fn account(place: &Place, news: &News) -> i64 {
    let printed = copies(&place.printed());
    let rows = rows(place);
    assert_eq!((rows.len(), printed.len()), (news.total(), news.total()));
    let mut marked = 0;
    for row in rows {
        let path = &row.path;
        let copies = printed.get(path).copied().unwrap_or_default();
        assert_eq!((row.state.as_str(), row.ok), ("sent", 1), "{path}");
        assert_eq!(row.interrupted, row.attempts - 1, "{path}");
        // The last attempt printed one copy, an interrupted one printed one or none.
        if row.attempts == 1 {
            assert_eq!(
                copies,
                Copies {
                    plain: 1,
                    marked: 0
                },
                "{path}"
            );
        } else {
            assert!((0..=1).contains(&copies.plain), "{path}: {copies:?}");
            assert!(
                (1..row.attempts).contains(&copies.marked),
                "{path}: {copies:?}"
            );
        }
        marked += copies.marked;
    }
    marked
}

/// How many alerts were printed, each once.
pub(super) fn printed_once(place: &Place) -> usize {
    let printed = copies(&place.printed());
    let once = Copies {
        plain: 1,
        marked: 0,
    };
    assert!(
        printed.values().all(|copies| *copies == once),
        "{printed:?}"
    );
    printed.len()
}

#[test]
fn kills_of_both_programs_lose_nothing_and_every_repeat_is_marked_and_explained() {
    let (feeds, entries, kills) = if long() { (40, 100, 500) } else { (20, 20, 10) };
    let seed = seed("kills");
    let start = now();
    let news = News::new(feeds, entries);
    let place = Place::new(&news.config());
    let ticks_killed = AtomicUsize::new(0);
    let (ticks, senders) = thread::scope(|scope| {
        let senders = scope.spawn(|| kill_senders(&place, kills, seed, &ticks_killed));
        let ticks = kill_ticks(&place, &news, kills, seed, &ticks_killed);
        (ticks, senders.join().expect("the senders' thread"))
    });
    let last = place.start_sender(&["run", "--until-empty"]);
    last.ended(BOUND).well();

    let marked = account(&place, &news);
    let audit = verified(&place);
    let accepted = i64::try_from(news.total()).expect("a small number");
    assert_eq!(audit["audit"]["alerts"]["accepted"], accepted);
    // One more row: the notice about the first fetches.
    assert_eq!(audit["audit"]["outbox"]["sent"], accepted + 1);
    let asked = |sql| super::ask(&place, sql).parse::<i64>().expect("a number");
    let interrupted = asked("SELECT count(*) FROM attempt WHERE outcome='interrupted'");
    let repeats = asked("SELECT n FROM ledger WHERE name='repeat_marked'");
    assert_eq!(repeats, asked("SELECT sum(attempts-1) FROM outbox"));
    assert!(
        marked <= repeats,
        "{marked} marks printed, {repeats} counted"
    );
    assert!(interrupted > 0, "no kill met a delivery in flight");
    let printed = copies(&place.printed());
    let again: i64 = printed.values().map(|of| of.plain + of.marked - 1).sum();
    let printed = printed.len();
    for (what, kills) in [
        ("a tick, killed", ticks.hits),
        ("a sender, killed", senders.hits),
    ] {
        let is_sender = what.contains("sender");
        Proof {
            what,
            how: format!("{kills} kill -9"),
            seed: Some(seed),
            accepted: news.total(),
            delivered: printed,
            repeats: if is_sender {
                usize::try_from(again).expect("a small number")
            } else {
                0
            },
            cause: &causes(&place),
            ..Proof::default()
        }
        .tell();
    }
    tell(&format!(
        "kills: {} alerts; ticks: {} kills ({} after their first request) in {} starts; senders: {} kills ({} after their first alert), {interrupted} attempts interrupted; {repeats} marked repeats, {marked} of them printed; 0 lost; {:.1} s",
        news.total(),
        ticks.hits,
        ticks.in_the_middle,
        ticks.starts,
        senders.hits,
        senders.in_the_middle,
        start.elapsed().as_secs_f64()
    ));
}
