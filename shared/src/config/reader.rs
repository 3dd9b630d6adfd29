//! Walks the tree of the file: every value knows its key path and line, a fault is noted instead
//! of ending the reading, and a key is known when, and only when, somebody read it.

use super::error::{Place, Problem};
use super::suggest::instead_of;
use std::cell::RefCell;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// What a converter says: the checked value, or what is wrong and what to do.
pub(super) type Read<T> = Result<T, String>;

/// Collects the faults. Shared, because sections of the same file are open at the same time.
pub(super) struct Report {
    line_starts: Vec<usize>,
    problems: RefCell<Vec<Problem>>,
}

impl Report {
    pub(super) fn new(text: &str) -> Self {
        let after_breaks = text.match_indices('\n').map(|(at, _)| at + 1);
        Self {
            line_starts: std::iter::once(0).chain(after_breaks).collect(),
            problems: RefCell::default(),
        }
    }

    fn problem(&self, at: Place, what: impl Into<String>) {
        let what = what.into();
        self.problems.borrow_mut().push(Problem { at, what });
    }

    /// A text that is not TOML at all.
    pub(super) fn syntax(&self, text: &str, error: &toml::de::Error) {
        let offset = error.span().map_or(text.len(), |span| span.start);
        let (line, start) = self.line(offset);
        let column = text
            .get(start..offset)
            .map_or(1, |before| before.chars().count() + 1);
        let at = Place {
            line: Some(line),
            column: Some(column),
            key: "not TOML".to_owned(),
        };
        self.problem(at, format!("{}; see https://toml.io", error.message()));
    }

    /// Every problem, in the order of the file.
    pub(super) fn into_problems(self) -> Vec<Problem> {
        let mut problems = self.problems.into_inner();
        // What has no line is missing from the file: that comes last.
        problems.sort_by_key(|problem| (problem.at.line.is_none(), problem.at.clone()));
        problems
    }

    /// The line of a byte, from 1, and where that line starts.
    fn line(&self, offset: usize) -> (usize, usize) {
        let line = self.line_starts.partition_point(|start| *start <= offset);
        let start = line.checked_sub(1).and_then(|at| self.line_starts.get(at));
        (line, start.copied().unwrap_or(0))
    }
}

/// One table of the file, while it is read.
pub(super) struct Section<'r> {
    at: Place,
    table: &'r DeTable<'r>,
    asked: Vec<&'static str>,
    report: &'r Report,
}

impl<'r> Section<'r> {
    pub(super) fn root(table: &'r DeTable<'r>, report: &'r Report) -> Self {
        Self::new(Place::default(), table, report)
    }

    fn new(at: Place, table: &'r DeTable<'r>, report: &'r Report) -> Self {
        Self {
            at,
            table,
            asked: Vec::new(),
            report,
        }
    }

    /// Where the section itself stands.
    pub(super) fn place(&self) -> Place {
        self.at.clone()
    }

    /// Where a key stands, or would stand.
    pub(super) fn at(&self, key: &str) -> Place {
        let line = match self.table.get_key_value(key) {
            Some((key, _)) => Some(self.report.line(key.span().start).0),
            None => self.at.line,
        };
        Place {
            line,
            column: None,
            key: below(&self.at.key, key),
        }
    }

    pub(super) fn has(&self, key: &str) -> bool {
        self.table.contains_key(key)
    }

    pub(super) fn refuse(&self, key: &str, what: impl Into<String>) {
        self.report.problem(self.at(key), what);
    }

    /// Something wrong with the section itself.
    pub(super) fn refuse_whole(&self, what: impl Into<String>) {
        self.report.problem(self.place(), what);
    }

    /// How many problems the file has so far.
    pub(super) fn problems(&self) -> usize {
        self.report.problems.borrow().len()
    }

