//! What happens to the code: pushes, branches and tags, pull requests, releases, packages.

use super::super::Told;
use super::Event;
use shared::model::{Category, Severity};

pub(super) fn told(event: &Event<'_>) -> Option<Told> {
    Some(match event.name {
        "push" => push(event),
        "create" | "delete" => named(event),
        "pull_request" => pull(event),
        "pull_request_review" => review(event),
        "release" => release(event),
        "package" | "registry_package" => package(event),
        "pull_request_review_comment" | "pull_request_review_thread" => kept(event),
        _ => return None,
    })
}

fn push(event: &Event<'_>) -> Told {
    let body = event.body;
    let name = body.raw("ref").unwrap_or_default();
    let (branch, tag) = (
        name.strip_prefix("refs/heads/"),
        name.strip_prefix("refs/tags/"),
    );
    let default = body.raw("repository.default_branch");
    let is_default = branch.is_some() && branch == default.as_deref();
    // That a branch or a tag is made or goes comes as an event of its own.
    let is_made = body.flag("created") || body.flag("deleted");
    let severity = match (body.flag("forced"), is_default) {
        (true, true) => Severity::High,
        (false, true) if !is_made => Severity::Low,
        _ => Severity::Ignore,
    };
    let count = body.list("commits").count();
    let commits = match (body.flag("forced"), count) {
        (true, _) => "force-pushed".to_owned(),
        (false, 1) => "pushed a commit".to_owned(),
        (false, many) => format!("pushed {many} commits"),
    };
    let place = branch.or(tag).unwrap_or(&name);
    let subject = body.text("head_commit.message").unwrap_or_default();
    let commits = match (tag, body.flag("deleted")) {
        (Some(_), true) => "deleted a tag,".to_owned(),
        (Some(_), false) => "pushed a tag,".to_owned(),
        _ => format!("{commits} to"),
    };
    let what = format!("{} {commits} {place}: {subject}", event.sender());
    let what = what.trim_end_matches([':', ' ']);
    event
        .told(severity, Category::Other, what, &["ref", "before", "after"])
        .link(body, "compare")
}

fn named(event: &Event<'_>) -> Told {
    let kind = event.word("ref_type");
    let severity = if kind == "tag" {
        Severity::Low
    } else {
        Severity::Ignore
    };
    let done = if event.name == "create" {
        "created"
    } else {
        "deleted"
    };
    let what = format!("{} {done} the {kind} {}", event.sender(), event.word("ref"));
    let id = ["ref_type", "ref", "repository.pushed_at"];
    event.told(severity, Category::Other, &what, &id)
}

fn pull(event: &Event<'_>) -> Told {
    let body = event.body;
    let (done, severity) = match event.action {
        "opened" | "reopened" if body.flag("pull_request.draft") => (event.action, Severity::Low),
        "opened" | "reopened" => (event.action, Severity::Normal),
        "ready_for_review" => ("made ready for review", Severity::Normal),
        "review_requested" => ("asks for a review of", Severity::Normal),
        "closed" if body.flag("pull_request.merged") => ("merged", Severity::Low),
        "closed" => ("closed", Severity::Low),
        action => (action, Severity::Ignore),
    };
    let done = done.replace('_', " ");
    let what = format!(
        "{} {done} the pull request #{} {}",
        event.sender(),
        event.word("pull_request.number"),
        event.word("pull_request.title")
    );
    let id = [
        "pull_request.id",
        "pull_request.updated_at",
        "requested_reviewer.id",
    ];
    event
        .told(severity, Category::Other, &what, &id)
        .link(body, "pull_request.html_url")
        .text(body.prose("pull_request.body"))
}

fn review(event: &Event<'_>) -> Told {
    let body = event.body;
    let state = body.raw("review.state").unwrap_or_default();
    let (said, severity) = match (event.action, state.as_str()) {
        ("submitted", "changes_requested") => ("asks for changes in", Severity::Normal),
        ("submitted", "approved") => ("approved", Severity::Low),
        ("submitted", _) => ("commented on", Severity::Low),
        ("dismissed", _) => ("dismissed a review of", Severity::Low),
        _ => ("edited a review of", Severity::Ignore),
    };
    let what = format!(
        "{} {said} #{} {}",
        event.sender(),
        event.word("pull_request.number"),
        event.word("pull_request.title")
    );
    event
        .told(
            severity,
            Category::Other,
            &what,
            &["review.id", "review.submitted_at"],
        )
        .link(body, "review.html_url")
        .text(body.prose("review.body"))
}

/// `published`, `released` and `prereleased` come together: they are one.
fn release(event: &Event<'_>) -> Told {
    let body = event.body;
    let is_early = body.flag("release.prerelease");
    let (severity, done) = match event.action {
        "published" | "released" | "prereleased" if is_early => (Severity::Low, "pre-released"),
        "published" | "released" => (Severity::Normal, "released"),
        "deleted" | "unpublished" => (Severity::Low, "withdrew"),
        _ => (Severity::Ignore, "edited"),
    };
    let name = body
        .text("release.name")
        .or_else(|| body.text("release.tag_name"));
    let what = format!("{} {done} {}", event.sender(), name.unwrap_or_default());
    let mut told = event
        .told(severity, Category::Release, &what, &["release.id"])
        .link(body, "release.html_url")
        .text(body.prose("release.body"));
    // By what was done and not by the action's name.
    told.identity = vec![
        "release".to_owned(),
        done.to_owned(),
        event.place(),
        event.word("release.id"),
    ];
    if severity == Severity::Ignore {
        told.identity.push(body.0.to_string());
    }
    told
}

fn package(event: &Event<'_>) -> Told {
    let body = event.body;
    let root = if body.at("package").is_some() {
        "package"
    } else {
        "registry_package"
    };
    let at = |key: &str| format!("{root}.{key}");
    let what = format!(
        "{} {} the package {} {}",
        event.sender(),
        event.action,
        body.word(&at("name")),
        body.text(&at("package_version.version"))
            .unwrap_or_default()
    );
    let id = [at("id"), at("package_version.id"), at("updated_at")];
    let id: Vec<&str> = id.iter().map(String::as_str).collect();
    event
        .told(Severity::Low, Category::Release, what.trim_end(), &id)
        .link(body, &at("html_url"))
}

/// Line by line, of what is told as a review.
fn kept(event: &Event<'_>) -> Told {
    let what = format!(
        "{} {} on #{} {}",
        event.sender(),
        if event.action == "created" {
            "commented"
        } else {
            "changed a comment"
        },
        event.word("pull_request.number"),
        event.word("pull_request.title")
    );
    let id = ["comment.id", "comment.updated_at", "thread.node_id"];
    event
        .told(Severity::Ignore, Category::Other, &what, &id)
        .link(event.body, "comment.html_url")
}
