//! Who may do what, and what becomes of a repository as a whole: members, keys, rules, visibility, and this
//! webhook itself.

use super::super::Told;
use super::Event;
use shared::model::{Category, Severity};

use Severity::{High, Ignore, Low, Normal};

pub(super) fn told(event: &Event<'_>) -> Option<Told> {
    let (severity, what, id): (Severity, String, &[&str]) = match event.name {
        "repository" => return Some(repository(event)),
        "public" => return Some(published(event)),
        "meta" => (
            High,
            "this webhook was deleted at GitHub: nothing more comes from there".to_owned(),
            &["hook_id"],
        ),
        "deploy_key" => key(event),
        "branch_protection_rule" | "repository_ruleset" | "branch_protection_configuration" => {
            rule(event)
        }
        "member" | "membership" | "team_add" | "team" | "organization" | "org_block" => {
            member(event)
        }
        "installation"
        | "installation_repositories"
        | "github_app_authorization"
        | "marketplace_purchase"
        | "personal_access_token_request"
        | "installation_target" => application(event),
        "repository_import" => {
            let status = event.word("status");
            let severity = if status == "failure" { Normal } else { Low };
            (
                severity,
                format!("its import: {status}"),
                &["repository.id", "status"],
            )
        }
        "security_and_analysis" => (
            Normal,
            format!("{} changed which security features are on", event.sender()),
            &["repository.updated_at"],
        ),
        _ => return None,
    };
    let told = event.told(severity, Category::Operations, &what, id);
    Some(told.at(event.now))
}

/// The same happening comes as `repository` and as `public`.
fn published(event: &Event<'_>) -> Told {
    let what = format!("{} made the repository public", event.sender());
    let mut told = event.told(High, Category::Operations, &what, &[]);
    told.identity = vec![
        "public".to_owned(),
        event.word("repository.id"),
        event.word("repository.updated_at"),
    ];
    told
}

fn repository(event: &Event<'_>) -> Told {
    let (severity, done) = match event.action {
        "publicized" => return published(event),
        "deleted" => (High, "deleted the repository".to_owned()),
        "transferred" => (High, "transferred the repository".to_owned()),
        "archived" | "unarchived" => (Normal, format!("{} the repository", event.action)),
        "privatized" => (Normal, "made the repository private".to_owned()),
        "renamed" => (
            Normal,
            format!(
                "renamed the repository, which was {}",
                event.word("changes.repository.name.from")
            ),
        ),
        "created" => (Low, "created the repository".to_owned()),
        action => (Ignore, format!("{action} the repository")),
    };
    let what = format!("{} {done}", event.sender());
    event.told(
        severity,
        Category::Operations,
        &what,
        &["repository.id", "repository.updated_at"],
    )
}

fn key(event: &Event<'_>) -> (Severity, String, &'static [&'static str]) {
    let may_write = !event.body.flag("key.read_only");
    let severity = match (event.action, may_write) {
        ("created", true) => High,
        ("created", false) => Normal,
        _ => Low,
    };
    let kind = if may_write { "may write" } else { "may read" };
    let what = format!(
        "{} {} the deploy key {}, which {kind}",
        event.sender(),
        event.action,
        event.word("key.title")
    );
    (severity, what, &["key.id"])
}

fn rule(event: &Event<'_>) -> (Severity, String, &'static [&'static str]) {
    let severity = match event.action {
        "deleted" | "disabled" => High,
        "edited" => Normal,
        _ => Low,
    };
    let name = ["rule.name", "repository_ruleset.name"];
    let name = name.iter().find_map(|path| event.body.text(path));
    let what = format!(
        "{} {} the protection of {}",
        event.sender(),
        event.action,
        name.unwrap_or_else(|| "branches".to_owned())
    );
    (
        severity,
        what,
        &[
            "rule.id",
            "rule.updated_at",
            "repository_ruleset.id",
            "repository_ruleset.updated_at",
        ],
    )
}

fn member(event: &Event<'_>) -> (Severity, String, &'static [&'static str]) {
    let severity = match (event.name, event.action) {
        ("organization", "deleted") => High,
        ("member" | "membership", "added")
        | ("organization", "member_added" | "renamed")
        | ("team_add", _)
        | ("team", "added_to_repository")
        | ("member", "edited") => Normal,
        _ => Low,
    };
    let whom = [
        "member.login",
        "membership.user.login",
        "blocked_user.login",
    ];
    let whom = whom.iter().find_map(|path| event.body.text(path));
    let to = event
        .body
        .text("team.name")
        .map(|team| format!("the team {team}"));
    let action = event.action.replace('_', " ");
    let what = match (event.name, whom, to) {
        ("organization", Some(whom), _) => format!("{action}: {whom}, by {}", event.sender()),
        ("membership", Some(whom), Some(team)) => {
            format!("{} {action} {whom}, of {team}", event.sender())
        }
        ("team_add", _, Some(team)) => format!("{} gave {team} access", event.sender()),
        (_, Some(whom), _) => format!("{} {action} the member {whom}", event.sender()),
        (_, None, Some(team)) => format!("{} {action} {team}", event.sender()),
        (_, None, None) => format!("{} was {action} by {}", event.name, event.sender()),
    };
    (
        severity,
        what,
        &[
            "member.id",
            "membership.user.id",
            "team.id",
            "blocked_user.id",
            "organization.id",
            "repository.updated_at",
        ],
    )
}

fn application(event: &Event<'_>) -> (Severity, String, &'static [&'static str]) {
    let severity = match (event.name, event.action) {
        ("personal_access_token_request", "created") => High,
        ("installation", "unsuspend")
        | ("installation_repositories" | "github_app_authorization", _) => Low,
        _ => Normal,
    };
    let what = format!(
        "{} {} by {}",
        event.name.replace('_', " "),
        event.action.replace('_', " "),
        event.sender()
    );
    (
        severity,
        what,
        &[
            "installation.id",
            "installation.updated_at",
            "marketplace_purchase.next_billing_date",
            "personal_access_token_request.id",
            "effective_date",
        ],
    )
}
