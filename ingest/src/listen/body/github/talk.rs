//! What people write: issues, comments, discussions, wikis; and what they merely like.

use super::super::Told;
use super::Event;
use shared::model::{Category, Severity};

use Severity::{Ignore, Low, Normal};

pub(super) fn told(event: &Event<'_>) -> Option<Told> {
    Some(match event.name {
        "issues" => issue(event),
        "issue_comment" | "commit_comment" | "discussion_comment" => comment(event),
        "discussion" => discussion(event),
        "gollum" => wiki(event),
        "milestone" => milestone(event),
        "sponsorship" => sponsorship(event),
        "star"
        | "watch"
        | "fork"
        | "label"
        | "project"
        | "project_card"
        | "project_column"
        | "projects_v2"
        | "projects_v2_item"
        | "projects_v2_status_update" => liked(event),
        _ => return None,
    })
}

fn issue(event: &Event<'_>) -> Told {
    let body = event.body;
    let severity = match event.action {
        "opened" | "reopened" => Normal,
        "closed" | "transferred" | "deleted" => Low,
        _ => Ignore,
    };
    let what = format!(
        "{} {} the issue #{} {}",
        event.sender(),
        event.action.replace('_', " "),
        event.word("issue.number"),
        event.word("issue.title")
    );
    event
        .told(
            severity,
            Category::Other,
            &what,
            &["issue.id", "issue.updated_at", "label.id", "assignee.id"],
        )
        .link(body, "issue.html_url")
        .text(body.prose("issue.body"))
}

fn comment(event: &Event<'_>) -> Told {
    let body = event.body;
    let severity = if event.action == "created" {
        Low
    } else {
        Ignore
    };
    let on = ["issue", "discussion"].iter().find_map(|root| {
        let title = body.text(&format!("{root}.title"))?;
        Some(format!("#{} {title}", body.word(&format!("{root}.number"))))
    });
    let commit = body.raw("comment.commit_id").unwrap_or_default();
    let on = on.unwrap_or_else(|| format!("the commit {}", commit.get(..7).unwrap_or(&commit)));
    let done = if event.action == "created" {
        "commented on"
    } else {
        "changed a comment on"
    };
    let what = format!("{} {done} {on}", event.sender());
    event
        .told(
            severity,
            Category::Other,
            &what,
            &["comment.id", "comment.updated_at"],
        )
        .link(body, "comment.html_url")
        .text(body.prose("comment.body"))
}

fn discussion(event: &Event<'_>) -> Told {
    let body = event.body;
    let severity = match event.action {
        "created" | "answered" => Low,
        _ => Ignore,
    };
    let what = format!(
        "{} {} the discussion #{} {}",
        event.sender(),
        event.action.replace('_', " "),
        event.word("discussion.number"),
        event.word("discussion.title")
    );
    event
        .told(
            severity,
            Category::Other,
            &what,
            &["discussion.id", "discussion.updated_at", "label.id"],
        )
        .link(body, "discussion.html_url")
        .text(body.prose("discussion.body"))
}

fn wiki(event: &Event<'_>) -> Told {
    let pages = event.body.list("pages");
    let pages: Vec<String> = pages.filter_map(|page| page.text("title")).collect();
    let what = format!("{} edited the wiki: {}", event.sender(), pages.join(", "));
    event
        .told(Low, Category::Other, &what, &["pages.0.sha"])
        .link(event.body, "pages.0.html_url")
}

fn milestone(event: &Event<'_>) -> Told {
    let what = format!(
        "{} {} the milestone {}",
        event.sender(),
        event.action,
        event.word("milestone.title")
    );
    event
        .told(
            Low,
            Category::Other,
            &what,
            &["milestone.id", "milestone.updated_at"],
        )
        .link(event.body, "milestone.html_url")
}

fn sponsorship(event: &Event<'_>) -> Told {
    let what = format!(
        "a sponsorship was {} by {}",
        event.action.replace('_', " "),
        event.word("sponsorship.sponsor.login")
    );
    event.told(
        Low,
        Category::Other,
        &what,
        &["sponsorship.node_id", "effective_date"],
    )
}

/// Kept for who asks, and told nobody.
fn liked(event: &Event<'_>) -> Told {
    let what = match event.name {
        "star" | "watch" => format!("{} starred it", event.sender()),
        "fork" => format!(
            "{} forked it to {}",
            event.sender(),
            event.word("forkee.full_name")
        ),
        other => {
            let name = [
                "label.name",
                "project.name",
                "project_column.name",
                "project_card.note",
            ];
            let name = name.iter().find_map(|path| event.body.text(path));
            format!(
                "{} {} {}",
                other.replace('_', " "),
                event.action,
                name.unwrap_or_default()
            )
        }
    };
    let mut told = event.told(Ignore, Category::Other, what.trim_end(), &[]);
    told.identity.push(event.body.0.to_string());
    told
}
