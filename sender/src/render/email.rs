//! From a delivery to a mail: a subject of one line, the same text in plain and in simple HTML.

use super::link::web_link;
use super::sources;
use super::split::{escaped, visible};
use shared::model::{Alert, Priority, Severity};
use shared::policy::text::shorten;

/// So many alerts have room in one mail.
pub const DIGEST: usize = 200;
/// The most characters of a subject, its severity aside.
const SUBJECT: usize = 150;
const SHORT_ID: usize = 12;
/// A link that is longer leads nowhere.
const LINK: usize = 4_096;

/// How much of each field is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent {
    title: usize,
    source: usize,
    summary: usize,
    reason: usize,
    line: usize,
    raw: usize,
    has_html: bool,
}

impl Extent {
    pub const FULL: Self = Self {
        title: 1_000,
        source: 500,
        summary: 20_000,
        reason: 2_000,
        line: 160,
        raw: 100_000,
        has_html: true,
    };

    /// For a server that finds the whole too long.
    pub const SHORT: Self = Self {
        title: 300,
        source: 100,
        summary: 600,
        reason: 200,
        line: 80,
        raw: 4_000,
        has_html: false,
    };
}

/// A mail before it is put into letters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mail {
    /// One line, with severity and title.
    pub subject: String,
    pub text: String,
    /// `None` in a mail that had to be short.
    pub html: Option<String>,
}

/// One alert; `published` in words.
pub fn of_alert(alert: &Alert, published: Option<&str>, extent: Extent) -> Mail {
    let severity = alert.severity.name().to_uppercase();
    let title = title(alert, extent.title);
    let source = shorten(&visible(&sources(alert)), extent.source);
    let mut about = format!("{} · {source}", alert.category);
    if let Some(published) = published {
        about = format!("{about} · published {published}");
    }
    let summary: Vec<String> = shorten(&alert.summary, extent.summary)
        .lines()
        .map(visible)
        .filter(|line| !line.is_empty())
        .collect();
    let reason = shorten(&visible(&alert.reason), extent.reason);
    let why = format!("why: {reason} (judge: {})", alert.judge);
    let id = short_id(alert);
    let link = link(alert);

    let mut text = vec![format!("{severity} {title}"), about.clone()];
    text.extend(summary.iter().cloned());
    text.extend(link.clone());
    text.push(format!("{why}\n{id}"));
    let mut html = vec![
        format!("<b>{severity}</b> {}", linked(&title, link.as_deref())),
        escaped(&about),
    ];
    html.extend(summary.iter().map(|line| escaped(line)));
    html.extend(link.map(|link| linked(&link, Some(&link))));
    html.push(format!("{}<br>{}", escaped(&why), escaped(&id)));
    Mail {
        subject: subject(&severity, &title),
        text: text.join("\n\n") + "\n",
        html: extent.has_html.then(|| page(&paragraphs(&html))),
    }
}

/// Several alerts: a line for each with its link, grouped by severity, then by source.
pub fn of_digest(alerts: &[Alert], extent: Extent) -> Mail {
    let mut grouped: Vec<&Alert> = alerts.iter().collect();
    grouped.sort_by_key(|alert| (alert.severity.priority(), &alert.source));
    let gravest = grouped
        .first()
        .map_or(Severity::Low, |alert| alert.severity);
    let count = format!("{} alerts", alerts.len());
    let (mut text, mut html) = (vec![count.clone()], vec![count.clone()]);
    let mut group = None;
    for alert in &grouped {
        let of_this = Some((alert.severity, &alert.source));
        if group != of_this {
            let severity = alert.severity.name().to_uppercase();
            let source = shorten(&visible(&alert.source), extent.source);
            text.push(format!("\n{severity} · {source}"));
            html.push(format!("<b>{severity} · {}</b>", escaped(&source)));
            group = of_this;
        }
        let (title, id) = (title(alert, extent.line), short_id(alert));
        let link = link(alert);
        text.push(format!("- {title} {id}"));
        text.extend(link.iter().map(|link| format!("  {link}")));
        let shown = linked(&title, link.as_deref());
        html.push(format!("{shown} {}", escaped(&id)));
    }
    let first = grouped.first().map(|alert| title(alert, SUBJECT));
    let first = first.map_or_else(String::new, |first| format!(": {first}, …"));
    Mail {
        subject: subject(&gravest.name().to_uppercase(), &format!("{count}{first}")),
        text: text.join("\n") + "\n",
        html: extent.has_html.then(|| page(&paragraphs(&html))),
    }
}

/// What somebody else wrote, as text.
pub fn of_raw(text: &str, priority: Priority, extent: Extent) -> Mail {
    let shown = shorten(text, extent.raw);
    let lines: Vec<String> = shown.lines().map(visible).collect();
    let first = lines.iter().find(|line| !line.is_empty());
    let first = first.map_or("(no text)", String::as_str);
    let body = lines.join("\n") + "\n";
    Mail {
        subject: subject(&priority.name().to_uppercase(), first),
        html: extent
            .has_html
            .then(|| page(&format!("<pre>{}</pre>\n", escaped(&body)))),
        text: body,
    }
}

/// How many of so many alerts go into each of at most `most` mails.
pub fn sizes(alerts: usize, most: usize) -> Vec<usize> {
    let starts = (0..alerts).step_by(DIGEST).take(most);
    starts.map(|start| DIGEST.min(alerts - start)).collect()
}

fn subject(severity: &str, title: &str) -> String {
    format!("[{severity}] {}", shorten(title, SUBJECT))
}

fn title(alert: &Alert, most: usize) -> String {
    match shorten(&visible(&alert.title), most) {
        empty if empty.is_empty() => "(no title)".to_owned(),
        title => title,
    }
}

