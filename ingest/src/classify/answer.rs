//! What a model said, as far as it can be used: strict about the fixed lists, tolerant of what stands
//! around the JSON; pure.

use super::fault::{Fault, FaultKind};
use serde::{Deserialize, Serialize};
use serde_json::{Deserializer, Value, json};
use shared::model::{Category, Severity};
use shared::policy::text::{one_line, shorten};
use std::fmt::Display;

const SUMMARY_LIMIT: usize = 280;
const REASON_LIMIT: usize = 160;

/// An answer that can be used. Its words are a stranger's: shortened here, escaped where they are shown.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Answer {
    pub severity: Severity,
    pub category: Category,
    /// May be empty.
    pub summary: String,
    pub reason: String,
}

/// The schema of an answer, without references and without bounds: not every server knows those.
pub fn schema() -> Value {
    let text = json!({"type": "string"});
    let one_of = |names: Vec<&str>| json!({"type": "string", "enum": names});
    json!({
        "type": "object",
        "properties": {
            "severity": one_of(Severity::ALL.iter().map(|known| known.name()).collect()),
            "category": one_of(Category::ALL.iter().map(|known| known.name()).collect()),
            "summary": text,
            "reason": text,
        },
        "required": ["severity", "category", "summary", "reason"],
        "additionalProperties": false,
    })
}

/// Reads an answer.
///
/// # Errors
/// `BadOutput`: no JSON object, half of one, or a severity that is not on the list. A category that is
/// not on its list becomes `other`; missing words are empty.
pub fn parse(text: &str) -> Result<Answer, Fault> {
    let bad = |why: &dyn Display| Fault::new(FaultKind::BadOutput, why);
    let Some((_, object)) = text.split_once('{') else {
        return Err(bad(&"no JSON object in the answer"));
    };
    let object = format!("{{{object}");
    let mut values = Deserializer::from_str(&object).into_iter::<Value>();
    let value = match values.next() {
        Some(Ok(value)) => value,
        Some(Err(error)) => return Err(bad(&format!("the JSON is broken: {error}"))),
        None => return Err(bad(&"no JSON object in the answer")),
    };
    let word = |key: &str| value.get(key).and_then(Value::as_str).unwrap_or_default();
    let name = |key: &str| word(key).trim().to_ascii_lowercase();
    let severity = name("severity");
    Ok(Answer {
        severity: severity
            .parse()
            .map_err(|unknown| bad(&format!("the severity is no name of the list: {unknown}")))?,
        category: name("category").parse().unwrap_or(Category::Other),
        summary: shorten(&without_links(word("summary")), SUMMARY_LIMIT),
        reason: shorten(&without_links(word("reason")), REASON_LIMIT),
    })
}

/// One line, and no address in it: an alert's link is the feed's, never a model's.
fn without_links(text: &str) -> String {
    let line = one_line(text);
    let words = line.split(' ').filter(|word| !is_link(word));
    words.collect::<Vec<_>>().join(" ")
}

