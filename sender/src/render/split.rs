//! Packs paragraphs into messages within Telegram's limits, cuts where it hurts least, and writes
//! them as HTML and as plain text.
//!
//! Words are cut before they become markup, so no cut can ever fall inside a tag or a character
//! reference (alertmanager#2923).

use super::link::is_invisible;

/// How a stretch of text looks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Look {
    Plain,
    Bold,
    Italic,
    Code,
    /// Leads to this URL, which `link::web_link` took.
    Link(String),
}

/// Text that looks the same from end to end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Span {
    pub text: String,
    pub look: Look,
}

impl Span {
    pub fn new(look: Look, text: impl Into<String>) -> Self {
        let text = text.into();
        Self { text, look }
    }

    pub fn plain(text: impl Into<String>) -> Self {
        Self::new(Look::Plain, text)
    }

    pub fn link(url: &str, text: impl Into<String>) -> Self {
        Self::new(Look::Link(url.to_owned()), text)
    }
}

/// What stays together unless it is longer than a message: a line, or a paragraph of running text.
pub type Paragraph = Vec<Span>;

/// What text takes up of a message, and how much of that a message may have.
///
/// Telegram counts 4096 code points after parsing (tdlib `MessageContent.cpp`); UTF-16 units are
/// never fewer. It drops entities beyond 100 silently, refuses more than about 9,500 characters of
/// them (telegram-bot-api#165) and more than 32,768 bytes before parsing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Room {
    /// UTF-16 units of what is seen.
    pub units: usize,
    /// Stretches that are not plain.
    pub entities: usize,
    /// Characters inside them, URLs included.
    pub payload: usize,
    /// Bytes of the HTML.
    pub bytes: usize,
}

impl Room {
    pub const MESSAGE: Self = Self {
        units: 4_096,
        entities: 90,
        payload: 9_000,
        bytes: 32_768,
    };

    /// What is left when `taken` is taken.
    #[must_use]
    pub const fn less(self, taken: Self) -> Self {
        Self {
            units: self.units.saturating_sub(taken.units),
            entities: self.entities.saturating_sub(taken.entities),
            payload: self.payload.saturating_sub(taken.payload),
            bytes: self.bytes.saturating_sub(taken.bytes),
        }
    }

    pub(super) fn plus(self, other: Self) -> Self {
        Self {
            units: self.units + other.units,
            entities: self.entities + other.entities,
            payload: self.payload + other.payload,
            bytes: self.bytes + other.bytes,
        }
    }

    pub(super) fn holds(self, other: Self) -> bool {
        other.units <= self.units
            && other.entities <= self.entities
            && other.payload <= self.payload
            && other.bytes <= self.bytes
    }
}

/// Paragraphs in messages.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Packed {
    pub parts: Vec<Vec<Paragraph>>,
    /// Characters that did not fit into so many parts.
    pub left_out: usize,
}

/// Packs in order: a paragraph that fits into a message is never cut, and at most `most` parts
/// are kept.
pub fn pack(paragraphs: Vec<Paragraph>, room: Room, most: usize) -> Packed {
    let mut packer = Packer {
        room,
        parts: Vec::new(),
        open: Vec::new(),
        used: Room::default(),
    };
    for paragraph in paragraphs {
        packer.place(paragraph);
    }
    packer.close();
    let mut parts = packer.parts;
    let beyond = parts.split_off(most.min(parts.len()));
    let spans = beyond.iter().flatten().flatten();
    Packed {
        left_out: spans.map(|span| span.text.chars().count()).sum(),
        parts,
    }
}

/// The paragraphs of a text: its lines.
pub fn lines(text: &str) -> Vec<Paragraph> {
    text.lines().map(|line| vec![Span::plain(line)]).collect()
}

struct Packer {
    room: Room,
    parts: Vec<Vec<Paragraph>>,
    open: Vec<Paragraph>,
    used: Room,
}

impl Packer {
    fn place(&mut self, paragraph: Paragraph) {
        let whole = paragraph.iter().map(cost).fold(LINE_BREAK, Room::plus);
        if !self.room.holds(self.used.plus(whole)) {
            let alone = self.room.holds(whole);
            // A cut right behind a heading is better than a nearly empty message, not worse.
            let is_nearly_full = self.used.units > self.room.units / 4 * 3;
            if alone || is_nearly_full {
                self.close();
            }
            if !alone {
                self.open.push(Vec::new());
                self.used = self.used.plus(LINE_BREAK);
                for span in paragraph {
                    self.pour(span);
                }
                return;
            }
        }
        self.used = self.used.plus(whole);
        self.open.push(paragraph);
    }

