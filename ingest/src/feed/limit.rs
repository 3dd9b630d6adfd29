//! How much a document may hold: a short tag can become a large object in a parser's memory.

use super::ParseError;

/// No more entries than this, whoever reads them: the largest real archives hold some thousands.
pub(super) const ENTRIES: usize = 10_000;
/// feed-rs makes up to 470 bytes of an element (an empty `<media:group/>`), and 1,400 of an item.
pub(super) const ELEMENTS: usize = 80_000;
/// An object of JSON can be an item too; a value is 32 bytes and more.
const OBJECTS: usize = 20_000;
const VALUES: usize = 300_000;

/// # Errors
/// More values, or objects, than a feed has.
pub(super) fn json(text: &str) -> Result<(), ParseError> {
    // A value takes two bytes and more, and of braces there are few nearly always, even with those
    // in strings.
    if text.len() <= 2 * VALUES && text.matches('{').count() <= OBJECTS {
        return Ok(());
    }
    let (mut objects, mut values) = (0, 0);
    let (mut in_string, mut escaped) = (false, false);
    for byte in text.bytes() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_string => escaped = true,
            b'"' => in_string = !in_string,
            _ if in_string => {}
            b'{' => objects += 1,
            b',' | b'[' => values += 1,
            _ => {}
        }
    }
    if objects > OBJECTS || values > VALUES {
        return Err(ParseError::TooManyValues);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_stands_in_strings_of_json_is_no_value() {
        let text = format!("[\"{}\"]", "\\\"{,[".repeat(2 * VALUES));
        assert_eq!(json(&text), Ok(()));
        let many = |value: &str, count: usize| json(&value.repeat(count));
        assert_eq!(many("{}    ", OBJECTS), Ok(()));
        assert_eq!(many("{}    ", OBJECTS + 1), Err(ParseError::TooManyValues));
        assert_eq!(many("1,", VALUES + 1), Err(ParseError::TooManyValues));
    }
}
