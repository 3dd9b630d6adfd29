//! `events` and `branches` of a `[[webhook]]` with `kind = "github"`: what of GitHub's events matters how
//! much, and where.

use super::reader::{Read, Section};
use super::suggest::nearest;
use super::value::{one_of, text};
use crate::model::Severity;
use std::collections::BTreeMap;
use toml::de::DeValue;

/// By event, or by event and action: `push`, `issues.opened`.
pub type Events = BTreeMap<String, Severity>;

/// A branch, or several: `*` stands for anything.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Branch(String);

impl Branch {
    pub fn takes(&self, branch: &str) -> bool {
        let mut parts = self.0.split('*');
        let first = parts.next().unwrap_or_default();
        let Some(mut rest) = branch.strip_prefix(first) else {
            return false;
        };
        let mut last = None;
        for part in parts {
            if let Some(before) = last.replace(part) {
                match rest.split_once(before) {
                    Some((_, behind)) => rest = behind,
                    None => return false,
                }
            }
        }
        match last {
            Some(end) => rest.ends_with(end),
            None => rest.is_empty(),
        }
    }
}

/// docs.github.com, "Webhook events and payloads", 2026-12.
const EVENTS: &[&str] = &[
    "branch_protection_configuration",
    "branch_protection_rule",
    "check_run",
    "check_suite",
    "code_scanning_alert",
    "commit_comment",
    "create",
    "custom_property",
    "custom_property_values",
    "delete",
    "dependabot_alert",
    "deploy_key",
    "deployment",
    "deployment_protection_rule",
    "deployment_review",
    "deployment_status",
    "discussion",
    "discussion_comment",
    "fork",
    "github_app_authorization",
    "gollum",
    "installation",
    "installation_repositories",
    "installation_target",
    "issue_comment",
    "issues",
    "label",
    "marketplace_purchase",
    "member",
    "membership",
    "merge_group",
    "meta",
    "milestone",
    "org_block",
    "organization",
    "package",
    "page_build",
    "personal_access_token_request",
    "project",
    "project_card",
    "project_column",
    "projects_v2",
    "projects_v2_item",
    "projects_v2_status_update",
    "public",
    "pull_request",
    "pull_request_review",
    "pull_request_review_comment",
    "pull_request_review_thread",
    "push",
    "registry_package",
    "release",
    "repository",
    "repository_advisory",
    "repository_dispatch",
    "repository_import",
    "repository_ruleset",
    "repository_vulnerability_alert",
    "secret_scanning_alert",
    "secret_scanning_alert_location",
    "security_advisory",
    "security_and_analysis",
    "sponsorship",
    "star",
    "status",
    "sub_issues",
    "team",
    "team_add",
    "watch",
    "workflow_dispatch",
    "workflow_job",
    "workflow_run",
];

pub(super) fn read(section: &mut Section<'_>) -> (Events, Vec<Branch>) {
    let example = "events = { push = \"ignore\" }";
    let pairs = section.pairs("events", example, |name, _place, value| {
        let event = name.split('.').next().unwrap_or(name);
        if !EVENTS.contains(&event) {
            let near = nearest(event, EVENTS.iter().copied());
            return Err(match near {
                Some(near) => format!("GitHub has no such event; did you mean {near:?}?"),
                None => "GitHub has no such event".to_owned(),
            });
        }
        let severity = one_of("severity", Severity::ALL)(value)?;
        Ok((name.to_owned(), severity))
    });
    let branches = section.list("branches", branch).unwrap_or_default();
    (pairs.into_iter().collect(), branches)
}

fn branch(value: &DeValue<'_>) -> Read<Branch> {
    let name = text(value)?;
    if name.starts_with("refs/") {
        return Err(format!(
            "{name:?} is a whole reference; write the branch alone, such as \"main\" or \"release/*\""
        ));
    }
    Ok(Branch(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_stands_for_anything() {
        for (pattern, takes, leaves) in [
            ("main", &["main"][..], &["mai", "main2", "xmain", ""][..]),
            (
                "release/*",
                &["release/", "release/1.0"],
                &["release", "xrelease/1"],
            ),
            ("*", &["", "anything"], &[]),
            (
                "v*.*-lts",
                &["v1.2-lts", "v.-lts"],
                &["v1-lts", "v1.2-lts2"],
            ),
            ("*fix", &["fix", "hotfix"], &["fixed"]),
        ] {
            let branch = Branch(pattern.to_owned());
            assert!(takes.iter().all(|name| branch.takes(name)), "{pattern}");
            assert!(!leaves.iter().any(|name| branch.takes(name)), "{pattern}");
        }
    }
}
