//! Alerts that are hard to bring: what each of them must look like where it arrives, told from the alert
//! alone and not by what renders it.

use crate::ntfy::Published;
use crate::smtp::Seen;
use crate::telegram::Message;
use shared::model::{Alert, Category, Judge, Severity};

/// The longest text that ntfy keeps as a message, in bytes; a longer one is cut and says by how much.
const NTFY: usize = 3_800;

/// Each with a number, a title and a summary of its own.
pub fn alerts() -> Vec<Alert> {
    let lines = |line: &dyn Fn(usize) -> String, count: usize| {
        let lines: Vec<String> = (1..=count).map(line).collect();
        lines.join("\n")
    };
    let address = |n| format!("https://links.example/{n:03}?a={n}&b=c_d#e");
    let texts = [
        ("\u{1f9d1}\u{200d}\u{1f4bb} \u{1f1e9}\u{1f1ea} \u{1f44d}\u{1f3fd} \u{2764}\u{fe0f} 1\u{fe0f}\u{20e3}", "\u{1f980}\u{1f980} crab".to_owned()),
        ("Ärger — „naïve“ … ‚ß‘ – ½", "Straße — œuvre — Ελληνικά — Київ".to_owned()),
        ("火山の噴火", "火".repeat(1_400)),
        ("<b>&amp;</b> *x* _y_ [a](b) `c` {{.D}} \\n %s", "</b></a> <script>alert('1')</script> & &lt; &#60; ||spoiler|| ~~~\n-- \n\"quoted\" ' =?utf-8?q?=41?= =41".to_owned()),
        ("A very long text", lines(&|n| format!("Sentence {n:04} of a text that is longer than any message may be."), 180)),
        ("A long text of signs that count twice", lines(&|n| format!("{n:03} {}", "\u{1f980}".repeat(60)), 80)),
        ("أُصدر تحديث \u{202e}أمني\u{202c} عاجل", "שלום \u{2067}עולם\u{2069} (CVE-2026-1234) نص".to_owned()),
        ("Two\r\nlines\nand\u{2028}a header\r\nBcc: you@x.example", "a\r\n.\r\nb\r\n..c\r\nQUIT\r\nSubject: other".to_owned()),
        ("Many links", lines(&|n| address(n), 120)),
        ("\u{0}nul \u{1b}[31mred\u{7} \u{85}\u{9b}2J", "a\u{0}b\u{8}c\u{1b}]0;t\u{7}d\u{7f}\u{fffd}".to_owned()),
        ("One line without an end", "x".repeat(3_000)),
        ("Nothing but a title", String::new()),
    ];
    let alert = |(number, (title, summary)): (usize, (&str, String))| Alert {
        v: Alert::VERSION,
        short_id: format!("d0{number:04}"),
        severity: Severity::ALL[number % 4],
        category: Category::ALL[number % Category::ALL.len()],
        title: title.to_owned(),
        summary,
        link: Some(format!(
            "https://news.example/{number}?q=a%20b&c=d#e-{number}"
        )),
        source: "Straßen & <Wege>".to_owned(),
        also: Vec::new(),
        reason: "it says \"now\" & <here>".to_owned(),
        judge: Judge::Rule,
        published: None,
    };
    texts.into_iter().enumerate().map(alert).collect()
}

/// What is left of a text for whoever compares it: no white space, nothing that shows nothing.
pub fn squeezed(text: &str) -> String {
    let hides = |c: char| {
        c.is_whitespace()
            || c.is_control()
            || matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}')
    };
    text.chars().filter(|c| !hides(*c)).collect()
}

/// They stand in it, in this order, each of them once as a whole.
fn holds_in_order(text: &str, pieces: &[&str]) {
    let text = squeezed(text);
    let mut rest = text.as_str();
    for piece in pieces.iter().map(|piece| squeezed(piece)) {
        let found = rest.split_once(piece.as_str());
        rest = found
            .unwrap_or_else(|| panic!("{piece:?} is not in {rest:?}"))
            .1;
    }
}

fn severity(alert: &Alert) -> String {
    alert.severity.name().to_uppercase()
}

fn number(alert: &Alert) -> String {
    format!("#{}", alert.short_id)
}

