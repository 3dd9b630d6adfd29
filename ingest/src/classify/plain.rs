//! Text as the lists of words want it: letters without accents or disguise, one sentence at a time.

use crate::feed;
use crate::pattern::pattern;
use regex::Regex;
use std::sync::LazyLock;

/// What looks, or is read, like a Latin letter: accents, Turkish dots, Cyrillic and Greek doubles.
const LETTERS: &[(char, &str)] = &[
    ('a', "àáâãäåāăąаα"),
    ('b', "вβ"),
    ('c', "çćčĉсϲ"),
    ('d', "ďđԁ"),
    ('e', "èéêëēėęěеёε"),
    ('g', "ğĝģ"),
    ('h', "нһ"),
    ('i', "ìíîïīįıіїιι"),
    ('j', "ј"),
    ('k', "кκĸ"),
    ('l', "łľļӏ"),
    ('m', "м"),
    ('n', "ñńňņ"),
    ('o', "òóôõöøōőоοσ"),
    ('p', "рρ"),
    ('r', "řŕ"),
    ('s', "śšşșѕſ"),
    ('t', "ťțţтτ"),
    ('u', "ùúûüūůűų"),
    ('v', "ν"),
    ('w', "ŵѡ"),
    ('x', "хχ"),
    ('y', "ýÿу"),
    ('z', "źżž"),
];

/// Where one statement ends: a denial, or a joke, holds for its own statement alone.
static ENDS: LazyLock<Regex> = LazyLock::new(|| {
    wording(
        r"[.!;]\s|\s(?:but|however|aber|jedoch|allerdings|mais|cependant|pero|aunque|ama|ancak|fakat)\s",
    )
});
/// A tag, or a character by name or number, that was escaped once too often.
static MARKUP: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"(?i)</?[a-z][^<>]*>|&(?:#?[a-z0-9]{2,8});"));

/// The statements of a text, folded; those with markup also without it. Each stands for itself, so
/// that a further sentence changes nothing in those before and behind it.
pub(super) fn statements(text: &str) -> Vec<String> {
    let folded = fold(text);
    let mut statements: Vec<String> = ENDS.split(&folded).map(str::to_owned).collect();
    let marked = statements.iter().filter(|said| MARKUP.is_match(said));
    let read: Vec<String> = marked.map(|said| without_markup(said)).collect();
    statements.extend(read);
    statements
}

/// The whole text, folded.
pub(super) fn folded(text: &str) -> String {
    without_markup(&fold(text))
}

fn without_markup(text: &str) -> String {
    if MARKUP.is_match(text) {
        fold(&feed::plain(text, text.len() + 1))
    } else {
        text.to_owned()
    }
}

/// Letters become plain ASCII where they stand for or look like such, upper case stays; quotes and
/// dashes become the typewriter's; white space becomes single spaces; what is not seen goes.
pub(super) fn fold(text: &str) -> String {
    let mut folded = String::with_capacity(text.len());
    for char in text.chars() {
        if char.is_ascii_graphic() {
            folded.push(char);
        } else if char.is_whitespace() {
            if !folded.ends_with(' ') {
                folded.push(' ');
            }
        } else if !is_unseen(char) {
            push(&mut folded, char);
        }
    }
    folded
}

fn push(folded: &mut String, char: char) {
    match char {
        'ß' => folded.push_str("ss"),
        'œ' | 'Œ' => folded.push_str("oe"),
        'æ' | 'Æ' => folded.push_str("ae"),
        '‘' | '’' | '‚' | '‛' | '′' | '´' | 'ʼ' => folded.push('\''),
        '“' | '”' | '„' | '«' | '»' => folded.push('"'),
        '‐'..='―' | '−' => folded.push('-'),
        '≥' => folded.push_str(">="),
        '…' => folded.push('.'),
        _ => folded.push(letter(char)),
    }
}

