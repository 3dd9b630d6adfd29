//! `[[route]]`: which alert goes to which channels. The first route that matches decides; without
//! one an alert goes to the default channel.

use super::channel::Channels;
use super::reader::Section;
use super::rule::SENT;
use super::value::{DAY, MINUTE, duration, one_of, text};
use crate::model::{Category, Severity};
use std::time::Duration;

/// What is `None` is not asked for; what is given must fit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Route {
    /// The alert's severity is one of these.
    pub severity: Option<Vec<Severity>>,
    /// The alert's category is one of these.
    pub category: Option<Vec<Category>>,
    /// The feed has at least one of these tags.
    pub tag: Option<Vec<String>>,
    /// Names of configured channels, at least one, none twice.
    pub to: Vec<String>,
    /// The channel for what those do not deliver within `fallback_after`; none of them.
    pub fallback: Option<String>,
    /// 15 min by default.
    pub fallback_after: Duration,
}

pub(super) fn read_all(root: &mut Section<'_>, channels: &Channels<'_>) -> Vec<Route> {
    let mut numbered: Vec<(usize, Route)> = Vec::new();
    for (index, mut section) in root.tables("route").into_iter().enumerate() {
        let known = section.problems();
        let route = read(&mut section, channels);
        let sound = section.problems() == known;
        if sound && let Some((number, _)) = numbered.iter().find(|(_, other)| covers(other, &route))
        {
            section.refuse_whole(format!(
                "can never match, for route[{number}] already takes all of it; remove it or move it up"
            ));
        }
        if sound {
            numbered.push((index + 1, route));
        }
        section.finish();
    }
    numbered.into_iter().map(|(_, route)| route).collect()
}

fn read(section: &mut Section<'_>, channels: &Channels<'_>) -> Route {
    let empty = "an empty list matches nothing; remove the key to match everything";
    if !section.has("to") {
        section.refuse("to", "is missing; name at least one channel");
    }
    let to = section.filled_list("to", "is empty; name at least one channel", |value| {
        channels.named_by(value)
    });
    let fallback = section.get("fallback", |value| {
        let name = channels.named_by(value)?;
        if to.as_ref().is_some_and(|to| to.contains(&name)) {
            return Err(format!("{name:?} is one of `to`; name another channel"));
        }
        Ok(name)
    });
    if fallback.is_none() && section.has("fallback_after") && !section.has("fallback") {
        section.refuse(
            "fallback_after",
            "says when, but not where to; add fallback = \"NAME\"",
        );
    }
    let after = section.get("fallback_after", duration(MINUTE..=7 * DAY));
    Route {
        fallback,
        fallback_after: after.unwrap_or(15 * MINUTE),
        severity: section.filled_list("severity", empty, one_of("severity", &SENT)),
        category: section.filled_list("category", empty, one_of("category", Category::ALL)),
        tag: section.filled_list("tag", empty, text),
        to: to.unwrap_or_default(),
    }
}

/// Whether every alert that `later` matches is matched by `earlier`.
fn covers(earlier: &Route, later: &Route) -> bool {
    let (before, after) = (earlier, later);
    includes(before.severity.as_deref(), after.severity.as_deref(), &SENT)
        && includes(
            before.category.as_deref(),
            after.category.as_deref(),
            Category::ALL,
        )
        && includes(before.tag.as_deref(), after.tag.as_deref(), &[])
}

/// `all` is every value there is; empty when they cannot be listed.
fn includes<T: PartialEq>(earlier: Option<&[T]>, later: Option<&[T]>, all: &[T]) -> bool {
    let Some(earlier) = earlier else {
        return true;
    };
    let asked = later.unwrap_or(all);
    !asked.is_empty() && asked.iter().all(|value| earlier.contains(value))
}
