//! Route: which destinations an alert is owed to. The first route that matches decides.

use shared::config::{Channel, Config, Route};
use shared::model::{Alert, Destination, Priority, Timestamp};
use shared::store::outbox::{Addressee, Fallback};

/// To whom `alert`, whose feed has `tags`, is owed at `now`: never empty in a checked configuration.
pub fn route(alert: &Alert, tags: &[String], config: &Config, now: Timestamp) -> Vec<Addressee> {
    let default = std::slice::from_ref(&config.default_channel);
    let route = matching(alert, tags, config).map(|(_, route)| route);
    let names = route.map_or(default, |route| route.to.as_slice());
    let fallback = route.and_then(|route| {
        Some(Fallback {
            to: channel(route.fallback.as_ref()?, config)?.destination(),
            after: route.fallback_after,
        })
    });
    let priority = alert.severity.priority().unwrap_or(Priority::Low);
    let quiet = |to: &Destination| config.quiet.as_ref()?.until(&to.channel, priority, now);
    let channels = names.iter().filter_map(|name| channel(name, config));
    let destinations = channels.flat_map(Channel::destinations);
    let addressees = destinations.map(|destination| Addressee {
        not_before: quiet(&destination).unwrap_or_default(),
        fallback: fallback.clone(),
        destination,
    });
    addressees.collect()
}

fn channel<'c>(name: &str, config: &'c Config) -> Option<&'c Channel> {
    config.channels.iter().find(|channel| channel.name == name)
}

fn matching<'c>(alert: &Alert, tags: &[String], config: &'c Config) -> Option<(usize, &'c Route)> {
    let mut numbered = config.routes.iter().enumerate();
    numbered.find(|(_, route)| matches(route, alert, tags))
}

/// Which route takes `alert`, for a person: its number in the configuration and what it asks for.
pub fn in_words(alert: &Alert, tags: &[String], config: &Config) -> String {
    let Some((index, route)) = matching(alert, tags, config) else {
        return match config.routes.as_slice() {
            [] => format!("the default channel {}", config.default_channel),
            _ => format!(
                "no route fits, so the default channel {}",
                config.default_channel
            ),
        };
    };
    let severities = listed(route.severity.as_deref(), |one| one.name());
    let categories = listed(route.category.as_deref(), |one| one.name());
    let tags = listed(route.tag.as_deref(), String::as_str).map(|tags| format!("tag {tags}"));
    let asked = [severities, categories, tags];
    let asked: Vec<String> = asked.into_iter().flatten().collect();
    let asked = match asked.as_slice() {
        [] => "everything".to_owned(),
        some => some.join(", "),
    };
    format!("route[{}] ({asked}) to {}", index + 1, route.to.join(", "))
}

fn listed<'r, T>(asked: Option<&'r [T]>, name: impl Fn(&'r T) -> &'r str) -> Option<String> {
    let names: Vec<&str> = asked?.iter().map(name).collect();
    Some(names.join(" or "))
}

/// What a route does not ask for, it takes.
fn matches(route: &Route, alert: &Alert, tags: &[String]) -> bool {
    route
        .severity
        .as_ref()
        .is_none_or(|asked| asked.contains(&alert.severity))
        && route
            .category
            .as_ref()
            .is_none_or(|asked| asked.contains(&alert.category))
        && route
            .tag
            .as_ref()
            .is_none_or(|asked| asked.iter().any(|tag| tags.contains(tag)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use shared::config::{Program, Surroundings};
    use shared::model::{Category, Judge, Severity};
    use std::path::Path;

    const CONFIG: &str = r#"
default_channel = "rest"
[[feed]]
url = "https://example.org/a"
tags = ["db"]
[channel.phone]
kind = "console"
[channel.team]
kind = "console"
[channel.rest]
kind = "console"
[channel.mail]
kind = "email"
smtp = "smtps://mail.example.net"
from = "watch@example.net"
to = ["one@example.net", "two@example.net"]
[[route]]
tag = ["mailed"]
to = ["mail", "rest"]
[[route]]
severity = ["critical", "high"]
to = ["phone", "team"]
[[route]]
category = ["release"]
tag = ["db"]
to = ["team"]
"#;

    fn routed(severity: Severity, category: Category, tags: &[&str]) -> Vec<String> {
        let (alert, tags, config) = scene(severity, category, tags);
        let to = route(&alert, &tags, &config, Timestamp::EPOCH);
        to.into_iter().map(|to| to.destination.channel).collect()
    }

    fn scene(
        severity: Severity,
        category: Category,
        tags: &[&str],
    ) -> (Alert, Vec<String>, Config) {
        let around = Surroundings {
            directory: Path::new("/"),
            credentials: None,
            program: Program::Ingest,
        };
        let config = Config::parse(CONFIG, &around).expect("a good configuration");
        let alert = Alert {
            v: Alert::VERSION,
            short_id: String::new(),
            severity,
            category,
            title: String::new(),
            summary: String::new(),
            link: None,
            source: String::new(),
            also: Vec::new(),
            reason: String::new(),
            judge: Judge::Builtin,
            published: None,
        };
        let tags: Vec<String> = tags.iter().map(|&tag| tag.to_owned()).collect();
        (alert, tags, config)
    }

    #[test]
    fn the_first_route_that_matches_decides() {
        let high = routed(Severity::High, Category::Release, &["db"]);
        assert_eq!(high, ["phone", "team"]);
        let release = routed(Severity::Low, Category::Release, &["web", "db"]);
        assert_eq!(release, ["team"]);
    }

    #[test]
    fn a_person_is_told_which_route_it_was() {
        let said = |severity, category, tags: &[&str]| {
            let (alert, tags, config) = scene(severity, category, tags);
            in_words(&alert, &tags, &config)
        };
        assert_eq!(
            said(Severity::High, Category::Other, &[]),
            "route[2] (critical or high) to phone, team"
        );
        assert_eq!(
            said(Severity::Low, Category::Release, &["db"]),
            "route[3] (release, tag db) to team"
        );
        assert_eq!(
            said(Severity::Low, Category::Other, &[]),
            "no route fits, so the default channel rest"
        );
    }

    #[test]
    fn each_reader_of_a_mailing_channel_is_owed_a_row_of_their_own() {
        let tagged = ["mailed"];
        let (alert, tags, config) = scene(Severity::Low, Category::Other, &tagged);
        let to = route(&alert, &tags, &config, Timestamp::EPOCH);
        let places: Vec<String> = to.iter().map(|to| to.destination.to_string()).collect();
        assert_eq!(
            places,
            ["mail/one@example.net", "mail/two@example.net", "rest/-"]
        );
    }

    #[test]
    fn what_no_route_takes_goes_to_the_default_channel() {
        assert_eq!(routed(Severity::Low, Category::Release, &["web"]), ["rest"]);
        assert_eq!(routed(Severity::Normal, Category::Other, &[]), ["rest"]);
    }
}
