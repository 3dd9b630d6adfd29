//! What one file shows by itself: its first sentence, its length, its functions, its names, and
//! whether it speaks of somebody's machine.

use super::lexer::{Token, lex};
use super::{File, Finding};

const LINES_OF_A_FILE: usize = 500;
const LINES_OF_A_FUNCTION: usize = 70;

/// Verbs that say nothing about what a function does, as its name or the start of it.
const EMPTY_VERBS: &[&str] = &["handle", "manage", "process"];
/// Nouns that say nothing about what a type is.
const EMPTY_NOUNS: &[&str] = &["Manager", "Service"];
/// Places where things are put that have no place.
const DRAWERS: &[&str] = &["helper", "helpers", "util", "utils"];

/// Paths and hosts that mean something on one machine only. In two parts each, so that this file
/// does not mention them.
const MACHINES: &[&str] = &[
    concat!("/work", "/"),
    concat!("/root", "/"),
    concat!("arti", "factory"),
];

/// Real feeds and webhook bodies say what they say.
const FOREIGN_TEXT: &str = "tests/fixtures";

pub(super) fn findings(file: &File) -> Vec<Finding> {
    let mut findings = Findings {
        file,
        list: Vec::new(),
    };
    if !file.is_within(FOREIGN_TEXT) {
        findings.machines();
    }
    if file.is_rust() {
        let tokens = lex(&file.text);
        findings.opening();
        findings.length();
        findings.functions(&tokens);
        findings.names(&tokens);
    }
    findings.list
}

struct Findings<'a> {
    file: &'a File,
    list: Vec<Finding>,
}

impl Findings<'_> {
    fn push(&mut self, line: usize, rule: &'static str, what: String, remedy: &'static str) {
        self.list.push(Finding {
            path: self.file.path.clone(),
            line,
            rule,
            what,
            remedy,
        });
    }

    fn machines(&mut self) {
        for (number, line) in self.file.text.lines().enumerate() {
            for machine in MACHINES {
                let mut before: Vec<&str> = line.split(machine).collect();
                before.pop();
                if !before.iter().all(|text| text.ends_with(is_part_of_a_path)) {
                    let what = format!("`{machine}`");
                    self.push(
                        number + 1,
                        "no machine",
                        what,
                        "say it relative to the repository",
                    );
                }
            }
        }
    }

    /// The first paragraph of the `//!` lines at the top is a sentence.
    fn opening(&mut self) {
        let opening: Vec<&str> = self
            .file
            .text
            .lines()
            .map_while(|line| line.strip_prefix("//! "))
            .collect();
        let sentence = opening.join(" ");
        let is_sentence = sentence.contains(' ')
            && sentence.ends_with(['.', ':'])
            && sentence.starts_with(|c: char| !c.is_lowercase());
        if !is_sentence {
            let what = format!("`{sentence}`");
            let remedy = "open the file with a `//!` sentence that says what it owns";
            self.push(1, "first sentence", what, remedy);
        }
    }

    fn length(&mut self) {
        let lines = self.file.text.lines().count();
        if lines > LINES_OF_A_FILE {
            let what = format!("{lines} lines");
            let remedy = "find the two things it owns and part them";
            self.push(lines, "file length", what, remedy);
        }
    }

    fn functions(&mut self, tokens: &[Token]) {
        for function in functions(tokens) {
            if function.lines > LINES_OF_A_FUNCTION {
                let what = format!("`{}` has {} lines", function.name, function.lines);
                let remedy = "name its steps and call them";
                self.push(function.line, "function length", what, remedy);
            }
        }
    }

    fn names(&mut self, tokens: &[Token]) {
        let stem = self.file.path.rsplit('/').next().unwrap();
        let stem = stem.trim_end_matches(".rs");
        if let Some(remedy) = bad_name("mod", stem) {
            self.push(1, "names", format!("file `{stem}`"), remedy);
        }
        for pair in tokens.windows(2) {
            let (keyword, name) = (&pair[0].text, &pair[1].text);
            if let Some(remedy) = bad_name(keyword, name) {
                let what = format!("`{keyword} {name}`");
                self.push(pair[1].line, "names", what, remedy);
            }
        }
    }
}

/// `https://example.org/…` and `./…` go on; after a space, a quote or `=` a path begins.
fn is_part_of_a_path(c: char) -> bool {
    c.is_alphanumeric() || "._-}".contains(c)
}

/// What to do instead, when a declaration by this keyword must not have this name.
fn bad_name(keyword: &str, name: &str) -> Option<&'static str> {
    let in_a_drawer = DRAWERS.iter().any(|drawer| {
        name.split('_')
            .any(|word| word.eq_ignore_ascii_case(drawer))
    });
    match keyword {
        "fn" | "mod" if in_a_drawer => Some("put each thing where the data passes"),
        "fn" if EMPTY_VERBS.contains(&name.split('_').next().unwrap()) => {
            Some("fetch, parse, classify, route, lease, send, settle: say what it does")
        }
        "struct" | "enum" | "trait" | "type" | "union"
            if EMPTY_NOUNS.iter().any(|noun| name.contains(noun)) =>
        {
            Some("say what it is: a stage, a rule, a channel")
        }
        _ => None,
    }
}

struct Function<'a> {
    name: &'a str,
    line: usize,
    /// From the line of `fn` to that of the closing brace, both counted.
    lines: usize,
}

