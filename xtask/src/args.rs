//! The words after a verb, taken out one flag at a time.

use crate::failure::{Failure, Result};

/// What follows the verb on the command line. Each verb takes the flags it knows and
/// calls [`Args::finish`], so that a misspelt flag is an error and never ignored.
pub(crate) struct Args {
    words: Vec<String>,
    after_dashes: Vec<String>,
}

impl Args {
    pub(crate) fn new(words: impl IntoIterator<Item = String>) -> Self {
        let mut words: Vec<String> = words.into_iter().collect();
        let after_dashes = match words.iter().position(|word| word == "--") {
            Some(at) => words.drain(at..).skip(1).collect(),
            None => Vec::new(),
        };
        Self { words, after_dashes }
    }

    /// Whether `name` was given.
    pub(crate) fn flag(&mut self, name: &str) -> bool {
        let before = self.words.len();
        self.words.retain(|word| word != name);
        self.words.len() != before
    }

    /// The value of `name VALUE` or `name=VALUE`.
    pub(crate) fn value(&mut self, name: &str) -> Result<Option<String>> {
        let Some(at) = self.words.iter().position(|word| is_option(word, name)) else {
            return Ok(None);
        };
        let word = self.words.remove(at);
        if let Some((_, value)) = word.split_once('=') {
            return Ok(Some(value.to_owned()));
        }
        if at == self.words.len() {
            return Err(Failure::new(format!("{name} needs a value")));
        }
        Ok(Some(self.words.remove(at)))
    }

    /// What stood after `--`, for the program that the verb runs.
    pub(crate) fn after_dashes(&mut self) -> Vec<String> {
        std::mem::take(&mut self.after_dashes)
    }

    /// Every word that is left, for a verb that hands them on as they are.
    pub(crate) fn rest(&mut self) -> Vec<String> {
        let mut rest = std::mem::take(&mut self.words);
        rest.append(&mut self.after_dashes);
        rest
    }

    pub(crate) fn finish(self) -> Result {
        match self.words.first().or(self.after_dashes.first()) {
            None => Ok(()),
            Some(word) => Err(Failure::new(format!("`{word}` means nothing here"))
                .next("`cargo xtask` lists the verbs and their flags")),
        }
    }
}

fn is_option(word: &str, name: &str) -> bool {
    word.strip_prefix(name)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with('='))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn args(line: &str) -> Args {
        Args::new(line.split_whitespace().map(str::to_owned))
    }

    #[test]
    fn takes_flags_values_and_what_follows_the_dashes() {
        let mut args = args("--fix --only fmt,tidy --peer=a -- --nocapture --only x");
        assert!(args.flag("--fix"));
        assert_eq!(args.value("--only").unwrap().as_deref(), Some("fmt,tidy"));
        assert_eq!(args.value("--peer").unwrap().as_deref(), Some("a"));
        assert_eq!(args.value("--peer").unwrap(), None);
        assert_eq!(args.after_dashes(), ["--nocapture", "--only", "x"]);
        args.finish().unwrap();
    }

    #[test]
    fn refuses_what_no_verb_took() {
        assert!(args("--fxi").finish().is_err());
        assert!(args("-- --nocapture").finish().is_err());
        assert!(args("--only").value("--only").is_err());
    }
}
