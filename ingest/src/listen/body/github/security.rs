//! Flaws: in what a repository is made of, in its code, in its secrets; and advisories. What is mended
//! ends what was found.

use super::super::Told;
use super::{Event, graveness};
use shared::model::{Category, Severity};

pub(super) fn told(event: &Event<'_>) -> Option<Told> {
    Some(match event.name {
        "dependabot_alert" => dependency(event),
        "repository_vulnerability_alert" => old_dependency(event),
        "code_scanning_alert" => code(event),
        "secret_scanning_alert" => secret(event),
        "security_advisory" | "repository_advisory" => advisory(event),
        _ => return None,
    })
}

/// Whether an action ends what an earlier one began.
fn is_end(action: &str) -> bool {
    matches!(
        action,
        "fixed"
            | "dismissed"
            | "auto_dismissed"
            | "resolved"
            | "revoked"
            | "closed_by_user"
            | "dismiss"
            | "resolve"
            | "withdrawn"
    )
}

/// An action of neither kind (assigned, commented) is kept and not told.
fn is_begin(action: &str) -> bool {
    matches!(
        action,
        "created"
            | "create"
            | "reopened"
            | "reintroduced"
            | "auto_reopened"
            | "reopened_by_user"
            | "appeared_in_branch"
            | "publicly_leaked"
            | "published"
            | "reported"
            | "updated"
    )
}

/// The alert `number`, as `what`, as grave as `severity` when it begins.
fn alert(event: &Event<'_>, severity: Severity, what: &str, number: &str) -> Told {
    let said = match event.action {
        "created" | "create" => what.to_owned(),
        action => format!("{what}: {}", action.replace('_', " ")),
    };
    let severity = match (is_begin(event.action), is_end(event.action)) {
        (true, _) => severity,
        (_, true) => Severity::Low,
        _ => Severity::Ignore,
    };
    let at = ["alert.updated_at"];
    let id = [&[number][..], &at].concat();
    let thread = [event.place(), event.body.raw(number).unwrap_or_default()];
    event
        .told(severity, Category::Vulnerability, &said, &id)
        .link(event.body, "alert.html_url")
        .of(event.name, &thread, is_end(event.action))
}

fn dependency(event: &Event<'_>) -> Told {
    let body = event.body;
    let severity = body.raw("alert.security_advisory.severity");
    let what = format!(
        "{} in {}",
        event.word("alert.security_advisory.summary"),
        event.word("alert.dependency.package.name")
    );
    let text = [
        "alert.security_advisory.cve_id",
        "alert.dependency.manifest_path",
    ];
    let text = text.iter().filter_map(|path| body.text(path));
    let text: Vec<String> = text.collect();
    alert(event, graveness(severity.as_deref()), &what, "alert.number").text(text.join(", "))
}

fn old_dependency(event: &Event<'_>) -> Told {
    let severity = event.body.raw("alert.severity");
    let what = format!(
        "{} in {} {}",
        event.word("alert.external_identifier"),
        event.word("alert.affected_package_name"),
        event.word("alert.affected_range")
    );
    alert(event, graveness(severity.as_deref()), &what, "alert.id")
        .link(event.body, "alert.external_reference")
}

fn code(event: &Event<'_>) -> Told {
    let body = event.body;
    let severity = ["alert.rule.security_severity_level", "alert.rule.severity"];
    let severity = severity.iter().find_map(|path| body.raw(path));
    let what = format!(
        "{} found {}",
        event.word("alert.tool.name"),
        event.word("alert.rule.description")
    );
    alert(event, graveness(severity.as_deref()), &what, "alert.number")
}

/// The secret itself stands in some bodies, and in no title or text of ours.
fn secret(event: &Event<'_>) -> Told {
    let kind = ["alert.secret_type_display_name", "alert.secret_type"];
    let kind = kind.iter().find_map(|path| event.body.text(path));
    let kind = kind.unwrap_or_else(|| "secret".to_owned());
    let what = format!("a secret stands in the code ({kind})");
    alert(event, Severity::Critical, &what, "alert.number")
}

fn advisory(event: &Event<'_>) -> Told {
    let body = event.body;
    let at = |key: &str| {
        let of_repository = format!("repository_advisory.{key}");
        let path = format!("security_advisory.{key}");
        body.at(&of_repository).map_or(path, |_| of_repository)
    };
    let severity = match event.action {
        _ if is_end(event.action) => Severity::Low,
        "updated" => Severity::Low,
        "reported" => Severity::High,
        _ => graveness(body.raw(&at("severity")).as_deref()),
    };
    let id = at("ghsa_id");
    let what = match event.action {
        "published" => body.word(&at("summary")),
        action => format!("{}: {action}", body.word(&at("summary"))),
    };
    let updated = at("updated_at");
    let mut told = event
        .told(severity, Category::Vulnerability, &what, &[&id, &updated])
        .text(body.prose(&at("description")))
        .of(event.name, &[body.word(&id)], is_end(event.action))
        .link(body, &at("html_url"));
    if told.link.is_none() {
        let advisory = body.text(&id);
        told.link = advisory.map(|id| format!("https://github.com/advisories/{id}"));
    }
    told
}
