//! Alertmanager, Sentry, any JSON, and the presets: what fires and what is resolved are one thread, what
//! nobody has rated is left to the rules.

use super::{line, posts, webhook};
use serde_json::{Value, json};
use shared::config::Webhook;
use shared::store::posts::Post;

fn read(webhook: &Webhook, event: Option<&str>, body: &Value) -> Vec<Post> {
    posts(webhook, event, &serde_json::to_vec(body).expect("JSON")).expect("read")
}

fn lines(webhook: &Webhook, event: Option<&str>, body: &Value) -> Vec<String> {
    read(webhook, event, body).iter().map(line).collect()
}

fn group(alerts: &[Value], truncated: u64) -> Value {
    json!({"version": "4", "status": "firing", "alerts": alerts, "truncatedAlerts": truncated, "externalURL": "http://am.example:9093"})
}

fn alert(status: &str, severity: &str, start: &str) -> Value {
    json!({"status": status, "labels": {"alertname": "HighErr", "instance": "web1", "severity": severity},
        "annotations": {"summary": "5xx > 5%", "description": "Über 5 %"}, "startsAt": start,
        "generatorURL": "http://prom/graph", "fingerprint": "4babef65995b76bb"})
}

#[test]
fn alertmanagers_alerts_fire_and_are_resolved_each_by_itself() {
    let hook = webhook("alertmanager", "severities = { page = 'high' }\n");
    let fired = group(
        &[
            alert("firing", "critical", "1"),
            alert("firing", "page", "2"),
            alert("firing", "odd", "3"),
        ],
        0,
    );
    assert_eq!(
        lines(&hook, None, &fired),
        [
            "critical\tincident\tHighErr (web1): 5xx > 5% [begins]",
            "high\tincident\tHighErr (web1): 5xx > 5% [begins]",
            "normal\tincident\tHighErr (web1): 5xx > 5% [begins]",
        ]
    );
    let over = group(&[alert("resolved", "critical", "1")], 2);
    let told = lines(&hook, None, &over);
    assert_eq!(
        told[0],
        "low\tincident\tResolved: HighErr (web1): 5xx > 5% [ends]"
    );
    assert_eq!(
        told[1],
        "normal\tincident\t2 more alerts of the group are not in what was posted"
    );
    // The same alert in the group's next post is known; its next firing is another.
    let key = |of: &Value| read(&hook, None, of)[0].key.clone();
    assert_eq!(
        key(&fired),
        key(&group(&[alert("firing", "critical", "1")], 0))
    );
    assert_ne!(
        key(&fired),
        key(&group(&[alert("firing", "critical", "9")], 0))
    );
    assert_ne!(key(&fired), key(&over));
    let thread = |of: &Value| read(&hook, None, of)[0].thread.clone();
    assert_eq!(thread(&fired), thread(&over));
    let first = &read(&hook, None, &fired)[0].entry;
    assert_eq!(
        (first.summary.as_str(), first.link.as_deref()),
        ("Über 5 %", Some("http://prom/graph"))
    );
    let many: Vec<Value> = (0..300)
        .map(|at| alert("firing", "low", &at.to_string()))
        .collect();
    assert_eq!(read(&hook, None, &group(&many, 0)).len(), 100);
    assert_eq!(read(&hook, None, &json!({})).len(), 0);
}

/// Recorded from Alertmanager 0.25, where it is at hand.
#[test]
fn what_a_real_alertmanager_posted_is_read() {
    let folder =
        std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/corpus/webhooks");
    for (name, expected) in [
        (
            "firing",
            "critical\tincident\tHighErr (web1): 5xx > 5% [begins]",
        ),
        ("second", ""),
    ] {
        let Ok(recorded) =
            std::fs::read_to_string(folder.join(format!("alertmanager-{name}.http")))
        else {
            eprintln!("SKIPPED: no recorded posts are at hand");
            return;
        };
        let body = recorded
            .find("{\"receiver\"")
            .map(|at| &recorded[at..])
            .expect("a body");
        let told = posts(&webhook("alertmanager", ""), None, body.trim().as_bytes()).expect("read");
        assert!(!told.is_empty(), "{name}");
        assert!(
            expected.is_empty() || line(&told[0]) == expected,
            "{}",
            line(&told[0])
        );
    }
}

