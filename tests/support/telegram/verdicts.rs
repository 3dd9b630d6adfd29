//! Our three parsers against the recorded verdicts of Telegram's own: text, entities and complaints.

use super::entity::{Entity, keep_the_first};
use super::{html, markdown, markdown_v2};
use serde_json::{Value, json};

/// By `record_parsing.py` beside it.
const RECORDED: &str = include_str!("../../fixtures/telegram/parsing.jsonl");

#[test]
fn our_parsers_say_what_telegrams_says() {
    let mut compared = 0;
    let mut differences = Vec::new();
    for line in RECORDED.lines() {
        let theirs: Value = serde_json::from_str(line).unwrap();
        let ours = verdict(
            theirs["mode"].as_str().unwrap(),
            theirs["text"].as_str().unwrap(),
        );
        if ours != theirs {
            differences.push(format!("ours   {ours}\ntheirs {theirs}"));
        }
        compared += 1;
    }
    assert!(compared > 400, "{compared}");
    let count = differences.len();
    differences.truncate(10);
    assert!(
        count == 0,
        "{count} of {compared} differ:\n{}",
        differences.join("\n")
    );
}

fn verdict(mode: &str, text: &str) -> Value {
    let parsed = match mode {
        "HTML" => html::parse(text),
        "Markdown" => markdown::parse(text),
        _ => markdown_v2::parse(text),
    };
    match parsed {
        Err(why) => {
            json!({"mode": mode, "text": text, "error": format!("Can't parse entities: {why}")})
        }
        Ok((parsed, entities)) => {
            let entities: Vec<Value> = entities.iter().map(told).collect();
            json!({"mode": mode, "text": text, "parsed": parsed, "entities": entities})
        }
    }
}

fn told(entity: &Entity) -> Value {
    json!([entity.style.name(), entity.offset, entity.length])
}

#[test]
fn the_first_hundred_are_links_before_bold() {
    let (_, mut entities) = html::parse(&format!(
        "{}{}",
        "<b>b</b> ".repeat(80),
        "<a href=\"https://e.org\">l</a> ".repeat(40)
    ))
    .unwrap();
    assert_eq!(keep_the_first(&mut entities), 20);
    let bold = entities
        .iter()
        .filter(|entity| entity.style.name() == "bold");
    assert_eq!((bold.count(), entities.len()), (60, 100));
    assert!(entities.is_sorted_by_key(|entity| entity.offset));
}
