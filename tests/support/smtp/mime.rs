//! Reads a mail back: its subject and the texts of its parts, as a reader's program shows them.

/// What a reader sees of a mail.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seen {
    pub subject: String,
    pub plain: String,
    /// Empty: there is none.
    pub html: String,
}

impl Seen {
    /// Headers and body, lines ended by CRLF; alternatives of one level.
    ///
    /// # Panics
    /// When that is no mail.
    pub fn of(mail: &str) -> Self {
        let (headers, body) = mail.split_once("\r\n\r\n").expect("headers and a body");
        let subject = words(&header(headers, "Subject").unwrap_or_default());
        let kind = header(headers, "Content-Type").unwrap_or_default();
        let boundary = kind.split_once("boundary=\"").map(|(_, rest)| rest);
        let boundary = boundary.and_then(|rest| Some(rest.split_once('"')?.0));
        let Some(boundary) = boundary.map(|name| format!("--{name}")) else {
            return Self {
                subject,
                plain: decoded(headers, body),
                html: String::new(),
            };
        };
        let mut texts = [String::new(), String::new()];
        let parts = body.split(&boundary);
        // Behind the last one stands no text of anybody's.
        for part in parts.skip(1).take_while(|part| !part.starts_with("--")) {
            let part = part.trim_start_matches("\r\n");
            if let Some((headers, body)) = part.split_once("\r\n\r\n") {
                let kind = header(headers, "Content-Type").unwrap_or_default();
                let body = body.strip_suffix("\r\n").unwrap_or(body);
                texts[usize::from(kind.starts_with("text/html"))] = decoded(headers, body);
            }
        }
        let [plain, html] = texts;
        Self {
            subject,
            plain,
            html,
        }
    }
}

fn header(headers: &str, name: &str) -> Option<String> {
    let unfolded = headers.replace("\r\n ", " ");
    let mut lines = unfolded.lines().filter_map(|line| line.split_once(": "));
    let found = lines.find(|(known, _)| known.eq_ignore_ascii_case(name));
    found.map(|(_, value)| value.to_owned())
}

fn decoded(headers: &str, body: &str) -> String {
    let encoding = header(headers, "Content-Transfer-Encoding").unwrap_or_default();
    match encoding.as_str() {
        "base64" => utf8(super::session::unpacked(body)),
        "quoted-printable" => utf8(unquoted(&body.replace("=\r\n", ""))),
        "7bit" | "" => body.to_owned(),
        other => panic!("the encoding {other}"),
    }
}

/// RFC 2047: between two encoded words white space is none.
fn words(header: &str) -> String {
    let mut text = String::new();
    let mut was_encoded = false;
    for word in header.split(' ') {
        let inner = word
            .strip_prefix("=?utf-8?")
            .and_then(|w| w.strip_suffix("?="));
        let decoded = inner.and_then(|inner| {
            let (encoding, rest) = inner.split_once('?')?;
            Some(match encoding {
                "b" => super::session::unpacked(rest),
                "q" => unquoted(&rest.replace('_', " ")),
                other => panic!("the encoding {other}"),
            })
        });
        let is_one_word = was_encoded && decoded.is_some();
        if !text.is_empty() && !is_one_word {
            text.push(' ');
        }
        was_encoded = decoded.is_some();
        text.push_str(&decoded.map_or_else(|| word.to_owned(), utf8));
    }
    text
}

fn unquoted(text: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let Some((first, behind)) = rest.split_first() {
        rest = behind;
        let digits = behind
            .get(..2)
            .and_then(|two| std::str::from_utf8(two).ok());
        let byte = digits.and_then(|two| u8::from_str_radix(two, 16).ok());
        match (first, byte) {
            (b'=', Some(byte)) => {
                bytes.push(byte);
                rest = behind.get(2..).unwrap_or_default();
            }
            _ => bytes.push(*first),
        }
    }
    bytes
}

fn utf8(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).expect("UTF-8")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mail_is_read_back_as_it_was_written() {
        let mail = "Subject: =?utf-8?b?w4Q=?= =?utf-8?b?w5Y=?= x\r\n y\r\n\
            Content-Type: multipart/alternative; boundary=\"b\"\r\n\r\n\
            --b\r\nContent-Type: text/plain\r\nContent-Transfer-Encoding: quoted-printable\r\n\r\n\
            =C3=A4 so=\r\n on\r\n\r\n\
            --b\r\nContent-Type: text/html\r\nContent-Transfer-Encoding: base64\r\n\r\n\
            PGI+\r\n\r\n--b--\r\n\r\n";
        let seen = Seen::of(mail);
        let texts = (
            seen.subject.as_str(),
            seen.plain.as_str(),
            seen.html.as_str(),
        );
        assert_eq!(texts, ("ÄÖ x y", "ä so on\r\n", "<b>"));
    }
}