/// Every function with a body, those inside other functions too.
fn functions(tokens: &[Token]) -> impl Iterator<Item = Function<'_>> {
    tokens.windows(2).enumerate().filter_map(|(at, pair)| {
        let [keyword, name] = pair else { return None };
        if !keyword.is("fn") || !name.is_name() {
            return None;
        }
        let body = at + body_of(&tokens[at..])?;
        let end = body + closing_brace(&tokens[body..])?;
        Some(Function {
            name: &name.text,
            line: keyword.line,
            lines: tokens[end].line - keyword.line + 1,
        })
    })
}

/// Where the `{` of a function's body is; None for a declaration that ends with `;`.
fn body_of(declaration: &[Token]) -> Option<usize> {
    let mut depth = 0;
    for (at, token) in declaration.iter().enumerate() {
        match token.text.as_str() {
            "(" | "[" => depth += 1,
            ")" | "]" => depth -= 1,
            "{" if depth == 0 => return Some(at),
            ";" if depth == 0 => return None,
            _ => {}
        }
    }
    None
}

/// Where the brace that `tokens` opens with is closed.
fn closing_brace(tokens: &[Token]) -> Option<usize> {
    let mut depth = 0;
    tokens.iter().position(|token| {
        match token.text.as_str() {
            "{" => depth += 1,
            "}" => depth -= 1,
            _ => {}
        }
        depth == 0
    })
}

#[test]
fn functions_are_measured_from_fn_to_brace() {
    let code = "trait T { fn declared(&self) -> [u8; 4]; fn given(&self) {} }
        fn outer<F: Fn([u8; 2]) -> u8>(f: F, g: fn(u8))
        where F: Copy {
            fn inner() { let s = \"}\"; /* } */
            }
            macro_rules! m { () => { fn $name() {} } }
        }";
    let tokens = lex(code);
    let measured: Vec<_> = functions(&tokens)
        .map(|f| (f.name, f.line, f.lines))
        .collect();
    assert_eq!(
        measured,
        [("given", 1, 1), ("outer", 2, 6), ("inner", 4, 2)]
    );
}

fn shape_of(path: &str, text: &str) -> Vec<(&'static str, usize)> {
    let findings = findings(&File::new(path, text));
    findings.iter().map(|f| (f.rule, f.line)).collect()
}

#[test]
fn a_file_opens_with_a_sentence() {
    for good in [
        "//! The one clock.\n",
        "//! What it owns, on\n//! two lines.\n//!\n//! More\n",
    ] {
        assert_eq!(shape_of("a/src/b.rs", good), []);
    }
    for bad in [
        "",
        "use a;\n//! Too late.",
        "// No doc.",
        "//! fragment of words",
        "//! Word.",
        "\n//! A late one.",
    ] {
        assert_eq!(
            shape_of("a/src/b.rs", bad),
            [("first sentence", 1)],
            "{bad}"
        );
    }
}

#[test]
fn long_files_and_long_functions_are_told() {
    let file = |lines: usize| format!("//! A file.\n{}", "//\n".repeat(lines - 1));
    assert_eq!(shape_of("a/src/b.rs", &file(500)), []);
    assert_eq!(shape_of("a/src/b.rs", &file(501)), [("file length", 501)]);
    let function =
        |lines: usize| format!("//! A file.\nfn f() {{\n{}}}\n", "//\n".repeat(lines - 2));
    assert_eq!(shape_of("a/src/b.rs", &function(70)), []);
    assert_eq!(
        shape_of("a/src/b.rs", &function(71)),
        [("function length", 2)]
    );
}

#[test]
fn names_that_say_nothing_are_told() {
    for bad in [
        "fn handle_reply() {}",
        "fn process() {}",
        "async fn manage_all() {}",
        "struct FeedService;",
        "trait Manager {}",
        "type LeaseManager = ();",
        "mod utils;",
        "mod test_helpers {}",
        "fn string_util() {}",
    ] {
        assert_eq!(
            shape_of("a/src/b.rs", &format!("//! A file.\n{bad}")),
            [("names", 2)],
            "{bad}"
        );
    }
    for good in [
        "fn handled() {}",
        "struct Processes;",
        "mod process;",
        "fn utility() {}",
        "// fn handle() {}",
        "let handle = 1;",
    ] {
        assert_eq!(
            shape_of("a/src/b.rs", &format!("//! A file.\n{good}")),
            [],
            "{good}"
        );
    }
    assert_eq!(shape_of("a/src/utils.rs", "//! A file."), [("names", 1)]);
}

#[test]
fn somebodys_machine_is_told_in_any_file() {
    let folder = concat!("/work", "/");
    let host = concat!("Arti", "factory").to_lowercase();
    for bad in [
        format!("cd {folder}x"),
        format!("\"{folder}\""),
        format!("=https://{host}.example"),
    ] {
        let told = shape_of("README.md", &format!("a\n{bad}\n"));
        assert_eq!(told, [("no machine", 2)], "{bad}");
        assert_eq!(shape_of("tests/fixtures/feed.xml", &bad), []);
    }
    for good in [
        format!("https://example.org{folder}x"),
        format!("./a{folder}"),
    ] {
        assert_eq!(shape_of("README.md", &good), [], "{good}");
    }
}
