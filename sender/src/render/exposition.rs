//! The text that Prometheus reads, version 0.0.4 of its format: families of numbers, each with its help
//! and its type.
//!
//! <https://prometheus.io/docs/instrumenting/exposition_formats/>

use std::fmt::Display;

pub const CONTENT_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// What a number may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Only grow.
    Counter,
    Gauge,
    Histogram,
    /// A sum and a count.
    Summary,
}

impl Kind {
    const fn name(self) -> &'static str {
        match self {
            Self::Counter => "counter",
            Self::Gauge => "gauge",
            Self::Histogram => "histogram",
            Self::Summary => "summary",
        }
    }
}

/// Labels of one number, each with its value.
pub type Labels<'a> = &'a [(&'a str, &'a str)];

/// A page that is being written.
#[derive(Clone, Debug, Default)]
pub struct Page(String);

impl Page {
    /// Begins a family; one without numbers leaves no line.
    pub fn family(&mut self, kind: Kind, name: &'static str, help: &str) -> Family<'_> {
        let kind = kind.name();
        let help = help.replace('\\', "\\\\").replace('\n', "\\n");
        let head = format!("# HELP {name} {help}\n# TYPE {name} {kind}\n");
        Family {
            text: &mut self.0,
            name,
            head,
        }
    }

    pub fn text(self) -> String {
        self.0
    }
}

/// A family that is being written.
#[derive(Debug)]
pub struct Family<'a> {
    text: &'a mut String,
    name: &'static str,
    /// Until the first number.
    head: String,
}

impl Family<'_> {
    pub fn number(&mut self, labels: Labels<'_>, value: impl Display) {
        self.line("", labels, value);
    }

    pub fn summary(&mut self, labels: Labels<'_>, sum: f64, count: i64) {
        self.line("_sum", labels, sum);
        self.line("_count", labels, count);
    }

    /// `counts` are those between a bound and the one before, by their bound; the last of `bounds` is
    /// infinite.
    pub fn histogram(
        &mut self,
        labels: Labels<'_>,
        bounds: &[f64],
        counts: &[(f64, i64)],
        sum: f64,
    ) {
        for bound in bounds {
            let within = counts.iter().filter(|(le, _)| le <= bound);
            let count: i64 = within.map(|(_, count)| count).sum();
            let bound = if bound.is_finite() {
                bound.to_string()
            } else {
                "+Inf".to_owned()
            };
            let labels = [labels, &[("le", &bound)]].concat();
            self.line("_bucket", &labels, count);
        }
        let count = counts.iter().map(|(_, count)| count).sum();
        self.summary(labels, sum, count);
    }

    fn line(&mut self, suffix: &str, labels: Labels<'_>, value: impl Display) {
        let labels: Vec<String> = labels
            .iter()
            .map(|(label, value)| format!("{label}=\"{}\"", escaped(value)))
            .collect();
        let labels = match labels.join(",") {
            none if none.is_empty() => none,
            labels => format!("{{{labels}}}"),
        };
        let line = format!("{}{suffix}{labels} {value}\n", self.name);
        self.text.push_str(&std::mem::take(&mut self.head));
        self.text.push_str(&line);
    }
}

/// The value of a label, between its quotes.
fn escaped(value: &str) -> String {
    value
        .replace('\\', "\\\\")
        .replace('"', "\\\"")
        .replace('\n', "\\n")
}
