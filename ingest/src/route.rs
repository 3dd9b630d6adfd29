//! Route: which destinations an alert is owed to. The first route that matches decides.

use shared::config::{Config, Route};
use shared::model::{Alert, Destination};

/// The destinations of `alert`, whose feed has `tags`: never empty in a checked configuration.
pub fn route(alert: &Alert, tags: &[String], config: &Config) -> Vec<Destination> {
    let matching = config
        .routes
        .iter()
        .find(|route| matches(route, alert, tags));
    let default = std::slice::from_ref(&config.default_channel);
    let names = matching.map_or(default, |route| route.to.as_slice());
    let destinations = names.iter().filter_map(|name| {
        let channel = config.channels.iter().find(|channel| channel.name == *name);
        channel.map(shared::config::Channel::destination)
    });
    destinations.collect()
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
[[route]]
severity = ["critical", "high"]
to = ["phone", "team"]
[[route]]
category = ["release"]
tag = ["db"]
to = ["team"]
"#;

    fn routed(severity: Severity, category: Category, tags: &[&str]) -> Vec<String> {
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
        let to = route(&alert, &tags, &config);
        to.into_iter().map(|to| to.channel).collect()
    }

    #[test]
    fn the_first_route_that_matches_decides() {
        let high = routed(Severity::High, Category::Release, &["db"]);
        assert_eq!(high, ["phone", "team"]);
        let release = routed(Severity::Low, Category::Release, &["web", "db"]);
        assert_eq!(release, ["team"]);
    }

    #[test]
    fn what_no_route_takes_goes_to_the_default_channel() {
        assert_eq!(routed(Severity::Low, Category::Release, &["web"]), ["rest"]);
        assert_eq!(routed(Severity::Normal, Category::Other, &[]), ["rest"]);
    }
}