/// A resource, a body of it, and what is told.
fn sentrys() -> Vec<(&'static str, Value, &'static str)> {
    let event = |level: &str| {
        json!({"action": "triggered", "data": {"event": {"title": "TypeError: x", "level": level,
        "web_url": "https://sentry.example/1", "event_id": "e1"}, "triggered_rule": "Any error"}})
    };
    let issue = |action: &str, level: &str| json!({"action": action, "data": {"issue": {"id": "7", "title": "KeyError", "level": level}}});
    vec![
        (
            "event_alert",
            event("error"),
            "high\tincident\tTypeError: x",
        ),
        (
            "event_alert",
            event("fatal"),
            "critical\tincident\tTypeError: x",
        ),
        ("event_alert", event("info"), "low\tincident\tTypeError: x"),
        (
            "metric_alert",
            metric("critical"),
            "critical\tincident\tSlow [begins]",
        ),
        (
            "metric_alert",
            metric("resolved"),
            "low\tincident\tSlow [ends]",
        ),
        (
            "issue",
            issue("created", "error"),
            "normal\tincident\tKeyError [begins]",
        ),
        (
            "issue",
            issue("resolved", "error"),
            "low\tincident\tKeyError: resolved [ends]",
        ),
        (
            "issue",
            issue("assigned", "fatal"),
            "ignore\tincident\tKeyError: assigned",
        ),
        (
            "error",
            json!({"data": {"error": {"title": "Boom", "level": "error"}}}),
            "normal\tincident\tBoom",
        ),
        (
            "comment",
            json!({"action": "created", "data": {"project_slug": "app", "comment": "hm"}}),
            "low\tincident\ta comment was created in app",
        ),
        (
            "installation",
            json!({"action": "created"}),
            "low\toperations\tSentry: installation created",
        ),
    ]
}

fn metric(action: &str) -> Value {
    json!({"action": action, "data": {"description_title": "Slow", "description_text": "p95 > 2 s",
        "web_url": "https://sentry.example/2", "metric_alert": {"id": 5}}})
}

#[test]
fn sentry_tells_what_somebody_asked_for_and_what_it_sorts_itself() {
    let hook = webhook("sentry", "");
    for (resource, body, expected) in sentrys() {
        assert_eq!(
            lines(&hook, Some(resource), &body),
            [expected],
            "{resource}"
        );
    }
    let thread = |action: &str| {
        read(&hook, Some("metric_alert"), &metric(action))[0]
            .thread
            .clone()
    };
    assert_eq!(thread("critical"), thread("resolved"));
}

#[test]
fn any_json_is_told_by_its_paths_or_by_what_usually_is_where() {
    let hook = webhook("generic", "");
    assert_eq!(
        lines(
            &hook,
            None,
            &json!({"title": "It\nbroke", "level": "error"})
        ),
        ["high\tother\tIt broke"]
    );
    assert_eq!(
        lines(&hook, None, &json!({"msg": "hello"})),
        ["-\t-\thello"]
    );
    assert_eq!(
        lines(&hook, None, &json!([1, 2])),
        ["-\t-\tinfra posted something"]
    );
    assert_eq!(read(&hook, None, &json!([1, 2]))[0].entry.summary, "[1,2]");

    let hook = webhook(
        "generic",
        "fields = { title = 'check.name', link = 'links[0].href', severity = 'prio', id = 'check.id', state = 'state' }\n\
         ends = ['OK']\nseverities = { P1 = 'critical' }\n",
    );
    let check = |state: &str| {
        json!({"check": {"name": "disk", "id": 4}, "prio": "p1", "state": state,
        "links": [{"href": "https://example.org/4"}]})
    };
    assert_eq!(
        lines(&hook, None, &check("BAD")),
        ["critical\tother\tdisk [begins]"]
    );
    assert_eq!(
        lines(&hook, None, &check("ok")),
        ["low\tother\tdisk [ends]"]
    );
    let entry = &read(&hook, None, &check("BAD"))[0].entry;
    assert_eq!(entry.link.as_deref(), Some("https://example.org/4"));
}

#[test]
fn the_presets_know_their_programs() {
    let kuma = webhook("generic", "preset = 'uptime-kuma'\n");
    let beat = |status: u8| {
        json!({"heartbeat": {"monitorID": 3, "status": status, "time": "2026-12-01 08:00:00", "msg": "timeout"},
        "monitor": {"id": 3, "name": "shop", "url": "https://shop.example"}, "msg": "[shop] [Down] timeout"})
    };
    for (body, expected) in [
        (beat(0), "high\tincident\tshop is down [begins]"),
        (beat(1), "low\tincident\tshop is up again [ends]"),
        (beat(2), "ignore\tincident\tshop is not sure"),
        (
            json!({"heartbeat": null, "monitor": null, "msg": "Testing"}),
            "low\toperations\tTesting",
        ),
    ] {
        assert_eq!(lines(&kuma, None, &body), [expected]);
    }
    let thread = |status: u8| read(&kuma, None, &beat(status))[0].thread.clone();
    assert_eq!(thread(0), thread(1));

    let grafana = webhook("generic", "preset = 'grafana'\n");
    assert_eq!(
        lines(
            &grafana,
            None,
            &group(&[alert("firing", "critical", "1")], 0)
        ),
        ["critical\tincident\tHighErr (web1): 5xx > 5% [begins]"]
    );
    let change = webhook("generic", "preset = 'changedetection'\n");
    let body = json!({"version": "1.0", "title": "Prices", "message": "https://shop.example/a changed", "type": "info"});
    assert_eq!(lines(&change, None, &body), ["-\t-\tPrices"]);
    assert_eq!(
        read(&change, None, &body)[0].entry.link.as_deref(),
        Some("https://shop.example/a")
    );
}
