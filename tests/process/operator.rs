//! What an operator does from the command line while both programs may run: adds messages, for one
//! chat or for thousands, and takes snapshots that can be restored.

use super::{QUIET, ask, copies, enqueue, verified};
use std::fs;
use watchalert_tests::programs::{BOUND, Place, Program, until};

/// A place with a database.
fn place() -> Place {
    let place = Place::new(QUIET);
    place.run(Program::Sender, &["migrate"]).well();
    place
}

fn add(place: &Place, arguments: &[&str]) -> String {
    let arguments: Vec<&str> = ["queue", "add"].iter().chain(arguments).copied().collect();
    place.run(Program::Sender, &arguments).well().out
}

fn drain(place: &Place) -> String {
    let sender = place.start_sender(&["run", "--until-empty"]);
    sender.ended(BOUND).well();
    place.printed()
}

#[test]
fn a_message_is_added_once_under_its_key_and_delivered() {
    let place = place();
    let said = add(&place, &["row 1 end", "--key", "k", "--priority", "high"]);
    assert_eq!(
        said,
        "added a message for screen/- (high): 1 new, 0 known by their key\n"
    );
    let said = add(&place, &["row 1 end", "--key", "k"]);
    assert_eq!(
        said,
        "added a message for screen/- (normal): 0 new, 1 known by their key\n"
    );
    assert_eq!(copies(&drain(&place), "1"), 1);
    // Also after it was delivered.
    add(&place, &["row 1 end", "--key", "k"]);
    assert_eq!(copies(&drain(&place), "1"), 1);
    verified(&place);
}

#[test]
fn what_is_meant_for_later_waits_and_what_is_critical_never_expires() {
    let place = place();
    add(&place, &["row 1 end", "--at", "2h", "--expires", "1h"]);
    let times = "SELECT CAST(not_before-created_at AS INT)||' '||CAST(expires_at-created_at AS INT) FROM outbox";
    assert_eq!(ask(&place, times), "7200 10800");
    assert_eq!(copies(&drain(&place), "1"), 0);
    for (arguments, why) in [
        (
            &["x", "--priority", "critical", "--expires", "1h"][..],
            "never expires",
        ),
        (&["x", "--at", "tomorrow"], "is no time"),
        (
            &["x", "--channel", "phone"],
            "there is no channel \"phone\"; there are: screen",
        ),
        (&["x", "--chat", "a b"], "is no chat"),
        (&[" "], "the text is empty"),
        (&["x", "--chats", "missing"], "missing cannot be read"),
    ] {
        let all: Vec<&str> = ["queue", "add"].iter().chain(arguments).copied().collect();
        let ended = place.run(Program::Sender, &all);
        assert!(ended.refused(2).contains(why), "{arguments:?}");
    }
    assert_eq!(ask(&place, "SELECT count(*) FROM outbox"), "1");
}

#[test]
fn a_broadcast_reaches_each_chat_of_a_file_once_however_often_it_is_said() {
    let place = place();
    let chats: Vec<String> = (1..=5_000).map(|chat| chat.to_string()).collect();
    let chats = chats.join("\n");
    let file = place.path("chats.txt");
    fs::write(
        &file,
        format!("# all of them\n{chats}\n17 # named twice\n\n"),
    )
    .expect("written");
    let file = file.to_str().expect("text");
    let broadcast = ["row 1 end", "--chats", file, "--key", "news-7"];
    let whole = "a message for 5000 chats of screen (low)";

    let asked = place.run(
        Program::Sender,
        &[&["queue", "add"], &broadcast[..]].concat(),
    );
    assert!(
        asked
            .refused(2)
            .contains(&format!("this would add {whole}; say --yes"))
    );
    let dry = add(&place, &[&broadcast[..], &["--dry-run"]].concat());
    assert_eq!(
        dry,
        format!("would add {whole}: 5000 new, 0 known by their key\n")
    );
    assert_eq!(ask(&place, "SELECT count(*) FROM outbox"), "0");

    let sender = place.start_sender(&["run"]);
    for new in [5_000, 0] {
        let said = add(&place, &[&broadcast[..], &["--yes"]].concat());
        let known = 5_000 - new;
        assert_eq!(
            said,
            format!("added {whole}: {new} new, {known} known by their key\n")
        );
    }
    for some in 1..=10 {
        until("some hundred more are delivered", || {
            copies(&place.printed(), "1") >= 500 * some
        });
    }
    sender.terminate();
    sender.ended(BOUND).well();
    assert_eq!(copies(&place.printed(), "1"), 5_000);
    assert_eq!(
        ask(
            &place,
            "SELECT count(DISTINCT chat_id)||' '||max(priority) FROM outbox"
        ),
        "5000 3"
    );
    verified(&place);
}

