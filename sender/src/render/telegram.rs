//! From an alert to what a Telegram chat shows, in as many messages as it needs.

use super::link::web_link;
use super::sources;
use super::split::{self, Look, Paragraph, Room, Span, pack, visible};
use shared::model::{Alert, Severity};
use shared::policy::text::shorten;

/// The most messages for one alert; what is longer is cut, says so, and links to the rest.
pub const PARTS: usize = 5;
/// Stands first of all in what may have arrived before.
pub const REPEAT: &str = "(possible repeat) ";

/// The most characters of each field; a summary may fill the parts.
const TITLE: usize = 1_000;
const SOURCE: usize = 200;
const REASON: usize = 1_000;
const SHORT_ID: usize = 12;
const NO_LINK: usize = 2_048;

/// What is added to a part after packing: the mark, the number, the words about the rest with
/// their link, in which a character can become five bytes.
pub(super) const ADDED: Room = Room {
    units: 160,
    entities: 1,
    payload: 2_200,
    bytes: 11_000,
};

/// One message, in both forms.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Post {
    pub html: String,
    /// For when the HTML is refused. Longer than the HTML, for links are spelled out.
    pub plain: String,
}

/// The messages for one alert, each within [`Room::MESSAGE`] with [`REPEAT`] before it: a repeat
/// has the same parts.
pub fn render(alert: &Alert) -> Vec<Post> {
    let id = short_id(alert);
    let packed = pack(paragraphs(alert, &id), Room::MESSAGE.less(ADDED), PARTS);
    let of = packed.parts.len();
    let mut posts = Vec::new();
    for (at, mut part) in packed.parts.into_iter().enumerate() {
        let number = at + 1;
        if number == of && packed.left_out > 0 {
            part.push(rest(packed.left_out, alert.link.as_deref()));
        }
        let mut opening = String::new();
        if of > 1 {
            opening.push_str(&numbered(number, of));
        }
        if number > 1 {
            opening.push_str(&id);
            opening.push(' ');
        }
        if let Some(first) = part.first_mut() {
            first.insert(0, Span::plain(opening));
        }
        posts.push(Post {
            html: split::html(&part),
            plain: split::plain(&part),
        });
    }
    posts
}

/// `#a1b2c3`
pub(super) fn short_id(alert: &Alert) -> String {
    format!("#{}", shorten(&visible(&alert.short_id), SHORT_ID))
}

/// `(1/3) `
pub fn numbered(part: usize, of: usize) -> String {
    format!("({part}/{of}) ")
}

fn paragraphs(alert: &Alert, id: &str) -> Vec<Paragraph> {
    let link = alert.link.as_deref().map(|link| (web_link(link), link));
    let title = match shorten(&visible(&alert.title), TITLE) {
        empty if empty.is_empty() => "(no title)".to_owned(),
        title => title,
    };
    let title = match link {
        Some((Some(url), _)) => Span::link(url, title),
        _ => Span::new(Look::Bold, title),
    };
    let severity = alert.severity.name().to_uppercase();
    let heading = format!("{} {severity}", marker(alert.severity));
    let source = shorten(&visible(&sources(alert)), SOURCE);
    let mut all = vec![
        vec![Span::new(Look::Bold, heading), Span::plain(" "), title],
        vec![Span::plain(format!("{} · {source}", alert.category))],
    ];
    let summary = alert.summary.lines().map(visible);
    let summary = summary.filter(|line| !line.is_empty());
    all.extend(summary.map(|line| vec![Span::plain(line)]));
    if let Some((None, text)) = link {
        all.push(vec![Span::plain(shorten(&visible(text), NO_LINK))]);
    }
    let reason = shorten(&visible(&alert.reason), REASON);
    if !reason.is_empty() {
        all.push(vec![Span::new(Look::Italic, format!("why: {reason}"))]);
    }
    all.push(vec![Span::plain(id)]);
    all
}

/// Geometry instead of emoji: the same on every phone, and read aloud as little.
pub(super) fn marker(severity: Severity) -> char {
    match severity {
        Severity::Critical => '\u{25a0}',
        Severity::High => '\u{25b2}',
        Severity::Normal => '\u{25cf}',
        Severity::Low | Severity::Ignore => '\u{25cb}',
    }
}

