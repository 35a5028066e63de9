//! What commits are about, told from their messages and the files they touch.

mod kinds;
mod mentions;
mod review;

pub use kinds::{Bump, ChangeKind, Described};
pub(crate) use kinds::{bump, next_version};
pub use review::{Finding, Release, Review, ReviewKind};
pub(crate) use review::{Material, releases, review};

/// The directory that a file belongs to, at most two levels deep: `crates/git`, `docs`; `.` for the top.
pub(crate) fn area(path: &str) -> String {
    let mut parts: Vec<&str> = path.split('/').collect();
    parts.pop();
    if parts.is_empty() {
        return ".".to_owned();
    }
    parts.truncate(2);
    parts.join("/")
}

/// The areas of some files with how many lie in each, the busiest first.
pub(crate) fn areas<'a>(files: impl IntoIterator<Item = &'a String>) -> Vec<(String, usize)> {
    let mut counts = std::collections::BTreeMap::<String, usize>::new();
    for file in files {
        *counts.entry(area(file)).or_default() += 1;
    }
    let mut counts: Vec<(String, usize)> = counts.into_iter().collect();
    counts.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    counts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_grouped_by_area() {
        let files = [
            "crates/git/src/lib.rs",
            "crates/git/Cargo.toml",
            "docs/a.md",
            "README.md",
        ]
        .map(str::to_owned);
        assert_eq!(
            areas(&files),
            [
                ("crates/git".to_owned(), 2),
                (".".to_owned(), 1),
                ("docs".to_owned(), 1)
            ]
        );
    }
}
