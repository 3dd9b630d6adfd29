//! A JSON body that is asked for what may be in it: what is missing is nothing, and no text is longer
//! than a phone shows.

use serde_json::Value;
use shared::policy::text::{one_line, shorten};

/// Characters of a title, and of a text under it.
pub(super) const TITLE: usize = 300;
const TEXT: usize = 1_000;
/// Of one value within a title.
const PART: usize = 120;

/// One value of a body, and what stands under it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Payload<'v>(pub(super) &'v Value);

impl<'v> Payload<'v> {
    /// What stands at `path`, with dots between its steps; a number is a place in a list.
    pub(super) fn at(self, path: &str) -> Option<Payload<'v>> {
        let mut value = self.0;
        for step in path.split('.') {
            value = match value {
                Value::Object(object) => object.get(step)?,
                Value::Array(list) => list.get(step.parse::<usize>().ok()?)?,
                _ => return None,
            };
        }
        (!value.is_null()).then_some(Payload(value))
    }

    /// As it stands, numbers and flags as text too.
    pub(super) fn raw(self, path: &str) -> Option<String> {
        match self.at(path)?.0 {
            Value::String(text) => Some(text.clone()).filter(|text| !text.trim().is_empty()),
            Value::Number(number) => Some(number.to_string()),
            Value::Bool(flag) => Some(flag.to_string()),
            _ => None,
        }
    }

    /// One line, short enough for a title.
    pub(super) fn text(self, path: &str) -> Option<String> {
        let line = one_line(&self.raw(path)?);
        Some(shorten(line.trim(), PART)).filter(|text| !text.is_empty())
    }

    /// The same, and a dash where nothing is.
    pub(super) fn word(self, path: &str) -> String {
        self.text(path).unwrap_or_else(|| "–".to_owned())
    }

    /// Markdown or plain text, as plain text under a title.
    pub(super) fn prose(self, path: &str) -> String {
        let text = self.raw(path).unwrap_or_default();
        crate::feed::plain(&text, TEXT)
    }

    /// An address that a phone may open.
    pub(super) fn link(self, path: &str) -> Option<String> {
        let url = url::Url::parse(self.raw(path)?.trim()).ok()?;
        (matches!(url.scheme(), "http" | "https") && url.has_host()).then(|| url.into())
    }

    pub(super) fn flag(self, path: &str) -> bool {
        matches!(self.at(path), Some(Payload(Value::Bool(true))))
    }

    pub(super) fn list(self, path: &str) -> impl Iterator<Item = Payload<'v>> {
        let list = self.at(path).and_then(|found| found.0.as_array());
        list.into_iter().flatten().map(Payload)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_is_there_is_found_and_what_is_not_is_nothing() {
        let body =
            json!({"a": {"b": [{"c": "  two\nlines "}, 7, null]}, "yes": true, "empty": " "});
        let body = Payload(&body);
        assert_eq!(body.text("a.b.0.c").as_deref(), Some("two lines"));
        assert_eq!(body.text("a.b.1").as_deref(), Some("7"));
        for nothing in [
            "a.b.2", "a.b.3", "a.b.x", "a.c", "a", "a.b", "empty", "yes.no",
        ] {
            assert_eq!(body.text(nothing), None, "{nothing}");
        }
        assert!(body.flag("yes") && !body.flag("a") && !body.flag("no"));
        assert_eq!(body.list("a.b").count(), 3);
    }

    #[test]
    fn no_link_leads_anywhere_but_to_the_web() {
        let body =
            json!({"web": "https://example.org/a b", "js": "javascript:alert(1)", "path": "/a"});
        let body = Payload(&body);
        assert_eq!(
            body.link("web").as_deref(),
            Some("https://example.org/a%20b")
        );
        assert_eq!((body.link("js"), body.link("path")), (None, None));
    }
}