#[test]
fn a_snapshot_under_way_is_sound_and_does_in_the_databases_place() {
    let place = place();
    enqueue(&place, (0..500).map(|n| n.to_string()), 50);
    let sender = place.start_sender(&["run"]);
    until("it is at work", || copies(&place.printed(), "50") == 1);
    let snapshot = place.path("snapshot.db");
    let to = snapshot.to_str().expect("text");
    let said = place.run(Program::Sender, &["backup", to]).well().out;
    assert!(
        said.contains("read back and sound") && said.contains("500 rows came in"),
        "{said}"
    );
    let again = place.run(Program::Sender, &["backup", to]);
    assert!(again.refused(4).contains("there is something already"));
    sender.terminate();
    sender.ended(BOUND).well();

    // The disk is lost, and the snapshot takes the database's place.
    for suffix in ["-wal", "-shm"] {
        let mut name = place.database().into_os_string();
        name.push(suffix);
        drop(fs::remove_file(name));
    }
    fs::rename(&snapshot, place.database()).expect("restored");
    verified(&place);
    let printed = drain(&place);
    for name in 0..500 {
        assert!(copies(&printed, &name.to_string()) >= 1, "{name}");
    }
    assert_eq!(verified(&place)["audit"]["outbox"]["sent"], 500);
    place.run(Program::Ingest, &[]).well();
}

#[test]
fn a_snapshot_of_what_is_not_there_is_refused_in_one_sentence() {
    let place = Place::new(QUIET);
    let to = place.path("snapshot.db");
    let ended = place.run(Program::Sender, &["backup", to.to_str().expect("text")]);
    assert!(
        ended.refused(4).contains("there is no database"),
        "{}",
        ended.err
    );
    assert!(!to.exists());
}

/// Six rows: 1 to 3 dead, 4 expired, 5 and 6 waiting; those with even numbers for another chat.
fn six() -> Place {
    let place = place();
    for row in 1..=6 {
        let (text, chat) = (format!("row {row} end"), ["a", "b"][(row + 1) % 2]);
        add(&place, &[&text, "--chat", chat, "--priority", "low"]);
    }
    let db = watchalert_tests::world::stranger(&place.database());
    db.execute_batch(
        "UPDATE outbox SET state='dead',last_error='no',told_at=1 WHERE id<=3;
         UPDATE outbox SET state='expired' WHERE id=4;",
    )
    .expect("moved");
    place
}

fn states(place: &Place) -> String {
    ask(
        place,
        "SELECT group_concat(state,' ') FROM (SELECT state FROM outbox ORDER BY id)",
    )
}

