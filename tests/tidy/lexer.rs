//! Rust source as words and signs: comments are gone, a literal is one sign, lifetimes are gone.

/// A word (identifier, keyword or number), `::`, any other single character, or `"` for a literal.
#[derive(Debug, PartialEq)]
pub(super) struct Token {
    pub(super) text: String,
    /// Counted from 1; for a literal, where it ends.
    pub(super) line: usize,
}

impl Token {
    pub(super) fn is(&self, text: &str) -> bool {
        self.text == text
    }

    pub(super) fn is_name(&self) -> bool {
        self.text
            .starts_with(|c: char| c == '_' || c.is_alphabetic())
    }
}

pub(super) fn lex(source: &str) -> Vec<Token> {
    let mut lexer = Lexer {
        rest: source.chars().collect(),
        at: 0,
        line: 1,
        tokens: Vec::new(),
    };
    while let Some(c) = lexer.ahead(0) {
        match (c, lexer.ahead(1)) {
            ('/', Some('/')) => lexer.skip_while(|c| c != '\n'),
            ('/', Some('*')) => lexer.skip_block_comment(),
            ('"', _) => lexer.string(),
            ('\'', _) => lexer.character_or_lifetime(),
            (':', Some(':')) => lexer.sign("::"),
            _ if is_word(c) => lexer.word_or_literal(),
            _ if c.is_whitespace() => lexer.skip(1),
            _ => lexer.sign(c.encode_utf8(&mut [0; 4])),
        }
    }
    lexer.tokens
}

fn is_word(c: char) -> bool {
    c == '_' || c.is_alphanumeric()
}

struct Lexer {
    rest: Vec<char>,
    at: usize,
    line: usize,
    tokens: Vec<Token>,
}

impl Lexer {
    fn ahead(&self, by: usize) -> Option<char> {
        self.rest.get(self.at + by).copied()
    }

    fn skip(&mut self, count: usize) {
        for _ in 0..count {
            if self.ahead(0) == Some('\n') {
                self.line += 1;
            }
            self.at += 1;
        }
    }

    fn skip_while(&mut self, wanted: impl Fn(char) -> bool) {
        while self.ahead(0).is_some_and(&wanted) {
            self.skip(1);
        }
    }

    fn push(&mut self, text: &str) {
        self.tokens.push(Token {
            text: text.to_owned(),
            line: self.line,
        });
    }

    fn sign(&mut self, text: &str) {
        self.push(text);
        self.skip(text.chars().count());
    }

    fn skip_block_comment(&mut self) {
        let mut depth = 0;
        loop {
            match (self.ahead(0), self.ahead(1)) {
                (Some('/'), Some('*')) => {
                    depth += 1;
                    self.skip(2);
                }
                (Some('*'), Some('/')) => {
                    depth -= 1;
                    self.skip(2);
                    if depth == 0 {
                        return;
                    }
                }
                (Some(_), _) => self.skip(1),
                (None, _) => return,
            }
        }
    }

    /// A string from its opening quote on, with escapes.
    fn string(&mut self) {
        self.skip(1);
        while let Some(c) = self.ahead(0) {
            self.skip(if c == '\\' { 2 } else { 1 });
            if c == '"' {
                break;
            }
        }
        self.push("\"");
    }

    /// `"…"` with as many `#` behind as `hashes`, and nothing is an escape.
    fn raw_string(&mut self, hashes: usize) {
        self.skip(hashes + 1);
        while let Some(c) = self.ahead(0) {
            self.skip(1);
            if c == '"' && (0..hashes).all(|n| self.ahead(n) == Some('#')) {
                self.skip(hashes);
                break;
            }
        }
        self.push("\"");
    }

    /// `'x'` and `'\''` are characters; `'x` is a lifetime or a label.
    fn character_or_lifetime(&mut self) {
        if self.ahead(1) == Some('\\') {
            self.skip(3);
            self.skip_while(|c| c != '\'');
            self.sign("\"");
        } else if self.ahead(2) == Some('\'') {
            self.skip(2);
            self.sign("\"");
        } else {
            self.skip(1);
            self.skip_while(is_word);
        }
    }

    /// A word, or the literal whose prefix it is: `b"`, `c"`, `b'`, `r"`, `br#"`; or `r#word`.
    fn word_or_literal(&mut self) {
        let start = self.at;
        self.skip_while(is_word);
        let word: String = self.rest[start..self.at].iter().collect();
        let ahead = self.rest.iter().skip(self.at);
        let hashes = ahead.take_while(|c| **c == '#').count();
        match (word.as_str(), self.ahead(hashes)) {
            ("b" | "c", Some('"')) if hashes == 0 => self.string(),
            ("b", Some('\'')) if hashes == 0 => self.character_or_lifetime(),
            ("r" | "br" | "cr", Some('"')) => self.raw_string(hashes),
            ("r", Some(c)) if hashes == 1 && is_word(c) => self.skip(1),
            _ => self.push(&word),
        }
    }
}

#[test]
fn comments_and_literals_are_no_code() {
    let tricky = r###"
        // a { in a line comment, "an open string
        /* nested /* { */ " { */ let a = '{'; let b = '\''; let c = b'{'; let d = '"';
        let e: &'static str = "\" { \\"; let f = r#" " { "#; let g = br##"{"# {"##;
        let h = "//"; let i = '\u{7b}'; let j = c"{"; 'label: loop { break 'label }
        let r#fn = 1.0; let k = b"\"{"; let l = b'\\'; let m = x / y;
    "###;
    let words: Vec<String> = lex(tricky).into_iter().map(|token| token.text).collect();
    let code = "let a = \" ; let b = \" ; let c = \" ; let d = \" ; \
        let e : & str = \" ; let f = \" ; let g = \" ; \
        let h = \" ; let i = \" ; let j = \" ; : loop { break } \
        let fn = 1 . 0 ; let k = \" ; let l = \" ; let m = x / y ;";
    assert_eq!(words.join(" "), code);
    assert_eq!(
        lex("a\n\"b\nc\\\n\" d\n/*\n*/e")
            .iter()
            .map(|t| t.line)
            .collect::<Vec<_>>(),
        [1, 4, 4, 6]
    );
}
