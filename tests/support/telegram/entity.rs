//! What marks a stretch of a message: its kind, its place in UTF-16, and which links are links.

use std::cmp::Reverse;

/// How many entities of a message Telegram keeps; the rest goes without a word.
pub(super) const KEPT: usize = 100;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entity {
    pub style: Style,
    /// In UTF-16 code units of the text after parsing, as all of Telegram's offsets.
    pub offset: usize,
    pub length: usize,
    /// The link, the language of a `pre`, the number of an emoji or a user; else empty.
    pub detail: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    Bold,
    Italic,
    Underline,
    Strikethrough,
    Spoiler,
    Quote,
    ExpandableQuote,
    Code,
    Pre,
    TextLink,
    Mention,
    Emoji,
    Time,
}

impl Style {
    const ALL: [Self; 13] = [
        Self::Bold,
        Self::Italic,
        Self::Underline,
        Self::Strikethrough,
        Self::Spoiler,
        Self::Quote,
        Self::ExpandableQuote,
        Self::Code,
        Self::Pre,
        Self::TextLink,
        Self::Mention,
        Self::Emoji,
        Self::Time,
    ];

    /// As the Bot API writes it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Bold => "bold",
            Self::Italic => "italic",
            Self::Underline => "underline",
            Self::Strikethrough => "strikethrough",
            Self::Spoiler => "spoiler",
            Self::Quote => "blockquote",
            Self::ExpandableQuote => "expandable_blockquote",
            Self::Code => "code",
            Self::Pre => "pre",
            Self::TextLink => "text_link",
            Self::Mention => "text_mention",
            Self::Emoji => "custom_emoji",
            Self::Time => "date_time",
        }
    }

    pub(super) fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|style| style.name() == name)
    }

    /// Can be cut in two; the others stay whole, and are kept first when there are too many.
    fn is_splittable(self) -> bool {
        matches!(
            self,
            Self::Bold | Self::Italic | Self::Underline | Self::Strikethrough | Self::Spoiler
        )
    }

    /// Of two over the same stretch the one with the smaller rank stands first.
    fn rank(self) -> u8 {
        match self {
            Self::Quote | Self::ExpandableQuote => 0,
            Self::Pre => 11,
            Self::Code => 20,
            Self::TextLink | Self::Mention => 49,
            Self::Time => 50,
            Self::Bold => 90,
            Self::Italic => 91,
            Self::Underline => 92,
            Self::Strikethrough => 93,
            Self::Spoiler => 94,
            Self::Emoji => 99,
        }
    }
}

/// The order in which Telegram tells them.
pub(super) fn sort(entities: &mut [Entity]) {
    entities.sort_by_key(|entity| (entity.offset, Reverse(entity.length), entity.style.rank()));
}

/// Drops what is empty and what goes past the first hundred, links and quotes before bold; says how
/// many of the latter.
pub(super) fn keep_the_first(entities: &mut Vec<Entity>) -> usize {
    entities.retain(|entity| entity.length > 0);
    entities.sort_by_key(|entity| (entity.style.is_splittable(), entity.offset));
    let dropped = entities.len().saturating_sub(KEPT);
    entities.truncate(KEPT);
    sort(entities);
    dropped
}

/// The user whom `tg://user?id=N` names.
pub(super) fn user_of(link: &str) -> Option<i64> {
    let rest = link.strip_prefix("tg://user?id=")?;
    rest.parse().ok().filter(|id| *id > 0)
}

/// The link as Telegram takes it; None for what it leaves as plain text. A host needs a dot, so that
/// `http://localhost` and `http://grafana:3000` are none.
pub(super) fn checked_link(link: &str) -> Option<String> {
    let link = link.trim();
    let lower = link.to_ascii_lowercase();
    for scheme in ["tg:", "ton:"] {
        if let Some(rest) = lower.strip_prefix(scheme) {
            let named = !rest.trim_start_matches('/').is_empty();
            return named.then(|| link.to_owned());
        }
    }
    let (scheme, rest) = match lower.split_once("://") {
        Some((scheme @ ("http" | "https"), _)) => (scheme, &link[scheme.len() + 3..]),
        Some(_) => return None,
        None => ("http", link),
    };
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let authority = &rest[..end];
    let host_and_port = authority
        .rsplit_once('@')
        .map_or(authority, |(_, rest)| rest);
    is_reachable(host_and_port).then(|| format!("{scheme}://{rest}"))
}

fn is_reachable(host_and_port: &str) -> bool {
    let in_brackets = host_and_port.starts_with('[') && host_and_port.ends_with(']');
    let (host, port) = match host_and_port.rsplit_once(':') {
        Some((host, port)) if !in_brackets => (host, Some(port)),
        _ => (host_and_port, None),
    };
    let port_is_one = port.is_none_or(|port| port.parse::<u16>().is_ok_and(|port| port != 0));
    let has_a_name = in_brackets || host.contains('.');
    port_is_one && has_a_name && !host.contains(char::is_whitespace)
}
