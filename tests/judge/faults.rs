//! Every way in which a model fails: the item waits, then is told, and a person hears of it once.

use super::room::{self, Room};
use watchalert_ingest::report::Report;
use watchalert_tests::feeds::Reply;
use watchalert_tests::models::{ModelServer, Say, verdict};

const MISSING: &str = r#"{"error":"model 'qwen2.5:7b' not found"}"#;
const BUSY: &str =
    r#"{"error":"server busy, please try again.  maximum pending requests exceeded"}"#;
const CRASHED: &str = r#"{"error":"llama runner process has terminated: signal: killed"}"#;

/// What the model does, and whether it is told at once.
fn every_fault() -> Vec<(&'static str, Say, bool)> {
    let reply = |status, body: &str| Say::Reply(Reply::status(status).with_body(body));
    vec![
        ("missing", reply(404, MISSING), true),
        ("busy", reply(503, BUSY), false),
        ("crashed", reply(500, CRASHED), false),
        ("gateway", reply(502, "<html>Bad Gateway</html>"), false),
        ("page", reply(200, "<html>Welcome to nginx</html>"), false),
        (
            "half",
            reply(200, "{\"model\":\"m\",\"created_at\":\"2026"),
            false,
        ),
        ("error in 200", reply(200, CRASHED), false),
        (
            "half JSON",
            Say::Text("{\"severity\":\"hi".to_owned()),
            false,
        ),
        (
            "wrong name",
            Say::Text(r#"{"severity":"urgent"}"#.to_owned()),
            false,
        ),
        (
            "cut",
            Say::Cut("{\"severity\":\"high\",\"summary\":\"and so".to_owned()),
            false,
        ),
        ("white space", Say::Cut(" \n".repeat(400)), false),
        (
            "endless",
            Say::Reply(Reply::endless(" ".repeat(4096))),
            false,
        ),
        ("reset", Say::Reply(Reply::cut()), false),
        (
            "broken off",
            Say::Reply(Reply::body("{\"model\"").reset_after(4)),
            false,
        ),
        ("hangs", Say::Reply(Reply::hang()), false),
        (
            "stalls",
            Say::Reply(Reply::body("{\"model\"").stall_after(4)),
            false,
        ),
        (
            "redirect",
            Say::Reply(Reply::redirect(302, "http://127.0.0.1:1/")),
            true,
        ),
        ("login", reply(401, "log in"), true),
    ]
}

#[test]
fn whatever_the_model_does_nothing_is_lost_and_no_cloud_is_asked() {
    let cloud = ModelServer::saying(verdict("low", ""));
    for (name, say, told_at_once) in every_fault() {
        let ollama = ModelServer::saying(say);
        let room = Room::new(&format!(
            "{}timeout = \"1s\"\n{}",
            room::ollama(&ollama),
            room::cloud(&cloud, "openai", 200)
        ));
        let report = room.tick_with(&["A quiet thing", "Actively exploited flaw in Quillmark"]);
        assert_eq!(report.judged_by.floor, 1, "{name}");
        assert_eq!(report.pending, 1, "{name}");
        assert_eq!(!room.notices().is_empty(), told_at_once, "{name}");
        room.later(600);
        let report = room.tick();
        assert_eq!(
            (report.judged_by.unclassified, report.pending),
            (1, 0),
            "{name}"
        );
        assert_eq!(room.alert("severity"), "normal", "{name}");
        assert_eq!(room.alert("judge"), "unclassified", "{name}");
        assert_eq!(
            room.ask("SELECT count(*) FROM outbox WHERE kind='alert'"),
            "2",
            "{name}"
        );
    }
    assert_eq!(cloud.requests_for("/v1/chat/completions").len(), 0);
}

#[test]
fn a_missing_model_is_told_once_and_its_return_too() {
    let ollama = ModelServer::saying(verdict("low", ""));
    let room = Room::new(&room::ollama(&ollama));
    ollama.set("/api/chat", Reply::status(404).with_body(MISSING));
    room.tick_with(&["One"]);
    room.later(120);
    room.tick();
    assert!(
        room.notices()
            .starts_with("Ollama does not have the model (HTTP 404: model 'qwen2.5:7b' not found)")
    );
    assert!(!room.notices().contains('|'));

    let good = r#"{"model":"m","created_at":"t","done":true,"done_reason":"stop","message":{"role":"assistant","content":"{\"severity\":\"low\"}"}}"#;
    ollama.set("/api/chat", Reply::body(good));
    room.later(120);
    assert_eq!(room.tick().judged_by.model, 1);
    assert!(
        room.notices().ends_with(" | Ollama judges again"),
        "{}",
        room.notices()
    );
}

#[test]
fn a_gateway_with_nobody_behind_it_is_nobody() {
    let cloud = ModelServer::saying(verdict("low", ""));
    for status in [502, 504] {
        let ollama = ModelServer::saying(verdict("low", ""));
        ollama.set("/api/version", Reply::status(status));
        let room = Room::new(&format!(
            "{}{}",
            room::ollama(&ollama),
            room::cloud(&cloud, "openai", 9)
        ));
        assert_eq!(room.tick_with(&["One"]).judged_by.cloud, 1, "{status}");
        assert_eq!(ollama.requests_for("/api/chat").len(), 0);
    }
    for status in [404, 500, 503] {
        let ollama = ModelServer::saying(verdict("low", ""));
        ollama.set("/api/version", Reply::status(status));
        let room = Room::new(&format!(
            "{}{}",
            room::ollama(&ollama),
            room::cloud(&cloud, "openai", 9)
        ));
        assert_eq!(room.tick_with(&["Two"]).judged_by.model, 1, "{status}");
    }
}

/// Five seconds of real time: that is how long a probe waits.
#[test]
fn one_that_does_not_answer_the_probe_cannot_be_reached() {
    let (ollama, cloud) = (
        ModelServer::saying(verdict("low", "")),
        ModelServer::saying(verdict("low", "")),
    );
    ollama.set("/api/version", Reply::hang());
    let room = Room::new(&format!(
        "{}{}",
        room::ollama(&ollama),
        room::cloud(&cloud, "openai", 9)
    ));
    assert_eq!(room.tick_with(&["One"]).judged_by.cloud, 1);
}

#[test]
fn after_ollama_was_killed_the_cloud_judges_from_the_next_tick_on() {
    let (ollama, cloud) = (
        ModelServer::saying(verdict("low", "")),
        ModelServer::saying(verdict("low", "")),
    );
    let room = Room::new(&format!(
        "{}{}",
        room::ollama(&ollama),
        room::cloud(&cloud, "openai", 9)
    ));
    assert_eq!(room.tick_with(&["One"]).judged_by.model, 1);
    drop(ollama);
    assert_eq!(room.tick_with(&["Two"]).judged_by.cloud, 1);
}

#[test]
fn a_fault_of_the_cloud_s_is_the_cloud_s_alone() {
    let cloud = ModelServer::saying(Say::Reply(
        Reply::status(401).with_body(r#"{"error":{"message":"Incorrect API key"}}"#),
    ));
    let room = Room::new(&format!(
        "{}{}",
        room::OFF,
        room::cloud(&cloud, "openai", 9)
    ));
    assert_eq!(room.tick_with(&["One", "Two"]).pending, 2);
    assert_eq!(
        room.notices(),
        "the cloud model refuses to answer (HTTP 401: Incorrect API key)"
    );
    assert_eq!(cloud.requests_for("/v1/chat/completions").len(), 1);
    room.later(600);
    assert_eq!(room.tick().judged_by.unclassified, 2);
}

/// The same request would fail the same way.
#[test]
fn after_an_answer_of_no_use_the_model_is_asked_with_fewer_words() {
    let ollama = ModelServer::start(|question| {
        if question.len() > 1500 {
            Say::Cut("{\"severity\":\"hi".to_owned())
        } else {
            verdict("high", "s")
        }
    });
    let room = Room::new(&room::ollama(&ollama));
    room.publish_long("A long story");
    room.later(120);
    assert_eq!(room.tick().pending, 1);
    room.later(120);
    assert_eq!(room.tick().judged_by.model, 1);
    assert_eq!(room.ask("SELECT count(*) FROM unusable"), "0");
}

/// It loops, breaks, or is filtered over one item: the others are asked about in the same tick.
#[test]
fn one_item_that_the_model_fails_on_keeps_no_other_waiting() {
    let reply = |status: u16, body: &str| Say::Reply(Reply::status(status).with_body(body));
    for (name, poisoned) in [
        ("no JSON", Say::Text("}{".to_owned())),
        ("cut", Say::Cut("{\"severity\":\"hi".to_owned())),
        ("slow", Say::Reply(Reply::hang())),
        ("slow behind a gateway", reply(504, "")),
        ("crashed", reply(500, CRASHED)),
        ("crashed behind a gateway", reply(502, "")),
        ("hung up", Say::Reply(Reply::cut())),
        (
            "filtered",
            reply(400, r#"{"error":{"code":"content_filter"}}"#),
        ),
        ("too long", reply(413, "")),
    ] {
        let ollama = ModelServer::start(move |question| {
            if question.contains("Poison") {
                poisoned.clone()
            } else {
                verdict("low", "")
            }
        });
        let timeout = if name == "slow" { "1s" } else { "30s" };
        let model = format!("{}timeout = \"{timeout}\"\n", room::ollama(&ollama));
        let room = Room::new(&model);
        let report = room.tick_with(&["Poison", "Bread", "Water"]);
        let judged = |report: &Report| (report.judged_by.model, report.pending);
        assert_eq!(judged(&report), (2, 1), "{name}");
        let report = room.tick_with(&["Poison", "Bread", "Water", "Salt"]);
        assert_eq!(judged(&report), (1, 1), "{name}");
    }
}

#[test]
fn after_five_questions_in_vain_a_tick_asks_no_more() {
    let ollama = ModelServer::saying(Say::Reply(Reply::status(500).with_body(CRASHED)));
    let room = Room::new(&room::ollama(&ollama));
    let titles: Vec<String> = (0..9).map(|n| format!("Thing {n}")).collect();
    let titles: Vec<&str> = titles.iter().map(String::as_str).collect();
    assert_eq!(room.tick_with(&titles).pending, 9);
    assert_eq!(ollama.requests_for("/api/chat").len(), 5);
    assert!(
        room.notices()
            .starts_with("Ollama stumbles (HTTP 500: llama runner")
    );
}

/// Who is busy, or has no such model, says the same to every item.
#[test]
fn what_would_meet_every_item_ends_the_asking_at_once() {
    for (status, body) in [(503, BUSY), (404, MISSING), (401, "log in")] {
        let ollama = ModelServer::saying(Say::Reply(Reply::status(status).with_body(body)));
        let room = Room::new(&room::ollama(&ollama));
        assert_eq!(room.tick_with(&["One", "Two"]).pending, 2);
        assert_eq!(ollama.requests_for("/api/chat").len(), 1, "{status}");
        assert_eq!(room.ask("SELECT count(*) FROM unusable"), "0", "{status}");
    }
}