    /// The value of an optional key; `None` also when it was refused.
    pub(super) fn get<T>(
        &mut self,
        key: &'static str,
        convert: impl FnOnce(&DeValue<'_>) -> Read<T>,
    ) -> Option<T> {
        let value = self.value(key)?;
        convert(value.get_ref())
            .map_err(|what| self.refuse(key, what))
            .ok()
    }

    /// The value of a key that must be there; `missing` says what to write.
    pub(super) fn need<T>(
        &mut self,
        key: &'static str,
        missing: &str,
        convert: impl FnOnce(&DeValue<'_>) -> Read<T>,
    ) -> Option<T> {
        if !self.has(key) {
            self.refuse(key, missing);
        }
        self.get(key, convert)
    }

    /// A list without repeats; elements that are refused are noted and left out.
    pub(super) fn list<T: PartialEq>(
        &mut self,
        key: &'static str,
        convert: impl Fn(&DeValue<'_>) -> Read<T>,
    ) -> Option<Vec<T>> {
        let value = self.value(key)?;
        let Some(elements) = value.get_ref().as_array() else {
            self.refuse(key, not_a_list(value.get_ref()));
            return None;
        };
        let mut list = Vec::new();
        for element in elements {
            let what = match convert(element.get_ref()) {
                Ok(read) if !list.contains(&read) => {
                    list.push(read);
                    continue;
                }
                Ok(_) => format!("{} stands twice; remove one", shown(element.get_ref())),
                Err(what) => what,
            };
            let mut at = self.at(key);
            at.line = Some(self.report.line(element.span().start).0);
            self.report.problem(at, what);
        }
        Some(list)
    }

    /// The same for a list that says nothing when it is empty; `empty` says what to do.
    pub(super) fn filled_list<T: PartialEq>(
        &mut self,
        key: &'static str,
        empty: &str,
        convert: impl Fn(&DeValue<'_>) -> Read<T>,
    ) -> Option<Vec<T>> {
        let value = self.table.get(key).map(Spanned::get_ref);
        let list = value.and_then(DeValue::as_array);
        if list.is_some_and(|list| list.is_empty()) {
            self.refuse(key, empty);
        }
        self.list(key, convert)
    }

    /// `[key]`, or `key = { … }`.
    pub(super) fn section(&mut self, key: &'static str, example: &str) -> Option<Section<'r>> {
        let value = self.value(key)?;
        self.table_at(self.at(key), value, example)
    }

    /// `[[key]]`, in the order of the file.
    pub(super) fn tables(&mut self, key: &'static str) -> Vec<Section<'r>> {
        let Some(value) = self.value(key) else {
            return Vec::new();
        };
        let Some(elements) = value.get_ref().as_array() else {
            let found = described(value.get_ref());
            self.refuse(key, format!("must be a list, not {found}; write [[{key}]]"));
            return Vec::new();
        };
        let numbered = elements.iter().enumerate();
        numbered
            .filter_map(|(index, element)| {
                let at = Place {
                    line: Some(self.report.line(element.span().start).0),
                    column: None,
                    key: format!("{}[{}]", below(&self.at.key, key), index + 1),
                };
                self.table_at(at, element, &format!("[[{key}]]"))
            })
            .collect()
    }

    /// The pairs of `key = { … }`, whose names are anybody's; those that are refused are left out.
    pub(super) fn pairs<T>(
        &mut self,
        key: &'static str,
        example: &str,
        convert: impl Fn(&str, Place, &DeValue<'_>) -> Read<T>,
    ) -> Vec<T> {
        let Some(section) = self.section(key, example) else {
            return Vec::new();
        };
        let pairs = section.table.iter();
        pairs
            .filter_map(|(name, value)| {
                let at = section.at(name.get_ref());
                convert(name.get_ref(), at, value.get_ref())
                    .map_err(|what| section.refuse(name.get_ref(), what))
                    .ok()
            })
            .collect()
    }

    /// Every `[key.NAME]`, by name.
    pub(super) fn named_tables(&mut self, key: &'static str) -> Vec<(&'r str, Section<'r>)> {
        let example = format!("[{key}.NAME]");
        let Some(parent) = self.section(key, &example) else {
            return Vec::new();
        };
        let entries = parent.table.iter();
        entries
            .filter_map(|(name, value)| {
                let section = parent.table_at(parent.at(name.get_ref()), value, &example)?;
                Some((&**name.get_ref(), section))
            })
            .collect()
    }

    fn table_at(
        &self,
        at: Place,
        value: &'r Spanned<DeValue<'r>>,
        example: &str,
    ) -> Option<Section<'r>> {
        let Some(table) = value.get_ref().as_table() else {
            let found = described(value.get_ref());
            self.report
                .problem(at, format!("must be a table, not {found}; write {example}"));
            return None;
        };
        Some(Section::new(at, table, self.report))
    }

    /// Ends the reading: every key that nobody asked for is a problem.
    pub(super) fn finish(self) {
        for (key, _) in self.table {
            let name: &str = key.get_ref();
            if self.asked.contains(&name) {
                continue;
            }
            let file_key = format!("{name}_file");
            let what = if self.asked.contains(&file_key.as_str()) {
                format!(
                    "secrets are not written here; put it in a file and name that with {file_key:?}"
                )
            } else {
                format!(
                    "unknown key{}",
                    instead_of(name, self.asked.iter().copied())
                )
            };
            self.refuse(name, what);
        }
    }

    fn value(&mut self, key: &'static str) -> Option<&'r Spanned<DeValue<'r>>> {
        self.asked.push(key);
        self.table.get(key)
    }
}

fn below(path: &str, key: &str) -> String {
    let bare = !key.is_empty()
        && key
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_');
    let key = if bare {
        key.to_owned()
    } else {
        format!("{key:?}")
    };
    if path.is_empty() {
        key
    } else {
        format!("{path}.{key}")
    }
}

fn not_a_list(value: &DeValue<'_>) -> String {
    let found = described(value);
    match value {
        DeValue::String(text) => format!("must be a list, not {found}; write [{text:?}]"),
        _ => format!("must be a list, not {found}; write it in [ ]"),
    }
}

fn shown(value: &DeValue<'_>) -> String {
    match value.as_str() {
        Some(text) => format!("{text:?}"),
        None => described(value).to_owned(),
    }
}

/// The kind of a value, as a person says it.
pub(super) fn described(value: &DeValue<'_>) -> &'static str {
    match value {
        DeValue::String(_) => "text",
        DeValue::Integer(_) => "a whole number",
        DeValue::Float(_) => "a number",
        DeValue::Boolean(_) => "true or false",
        DeValue::Datetime(_) => "a date",
        DeValue::Array(_) => "a list",
        DeValue::Table(_) => "a table",
    }
}
