//! Which links may be put behind words: those that a receiver takes and that lead where they say.

/// The most characters of a link; beyond that it is shown as text.
pub const LONGEST: usize = 2_048;

/// The link as it may stand in `href`, if it is one of the web: `http` or `https`, a host with a
/// dot, no user name that would hide the host, nothing that does not belong into a URL.
///
/// Telegram silently makes plain text of what it does not take, so that the link would be lost;
/// what is refused here is shown as text instead.
pub fn web_link(text: &str) -> Option<&str> {
    let link = text.trim();
    let rest = strip_scheme(link)?;
    let foreign = |c: char| {
        c.is_whitespace() || c.is_control() || is_invisible(c) || "\"'<>\\^`{|}".contains(c)
    };
    if link.chars().any(foreign) || link.chars().nth(LONGEST).is_some() {
        return None;
    }
    let authority = rest.split(['/', '?', '#']).next()?;
    let (host, port) = match authority.split_once(':') {
        Some((host, port)) => (host, Some(port)),
        None => (authority, None),
    };
    let is_port = |port: &str| {
        port.chars().all(|c| c.is_ascii_digit()) && port.parse::<u16>().is_ok_and(|port| port > 0)
    };
    (is_host(host) && port.is_none_or(is_port)).then_some(link)
}

fn strip_scheme(link: &str) -> Option<&str> {
    ["https://", "http://"].iter().find_map(|scheme| {
        let start = link.get(..scheme.len())?;
        let rest = link.get(scheme.len()..)?;
        start.eq_ignore_ascii_case(scheme).then_some(rest)
    })
}

fn is_host(host: &str) -> bool {
    let is_label = |label: &str| {
        let plain = |c: char| c.is_alphanumeric() || c == '-' || c == '_';
        !label.is_empty() && label.chars().all(plain)
    };
    host.len() <= 253 && host.contains('.') && host.split('.').all(is_label)
}

/// Marks that show nothing and can only mislead: they turn the direction of what follows, pad
/// words, or carry hidden text. Joiners stay, for some scripts and emoji need them.
pub fn is_invisible(c: char) -> bool {
    matches!(c,
        '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{feff}'
        | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{fff9}'..='\u{fffb}'
        | '\u{e0000}'..='\u{e007f}' | '\u{fffe}' | '\u{ffff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_of_the_web_is_taken_as_it_is() {
        for good in [
            "https://example.org",
            "http://example.org:8080/a?b=c&d=%20#e",
            "HTTPS://Example.ORG/",
            "https://192.0.2.7/x",
            "https://münchen.example/straße",
            "https://example.org/@name",
        ] {
            assert_eq!(web_link(good), Some(good));
        }
        assert_eq!(web_link(" https://a.example "), Some("https://a.example"));
    }

    #[test]
    fn what_would_be_lost_or_misleads_is_no_link() {
        let long = format!("https://example.org/{}", "x".repeat(LONGEST));
        for bad in [
            "",
            "example.org",
            "javascript:alert(1)",
            "tg://resolve?domain=x",
            "ftp://example.org/",
            "https://",
            "https:///path",
            "https://localhost/",
            "https://[2001:db8::1]/",
            "https://bank.example@evil.example/",
            "https://bank.example:pass@evil.example/",
            "https://example..org/",
            "https://example.org:/",
            "https://example.org:99999/",
            "https://example.org/a b",
            "https://example.org/\"onclick=",
            "https://example.org/<b>",
            "https://example.org\\@evil.example/",
            "https://example.org/\u{202e}gpj",
            "https://example.org/\u{0}",
            &long,
        ] {
            assert_eq!(web_link(bad), None, "{bad}");
        }
    }
}
