//! The house rules that a compiler does not check: who may import whom, how long a file or function
//! may be, what nothing is called, and a line of reason for each dependency.

#[cfg(test)]
mod tidy {
    mod cases;
    mod dependencies;
    mod lexer;
    mod paths;
    mod rules;
    mod samples;
    mod scenarios;
    mod shape;

    use std::collections::BTreeSet;
    use std::fmt;
    use std::fs;
    use std::path::{Path, PathBuf};
    use std::process::Command;

    #[test]
    fn the_code_keeps_the_house_rules() {
        let known = known_crates();
        let files: Vec<File> = committed_files().filter_map(File::read).collect();
        assert!(files.iter().any(|file| file.path == "shared/src/lib.rs"));
        let mut findings: Vec<Finding> = files.iter().flat_map(shape::findings).collect();
        findings.extend(rules::findings(&files, &known));
        let lines: Vec<String> = findings.iter().map(Finding::to_string).collect();
        assert!(lines.is_empty(), "\n{}\n", lines.join("\n"));
    }

    #[test]
    fn every_dependency_has_its_line_of_reason() {
        let differences = dependencies::differences(
            &read("Cargo.toml"),
            &["shared", "ingest", "sender", "tests"].map(|m| read(&format!("{m}/Cargo.toml"))),
            &read("ARCHITECTURE.md"),
        );
        assert!(differences.is_empty(), "\n{}\n", differences.join("\n"));
    }

    #[test]
    fn the_map_of_cases_names_tests_that_exist() {
        let files: Vec<File> = committed_files().filter_map(File::read).collect();
        let rust = files.iter().filter(|file| file.is_rust());
        let tests: BTreeSet<String> = rust.flat_map(|file| cases::tests(&file.text)).collect();
        let faults = cases::faults(&read("tests/CASES.md"), &tests);
        assert!(faults.is_empty(), "\n{}\n", faults.join("\n"));
    }

    #[test]
    fn the_map_of_scenarios_names_tests_on_a_set_clock_that_verify() {
        let files: Vec<File> = committed_files().filter_map(File::read).collect();
        let faults = scenarios::faults(&read("tests/SCENARIOS.md"), &files);
        assert!(faults.is_empty(), "\n{}\n", faults.join("\n"));
    }

    /// A text file of the repository; `path` is relative to its root, with `/`.
    struct File {
        path: String,
        text: String,
    }

    impl File {
        fn new(path: &str, text: &str) -> Self {
            let (path, text) = (path.to_owned(), text.to_owned());
            Self { path, text }
        }

        /// None for what is not text, or was deleted but not yet committed so.
        fn read(path: String) -> Option<Self> {
            let text = fs::read_to_string(root().join(&path)).ok()?;
            Some(Self { path, text })
        }

        fn is_rust(&self) -> bool {
            Path::new(&self.path).extension().is_some_and(|e| e == "rs")
        }

        /// Whether the file is `place`, or `place` with its ending, or below it.
        fn is_within(&self, place: &str) -> bool {
            let Some(rest) = self.path.strip_prefix(place) else {
                return false;
            };
            place.is_empty() || rest.is_empty() || rest.starts_with('/') || rest.starts_with('.')
        }
    }

    /// One broken rule at one place.
    #[derive(Debug, PartialEq)]
    struct Finding {
        path: String,
        line: usize,
        rule: &'static str,
        what: String,
        remedy: &'static str,
    }

    impl fmt::Display for Finding {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            let Self { path, line, .. } = self;
            let Self { rule, what, .. } = self;
            write!(f, "{path}:{line}: {rule}: {what}; {}", self.remedy)
        }
    }

    fn root() -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
    }

    fn read(path: &str) -> String {
        fs::read_to_string(root().join(path)).unwrap()
    }

    /// What is committed, or would be by `git add --all`.
    fn committed_files() -> impl Iterator<Item = String> {
        let listing = Command::new("git")
            .args(["-c", "safe.directory=*", "ls-files", "-z"])
            .args(["--cached", "--others", "--exclude-standard"])
            .current_dir(root())
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&listing.stderr);
        assert!(listing.status.success(), "git ls-files: {said}");
        let names: BTreeSet<String> = String::from_utf8(listing.stdout)
            .unwrap()
            .split_terminator('\0')
            .map(str::to_owned)
            .collect();
        names.into_iter()
    }

    /// The names by which a path can start with another crate.
    fn known_crates() -> BTreeSet<String> {
        let dependencies = dependencies::of_workspace(&read("Cargo.toml"));
        let names = dependencies.iter().map(|name| name.replace('-', "_"));
        names
            .chain(["std", "core", "alloc", "watchalert_tests"].map(str::to_owned))
            .collect()
    }
}
