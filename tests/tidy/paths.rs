//! The paths that a file names, in `use` and in between, spelled out from the crate they start in.

use super::File;
use super::lexer::Token;
use std::collections::{BTreeMap, BTreeSet};

/// One mention of a path, such as `shared::store::open` or `std::time::Instant::now`.
#[derive(Debug)]
pub(super) struct Mention {
    /// From a crate's name on; our own crates by the name under which the others see them.
    pub(super) path: String,
    pub(super) line: usize,
    /// Inside `mod tests`, or in a file of that name.
    pub(super) in_unit_tests: bool,
}

/// Every path of the file that leads somewhere: into one of the `known` crates or into its own.
pub(super) fn mentions(file: &File, tokens: &[Token], known: &BTreeSet<String>) -> Vec<Mention> {
    let home = module_of(&file.path);
    let raw = raw_paths(tokens);
    let aliases: BTreeMap<&str, Vec<String>> = raw
        .iter()
        .filter_map(|path| Some((path.alias.as_deref()?, path)))
        .map(|(alias, path)| (alias, spelled_out(path, &home, known, &BTreeMap::new())))
        .collect();
    raw.iter()
        .map(|path| Mention {
            path: spelled_out(path, &home, known, &aliases).join("::"),
            line: path.line,
            in_unit_tests: home
                .iter()
                .chain(&path.inside)
                .any(|module| module == "tests"),
        })
        .collect()
}

/// `shared/src/store/open.rs` is `shared::store::open`; outside of `src` only the crate is told.
fn module_of(path: &str) -> Vec<String> {
    let (member, rest) = path.split_once('/').unwrap_or((path, ""));
    let member = match member {
        "shared" => "shared".to_owned(),
        other => format!("watchalert_{other}"),
    };
    let rest = rest.strip_prefix("src/").unwrap_or_default();
    let rest = rest.trim_end_matches(".rs");
    let modules = rest
        .split('/')
        .filter(|name| !["", "lib", "main", "mod"].contains(name));
    [member]
        .into_iter()
        .chain(modules.map(str::to_owned))
        .collect()
}

fn spelled_out(
    path: &RawPath,
    home: &[String],
    known: &BTreeSet<String>,
    aliases: &BTreeMap<&str, Vec<String>>,
) -> Vec<String> {
    let here = [home, &path.inside].concat();
    let (first, rest) = path.segments.split_first().unwrap();
    match first.as_str() {
        "crate" => [&here[..1], rest].concat(),
        "self" => [&here, rest].concat(),
        "super" => {
            let up = path.segments.iter().take_while(|s| *s == "super").count();
            let from = here.len().saturating_sub(up);
            [&here[..from], &path.segments[up..]].concat()
        }
        // What a `use` calls so, unless this is that very `use`.
        name if aliases.contains_key(name) && path.alias.as_deref() != Some(name) => {
            [&aliases[name], rest].concat()
        }
        name if known.contains(name) => path.segments.clone(),
        _ => [here.as_slice(), &path.segments].concat(),
    }
}

/// A path as it is written.
struct RawPath {
    segments: Vec<String>,
    line: usize,
    /// The name that a `use` gives it.
    alias: Option<String>,
    /// The inline modules around it.
    inside: Vec<String>,
}

fn raw_paths(tokens: &[Token]) -> Vec<RawPath> {
    let mut reader = Reader {
        tokens,
        at: 0,
        inside: Vec::new(),
        paths: Vec::new(),
    };
    let mut depth = 0;
    let mut opened_at = Vec::new();
    while let Some(token) = tokens.get(reader.at) {
        match token.text.as_str() {
            "{" => depth += 1,
            "}" => {
                depth -= 1;
                if opened_at.last() == Some(&depth) {
                    opened_at.pop();
                    reader.inside.pop();
                }
            }
            "mod" if reader.ahead(2) == "{" => {
                reader.inside.push(reader.ahead(1).to_owned());
                opened_at.push(depth);
                reader.at += 1;
            }
            "use" if reader.ahead(1) != "<" => {
                reader.at += 1;
                reader.use_tree(&[]);
                continue;
            }
            _ if token.is_name() && reader.ahead(1) == "::" => {
                reader.inline_path();
                continue;
            }
            _ => {}
        }
        reader.at += 1;
    }
    reader.paths
}

struct Reader<'a> {
    tokens: &'a [Token],
    at: usize,
    inside: Vec<String>,
    paths: Vec<RawPath>,
}

impl Reader<'_> {
    fn ahead(&self, by: usize) -> &str {
        self.tokens
            .get(self.at + by)
            .map_or("", |token| token.text.as_str())
    }

    fn push(&mut self, segments: Vec<String>, alias: Option<String>) {
        self.paths.push(RawPath {
            segments,
            line: self.tokens[self.at - 1].line,
            alias,
            inside: self.inside.clone(),
        });
    }

    /// From the first name after `use`, `{` or `,` to the sign that ends this branch.
    fn use_tree(&mut self, stem: &[String]) {
        let mut segments = stem.to_vec();
        let mut alias = None;
        loop {
            match self.ahead(0) {
                "::" => self.at += 1,
                "{" => {
                    while !matches!(self.ahead(0), "}" | ";" | "") {
                        self.at += 1;
                        self.use_tree(&segments);
                    }
                    self.at += 1;
                    return;
                }
                "as" => {
                    alias = Some(self.ahead(1).to_owned());
                    self.at += 2;
                }
                "," | "}" | ";" | "" => break,
                name => {
                    segments.push(name.to_owned());
                    self.at += 1;
                }
            }
        }
        if segments.len() == stem.len() {
            return; // nothing stands behind the last comma of a group
        }
        if segments.len() > 1 && segments.last().is_some_and(|last| last == "self") {
            segments.pop();
        }
        let alias = alias.or_else(|| segments.last().cloned());
        self.push(segments, alias);
    }

    fn inline_path(&mut self) {
        let mut segments = vec![self.ahead(0).to_owned()];
        self.at += 1;
        while self.ahead(0) == "::" && self.tokens.get(self.at + 1).is_some_and(Token::is_name) {
            segments.push(self.ahead(1).to_owned());
            self.at += 2;
        }
        self.push(segments, None);
    }
}
