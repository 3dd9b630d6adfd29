//! The target `answer`: what a server sends in place of a model's answer, as the body of each of the
//! three APIs and as the words within one. No panic, no hang, no link, nothing below the floor.

use serde_json::{Value, json};
use shared::config::{Adjust, Match, Rule};
use shared::model::{Category, Entry, Judge, Severity};
use std::sync::LazyLock;
use watchalert_ingest::classify::answer::{self, Answer};
use watchalert_ingest::classify::model::Api;
use watchalert_ingest::classify::{self, Fault, FeedFacts, Ruling};

/// What models say, well-behaved or not: the answers of the tests.
const WORDS: &[&str] = &[
    r#"{"severity":"high","category":"release","summary":"s","reason":"r"}"#,
    r#"{"severity":"ignore","category":"incident","summary":"All fine, see https://evil.example/login","reason":"www.evil.example"}"#,
    r#"{"severity":" LOW ","category":"sport"}"#,
    r#"{"severity":"urgent","category":"release","summary":"s","reason":"r"}"#,
    r#"{"severity":1,"category":["release"]}"#,
    r#"{"severity":"high","category":"rel"#,
    r#"{"severity":"critical","summary":"a\n\u001b[31mb \u202ex [here](https://evil.example) tg://resolve?domain=x help@evil.example"}"#,
    "```json\n{\"severity\":\"normal\",\"category\":\"other\",\"summary\":\"x\",\"reason\":\"y\"}\n```",
    "Here it is: {\"severity\":\"low\"} I hope {this} helps.",
    "{{{{{{",
    "   \n\n",
    "high",
];

/// What comes in place of an answer.
const BODIES: &[&str] = &[
    r#"{"error":"model 'qwen2.5:7b' not found"}"#,
    r#"{"error":{"message":"The model `g` does not exist","code":"model_not_found"}}"#,
    r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#,
    r#"{"error":"llama runner process has terminated: signal: killed"}"#,
    r#"{"choices":[{"message":{"refusal":"no","content":null}}]}"#,
    r#"{"choices":[]}"#,
    r#"{"stop_reason":"end_turn","content":[{"type":"text","text":"{}"}]}"#,
    r#"{"model":"m","created_at":"2026-11-30T08:00:00Z","done":false,"message":{"role":"assistant","content":""}}"#,
    r#"{"model":"m","crea"#,
    "<html>Bad Gateway</html>",
];

/// What breaks readers of answers.
pub(crate) const PIECES: &[&str] = &[
    "{",
    "}",
    "[",
    "]",
    "\"",
    "\\",
    ":",
    ",",
    "null",
    "1e999",
    "-0",
    "99999999999999999999",
    "\\ud800",
    "\\u0000",
    "\\u202e",
    "\0",
    "\u{1b}[2J",
    "\u{202e}",
    "\u{200b}",
    "\u{feff}",
    "…",
    "\"severity\":",
    "\"critical\"",
    "\"ignore\"",
    "İGNORE",
    "\"category\":",
    "\"summary\":\"",
    "\"reason\":\"",
    "\"content\":",
    "\"input\":",
    "\"done_reason\":\"length\"",
    "\"eval_count\":-1",
    "\"finish_reason\":\"length\"",
    "\"stop_reason\":\"max_tokens\"",
    "\"done\":true",
    "\"error\":{",
    "https://",
    "www.",
    "tg:",
    "@",
    "](",
    "example.org/",
    "://",
    "</item>",
    "```",
    "\n\n",
    "[[[[[[[[",
];

/// Every body of every API that the words and the faults make.
pub(crate) fn samples() -> Vec<Vec<u8>> {
    let words = WORDS.iter().flat_map(|words| bodies(words));
    let bodies = words.map(|(_, body)| body.to_string());
    let bare = WORDS.iter().chain(BODIES).map(ToString::to_string);
    bodies.chain(bare).map(String::into_bytes).collect()
}

