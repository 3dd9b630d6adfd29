//! From bytes to text: byte order mark, valid UTF-8, HTTP charset, declaration, windows-1252.

use encoding_rs::{Encoding, ISO_2022_JP, UTF_8, UTF_16BE, UTF_16LE, WINDOWS_1252};
use memchr::memchr;
use std::borrow::Cow;

/// An XML declaration stands within this many bytes, or it is none.
const DECLARATION_WITHIN: usize = 1024;

/// Decodes a body and cuts off everything up to the end of its XML declaration, whose encoding
/// no longer holds. Borrows when the body is UTF-8 already, whatever it declares.
pub(super) fn decode<'b>(body: &'b [u8], charset: Option<&str>) -> Cow<'b, str> {
    match decoded(body, charset) {
        Cow::Borrowed(text) => Cow::Borrowed(after_declaration(text)),
        Cow::Owned(text) => Cow::Owned(after_declaration(&text).to_owned()),
    }
}

fn decoded<'b>(body: &'b [u8], charset: Option<&str>) -> Cow<'b, str> {
    if let Some((encoding, _)) = Encoding::for_bom(body) {
        return encoding.decode_with_bom_removal(body).0;
    }
    if let Some(encoding) = bare_utf16(body) {
        return encoding.decode_without_bom_handling(body).0;
    }
    let utf8 = std::str::from_utf8(body).ok();
    // Without an escape in it, nobody needs to know how it calls itself.
    let may_be_escaped = memchr(0x1b, body).is_some();
    if !may_be_escaped && let Some(text) = utf8 {
        return Cow::Borrowed(text);
    }
    let named = [
        charset.and_then(|label| Encoding::for_label(label.as_bytes())),
        declared(body),
    ];
    let escaped = may_be_escaped && named.contains(&Some(ISO_2022_JP));
    if !escaped && let Some(text) = utf8 {
        return Cow::Borrowed(text);
    }
    named
        .into_iter()
        .flatten()
        .filter(|encoding| *encoding != UTF_8 && encoding.is_ascii_compatible() || escaped)
        .find_map(|encoding| encoding.decode_without_bom_handling_and_without_replacement(body))
        .unwrap_or_else(|| mostly_utf8(body))
}

/// UTF-16 without a byte order mark shows in the first `<`.
fn bare_utf16(body: &[u8]) -> Option<&'static Encoding> {
    match body {
        [b'<', 0, second, 0, ..] if *second != 0 => Some(UTF_16LE),
        [0, b'<', 0, second, ..] if *second != 0 => Some(UTF_16BE),
        _ => None,
    }
}

/// A stray byte or a cut at the end does not make a document windows-1252: it is, when fewer of
/// its other characters make sense as UTF-8 than do not.
fn mostly_utf8(body: &[u8]) -> Cow<'_, str> {
    let (text, _) = UTF_8.decode_without_bom_handling(body);
    let beyond_ascii = text.chars().filter(|char| !char.is_ascii()).count();
    let senseless = text.chars().filter(|&char| char == '\u{fffd}').count();
    if 2 * senseless < beyond_ascii {
        text
    } else {
        WINDOWS_1252.decode_without_bom_handling(body).0
    }
}

fn declared(body: &[u8]) -> Option<&'static Encoding> {
    let head = body.get(..body.len().min(DECLARATION_WITHIN))?;
    let head = WINDOWS_1252.decode_without_bom_handling(head).0;
    let declaration = head.get(head.find("<?xml")?..)?;
    let declaration = declaration.get(..declaration.find("?>")?)?;
    let value = declaration.get(declaration.find("encoding")?..)?;
    let label = value.split(['"', '\'']).nth(1)?;
    Encoding::for_label(label.trim().as_bytes())
}

fn after_declaration(text: &str) -> &str {
    let head = text.floor_char_boundary(DECLARATION_WITHIN);
    let rest = text
        .get(..head)
        .and_then(|head| head.find("<?xml"))
        .and_then(|at| text.get(at..))
        .filter(|rest| !rest.starts_with("<?xml-"))
        .and_then(|rest| rest.get(rest.find("?>")? + 2..));
    rest.unwrap_or(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(body: &[u8], charset: Option<&str>) -> String {
        decode(body, charset).trim().to_owned()
    }

    #[test]
    fn utf8_is_believed_before_what_is_declared() {
        let body = "<?xml version='1.0' encoding='ISO-8859-1'?><a>Zürich</a>";
        assert_eq!(read(body.as_bytes(), None), "<a>Zürich</a>");
        assert_eq!(read(body.as_bytes(), Some("iso-8859-1")), "<a>Zürich</a>");
    }

    #[test]
    fn what_is_not_utf8_follows_http_then_the_declaration_then_windows_1252() {
        let cyrillic = b"<?xml version='1.0' encoding='koi8-r'?><a>\xee\xe5\xf4</a>";
        assert_eq!(read(cyrillic, None), "<a>НЕТ</a>");
        assert_eq!(read(cyrillic, Some("windows-1251")), "<a>оеф</a>");
        let unknown = b"<?xml version='1.0' encoding='x-martian'?><a>caf\xe9 \x80</a>";
        assert_eq!(read(unknown, None), "<a>café €</a>");
        assert_eq!(read(b"<a>caf\xe9</a>", Some("utf-8")), "<a>café</a>");
    }

    #[test]
    fn one_bad_byte_does_not_spoil_the_other_letters() {
        let mut body = "<a>Grüße, Übergröße</a>".as_bytes().to_vec();
        body.push(0xc3);
        assert_eq!(read(&body, None), "<a>Grüße, Übergröße</a>\u{fffd}");
    }

    #[test]
    fn sixteen_bits_are_read_with_and_without_a_mark() {
        let units =
            |text: &str| -> Vec<u8> { text.encode_utf16().flat_map(u16::to_le_bytes).collect() };
        assert_eq!(read(&units("<a>ü</a>"), None), "<a>ü</a>");
        assert_eq!(read(&units("\u{feff}<a>ü</a>"), None), "<a>ü</a>");
    }

    #[test]
    fn seven_bit_japanese_is_not_taken_for_ascii() {
        let body = b"<?xml version='1.0' encoding='iso-2022-jp'?><a>\x1b$B$\"\x1b(B</a>";
        assert_eq!(read(body, None), "<a>あ</a>");
    }
}
