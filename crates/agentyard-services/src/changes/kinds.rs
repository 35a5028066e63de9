//! Kinds of commits.

use agentyard_git::Commit;

/// What a commit does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ChangeKind {
    /// Something new.
    Feature,
    /// Something that was wrong.
    Fix,
    /// Faster, or with less.
    Performance,
    /// The same in another way.
    Refactor,
    /// Documents.
    Docs,
    /// Tests.
    Test,
    /// How it is built, checked and released.
    Build,
    /// Something is taken back.
    Revert,
    /// Two lines of history are joined.
    Merge,
    /// Anything else.
    Other,
}

/// A commit, understood as far as its message goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Described {
    /// What it does.
    pub kind: ChangeKind,
    /// The part of the product that it names.
    pub scope: Option<String>,
    /// Whether it says that it breaks what used to work.
    pub breaking: bool,
}

/// How much a version number has to grow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Bump {
    /// Fixes alone.
    Patch,
    /// Something new.
    Minor,
    /// Something broke.
    Major,
}

impl ChangeKind {
    /// As it is written.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Feature => "feature",
            Self::Fix => "fix",
            Self::Performance => "performance",
            Self::Refactor => "refactor",
            Self::Docs => "docs",
            Self::Test => "test",
            Self::Build => "build",
            Self::Revert => "revert",
            Self::Merge => "merge",
            Self::Other => "other",
        }
    }

    /// Whether somebody who uses the product wants to read of it.
    #[must_use]
    pub const fn concerns_users(self) -> bool {
        matches!(self, Self::Feature | Self::Fix | Self::Performance | Self::Revert)
    }
}

impl Described {
    /// Reads a commit's message: a conventional prefix (`fix(git)!: …`) if it has one, otherwise its first word.
    #[must_use]
    pub fn of(commit: &Commit) -> Self {
        let (prefix, rest) = match commit.subject.split_once(": ") {
            Some((prefix, rest)) if is_prefix(prefix) => (prefix, rest),
            _ => ("", commit.subject.as_str()),
        };
        let marked = prefix.ends_with('!');
        let prefix = prefix.trim_end_matches('!');
        let (word, inner) = match prefix.split_once('(') {
            Some((word, inner)) => (word, Some(inner.trim_end_matches(')'))),
            None => (prefix, None),
        };
        let conventional = of_prefix(&word.to_lowercase());
        let kind = match conventional {
            _ if commit.parents.len() > 1 => ChangeKind::Merge,
            _ if word.starts_with("fixup! ") || word.starts_with("squash! ") => ChangeKind::Fix,
            Some(kind) => kind,
            None => of_first_word(rest),
        };
        // Where the prefix is no kind it is the part of the product: `git: Refuse a link`.
        let scope = inner.or((conventional.is_none() && !word.is_empty()).then_some(word));
        let footer =
            |line: &str| line.starts_with("BREAKING CHANGE:") || line.starts_with("BREAKING-CHANGE:");
        Self {
            kind,
            scope: scope.map(ToOwned::to_owned),
            breaking: marked || commit.body.lines().any(footer),
        }
    }
}

/// How much the version has to grow for these commits; none when nothing concerns users.
pub(crate) fn bump<'a>(commits: impl IntoIterator<Item = &'a Described>) -> Option<Bump> {
    let each = commits.into_iter().filter_map(|described| match described.kind {
        _ if described.breaking => Some(Bump::Major),
        ChangeKind::Feature => Some(Bump::Minor),
        kind if kind.concerns_users() => Some(Bump::Patch),
        _ => None,
    });
    each.max()
}

/// The version after a tag's: `v1.2.3` and a minor step make `v1.3.0`. Before 1.0 a break is a minor step.
pub(crate) fn next_version(tag: &str, bump: Bump) -> Option<String> {
    let digits = tag.find(|character: char| character.is_ascii_digit())?;
    let (prefix, version) = tag.split_at(digits);
    let numbers: Option<Vec<u64>> = version.split('.').map(|part| part.parse().ok()).collect();
    let [major, minor, patch] = numbers?.try_into().ok()?;
    let (major, minor, patch) = match bump {
        Bump::Major if major > 0 => (major + 1, 0, 0),
        Bump::Major | Bump::Minor => (major, minor + 1, 0),
        Bump::Patch => (major, minor, patch + 1),
    };
    Some(format!("{prefix}{major}.{minor}.{patch}"))
}

