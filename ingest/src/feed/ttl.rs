//! How long a document says that it will stay as it is: `<ttl>` of RSS, `sy:updatePeriod` of RSS 1.0's
//! syndication module.

use memchr::memmem::Finder;
use std::sync::LazyLock;
use std::time::Duration;

/// What a document says about itself stands before its first entry, and within so many tags.
const HEAD: usize = 200;

/// Most documents have none of these, which is found out sooner than what their tags are.
static NAMES: LazyLock<[Finder<'_>; 2]> =
    LazyLock::new(|| ["ttl>", "updatePeriod>"].map(Finder::new));

/// `None` when it says nothing, or nothing that can be read.
pub(super) fn of(text: &str) -> Option<Duration> {
    if NAMES
        .iter()
        .all(|name| name.find(text.as_bytes()).is_none())
    {
        return None;
    }
    let (mut ttl, mut period, mut frequency) = (None, None, 1);
    for part in text.split('<').skip(1).take(HEAD) {
        let Some((tag, inner)) = part.split_once('>') else {
            continue;
        };
        match tag.trim_start_matches("sy:") {
            "ttl" => ttl = inner.trim().parse().ok().map(minutes),
            "updatePeriod" => period = length(inner.trim()),
            "updateFrequency" => frequency = inner.trim().parse().unwrap_or(1),
            "item" | "entry" => break,
            _ => {}
        }
    }
    let period = period.map(|period| period / frequency.max(1));
    ttl.into_iter().chain(period).max()
}

fn minutes(count: u32) -> Duration {
    Duration::from_mins(count.into())
}

/// So many updates there are in one such period.
fn length(name: &str) -> Option<Duration> {
    let hours = match &*name.to_ascii_lowercase() {
        "hourly" => 1,
        "daily" => 24,
        "weekly" => 7 * 24,
        "monthly" => 30 * 24,
        "yearly" => 365 * 24,
        _ => return None,
    };
    Some(Duration::from_hours(hours))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_document_says_how_long_it_stays_as_it_is() {
        let minutes =
            |channel: &str| of(&format!("<rss><channel>{channel}")).map(|ttl| ttl.as_secs() / 60);
        for (channel, expected) in [
            ("<ttl>60</ttl>", Some(60)),
            ("<ttl> 5\n</ttl>", Some(5)),
            ("<ttl>soon</ttl>", None),
            ("<ttl/>", None),
            (
                "<sy:updatePeriod>\n hourly </sy:updatePeriod><sy:updateFrequency>4</sy:updateFrequency>",
                Some(15),
            ),
            ("<sy:updatePeriod>daily</sy:updatePeriod>", Some(24 * 60)),
            (
                "<sy:updatePeriod>hourly</sy:updatePeriod><sy:updateFrequency>0</sy:updateFrequency>",
                Some(60),
            ),
            (
                "<ttl>10</ttl><sy:updatePeriod>hourly</sy:updatePeriod>",
                Some(60),
            ),
            ("<sy:updatePeriod>often</sy:updatePeriod>", None),
            ("<item><ttl>60</ttl></item>", None),
            ("", None),
        ] {
            assert_eq!(minutes(channel), expected, "{channel}");
        }
    }
}
