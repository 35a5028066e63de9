//! Where files may be and what they may be called.

use super::{Finding, SourceFile};

/// Names that say nothing, so that anything ends up there.
const EMPTY_NAMES: &[&str] = &[
    "util", "utils", "helper", "helpers", "common", "misc", "manager", "managers",
];

/// Where the names of files and folders are ours to choose.
const NAMED_BY_US: &[&str] = &["rs", "py", "sh", "ts", "tsx", "js"];

pub(super) fn check(files: &[SourceFile]) -> Vec<Finding> {
    let named = files.iter().filter_map(|file| check_name(&file.path));
    let listed = files.iter().filter_map(|file| check_listed(&file.path, files));
    named.chain(listed).collect()
}

fn check_name(path: &str) -> Option<Finding> {
    let (stem, extension) = path.rsplit_once('.')?;
    if !NAMED_BY_US.contains(&extension) {
        return None;
    }
    if stem == "mod" || stem.ends_with("/mod") {
        return Some(Finding::new(path, "is a `mod.rs`: put `name.rs` beside `name/`"));
    }
    let empty = stem
        .split('/')
        .find(|part| part.split(['_', '-']).any(|word| EMPTY_NAMES.contains(&word)))?;
    Some(Finding::new(
        path,
        format!("`{empty}` says nothing: name it for what it holds"),
    ))
}

/// A crate's integration tests are one binary, so each file must be declared by the one above
/// it: a forgotten file would be tests that nobody runs.
fn check_listed(path: &str, files: &[SourceFile]) -> Option<Finding> {
    let (package, test) = path.strip_suffix(".rs")?.split_once("/tests/")?;
    if package.ends_with("/src") || package.contains("/src/") {
        return None;
    }
    let Some(module) = test.strip_prefix("it/") else {
        return Some(Finding::new(
            path,
            "is a test binary of its own: move it into `tests/it/`",
        ));
    };
    let (parent, name) = match module.rsplit_once('/') {
        Some((folder, name)) => (format!("{package}/tests/it/{folder}.rs"), name),
        None if module == "main" => return None,
        None => (format!("{package}/tests/it/main.rs"), module),
    };
    let declared = files
        .iter()
        .find(|file| file.path == parent)
        .is_some_and(|file| file.text.lines().any(|line| declares(line, name)));
    (!declared).then(|| Finding::new(path, format!("is not run: add `mod {name};` to {parent}")))
}

fn declares(line: &str, module: &str) -> bool {
    let line = line
        .trim()
        .trim_start_matches("pub(crate) ")
        .trim_start_matches("pub ");
    line.strip_prefix("mod ").and_then(|rest| rest.strip_suffix(';')) == Some(module)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_must_say_something() {
        for good in [
            "crates/a/src/refs.rs",
            "crates/a/src/model.rs",
            "docs/common.md",
            "common/Cargo.toml",
        ] {
            assert_eq!(check_name(good), None, "{good}");
        }
        for bad in [
            "crates/a/src/refs/mod.rs",
            "crates/a/src/utils.rs",
            "crates/a/src/common/refs.rs",
            "crates/a/src/session_manager.rs",
            "bench/helpers.py",
        ] {
            assert!(check_name(bad).is_some(), "{bad}");
        }
    }

    #[test]
    fn every_test_file_is_declared() {
        let file = |path: &str, text: &str| SourceFile {
            path: path.to_owned(),
            text: text.to_owned(),
        };
        let files = [
            file("crates/a/tests/it/main.rs", "//! Tests.\nmod refs;\n"),
            file("crates/a/tests/it/refs.rs", "mod list;\n"),
            file("crates/a/tests/it/refs/list.rs", ""),
            file("crates/a/tests/it/refs/tags.rs", ""),
            file("crates/a/tests/it/status.rs", ""),
            file("crates/a/tests/other.rs", ""),
            file("crates/a/src/refs/tests.rs", ""),
            file("crates/a/src/tests/one.rs", ""),
        ];
        let places: Vec<String> = check(&files).into_iter().map(|finding| finding.place).collect();
        assert_eq!(
            places,
            [
                "crates/a/tests/it/refs/tags.rs",
                "crates/a/tests/it/status.rs",
                "crates/a/tests/other.rs"
            ]
        );
    }
}