fn rest(left_out: usize, link: Option<&str>) -> Paragraph {
    let told = format!("[cut here, {left_out} characters more]");
    match link.and_then(web_link) {
        Some(url) => vec![
            Span::plain(format!("{told} ")),
            Span::link(url, "the whole"),
        ],
        None => vec![Span::plain(told)],
    }
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
            title: "A flaw in <b> & co".to_owned(),
            summary: "Patch now.\nOr later.".to_owned(),
            link: Some("https://example.org/1?a=b&c".to_owned()),
            source: "Example advisories".to_owned(),
            also: Vec::new(),
            reason: "the title says \"exploited\"".to_owned(),
            judge: Judge::Floor,
            published: None,
        }
    }

    fn only(alert: &Alert) -> Post {
        let posts = render(alert);
        assert_eq!(posts.len(), 1);
        posts[0].clone()
    }

    #[test]
    fn an_alert_says_how_grave_what_where_and_why() {
        let post = only(&alert());
        assert_eq!(
            post.html,
            "<b>\u{25a0} CRITICAL</b> <a href=\"https://example.org/1?a=b&amp;c\">A flaw in &lt;b&gt; &amp; co</a>\n\
             vulnerability · Example advisories\n\
             Patch now.\n\
             Or later.\n\
             <i>why: the title says \"exploited\"</i>\n\
             #a1b2c3"
        );
        assert_eq!(
            post.plain,
            "\u{25a0} CRITICAL A flaw in <b> & co (https://example.org/1?a=b&c)\n\
             vulnerability · Example advisories\n\
             Patch now.\n\
             Or later.\n\
             why: the title says \"exploited\"\n\
             #a1b2c3"
        );
    }

    #[test]
    fn each_severity_has_its_marker() {
        let first = |severity| {
            let post = only(&Alert {
                severity,
                ..alert()
            });
            post.plain
                .split_once(" A flaw")
                .map(|(start, _)| start.to_owned())
        };
        let shown: Vec<_> = Severity::ALL.iter().filter_map(|s| first(*s)).collect();
        let wanted = [
            "\u{25a0} CRITICAL",
            "\u{25b2} HIGH",
            "\u{25cf} NORMAL",
            "\u{25cb} LOW",
            "\u{25cb} IGNORE",
        ];
        assert_eq!(shown, wanted);
    }

    #[test]
    fn a_link_that_is_none_is_shown_as_text() {
        let mut bad = alert();
        bad.link = Some("javascript:alert('<1>')".to_owned());
        let post = only(&bad);
        assert!(post.html.contains("</b> <b>A flaw in"), "{}", post.html);
        assert!(
            post.html.contains("\njavascript:alert('&lt;1&gt;')\n"),
            "{}",
            post.html
        );
    }

    #[test]
    fn what_strangers_write_cannot_hide_or_turn_anything() {
        let mut bad = alert();
        bad.title = "\u{202e}\u{0}gnp\u{1b}[0m\r\n\u{feff}x\u{e0041}".to_owned();
        bad.source = "\u{2067}\u{7}".to_owned();
        let post = only(&bad);
        assert!(
            post.plain.starts_with("\u{25a0} CRITICAL gnp [0m x (https"),
            "{:?}",
            post.plain
        );
        assert!(
            post.plain.contains("\nvulnerability · \n"),
            "{:?}",
            post.plain
        );
        bad.title = "\u{200b}\n".to_owned();
        assert!(only(&bad).plain.contains("(no title)"));
    }

    #[test]
    fn a_long_summary_takes_numbered_parts_that_all_carry_the_id() {
        let mut long = alert();
        long.summary = "Words of one sentence. ".repeat(300);
        let posts = render(&long);
        assert_eq!(posts.len(), 2);
        assert!(
            posts[0].plain.starts_with("(1/2) \u{25a0} CRITICAL"),
            "{}",
            posts[0].plain
        );
        assert!(
            posts[1].plain.starts_with("(2/2) #a1b2c3 Words of"),
            "{}",
            posts[1].plain
        );
        assert!(posts[0].plain.ends_with("sentence."));
        assert!(posts[1].plain.ends_with("#a1b2c3"));
    }

    #[test]
    fn beyond_five_parts_the_rest_is_cut_told_and_linked() {
        let mut long = alert();
        long.summary = "Words of one sentence. ".repeat(3_000);
        let posts = render(&long);
        assert_eq!(posts.len(), PARTS);
        let last = &posts[PARTS - 1].html;
        let told = "characters more] <a href=\"https://example.org/1?a=b&amp;c\">the whole</a>";
        assert!(last.ends_with(told), "{last}");
        long.link = None;
        let last = &render(&long)[PARTS - 1].html;
        assert!(last.ends_with("characters more]"), "{last}");
    }
}