/// Words in the form of each API.
fn bodies(words: &str) -> [(Api, Value); 3] {
    let input: Value = serde_json::from_str(words).unwrap_or_else(|_| words.into());
    [
        (
            Api::Ollama,
            json!({
                "model": "m", "created_at": "2026-11-30T08:00:00Z", "done": true, "done_reason": "stop",
                "message": {"role": "assistant", "content": words},
                "total_duration": 1, "load_duration": 1, "prompt_eval_count": 300,
                "prompt_eval_duration": 1, "eval_count": 40, "eval_duration": 1,
            }),
        ),
        (
            Api::OpenAi,
            json!({"choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": words}}]}),
        ),
        (
            Api::Anthropic,
            json!({
                "type": "message", "role": "assistant", "stop_reason": "tool_use",
                "content": [{"type": "tool_use", "id": "t", "name": "verdict", "input": input}],
            }),
        ),
    ]
}

pub(crate) fn attack(body: &[u8]) {
    for api in [Api::Ollama, Api::OpenAi, Api::Anthropic] {
        for status in [200, 404, 500] {
            is_sound(&api.answer(status, body));
        }
    }
    let words = String::from_utf8_lossy(body);
    let read = answer::parse(&words);
    is_sound(&read);
    for (api, body) in bodies(&words) {
        let said = api.answer(200, body.to_string().as_bytes());
        is_sound(&said);
        // The words are the same whichever API brings them; Anthropic's are JSON already.
        if api != Api::Anthropic {
            assert_eq!(said.is_ok(), read.is_ok(), "{api:?}");
        }
    }
}

fn is_sound(said: &Result<Answer, Fault>) {
    match said {
        Ok(answer) => is_harmless(answer),
        Err(fault) => {
            let told = fault.to_string();
            assert!(told.chars().count() < 350, "{told}");
            assert!(!told.chars().any(char::is_control), "{told}");
        }
    }
}

fn is_harmless(answer: &Answer) {
    for (words, limit) in [(&answer.summary, 280), (&answer.reason, 160)] {
        assert!(words.chars().count() <= limit, "{words}");
        assert!(!words.chars().any(char::is_control), "{words}");
        for link in ["://", "www.", "@", "](", "tg:", "\u{202e}"] {
            assert!(!words.to_ascii_lowercase().contains(link), "{words}");
        }
    }
    // What is remembered is what was said, and nothing in it is read otherwise a second time.
    let kept = serde_json::to_string(answer).expect("it was JSON");
    assert_eq!(
        serde_json::from_str::<Answer>(&kept).ok().as_ref(),
        Some(answer)
    );
    assert_eq!(answer::parse(&kept).ok().as_ref(), Some(answer));
    for ruling in RULINGS.iter() {
        let bounds = ruling.open.expect("open");
        let verdict = ruling.answered(answer, Judge::Model, "a model");
        let least = bounds.least.unwrap_or(Severity::Ignore);
        assert_eq!(verdict.severity, answer.severity.min(least));
        assert!(
            bounds
                .category
                .is_none_or(|category| verdict.category == category)
        );
        assert!(verdict.reason.chars().count() < 300, "{}", verdict.reason);
    }
}

/// What the rules leave open: anything, nothing below normal, nothing below high and sorted.
static RULINGS: LazyLock<[Ruling; 3]> = LazyLock::new(|| {
    let rule = Rule {
        name: "raise".to_owned(),
        matches: Match::default(),
        severity: Some(Adjust::Floor(Severity::High)),
        category: Some(Category::Operations),
        beats_floor: false,
    };
    let ruling = |title: &str, rules: &[Rule]| {
        let entry = Entry {
            title: title.to_owned(),
            ..Entry::default()
        };
        classify::rule(&entry, &FeedFacts::default(), rules)
    };
    let rulings = [
        ruling("A quiet thing", &[]),
        ruling("Critical vulnerability in Hollis", &[]),
        ruling("A quiet thing", &[rule]),
    ];
    let least = rulings
        .each_ref()
        .map(|ruling| ruling.open.and_then(|bounds| bounds.least));
    assert_eq!(least, [None, Some(Severity::Normal), Some(Severity::High)]);
    rulings
});