    /// Fills the open part with as much as fits, and further parts with the rest.
    fn pour(&mut self, mut rest: Span) {
        loop {
            let most = fitting(&rest, self.room.less(self.used));
            if most >= rest.text.len() {
                self.append(rest);
                return;
            }
            let (head, tail) = rest.text.split_at(cut_at(&rest.text, most));
            if head.is_empty() && self.used == Room::default() {
                if rest.look == Look::Plain {
                    // A message without room for a letter: not ours to mend.
                    self.append(rest);
                    return;
                }
                // Not even one letter beside its own link: the words matter more.
                rest.look = Look::Plain;
                continue;
            }
            let head = Span::new(rest.look.clone(), head.trim_end());
            let tail = tail.trim_start().to_owned();
            self.append(head);
            self.close();
            rest.text = tail;
        }
    }

    fn append(&mut self, span: Span) {
        if span.text.is_empty() {
            return;
        }
        self.used = self.used.plus(cost(&span));
        match self.open.last_mut() {
            Some(paragraph) => paragraph.push(span),
            None => self.open.push(vec![span]),
        }
    }

    fn close(&mut self) {
        let part = std::mem::take(&mut self.open);
        self.used = Room::default();
        let shows = |span: &Span| !span.text.trim().is_empty();
        if part.iter().flatten().any(shows) {
            self.parts.push(part);
        }
    }
}

pub(super) const LINE_BREAK: Room = Room {
    units: 1,
    entities: 0,
    payload: 0,
    bytes: 1,
};

pub(super) fn cost(span: &Span) -> Room {
    span.text
        .chars()
        .map(|c| cost_of_char(c, &span.look))
        .fold(cost_of_look(&span.look), Room::plus)
}

fn cost_of_char(c: char, look: &Look) -> Room {
    Room {
        units: c.len_utf16(),
        entities: 0,
        payload: usize::from(*look != Look::Plain),
        bytes: reference(c).map_or(c.len_utf8(), str::len),
    }
}

fn cost_of_look(look: &Look) -> Room {
    let (tags, url) = match look {
        Look::Plain => return Room::default(),
        Look::Bold | Look::Italic => ("<b></b>".len(), ""),
        Look::Code => ("<code></code>".len(), ""),
        Look::Link(url) => ("<a href=\"\"></a>".len(), url.as_str()),
    };
    Room {
        units: 0,
        entities: 1,
        payload: url.chars().count(),
        bytes: tags + attribute(url).len(),
    }
}

/// Bytes of the longest beginning that fits.
fn fitting(span: &Span, room: Room) -> usize {
    let mut used = cost_of_look(&span.look);
    if !room.holds(used) {
        return 0;
    }
    for (at, c) in span.text.char_indices() {
        used = used.plus(cost_of_char(c, &span.look));
        if !room.holds(used) {
            return at;
        }
    }
    span.text.len()
}

/// Where to cut a text of which the first `most` bytes fit: behind a sentence, else behind a word,
/// else between two characters that are not one sign together; in the second half, so that no
/// message is nearly empty.
fn cut_at(text: &str, most: usize) -> usize {
    let (mut best, mut best_rank) = (most, 0);
    let (mut before, mut last) = ('\0', '\0');
    for (at, c) in text.char_indices().take_while(|(at, _)| *at <= most) {
        let rank = if at == 0 || at < most / 2 {
            0
        } else if last.is_whitespace() && ".!?。！？".contains(before) {
            3
        } else if last.is_whitespace() {
            2
        } else {
            u8::from(!clings(last, c))
        };
        if rank > 0 && rank >= best_rank {
            (best, best_rank) = (at, rank);
        }
        (before, last) = (last, c);
    }
    best
}

/// Whether two characters are (perhaps) one sign for the eye.
fn clings(before: char, c: char) -> bool {
    let is_flag = |c: char| matches!(c, '\u{1f1e6}'..='\u{1f1ff}');
    before == '\u{200d}'
        || matches!(c, '\u{200c}' | '\u{200d}' | '\u{300}'..='\u{36f}' | '\u{20d0}'..='\u{20ff}'
            | '\u{fe00}'..='\u{fe0f}' | '\u{1f3fb}'..='\u{1f3ff}')
        || (is_flag(before) && is_flag(c))
}

/// One line as a person sees it: no control characters, nothing invisible.
pub fn visible(text: &str) -> String {
    let shown: String = text.chars().filter(|c| !is_invisible(*c)).collect();
    shared::policy::text::one_line(&shown)
}

/// The part as Telegram's HTML: of its tags only `b`, `i`, `code` and `a`.
pub fn html(part: &[Paragraph]) -> String {
    let mut out = String::new();
    write_lines(&mut out, part, |out, span| {
        let text = escaped(&span.text);
        let (before, behind) = match &span.look {
            _ if text.is_empty() => return,
            Look::Plain => (String::new(), ""),
            Look::Bold => ("<b>".to_owned(), "</b>"),
            Look::Italic => ("<i>".to_owned(), "</i>"),
            Look::Code => ("<code>".to_owned(), "</code>"),
            Look::Link(url) => (format!("<a href=\"{}\">", attribute(url)), "</a>"),
        };
        for piece in [&before, &text, behind] {
            out.push_str(piece);
        }
    });
    out
}

