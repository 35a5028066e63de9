//! SPDX licence expressions, as crates declare them: `(MIT OR Apache-2.0) AND Unicode-3.0`.

/// Whether `expression` can be satisfied with licences that are allowed.
pub(super) fn is_allowed(expression: &str, allowed: impl Fn(&str) -> bool) -> Result<bool, String> {
    // Crates from before 2018 write `MIT/Apache-2.0`.
    let spaced = expression
        .replace('(', " ( ")
        .replace(')', " ) ")
        .replace('/', " OR ");
    let mut parser = Parser {
        words: spaced.split_whitespace().peekable(),
        allowed,
    };
    let verdict = parser.either()?;
    match parser.words.next() {
        None => Ok(verdict),
        Some(word) => Err(format!("`{word}` is not expected")),
    }
}

struct Parser<W: Iterator, F> {
    words: std::iter::Peekable<W>,
    allowed: F,
}

impl<'a, W: Iterator<Item = &'a str>, F: Fn(&str) -> bool> Parser<W, F> {
    /// `OR` binds weakest. Both sides are always read, whatever the first one says.
    fn either(&mut self) -> Result<bool, String> {
        let mut verdict = self.both()?;
        while self.words.next_if_eq(&"OR").is_some() {
            verdict |= self.both()?;
        }
        Ok(verdict)
    }

    fn both(&mut self) -> Result<bool, String> {
        let mut verdict = self.one()?;
        while self.words.next_if_eq(&"AND").is_some() {
            verdict &= self.one()?;
        }
        Ok(verdict)
    }

    fn one(&mut self) -> Result<bool, String> {
        match self.words.next() {
            None => Err("it ends too early".to_owned()),
            Some("(") => {
                let verdict = self.either()?;
                self.words.next_if_eq(&")").ok_or("a parenthesis is not closed")?;
                Ok(verdict)
            }
            Some(word) if matches!(word, ")" | "AND" | "OR" | "WITH") => {
                Err(format!("`{word}` is not expected"))
            }
            Some(id) => {
                // An exception only ever adds to what the licence permits.
                if self.words.next_if_eq(&"WITH").is_some() {
                    self.words.next().ok_or("`WITH` names no exception")?;
                }
                Ok((self.allowed)(id))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(expression: &str, expected: Result<bool, ()>) {
        let allowed = |id: &str| matches!(id, "MIT" | "Apache-2.0" | "Unicode-3.0");
        assert_eq!(
            is_allowed(expression, allowed).map_err(|_| ()),
            expected,
            "{expression}"
        );
    }

    #[test]
    fn expressions_are_judged_by_what_is_allowed() {
        check("MIT", Ok(true));
        check("GPL-3.0-only", Ok(false));
        check("MIT OR GPL-3.0-only", Ok(true));
        check("GPL-3.0-only OR MIT", Ok(true));
        check("MIT AND GPL-3.0-only", Ok(false));
        check("MIT/Apache-2.0", Ok(true));
        check("(MIT OR GPL-3.0-only) AND Unicode-3.0", Ok(true));
        check("GPL-3.0-only AND MIT OR Apache-2.0", Ok(true));
        check("Apache-2.0 WITH LLVM-exception OR GPL-2.0-only", Ok(true));
        check("GPL-2.0-only WITH Classpath-exception-2.0", Ok(false));
    }

    #[test]
    fn what_cannot_be_read_is_an_error() {
        for bad in [
            "",
            "MIT OR",
            "(MIT",
            "MIT)",
            "AND MIT",
            "MIT Apache-2.0",
            "MIT WITH",
        ] {
            check(bad, Err(()));
        }
    }
}
