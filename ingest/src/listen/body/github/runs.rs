//! What runs and may fail: workflows, checks, deployments, pages. A success ends a failure.

use super::super::Told;
use super::Event;
use shared::model::{Category, Severity};

pub(super) fn told(event: &Event<'_>) -> Option<Told> {
    Some(match event.name {
        "workflow_run" => workflow(event),
        "check_run" => check(
            event,
            "check_run",
            "check_run.check_suite.head_branch",
            "name",
        ),
        "check_suite" => check(event, "check_suite", "check_suite.head_branch", "app.name"),
        "status" => status(event),
        "deployment_status" => deployment(event),
        "page_build" => page(event),
        "deployment_review" if event.action == "requested" => review(event),
        "workflow_job"
        | "workflow_dispatch"
        | "deployment"
        | "repository_dispatch"
        | "merge_group"
        | "deployment_review" => kept(event),
        _ => return None,
    })
}

/// How something ended.
#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    Failed,
    Succeeded,
    /// Under way, skipped, cancelled: nobody needs to know.
    Other,
}

fn end(conclusion: Option<&str>) -> End {
    match conclusion {
        Some(
            "failure" | "timed_out" | "startup_failure" | "action_required" | "error" | "errored",
        ) => End::Failed,
        Some("success" | "built") => End::Succeeded,
        _ => End::Other,
    }
}

/// Failures of the default branch matter; elsewhere somebody is at work.
fn on(event: &Event<'_>, branch: Option<&String>) -> Severity {
    let default = event.body.raw("repository.default_branch");
    if branch.is_some() && branch == default.as_ref() {
        Severity::High
    } else {
        Severity::Low
    }
}

/// What ran, how it ended: a failure begins something at its place and name, a success ends it.
fn run(
    event: &Event<'_>,
    ended: End,
    grave: Severity,
    what: &str,
    thread: &[String],
    id: &[&str],
) -> Told {
    let (severity, says) = match ended {
        End::Failed => (grave, "failed"),
        End::Succeeded => (Severity::Low, "works again"),
        End::Other => (Severity::Ignore, "is under way or was left out"),
    };
    let told = event.told(
        severity,
        Category::Operations,
        &format!("{what} {says}"),
        id,
    );
    let mut whole = vec![event.place()];
    whole.extend_from_slice(thread);
    match ended {
        End::Other => told,
        End::Failed => told.of(event.name, &whole, false),
        End::Succeeded => told.of(event.name, &whole, true),
    }
}

fn workflow(event: &Event<'_>) -> Told {
    let body = event.body;
    let conclusion = body.raw("workflow_run.conclusion");
    let ended = match event.action {
        "completed" => end(conclusion.as_deref()),
        _ => End::Other,
    };
    let branch = body.raw("workflow_run.head_branch");
    let what = format!(
        "the workflow {:?} on {}",
        event.word("workflow_run.name"),
        event.word("workflow_run.head_branch")
    );
    let thread = ["workflow_run.workflow_id", "workflow_run.head_branch"];
    let thread = thread.map(|path| body.raw(path).unwrap_or_default());
    let id = ["workflow_run.id", "workflow_run.run_attempt"];
    run(
        event,
        ended,
        on(event, branch.as_ref()),
        &what,
        &thread,
        &id,
    )
    .link(body, "workflow_run.html_url")
    .text(body.prose("workflow_run.head_commit.message"))
}

/// A suite or one of its runs. Those of GitHub's own Actions are told as workflows.
fn check(event: &Event<'_>, root: &str, branch: &str, name: &str) -> Told {
    let body = event.body;
    let at = |key: &str| format!("{root}.{key}");
    let conclusion = body.raw(&at("conclusion"));
    let app = body.raw(&at("app.slug"));
    let ended = match event.action {
        "completed" if app.as_deref() != Some("github-actions") => end(conclusion.as_deref()),
        _ => End::Other,
    };
    let on_branch = body.raw(branch);
    let what = format!(
        "the check {:?} on {}",
        event.word(&at(name)),
        body.word(branch)
    );
    let thread = [event.word(&at(name)), body.word(branch)];
    let id = at("id");
    let completed = at("updated_at");
    run(
        event,
        ended,
        on(event, on_branch.as_ref()),
        &what,
        &thread,
        &[&id, &completed],
    )
    .link(body, &at("html_url"))
}

fn status(event: &Event<'_>) -> Told {
    let body = event.body;
    let branch = body.raw("branches.0.name");
    let ended = end(body.raw("state").as_deref());
    let what = format!(
        "{} on {}",
        event.word("context"),
        event.word("branches.0.name")
    );
    let thread = [event.word("context"), event.word("branches.0.name")];
    run(
        event,
        ended,
        on(event, branch.as_ref()),
        &what,
        &thread,
        &["id"],
    )
    .link(body, "target_url")
    .text(body.prose("description"))
}

fn deployment(event: &Event<'_>) -> Told {
    let body = event.body;
    let place = event.word("deployment_status.environment");
    let ended = end(body.raw("deployment_status.state").as_deref());
    let grave = if place.eq_ignore_ascii_case("production") {
        Severity::High
    } else {
        Severity::Normal
    };
    let what = format!(
        "the deployment of {} to {place}",
        event.word("deployment.ref")
    );
    let id = ["deployment_status.id"];
    run(event, ended, grave, &what, &[place], &id)
        .link(body, "deployment_status.target_url")
        .text(body.prose("deployment_status.description"))
}

fn page(event: &Event<'_>) -> Told {
    let body = event.body;
    let ended = end(body.raw("build.status").as_deref());
    run(
        event,
        ended,
        Severity::Normal,
        "the pages' build",
        &[],
        &["id"],
    )
    .text(body.prose("build.error.message"))
}

fn review(event: &Event<'_>) -> Told {
    let what = format!(
        "a deployment to {} waits for a review",
        event.word("environment")
    );
    let id = ["workflow_run.id", "environment"];
    event
        .told(Severity::Normal, Category::Operations, &what, &id)
        .link(event.body, "workflow_run.html_url")
}

/// Steps of what is told as a whole.
fn kept(event: &Event<'_>) -> Told {
    let what = format!("{} {}", event.name, event.action).replace('_', " ");
    let ids = [
        "workflow_job.id",
        "deployment.id",
        "merge_group.head_sha",
        "workflow",
        "since",
    ];
    let mut told = event.told(Severity::Ignore, Category::Operations, what.trim(), &ids);
    told.identity
        .push(event.body.raw("workflow_job.status").unwrap_or_default());
    told
}
