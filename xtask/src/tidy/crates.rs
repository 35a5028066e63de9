//! What each crate may depend on, and what each must declare.

use serde_json::Value;

use super::{Finding, SourceFile};
use crate::workspace;

/// Our crates from bottom to top, each with those of ours that it may use. A new crate, or a
/// new arrow between two, is a design change: it is made here and in the style guide.
const LAYERS: &[(&str, &[&str])] = &[
    ("agentyard-model", &[]),
    ("agentyard-store", &["agentyard-model"]),
    ("agentyard-git", &["agentyard-model"]),
    ("agentyard-envd", &[]),
    ("agentyard-sandbox", &["agentyard-model", "agentyard-envd"]),
    (
        "agentyard-services",
        &[
            "agentyard-model",
            "agentyard-store",
            "agentyard-git",
            "agentyard-envd",
            "agentyard-sandbox",
        ],
    ),
    ("agentyard-operations", &["agentyard-model", "agentyard-services"]),
    (
        "agentyard-gateway",
        &[
            "agentyard-model",
            "agentyard-envd",
            "agentyard-services",
            "agentyard-operations",
        ],
    ),
    (
        "agentyard",
        &[
            "agentyard-model",
            "agentyard-store",
            "agentyard-git",
            "agentyard-envd",
            "agentyard-sandbox",
            "agentyard-services",
            "agentyard-operations",
            "agentyard-gateway",
        ],
    ),
    (
        "agentyard-testkit",
        &[
            "agentyard-model",
            "agentyard-store",
            "agentyard-git",
            "agentyard-envd",
            "agentyard-sandbox",
            "agentyard-services",
        ],
    ),
    ("xtask", &[]),
];

/// For tests any crate may use it.
const TESTKIT: &str = "agentyard-testkit";

/// Libraries that only one crate may know, with those whose names begin alike (`sqlx-core`).
const CONFINED: &[(&str, &str)] = &[
    ("sqlx", "agentyard-store"),
    ("kube", "agentyard-sandbox"),
    ("axum", "agentyard-gateway"),
    ("rmcp", "agentyard-gateway"),
    ("clap", "agentyard"),
];

pub(super) fn check(metadata: &Value, files: &[SourceFile]) -> Vec<Finding> {
    let members = list(&metadata["packages"]);
    let ours: Vec<&str> = members.iter().map(|member| word(&member["name"])).collect();
    let mut findings = Vec::new();
    for member in members {
        let manifest = from_root(word(&member["manifest_path"]));
        for dependency in list(&member["dependencies"]) {
            let edge = Edge {
                from: word(&member["name"]),
                to: word(&dependency["name"]),
                for_tests: dependency["kind"] == "dev",
            };
            findings.extend(edge.objection(&ours).map(|why| Finding::new(&manifest, why)));
        }
        findings.extend(check_manifest(&manifest, files));
        findings.extend(check_targets(list(&member["targets"]), files));
    }
    findings
}

/// One crate's dependency on another.
struct Edge<'a> {
    from: &'a str,
    to: &'a str,
    for_tests: bool,
}

impl Edge<'_> {
    fn objection(&self, ours: &[&str]) -> Option<String> {
        let Self { from, to, .. } = self;
        if let Some((library, home)) = CONFINED.iter().find(|(library, _)| is_of_family(to, library)) {
            // The kit makes and breaks databases for the tests; it is not shipped.
            return (from != home && *from != TESTKIT)
                .then(|| format!("`{library}` is for `{home}` only: go through that crate"));
        }
        if !ours.contains(to) || (self.for_tests && *to == TESTKIT) {
            return None;
        }
        match LAYERS.iter().find(|(name, _)| name == from) {
            None => Some(format!(
                "`{from}` has no place in the layers: see xtask/src/tidy/crates.rs"
            )),
            Some((_, below)) if below.contains(to) => None,
            Some((_, below)) => Some(format!(
                "`{from}` may not depend on `{to}`, of ours only on [{}]",
                below.join(", ")
            )),
        }
    }
}

