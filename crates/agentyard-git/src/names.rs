//! Names of branches, tags and remotes, checked such that git cannot take them for anything else.

use std::ffi::OsStr;
use std::fmt;
use std::str::FromStr;

use crate::{Error, text};

/// As long as a file system lets a name be, nearly.
const MAX_LENGTH: usize = 240;

macro_rules! name {
    ($(#[$doc:meta])* $name:ident, $kind:literal, $prefix:literal) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(String);

        impl $name {
            /// Checks a name.
            pub fn new(text: impl Into<String>) -> Result<Self, Error> {
                let text = text.into();
                match fault(&text, $prefix) {
                    None => Ok(Self(text)),
                    Some(reason) => {
                        let shown: String = text::one_line(&text).chars().take(MAX_LENGTH).collect();
                        Err(Error::invalid(format!(concat!("the ", $kind, " name {:?}"), shown), reason))
                    }
                }
            }

            /// The name.
            pub fn as_str(&self) -> &str {
                &self.0
            }

            /// The reference that has this name, whole.
            pub fn reference(&self) -> String {
                format!("{}{}", $prefix, self.0)
            }
        }

        impl FromStr for $name {
            type Err = Error;

            fn from_str(text: &str) -> Result<Self, Error> {
                Self::new(text)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str(&self.0)
            }
        }

        impl AsRef<OsStr> for $name {
            fn as_ref(&self) -> &OsStr {
                self.0.as_ref()
            }
        }
    };
}

name!(
    /// The name of a branch, such as `feature/login`.
    BranchName, "branch", "refs/heads/"
);
name!(
    /// The name of a tag, such as `v1.2.0`.
    TagName, "tag", "refs/tags/"
);
name!(
    /// The name of a remote, such as `origin`.
    RemoteName, "remote", "refs/remotes/"
);

/// Branches that are never deleted, and whose history is never rewritten: names, in which `*` stands for any
/// text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProtectedBranches(Vec<String>);

impl ProtectedBranches {
    /// The branches with these names.
    pub fn new(patterns: impl IntoIterator<Item = String>) -> Self {
        Self(patterns.into_iter().collect())
    }

    /// Whether a branch is one of them.
    pub fn cover(&self, branch: &str) -> bool {
        self.0.iter().any(|pattern| matches(pattern, branch))
    }
}

impl Default for ProtectedBranches {
    fn default() -> Self {
        Self::new(["main", "master", "release/*"].map(ToOwned::to_owned))
    }
}

fn matches(pattern: &str, text: &str) -> bool {
    let Some((before, after)) = pattern.split_once('*') else {
        return pattern == text;
    };
    text.strip_prefix(before).is_some_and(|rest| {
        (0..=rest.len()).any(|at| rest.is_char_boundary(at) && matches(after, &rest[at..]))
    })
}

fn fault(text: &str, prefix: &str) -> Option<&'static str> {
    if text.is_empty() {
        Some("it is empty")
    } else if text.len() > MAX_LENGTH {
        Some("it is too long")
    } else if text.starts_with('-') {
        Some("it starts with a dash")
    } else if matches!(text, "HEAD" | "@") || text.starts_with("refs/") {
        Some("it would be taken for another reference")
    } else if text != text::one_line(text) {
        Some("it contains control characters")
    } else if gix::validate::reference::name(format!("{prefix}{text}").as_str().into()).is_err() {
        Some(
            "it contains what references cannot: spaces, `..`, `~`, `^`, `:`, `?`, `*`, `[`, `\\`, `@{`, `//`, or a part that begins with `.` or ends in `.lock`",
        )
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_git_accepts_are_accepted() {
        for text in ["main", "feature/a-b", "v1.0", "grün", "a@b", "release/1.x"] {
            assert_eq!(BranchName::new(text).unwrap().as_str(), text);
        }
        assert_eq!(TagName::new("v1").unwrap().reference(), "refs/tags/v1");
    }

    #[test]
    fn protected_branches_are_known_by_pattern() {
        let usual = ProtectedBranches::default();
        for (branch, covered) in [
            ("main", true),
            ("release/1.0", true),
            ("release/", true),
            ("release", false),
            ("main2", false),
            ("feature/main", false),
        ] {
            assert_eq!(usual.cover(branch), covered, "{branch}");
        }
        assert!(ProtectedBranches::new(["a*c*e".to_owned()]).cover("abcde"));
    }

    #[test]
    fn names_that_mean_something_else_are_refused() {
        let long = "x".repeat(MAX_LENGTH + 1);
        for text in [
            "",
            "-d",
            "--force",
            "HEAD",
            "refs/heads/x",
            "a b",
            "a..b",
            "a~1",
            "a^",
            "a:b",
            "a?",
            "a*",
            "a[",
            "a\\b",
            "@{u}",
            "a//b",
            "/a",
            "a/",
            ".a",
            "a/.b",
            "a.lock",
            "a\nb",
            "a\u{1b}[1m",
            "a\u{202e}b",
            "@",
            &long,
        ] {
            assert!(BranchName::new(text).is_err(), "{text:?}");
        }
    }
}
