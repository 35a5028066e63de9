//! What may not stand in a file.

use super::{Finding, SourceFile};

/// How long a file may be before it should become several.
const MAX_LINES: usize = 700;

/// Marks of unfinished or silenced work in Rust. They are written in two halves here, so that
/// this file does not find itself.
const RUST_PATTERNS: &[(&str, &str)] = &[
    (concat!("todo", "!("), "is unfinished: write it, or leave it out"),
    (
        concat!("unimplemented", "!("),
        "is unfinished: write it, or leave it out",
    ),
    (
        concat!("#[", "ignore"),
        "is a test that nobody runs: make it pass, or remove it",
    ),
    (
        concat!("#[", "allow("),
        "is silenced without an end: use `#[expect(…, reason = \"…\")]`",
    ),
    (
        concat!("#![", "allow("),
        "is silenced without an end: use `#![expect(…, reason = \"…\")]`",
    ),
];

/// Inside a macro a lint may or may not fire, so `expect` cannot be used there. Who silences
/// this lint too has had to say so, and clippy asks for the reason.
const ACKNOWLEDGED: &str = "clippy::allow_attributes";

/// Words that mean "later" in any language.
const LATER: &[&str] = &[concat!("FIX", "ME"), concat!("X", "XX")];

/// Where a developer's files are on one machine and on no other.
const MACHINE_PATHS: &[&str] = &[HOMES, concat!("/ro", "ot/"), concat!("/wo", "rk/")];
const HOMES: &str = concat!("/ho", "me/");

/// People in examples and tests, and the user inside a container.
const EXAMPLE_HOMES: &[&str] = &["ada", "agent", "user", "you"];

/// The one home that is the same on every machine: Homebrew's.
const SHARED_HOME: &str = "linuxbrew";

/// Package registries are reached by their clients' own settings, which differ by machine.
const REGISTRY_HOSTS: &[&str] = &[
    concat!("index.", "crates.io"),
    concat!("static.", "crates.io"),
    concat!("registry.", "npmjs.org"),
    concat!("pypi.", "org"),
    concat!("pythonhosted.", "org"),
    concat!("deb.", "debian.org"),
    concat!("security.", "debian.org"),
];

/// Where registries must be named: what a sandbox may reach of the network, and where its packages come from.
const NAMING_REGISTRIES: &[&str] = &[
    "crates/agentyard-sandbox/src/egress/",
    "crates/agentyard-sandbox/tests/it/egress.rs",
    "crates/agentyard-sandbox/tests/it/podman.rs",
    "crates/agentyard/src/config/exec.rs",
    "crates/agentyard/src/sandboxing.rs",
    "docs/reference/configuration.md",
];

pub(super) fn check(file: &SourceFile) -> Vec<Finding> {
    let is_rust = file.path.ends_with(".rs");
    let names_registries = NAMING_REGISTRIES.iter().any(|path| file.path.starts_with(path));
    let mut findings = Vec::new();
    for (index, line) in file.text.lines().enumerate() {
        let registry = registry(line).filter(|_| !names_registries);
        let objections = anywhere(line)
            .into_iter()
            .chain(registry)
            .chain(is_rust.then(|| in_rust(line)).flatten());
        let place = format!("{}:{}", file.path, index + 1);
        findings.extend(objections.map(|message| Finding::new(&place, message)));
    }
    if is_rust && !is_test(&file.path) {
        let lines = lines_of_code(&file.text);
        if lines > MAX_LINES {
            let message = format!("has {lines} lines, more than {MAX_LINES}: find the second thing in it");
            findings.push(Finding::new(&file.path, message));
        }
    }
    findings
}

fn in_rust(line: &str) -> Option<String> {
    if line.contains(ACKNOWLEDGED) {
        return None;
    }
    let (pattern, objection) = RUST_PATTERNS.iter().find(|(pattern, _)| line.contains(pattern))?;
    Some(format!("`{pattern}` {objection}"))
}

fn anywhere(line: &str) -> Option<String> {
    if let Some(word) = LATER.iter().find(|word| has_word(line, word)) {
        return Some(format!(
            "`{word}` puts work off: do it, or write a `TODO` that names its condition"
        ));
    }
    let path = MACHINE_PATHS.iter().find(|path| has_machine_path(line, path))?;
    Some(format!(
        "`{path}…` is a path of one machine: make it relative, or take it from a setting"
    ))
}