fn is_of_family(name: &str, library: &str) -> bool {
    name.strip_prefix(library)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with(['-', '_']))
}

fn check_manifest(manifest: &str, files: &[SourceFile]) -> Option<Finding> {
    let file = files.iter().find(|file| file.path == manifest)?;
    let inherits = toml::from_str::<toml::Table>(&file.text)
        .is_ok_and(|table| table.get("lints").and_then(|lints| lints.get("workspace")) == Some(&true.into()));
    (!inherits).then(|| {
        Finding::new(
            manifest,
            "does not inherit the lints: add `[lints] workspace = true`",
        )
    })
}

fn check_targets(targets: &[Value], files: &[SourceFile]) -> Vec<Finding> {
    let is_root = |target: &&Value| {
        list(&target["kind"])
            .iter()
            .any(|kind| kind == "lib" || kind == "bin")
    };
    targets
        .iter()
        .filter(is_root)
        .map(|target| from_root(word(&target["src_path"])))
        .filter(|path| {
            files
                .iter()
                .any(|file| &file.path == path && !file.text.starts_with("//!"))
        })
        .map(|path| {
            Finding::new(
                path,
                "does not begin with `//!`: say what the crate is for and may touch",
            )
        })
        .collect()
}

fn from_root(path: &str) -> String {
    let root = workspace::root().to_string_lossy();
    path.strip_prefix(root.as_ref())
        .unwrap_or(path)
        .trim_start_matches('/')
        .to_owned()
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn word(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn objection(from: &str, to: &str, for_tests: bool) -> Option<String> {
        let ours: Vec<&str> = LAYERS.iter().map(|(name, _)| *name).collect();
        Edge { from, to, for_tests }.objection(&ours)
    }

    #[test]
    fn dependencies_point_down() {
        assert_eq!(objection("agentyard-services", "agentyard-git", false), None);
        assert_eq!(objection("agentyard-git", "thiserror", false), None);
        assert!(objection("agentyard-git", "agentyard-services", false).is_some());
        assert!(objection("agentyard-git", "agentyard-store", false).is_some());
        assert!(objection("agentyard-gateway", "agentyard-store", false).is_some());
        assert!(objection("agentyard-extra", "agentyard-model", false).is_some());
    }

    #[test]
    fn the_testkit_is_for_tests() {
        assert_eq!(objection("agentyard-git", "agentyard-testkit", true), None);
        assert!(objection("agentyard-git", "agentyard-testkit", false).is_some());
        assert!(objection("agentyard-git", "agentyard-services", true).is_some());
    }

    #[test]
    fn libraries_stay_in_their_crate() {
        assert_eq!(objection("agentyard-store", "sqlx", false), None);
        assert_eq!(objection("agentyard-testkit", "sqlx", false), None);
        assert!(objection("agentyard-services", "sqlx", false).is_some());
        assert!(objection("agentyard-services", "sqlx-core", true).is_some());
        assert!(objection("agentyard-gateway", "clap", false).is_some());
        assert_eq!(objection("agentyard", "clap_complete", false), None);
        assert_eq!(objection("agentyard-services", "clapper", false), None);
    }

    #[test]
    fn crates_inherit_lints_and_say_what_they_are() {
        let file = |path: &str, text: &str| SourceFile {
            path: path.to_owned(),
            text: text.to_owned(),
        };
        let files = [
            file("a/Cargo.toml", "[lints]\nworkspace = true\n"),
            file("b/Cargo.toml", "[package]\nname = \"b\"\n"),
            file("b/src/lib.rs", "use std::fmt;\n"),
        ];
        assert_eq!(check_manifest("a/Cargo.toml", &files), None);
        assert!(check_manifest("b/Cargo.toml", &files).is_some());
        let target =
            serde_json::json!({ "kind": ["lib"], "src_path": workspace::root().join("b/src/lib.rs") });
        assert_eq!(check_targets(&[target], &files).len(), 1);
    }
}
