//! The dependencies of the workspace against the table in ARCHITECTURE.md.

use std::collections::BTreeSet;
use toml::Table;

/// The crates of `[workspace.dependencies]`, our own members among them.
pub(super) fn of_workspace(manifest: &str) -> BTreeSet<String> {
    let manifest: Table = manifest.parse().unwrap();
    names(&manifest["workspace"]["dependencies"])
}

/// A sentence for each dependency without a reason, reason without a dependency, and dependency
/// that no member uses.
pub(super) fn differences(workspace: &str, members: &[String], document: &str) -> Vec<String> {
    let manifest: Table = workspace.parse().unwrap();
    let declared: BTreeSet<String> = manifest["workspace"]["dependencies"]
        .as_table()
        .unwrap()
        .iter()
        .filter(|(_, value)| value.get("path").is_none())
        .map(|(name, _)| name.clone())
        .collect();
    let used: BTreeSet<String> = members.iter().flat_map(|text| of_member(text)).collect();
    let reasons = with_reason(document);

    let missing = declared.difference(&reasons).map(|name| {
        format!("ARCHITECTURE.md: `{name}` has no reason; add its line under \"Dependencies\"")
    });
    let stale = reasons
        .difference(&declared)
        .map(|name| format!("ARCHITECTURE.md: `{name}` is no dependency; remove its line"));
    let unused = declared
        .difference(&used)
        .map(|name| format!("Cargo.toml: no member uses `{name}`; remove it"));
    missing.chain(stale).chain(unused).collect()
}

fn of_member(manifest: &str) -> BTreeSet<String> {
    let manifest: Table = manifest.parse().unwrap();
    ["dependencies", "dev-dependencies", "build-dependencies"]
        .iter()
        .filter_map(|section| manifest.get(*section))
        .flat_map(names)
        .collect()
}

fn names(table: &toml::Value) -> BTreeSet<String> {
    table.as_table().unwrap().keys().cloned().collect()
}

/// The names in the first column of the section's table whose second column is not empty.
fn with_reason(document: &str) -> BTreeSet<String> {
    document
        .lines()
        .skip_while(|line| *line != "## Dependencies")
        .skip(1)
        .take_while(|line| !line.starts_with("## "))
        .filter_map(|line| {
            let (name, reason) = line.strip_prefix("| `")?.split_once("` |")?;
            let reason = reason.trim_end_matches('|').trim();
            (!reason.is_empty()).then(|| name.to_owned())
        })
        .collect()
}

#[test]
fn dependencies_and_their_reasons_are_compared_both_ways() {
    let workspace =
        "[workspace.dependencies]\na = \"1\"\nb = { version = \"1\" }\nour = { path = \"x\" }\n";
    let member = |text: &str| vec![format!("[dependencies]\n{text}")];
    let table = |lines: &str| {
        format!("## Before\n| `z` | no |\n## Dependencies\n{lines}## After\n| `y` | no |\n")
    };
    let compared = |document: &str, used: &str| differences(workspace, &member(used), document);

    let both = "a.workspace = true\nb.workspace = true\n";
    assert_eq!(
        compared(&table("| `a` | why |\n| `b` | why |\n"), both),
        [""; 0]
    );
    let wrong = compared(
        &table("| `b` |  |\n| `c` | why |\n"),
        "a.workspace = true\n",
    );
    let first_words: Vec<&str> = wrong
        .iter()
        .map(|line| line.split(';').next().unwrap())
        .collect();
    assert_eq!(
        first_words,
        [
            "ARCHITECTURE.md: `a` has no reason",
            "ARCHITECTURE.md: `b` has no reason",
            "ARCHITECTURE.md: `c` is no dependency",
            "Cargo.toml: no member uses `b`",
        ]
    );
}