fn short_id(alert: &Alert) -> String {
    format!("#{}", shorten(&visible(&alert.short_id), SHORT_ID))
}

fn link(alert: &Alert) -> Option<String> {
    let link = alert.link.as_deref();
    link.map(|link| shorten(&visible(link), LINK))
}

/// The words, leading to `link` if that is one of the web; else the words alone.
fn linked(words: &str, link: Option<&str>) -> String {
    let words = escaped(words);
    match link.and_then(web_link) {
        Some(url) => format!("<a href=\"{}\">{words}</a>", escaped(url)),
        None => words,
    }
}

fn paragraphs(lines: &[String]) -> String {
    let paragraphs = lines.iter().map(|line| format!("<p>{line}</p>"));
    paragraphs.collect::<Vec<_>>().join("\n") + "\n"
}

fn page(body: &str) -> String {
    format!(
        "<!DOCTYPE html>\n<html><head><meta charset=\"utf-8\"></head><body>\n{body}</body></html>\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use shared::model::{Category, Judge};

    fn alert() -> Alert {
        Alert {
            v: Alert::VERSION,
            short_id: "a1b2c3".to_owned(),
            severity: Severity::Critical,
            category: Category::Vulnerability,
            title: "A <flaw>\r\nBcc: you@x.y \u{202e}in it".to_owned(),
            summary: "Patch now.\n\nOr else.".to_owned(),
            link: Some("https://example.org/1?a=b&c".to_owned()),
            source: "Example".to_owned(),
            also: vec!["Other".to_owned()],
            reason: "a rule".to_owned(),
            judge: Judge::Rule,
            published: None,
        }
    }

    #[test]
    fn an_alert_says_everything_in_both_forms() {
        let mail = of_alert(
            &alert(),
            Some("Mon, 30 Nov 2026 08:00:00 GMT"),
            Extent::FULL,
        );
        assert_eq!(mail.subject, "[CRITICAL] A <flaw> Bcc: you@x.y in it");
        assert_eq!(
            mail.text,
            "CRITICAL A <flaw> Bcc: you@x.y in it\n\n\
             vulnerability · Example, also in Other · published Mon, 30 Nov 2026 08:00:00 GMT\n\n\
             Patch now.\n\nOr else.\n\nhttps://example.org/1?a=b&c\n\n\
             why: a rule (judge: rule)\n#a1b2c3\n"
        );
        let html = mail.html.expect("both forms");
        assert!(
            html.contains(
                "<p><b>CRITICAL</b> <a href=\"https://example.org/1?a=b&amp;c\">A &lt;flaw&gt; Bcc: you@x.y in it</a></p>"
            ),
            "{html}"
        );
        assert!(html.contains("<p>Or else.</p>"), "{html}");
    }

    #[test]
    fn a_link_that_is_none_of_the_web_is_shown_and_leads_nowhere() {
        let odd = Alert {
            link: Some("javascript:alert(1)".to_owned()),
            ..alert()
        };
        let mail = of_alert(&odd, None, Extent::FULL);
        assert!(mail.text.contains("\njavascript:alert(1)\n"));
        assert!(!mail.html.expect("both forms").contains("href"));
    }

    #[test]
    fn a_short_mail_has_less_of_everything_and_its_link_whole() {
        let long = Alert {
            title: "t".repeat(2_000),
            summary: "s".repeat(50_000),
            link: Some(format!("https://example.org/{}", "l".repeat(900))),
            ..alert()
        };
        let mail = of_alert(&long, None, Extent::SHORT);
        assert_eq!(mail.html, None);
        assert!(mail.text.len() < 2_600, "{}", mail.text.len());
        assert!(mail.text.contains(&long.link.expect("a link")));
    }

    #[test]
    fn a_digest_is_grouped_and_each_of_two_hundred_has_its_link() {
        let of = |n: usize, severity| Alert {
            severity,
            title: format!("Story {n}"),
            link: Some(format!("https://example.org/{n}")),
            short_id: format!("{n:06x}"),
            also: Vec::new(),
            ..alert()
        };
        let mail = of_digest(&[of(1, Severity::Low), of(2, Severity::High)], Extent::FULL);
        assert_eq!(mail.subject, "[HIGH] 2 alerts: Story 2, …");
        assert_eq!(
            mail.text,
            "2 alerts\n\nHIGH · Example\n- Story 2 #000002\n  https://example.org/2\n\n\
             LOW · Example\n- Story 1 #000001\n  https://example.org/1\n"
        );
        let all: Vec<Alert> = (0..200).map(|n| of(n, Severity::Normal)).collect();
        let mail = of_digest(&all, Extent::FULL);
        assert_eq!(mail.text.matches("https://example.org/").count(), 200);
        let html = mail.html.expect("both forms");
        assert_eq!(html.matches("href=\"https://example.org/").count(), 200);
    }

    #[test]
    fn a_mail_holds_two_hundred_and_no_more_mails_are_made_than_allowed() {
        assert_eq!(sizes(0, 3), [0_usize; 0]);
        assert_eq!(sizes(200, 3), [200]);
        assert_eq!(sizes(450, 3), [200, 200, 50]);
        assert_eq!(sizes(900, 3), [200, 200, 200]);
    }

    #[test]
    fn a_raw_text_keeps_its_lines_and_names_itself_by_the_first() {
        let mail = of_raw("\n*one*\n  two \u{7}\n", Priority::High, Extent::FULL);
        assert_eq!(mail.subject, "[HIGH] *one*");
        assert_eq!(mail.text, "\n*one*\ntwo\n");
    }
}