fn letter(char: char) -> char {
    let char = undisguised(char);
    let small = char.to_lowercase().next().unwrap_or(char);
    let found = LETTERS.iter().find(|(_, doubles)| doubles.contains(small));
    let plain = found.map_or(small, |(plain, _)| *plain);
    match (plain.is_ascii(), char.is_uppercase()) {
        (true, true) => plain.to_ascii_uppercase(),
        (true, false) => plain,
        (false, _) => char,
    }
}

/// Letters and digits of full width, and those of the mathematical alphabets, as they are typed.
fn undisguised(char: char) -> char {
    let code = u32::from(char);
    let typed = match code {
        0xff01..=0xff5e => Some(code - 0xfee0),
        0x1d400..=0x1d6a3 => Some(match (code - 0x1d400) % 52 {
            nth @ 0..26 => u32::from('A') + nth,
            nth => u32::from('a') + nth - 26,
        }),
        0x1d7ce..=0x1d7ff => Some(u32::from('0') + (code - 0x1d7ce) % 10),
        _ => None,
    };
    typed.and_then(char::from_u32).unwrap_or(char)
}

/// Controls, joiners, direction marks, variation selectors, tags, and accents that stand alone.
fn is_unseen(char: char) -> bool {
    char.is_control()
        || matches!(char, '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{180e}' | '\u{feff}'
            | '\u{300}'..='\u{36f}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{fe00}'..='\u{fe0f}' | '\u{e0000}'..='\u{e01ef}')
}

/// Compiles wording to be found in folded text, upper or lower case; it may be written with accents,
/// and white space in it is layout. In folded text the only white space is a single space and letters
/// are ASCII; taking `\s`, `\S`, `\w`, `\d` and `\b` by that makes the patterns a tenth of the size
/// they have with all of Unicode.
pub(super) fn wording(source: &str) -> Regex {
    let plain = fold(source)
        .replace(r"\s", r"\x20")
        .replace(r"\S", r"[^\x20]")
        .replace(r"[\w", r"[a-z0-9")
        .replace(r"\w", r"[^\x20]")
        .replace(r"[\d", r"[0-9")
        .replace(r"\d", r"[0-9]")
        .replace(r"\b", r"(?-u:\b)");
    pattern(&format!("(?ix)(?:{plain})"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_lose_their_accents_and_disguises() {
        for (written, read) in [
            ("İSTİSMAR ığüşöç", "ISTISMAR igusoc"),
            (
                "vulnérabilité, e\u{301}té, ŒUVRE",
                "vulnerabilite, ete, oeUVRE",
            ),
            ("Straße Lücke", "Strasse Lucke"),
            ("аctively ехрlоitеd", "actively exploited"),
            ("ａｃｔｉｖｅ ９．８", "active 9.8"),
            ("𝐞𝐱𝐩𝐥𝐨𝐢𝐭𝐞𝐝 𝟗", "exploited 9"),
            ("ex\u{200b}ploi\u{ad}ted\u{202e}", "exploited"),
            ("it’s “so” – a\u{a0}\t b", "it's \"so\" - a b"),
            ("漏洞 уже", "漏洞 yжe"),
        ] {
            assert_eq!(folded(written), read, "{written}");
        }
    }

    #[test]
    fn markup_that_was_escaped_twice_is_read_through() {
        for (written, read) in [
            ("activ<b>ely</b> exploited", "actively exploited"),
            ("actively&nbsp;exploited", "actively exploited"),
            ("actively&#8203;&#x20;exploited", "actively exploited"),
            ("a < b & c > d", "a < b & c > d"),
        ] {
            assert_eq!(folded(written), read, "{written}");
        }
    }

    #[test]
    fn a_statement_ends_with_its_sentence_or_at_a_but() {
        assert_eq!(
            statements("Fixed in 4.2. Not used, but seen; bad! Done? Yes"),
            ["Fixed in 4.2", "Not used,", "seen", "bad", "Done? Yes"]
        );
    }
}