fn registry(line: &str) -> Option<String> {
    let host = REGISTRY_HOSTS.iter().find(|host| line.contains(*host))?;
    Some(format!(
        "`{host}` is a registry's host: name the package, and let its client find it"
    ))
}

fn has_word(line: &str, word: &str) -> bool {
    let is_part = |letter: char| letter.is_alphanumeric() || letter == '_';
    line.match_indices(word)
        .any(|(at, _)| !line[..at].ends_with(is_part) && !line[at + word.len()..].starts_with(is_part))
}

/// Whether an absolute path begins with `prefix`: not in the middle of another path, and not
/// in the home of somebody who does not exist.
fn has_machine_path(line: &str, prefix: &str) -> bool {
    let is_part = |letter: char| letter.is_alphanumeric() || "._-~}*".contains(letter);
    line.match_indices(prefix).any(|(at, _)| {
        let after = &line[at + prefix.len()..];
        let first = after
            .split(|letter: char| !is_part(letter))
            .next()
            .unwrap_or_default();
        let is_nobodys = first.starts_with(['.', '*']) || first == SHARED_HOME;
        let is_example = prefix == HOMES && (is_nobodys || EXAMPLE_HOMES.contains(&first));
        !line[..at].ends_with(is_part) && !first.is_empty() && !is_example
    })
}

fn is_test(path: &str) -> bool {
    path.contains("/tests/") || path.ends_with("/tests.rs")
}

/// Lines up to the tests that stand at the end of a file.
fn lines_of_code(text: &str) -> usize {
    text.lines().take_while(|line| *line != "#[cfg(test)]").count()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn messages(path: &str, text: &str) -> usize {
        check(&SourceFile {
            path: path.to_owned(),
            text: text.to_owned(),
        })
        .len()
    }

    #[test]
    fn finds_unfinished_and_silenced_work() {
        for (pattern, _) in RUST_PATTERNS {
            assert_eq!(
                messages("src/a.rs", &format!("    {pattern}dead_code)]\n")),
                1,
                "{pattern}"
            );
            assert_eq!(
                messages("a.md", &format!("{pattern}\n")),
                0,
                "{pattern} matters in Rust only"
            );
        }
        let acknowledged = format!(
            "{}dead_code, {ACKNOWLEDGED}, reason = \"in a macro\")]",
            RUST_PATTERNS[3].0
        );
        assert_eq!(messages("src/a.rs", &acknowledged), 0);
        let later = LATER[1];
        assert_eq!(messages("a.py", &format!("# {later}: later\n")), 1);
        assert_eq!(messages("a.sh", &format!("mktemp -d a.{later}{later}\n")), 0);
    }

    #[test]
    fn finds_paths_of_one_machine() {
        let [home, root, work] = MACHINE_PATHS else {
            panic!("three prefixes")
        };
        assert_eq!(messages("a.md", &format!("see {home}grace/src")), 1);
        assert_eq!(messages("a.md", &format!("\"{work}main/target\"")), 1);
        assert_eq!(messages("a.md", &format!("`{root}.cargo`")), 1);
        assert_eq!(
            messages(
                "a.md",
                &format!("{home}ada/project, {root}… and bench{work}fixtures")
            ),
            0
        );
    }

    #[test]
    fn finds_registry_hosts_but_not_the_lock_files_own_word() {
        assert_eq!(messages("a.json", &format!("https://{}/x", REGISTRY_HOSTS[2])), 1);
        let lock = "source = \"registry+https://github.com/rust-lang/crates.io-index\"";
        assert_eq!(messages("Cargo.lock", lock), 0);
    }

    #[test]
    fn long_files_are_found_and_tests_do_not_count() {
        let long = "fn a() {}\n".repeat(MAX_LINES + 1);
        assert_eq!(messages("crates/a/src/a.rs", &long), 1);
        assert_eq!(messages("crates/a/tests/it/a.rs", &long), 0);
        assert_eq!(messages("crates/a/src/a/tests.rs", &long), 0);
        assert_eq!(
            messages("crates/a/src/a.rs", &format!("//! A.\n#[cfg(test)]\n{long}")),
            0
        );
    }
}