/// `…://…`, `www.…`, `a@b`, and a host with a path.
fn is_link(word: &str) -> bool {
    let word = word.to_ascii_lowercase();
    let host_and_path = word.split_once('/').is_some_and(|(host, _)| {
        host.trim_matches(|c: char| !c.is_alphanumeric())
            .contains('.')
    });
    word.contains("://")
        || word.contains("www.")
        || word.contains('@')
        || word.contains("](")
        || word.contains("tg:")
        || host_and_path
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const GOOD: &str = r#"{"severity":"high","category":"release","summary":"s","reason":"r"}"#;

    #[test]
    fn what_stands_around_the_object_does_not_matter() {
        for text in [
            GOOD.to_owned(),
            format!("  \n{GOOD}\n\n   "),
            format!("```json\n{GOOD}\n```"),
            format!("Here it is: {GOOD} I hope {{this}} helps."),
            GOOD.replace("high", " HIGH "),
        ] {
            let answer = parse(&text).expect(&text);
            assert_eq!(answer.severity, Severity::High, "{text}");
            assert_eq!(answer.category, Category::Release, "{text}");
        }
    }

    #[test]
    fn what_is_no_whole_object_with_a_known_severity_is_bad_output() {
        for text in [
            "",
            "      \n\n\n",
            "high",
            "[]",
            "{}",
            "<html><body>502</body></html>",
            r#"{"severity":"high","category":"rel"#,
            r#"{"severity":"urgent","category":"release","summary":"s","reason":"r"}"#,
            r#"{"severity":1,"category":"release"}"#,
            r#"{"severity":["high"]}"#,
            "{{{{{{",
        ] {
            assert_eq!(
                parse(text).unwrap_err().kind,
                FaultKind::BadOutput,
                "{text}"
            );
        }
    }

    #[test]
    fn an_unknown_category_is_other_and_missing_words_are_empty() {
        let answer = parse(r#"{"severity":"low","category":"sport"}"#).unwrap();
        assert_eq!(answer.category, Category::Other);
        assert_eq!((answer.summary.as_str(), answer.reason.as_str()), ("", ""));
    }

    #[test]
    fn no_link_of_a_model_s_survives() {
        for link in [
            "https://evil.example/x",
            "(http://evil.example)",
            "[here](https://evil.example)",
            "www.evil.example",
            "evil.example/patch",
            "tg://resolve?domain=x",
            "help@evil.example",
        ] {
            let said = GOOD.replace(r#":"s""#, &format!(r#":"Update {link} nginx 1.2.3 now""#));
            let answer = parse(&said).unwrap();
            assert_eq!(answer.summary, "Update nginx 1.2.3 now", "{link}");
        }
    }

    #[test]
    fn words_are_one_line_and_short() {
        let long = "x ".repeat(5_000);
        let said = GOOD.replace(r#":"s""#, &format!(r#":"a\n\u001b[31mb {long}""#));
        let summary = parse(&said).unwrap().summary;
        assert!(summary.starts_with("a [31mb x"));
        assert!((SUMMARY_LIMIT - 2..=SUMMARY_LIMIT).contains(&summary.chars().count()));
        assert!(summary.ends_with('…'));
    }

    #[test]
    fn the_schema_names_exactly_what_is_read() {
        let schema = schema();
        assert_eq!(schema["properties"]["severity"]["enum"][4], "ignore");
        assert_eq!(schema["properties"]["category"]["enum"][0], "vulnerability");
        assert_eq!(schema["required"].as_array().unwrap().len(), 4);
    }

    proptest! {
        #[test]
        fn no_text_at_all_panics(text in "\\PC{0,300}") {
            drop(parse(&text));
        }

        #[test]
        fn no_damage_to_an_answer_makes_more_of_it(cut in 0_usize..70, with in "[\\{\\}\"\\\\:,a-z\u{0}-\u{ff}]{0,6}", keep in any::<bool>()) {
            let mut damaged: String = GOOD.chars().take(cut).collect();
            damaged += &with;
            if keep {
                damaged.extend(GOOD.chars().skip(cut));
            }
            match parse(&damaged) {
                Ok(answer) => {
                    prop_assert!(answer.summary.chars().count() <= SUMMARY_LIMIT);
                    prop_assert!(!answer.summary.contains("://"));
                }
                Err(fault) => prop_assert_eq!(fault.kind, FaultKind::BadOutput),
            }
        }

        #[test]
        fn what_we_write_we_read(severity in 0_usize..5, category in 0_usize..6, summary in "[a-zäöü0-9 ]{0,200}") {
            let answer = Answer {
                severity: Severity::ALL[severity],
                category: Category::ALL[category],
                summary: one_line(&summary),
                reason: String::new(),
            };
            let text = serde_json::to_string(&answer).unwrap();
            prop_assert_eq!(parse(&text).unwrap(), answer);
        }
    }
}