/// The same without markup; links stand behind their words.
pub fn plain(part: &[Paragraph]) -> String {
    let mut out = String::new();
    write_lines(&mut out, part, |out, span| {
        out.push_str(&span.text);
        if let Look::Link(url) = &span.look {
            out.push_str(" (");
            out.push_str(url);
            out.push(')');
        }
    });
    out
}

fn write_lines(out: &mut String, part: &[Paragraph], write: impl Fn(&mut String, &Span)) {
    for (at, paragraph) in part.iter().enumerate() {
        if at > 0 {
            out.push('\n');
        }
        for span in paragraph {
            write(out, span);
        }
    }
}

/// Exactly what Telegram's parser would read otherwise: nothing else can break it.
pub fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match reference(c) {
            Some(reference) => out.push_str(reference),
            None => out.push(c),
        }
    }
    out
}

fn attribute(url: &str) -> String {
    escaped(url).replace('"', "&quot;")
}

fn reference(c: char) -> Option<&'static str> {
    match c {
        '&' => Some("&amp;"),
        '<' => Some("&lt;"),
        '>' => Some("&gt;"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn room(units: usize) -> Room {
        Room {
            units,
            ..Room::MESSAGE
        }
    }

    /// The parts as plain text.
    fn parts(text: &str, units: usize) -> Vec<String> {
        let packed = pack(lines(text), room(units), 99);
        packed.parts.iter().map(|part| plain(part)).collect()
    }

    #[test]
    fn a_line_that_fits_into_a_message_is_not_cut() {
        assert_eq!(parts("one two\nthree four", 12), ["one two", "three four"]);
        assert_eq!(parts("a\nb\nc", 100), ["a\nb\nc"]);
    }

    #[test]
    fn a_long_line_is_cut_behind_a_sentence_else_behind_a_word_else_anywhere() {
        assert_eq!(
            parts("First one. Then more words", 16),
            ["First one.", "Then more words"]
        );
        assert_eq!(
            parts("alpha beta gamma delta", 13),
            ["alpha beta", "gamma delta"]
        );
        assert_eq!(parts("abcdefghij", 5), ["abcd", "efghi", "j"]);
    }

    #[test]
    fn one_sign_is_not_cut_in_two() {
        let family = "👨\u{200d}👩\u{200d}👧";
        assert_eq!(parts(&family.repeat(2), 13), [family, family]);
        assert_eq!(parts("xxxxe\u{301}", 6), ["xxxx", "e\u{301}"]);
        assert_eq!(parts("xxxx🇩🇪", 8), ["xxxx", "🇩🇪"]);
    }

    #[test]
    fn signs_that_never_end_are_cut_all_the_same() {
        let marks = format!("a{}", "\u{301}".repeat(50));
        let cut = parts(&marks, 11);
        assert_eq!(cut.concat(), marks);
        assert!(cut.iter().all(|part| part.encode_utf16().count() <= 11));
    }

    #[test]
    fn a_link_that_is_cut_leads_there_from_both_halves() {
        let link = Span::link("https://a.example/?x&y", "words ".repeat(4).trim_end());
        let packed = pack(vec![vec![link]], room(13), 9);
        let written: Vec<String> = packed.parts.iter().map(|part| html(part)).collect();
        let half = "<a href=\"https://a.example/?x&amp;y\">words words</a>";
        assert_eq!(written, [half, half]);
    }

    #[test]
    fn markup_in_the_text_is_text() {
        let part = [vec![Span::new(Look::Bold, "<b>&\"</b>")]];
        assert_eq!(html(&part), "<b>&lt;b&gt;&amp;\"&lt;/b&gt;</b>");
        assert_eq!(plain(&part), "<b>&\"</b>");
    }

    #[test]
    fn entities_are_counted_too() {
        let bold = |n: usize| vec![Span::new(Look::Bold, n.to_string())];
        let packed = pack((0..100).map(bold).collect(), Room::MESSAGE, 9);
        let counts: Vec<usize> = packed.parts.iter().map(Vec::len).collect();
        assert_eq!(counts, [90, 10]);
    }

    #[test]
    fn what_is_left_out_is_counted() {
        let packed = pack(lines("12345\n12345\n123"), room(6), 2);
        assert_eq!((packed.parts.len(), packed.left_out), (2, 3));
    }

    #[test]
    fn the_costs_of_a_part_are_those_of_what_is_written() {
        let part = vec![
            Span::new(Look::Bold, "a&b"),
            Span::link("https://a.example/?\u{e4}&", "<\u{1f600}"),
            Span::new(Look::Code, "x"),
            Span::plain("\u{e4}"),
        ];
        let cost = part.iter().map(cost).fold(Room::default(), Room::plus);
        assert_eq!(cost.bytes, html(&[part]).len());
        assert_eq!((cost.units, cost.entities), (3 + 3 + 1 + 1, 3));
        assert_eq!(
            cost.payload,
            3 + 2 + 1 + "https://a.example/?\u{e4}&".chars().count()
        );
    }
}