#[test]
fn rows_are_moved_by_what_they_are_said_before_and_counted_after() {
    let place = six();
    let before = states(&place);
    let queue = |arguments: &[&str]| {
        let arguments: Vec<&str> = ["queue"].iter().chain(arguments).copied().collect();
        place.run(Program::Sender, &arguments)
    };
    let dry = queue(&["retry", "--dead", "--chat", "a", "--dry-run"])
        .well()
        .out;
    assert!(dry.ends_with("would retry 2 rows\n"), "{dry}");
    assert!(dry.contains("row 1 end") && dry.contains("row 3 end") && !dry.contains("row 2 end"));
    let dry = queue(&["discard", "--all", "--dry-run", "--json"])
        .well()
        .out;
    assert_eq!(dry, "{\"would\":\"discard\",\"rows\":[1,2,3,4]}\n");
    for (arguments, why) in [
        (
            &["discard", "--dead"][..],
            "would discard 3 rows for good; say --yes",
        ),
        (
            &["discard", "--waiting"],
            "would discard 2 rows for good; say --yes",
        ),
        (&["discard"], "say which rows to discard"),
        (&["retry", "--waiting"], "what waits is sent anyway"),
    ] {
        let ended = queue(arguments);
        assert!(ended.refused(2).contains(why), "{arguments:?}: {ended:?}");
    }
    for wrong in [&["1", "--dead"][..], &["--all", "--older-than", "soon"]] {
        assert_eq!(queue(&[&["retry"], wrong].concat()).code, Some(2));
    }
    assert_eq!(states(&place), before, "nothing was moved");

    let none = queue(&["retry", "--all", "--older-than", "1h"]).well().out;
    assert_eq!(none, "no such rows\n");
    let said = queue(&["retry", "--dead", "--chat", "a"]).well().out;
    assert_eq!(
        said,
        "row 1: will be sent again (row 1 end)\nrow 3: will be sent again (row 3 end)\n"
    );
    let said = queue(&["discard", "--all", "--yes", "--json"]).well().out;
    assert_eq!(said, "{\"discard\":[2,4],\"refused\":[]}\n");
    assert_eq!(
        states(&place),
        "ready cancelled ready cancelled ready ready"
    );
    let listed = queue(&["list", "--chat", "b", "--priority", "low", "--json"])
        .well()
        .out;
    assert_eq!(super::json(listed.trim())["id"], 6);
    let shown = super::json(&queue(&["show", "6", "--json"]).well().out);
    assert_eq!(
        (&shown["text"], shown["tries"].as_array().map(Vec::len)),
        (&"row 6 end".into(), Some(0))
    );

    let partly = queue(&["retry", "1", "2", "99", "--json"]);
    assert_eq!(partly.code, Some(2));
    let said = super::json(&partly.out);
    assert_eq!(said["refused"].as_array().map(Vec::len), Some(3));
    let printed = drain(&place);
    let sent: usize = (1..=6).map(|row| copies(&printed, &row.to_string())).sum();
    assert_eq!(sent, 4);
    verified(&place);
}

#[test]
fn a_digest_is_not_given_up_without_naming_what_is_in_it() {
    let place = place();
    let db = watchalert_tests::world::stranger(&place.database());
    for alert in 1..=5 {
        db.execute(
            "INSERT INTO alert(id,dedup_key,payload,severity,title,source,created_at)
             VALUES(?1,'k'||?1,json_object('v',1,'title','alert '||?1,'short_id','00000'||?1,'severity','low','category','other',
               'source','s','reason','r','judge','rule'),'low','alert '||?1,'s',1)",
            [alert],
        )
        .expect("an alert");
        db.execute(
            "INSERT INTO outbox(idempotency_key,kind,alert_id,channel,chat_id,payload,priority,next_attempt,created_at)
             SELECT 'a:'||id||':screen:-','alert',id,'screen','-',payload,3,0,1 FROM alert WHERE id=?1",
            [alert],
        )
        .expect("a row");
    }
    db.execute_batch(
        "INSERT INTO outbox(idempotency_key,kind,channel,chat_id,payload,priority,next_attempt,created_at)
           VALUES('d:1:5:5:1','digest','screen','-','{}',3,0,1);
         UPDATE outbox SET state='folded',parent_id=6 WHERE id<=5;",
    )
    .expect("folded");
    let refused = place.run(Program::Sender, &["queue", "discard", "6"]);
    let why = refused.refused(2);
    assert!(
        why.contains("would discard 1 row with 5 alerts for good"),
        "{why}"
    );
    let shown = place
        .run(Program::Sender, &["queue", "show", "6"])
        .well()
        .out;
    assert_eq!(shown.matches("\nholds    row ").count(), 5, "{shown}");
    place
        .run(Program::Sender, &["queue", "discard", "6", "--yes"])
        .well();
    assert_eq!(
        states(&place),
        "folded folded folded folded folded cancelled"
    );
    verified(&place);
}