/// One message or several, which together are the alert, once.
///
/// # Panics
/// When anything of it is missing, or there twice.
pub fn telegram_shows(alert: &Alert, messages: &[Message]) {
    let of = messages.len();
    assert!(of > 0, "{} did not arrive", alert.title);
    let mut whole = String::new();
    for (at, message) in messages.iter().enumerate() {
        let mut text = message.text.as_str();
        assert!(text.encode_utf16().count() <= 4_096 && message.entities_dropped == 0);
        if of > 1 {
            let numbered = format!("({}/{of}) ", at + 1);
            text = text.strip_prefix(&numbered).expect("its place");
        }
        if at > 0 {
            let named = format!("{} ", number(alert));
            text = text.strip_prefix(&named).expect("whose part it is");
        }
        whole += text;
        whole += "\n";
    }
    let (severity, number) = (severity(alert), number(alert));
    let pieces = [
        severity.as_str(),
        &alert.title,
        alert.category.name(),
        &alert.source,
        &alert.summary,
        &alert.reason,
        &number,
    ];
    holds_in_order(&whole, &pieces);
    assert_eq!(whole.matches(&number).count(), 1, "{whole}");
    let once = squeezed(&alert.title);
    assert_eq!(squeezed(&whole).matches(&once).count(), 1, "{whole}");
    let link = alert.link.as_deref().expect("a link");
    let links = messages.iter().flat_map(|message| &message.entities);
    let led = links.filter(|entity| entity.detail == link).count();
    assert_eq!(led, 1, "{link}");
}

/// One notification, which leads to the page; a text that is too long for one says how much is missing.
///
/// # Panics
/// When anything else of it is missing.
pub fn ntfy_shows(alert: &Alert, one: &Published) {
    assert!(!one.is_attachment && one.message.len() < 4_096);
    let number = number(alert);
    holds_in_order(&one.title, &[&severity(alert), &alert.title]);
    let (category, source) = (alert.category.name(), alert.source.as_str());
    if alert.summary.len() <= NTFY {
        let pieces = [category, source, &alert.summary, &alert.reason, &number];
        holds_in_order(&one.message, &pieces);
        assert!(!one.message.contains("cut here"), "{}", one.message);
    } else {
        holds_in_order(
            &one.message,
            &[category, source, "[cut here", &alert.reason, &number],
        );
        let (_, shown) = one.message.split_once('\n').expect("a line about it");
        let (shown, rest) = shown.split_once(" [cut here, ").expect("it is cut");
        let left_out = rest.split_once(" characters more]").expect("by how much").0;
        assert!(alert.summary.starts_with(shown), "{shown}");
        let all = shown.chars().count() + left_out.parse::<usize>().expect("a number");
        assert_eq!(all, alert.summary.chars().count());
        assert!(
            shown.len() > 3_500,
            "as much as there is room for: {}",
            shown.len()
        );
    }
    assert_eq!(one.message.matches(&number).count(), 1);
    let link = alert.link.as_deref();
    assert_eq!(one.click.as_deref(), link);
    assert_eq!(one.actions.len(), 1);
    assert_eq!(one.actions[0]["url"].as_str(), link);
}

/// One mail with all of it in both forms.
///
/// # Panics
/// When anything of it is missing.
pub fn mail_shows(alert: &Alert, mail: &Seen) {
    let (severity, number) = (severity(alert), number(alert));
    let title = squeezed(&alert.title);
    assert_eq!(squeezed(&mail.subject), format!("[{severity}]{title}"));
    let link = alert.link.as_deref().expect("a link");
    let judged = alert.judge.to_string();
    let pieces = [
        severity.as_str(),
        &alert.title,
        alert.category.name(),
        &alert.source,
        &alert.summary,
        link,
        &alert.reason,
        &judged,
        &number,
    ];
    holds_in_order(&mail.plain, &pieces);
    assert_eq!(mail.plain.matches(&number).count(), 1);
    assert_eq!(mail.plain.matches(link).count(), 1);
    let shown = unescaped(&mail.html);
    holds_in_order(&shown, &pieces);
    let led = format!("href=\"{link}\"");
    assert_eq!(shown.matches(&led).count(), 2, "by its title and by itself");
    assert!(!mail.html.contains("<script"), "{}", mail.html);
}

/// Lines in place of paragraphs; what was written as text stands there as it was.
fn unescaped(html: &str) -> String {
    let text = html.replace("</p>", "").replace("<p>", "");
    let text = text.replace("&lt;", "<").replace("&gt;", ">");
    text.replace("&quot;", "\"").replace("&amp;", "&")
}