fn is_prefix(prefix: &str) -> bool {
    let allowed = |character: char| character.is_alphanumeric() || "-_/.,()! ".contains(character);
    prefix.len() <= 40 && prefix.split(' ').count() <= 2 && prefix.chars().all(allowed)
}

fn of_prefix(word: &str) -> Option<ChangeKind> {
    Some(match word {
        "feat" | "feature" => ChangeKind::Feature,
        "fix" | "bugfix" | "hotfix" | "security" => ChangeKind::Fix,
        "perf" => ChangeKind::Performance,
        "refactor" | "style" => ChangeKind::Refactor,
        "docs" | "doc" => ChangeKind::Docs,
        "test" | "tests" => ChangeKind::Test,
        "build" | "ci" | "chore" | "deps" | "release" => ChangeKind::Build,
        "revert" => ChangeKind::Revert,
        _ => return None,
    })
}

fn of_first_word(subject: &str) -> ChangeKind {
    let word = subject
        .split_whitespace()
        .next()
        .unwrap_or_default()
        .to_lowercase();
    match word.trim_end_matches(':') {
        "add" | "adds" | "added" | "implement" | "introduce" | "support" | "allow" | "offer" | "let"
        | "give" | "new" => ChangeKind::Feature,
        "fix" | "fixes" | "fixed" | "correct" | "repair" | "handle" | "prevent" | "avoid" | "refuse"
        | "fixup!" => ChangeKind::Fix,
        "speed" | "optimize" | "optimise" | "cache" => ChangeKind::Performance,
        "refactor" | "rename" | "move" | "split" | "extract" | "simplify" | "clean" | "format" => {
            ChangeKind::Refactor
        }
        "document" | "docs" | "explain" => ChangeKind::Docs,
        "test" | "tests" => ChangeKind::Test,
        "bump" | "release" | "upgrade" | "update" => ChangeKind::Build,
        "revert" => ChangeKind::Revert,
        "merge" => ChangeKind::Merge,
        _ => ChangeKind::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn described(subject: &str, body: &str) -> Described {
        Described::of(&crate::changes::review::tests::commit(subject, body))
    }

    #[test]
    fn conventional_prefixes_and_plain_words_are_understood() {
        for (subject, kind, scope, breaking) in [
            ("feat(api)!: drop v1", ChangeKind::Feature, Some("api"), true),
            ("fix: a crash", ChangeKind::Fix, None, false),
            ("git: Refuse a link", ChangeKind::Fix, Some("git"), false),
            ("Add a thing", ChangeKind::Feature, None, false),
            ("Revert \"feat: x\"", ChangeKind::Revert, None, false),
            (
                "Something: that is, a sentence with words",
                ChangeKind::Other,
                Some("Something"),
                false,
            ),
            ("", ChangeKind::Other, None, false),
        ] {
            let expected = Described {
                kind,
                scope: scope.map(str::to_owned),
                breaking,
            };
            assert_eq!(described(subject, ""), expected, "{subject}");
        }
        assert!(described("fix: a", "text\n\nBREAKING CHANGE: b").breaking);
        assert!(!described("fix: a", "no BREAKING CHANGE: b").breaking);
    }

    #[test]
    fn versions_grow_by_what_changed() {
        for (tag, bump, next) in [
            ("v1.2.3", Bump::Major, Some("v2.0.0")),
            ("1.2.3", Bump::Minor, Some("1.3.0")),
            ("v0.2.3", Bump::Major, Some("v0.3.0")),
            ("app-1.2.3", Bump::Patch, Some("app-1.2.4")),
            ("v1.2", Bump::Patch, None),
            ("v1.2.3-rc1", Bump::Patch, None),
            ("nightly", Bump::Patch, None),
        ] {
            assert_eq!(next_version(tag, bump).as_deref(), next, "{tag}");
        }
        let kinds = ["feat: a", "fix: b", "docs: c"].map(|subject| described(subject, ""));
        assert_eq!(bump(&kinds), Some(Bump::Minor));
        assert_eq!(bump(&kinds[2..]), None);
    }
}
