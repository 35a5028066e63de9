//! Whether a changelog mentions a commit.

use std::collections::HashSet;

/// A changelog, ready to be asked.
pub(super) struct Changelog {
    lower: String,
    lines: Vec<HashSet<String>>,
    /// The versions that its headings name.
    pub(super) versions: Vec<String>,
}

/// Of the longer words of a subject, how many must stand in one entry.
const SHARE: usize = 60;

impl Changelog {
    pub(super) fn new(text: &str) -> Self {
        let headings = text
            .lines()
            .filter(|line| line.starts_with('#') || line.starts_with("v") || line.starts_with('['));
        Self {
            lower: text.to_lowercase(),
            lines: text
                .lines()
                .map(|line| words(line).collect())
                .filter(|words: &HashSet<String>| !words.is_empty())
                .collect(),
            versions: headings.filter_map(version).collect(),
        }
    }

    /// By the commit's id, by a number (`#12`) in its subject, or by most of the subject's words in one line.
    pub(super) fn mentions(&self, id: &str, subject: &str) -> bool {
        let short = id.get(..7).unwrap_or(id);
        if self.lower.contains(short) {
            return true;
        }
        let numbers = subject.split(|character: char| !character.is_alphanumeric() && character != '#');
        if numbers
            .filter(|word| is_number(word))
            .any(|number| self.has_number(number))
        {
            return true;
        }
        let wanted: HashSet<String> = words(subject).collect();
        !wanted.is_empty()
            && self.lines.iter().any(|line| {
                let found = wanted.iter().filter(|word| line.contains(*word)).count();
                found * 100 >= wanted.len() * SHARE
            })
    }

    pub(super) fn has_version(&self, tag: &str) -> bool {
        let tag = bare(tag);
        self.versions.iter().any(|version| *version == tag)
    }

    fn has_number(&self, number: &str) -> bool {
        self.lower.match_indices(number).any(|(start, _)| {
            let after = self.lower[start + number.len()..].chars().next();
            !after.is_some_and(|character| character.is_ascii_digit())
        })
    }
}

/// A version without what stands before its first digit.
pub(super) fn bare(tag: &str) -> &str {
    tag.find(|character: char| character.is_ascii_digit())
        .map_or(tag, |start| &tag[start..])
}

fn is_number(word: &str) -> bool {
    word.strip_prefix('#')
        .is_some_and(|digits| !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit()))
}

/// The version that a heading names: two or three numbers with dots, and what follows them.
fn version(heading: &str) -> Option<String> {
    let word = heading
        .split(|character: char| character.is_whitespace() || "[]()#".contains(character))
        .find(|word| {
            bare(word).contains('.') && bare(word).starts_with(|character: char| character.is_ascii_digit())
        })?;
    let version = bare(word).trim_end_matches([',', ':', '.']);
    (word.len() <= version.len() + 20).then(|| version.to_owned())
}

fn words(text: &str) -> impl Iterator<Item = String> {
    text.split(|character: char| !character.is_alphanumeric())
        .filter(|word| word.chars().count() >= 4)
        .map(str::to_lowercase)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_are_found_by_id_number_and_words() {
        let changelog = Changelog::new(
            "# Changelog\n\n## [1.2.0] - 2026-01-01\n- Paths with spaces are quoted correctly\n- See #12, abc1234\n\n## v1.1.0\n",
        );
        assert_eq!(changelog.versions, ["1.2.0", "1.1.0"]);
        assert!(changelog.has_version("v1.2.0") && !changelog.has_version("v1.3.0"));
        assert!(changelog.mentions("abc1234ffff", "x"));
        assert!(changelog.mentions("0000000", "fix: it (#12)"));
        assert!(!changelog.mentions("0000000", "fix: it (#1)"));
        assert!(changelog.mentions("0000000", "Quoted paths with spaces"));
        assert!(!changelog.mentions("0000000", "Speed up cloning of large repositories"));
    }
}
