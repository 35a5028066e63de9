//! Known vulnerabilities, from a copy of the RustSec advisory database.

use std::path::{Path, PathBuf};
use std::process::Command;

use semver::{Version, VersionReq};
use toml::{Table, Value};

use super::graph::Package;
use super::policy::Policy;
use crate::failure::{Attempt, Failure, Result};
use crate::process::output;
use crate::workspace;

/// A checkout of the database, for machines that cannot fetch it.
const DATABASE_VARIABLE: &str = "AGENTYARD_ADVISORY_DB";
const DATABASE: &str = "https://github.com/RustSec/advisory-db.git";

pub(super) enum Checked {
    Yes {
        problems: Vec<String>,
        /// Advisories that do not fail the check, such as that nobody maintains a crate.
        remarks: Vec<String>,
    },
    No {
        why: String,
    },
}

pub(super) fn check(packages: &[Package], policy: &Policy) -> Result<Checked> {
    let database = match std::env::var_os(DATABASE_VARIABLE) {
        Some(given) => PathBuf::from(given),
        None => match fetch()? {
            Some(fetched) => fetched,
            None => {
                return Ok(Checked::No {
                    why: "database not reachable".to_owned(),
                });
            }
        },
    };
    let crates = database.join("crates");
    if !crates.is_dir() {
        let place = database.display();
        return Err(
            Failure::new(format!("{place} is no checkout of the RustSec advisory database"))
                .next(format!("set {DATABASE_VARIABLE} to a checkout of {DATABASE}")),
        );
    }
    let (mut problems, mut remarks) = (Vec::new(), Vec::new());
    for package in packages.iter().filter(|package| package.is_from_registry()) {
        for advisory in advisories_of(&crates.join(&package.name))? {
            let Some(line) = advisory.concerning(package, policy)? else {
                continue;
            };
            if advisory.is_remark {
                remarks.push(line);
            } else {
                problems.push(line);
            }
        }
    }
    println!("advisories: checked");
    Ok(Checked::Yes { problems, remarks })
}

/// A fresh copy of the database under the target directory, or none when it cannot be reached.
fn fetch() -> Result<Option<PathBuf>> {
    let directory = workspace::target_dir()?.join("advisory-db");
    let _ = std::fs::remove_dir_all(&directory);
    let cloned = output(
        Command::new("timeout")
            .args(["60", "git", "clone", "--quiet", "--depth", "1", DATABASE])
            .arg(&directory)
            .env("GIT_TERMINAL_PROMPT", "0"),
    );
    Ok(cloned.is_ok().then_some(directory))
}

struct Advisory {
    id: String,
    title: String,
    /// It tells something about a crate without there being a hole.
    is_remark: bool,
    is_withdrawn: bool,
    /// Versions that never had the fault, or no longer have it.
    safe: Vec<VersionReq>,
}

impl Advisory {
    /// An advisory is a Markdown file that begins with its data, as a block of TOML.
    fn parse(text: &str) -> Option<Self> {
        let (data, prose) = text.split_once("```toml")?.1.split_once("```")?;
        let table: Table = toml::from_str(data).ok()?;
        let advisory = table.get("advisory")?;
        let versions = |key: &str| requirements(table.get("versions").and_then(|all| all.get(key)));
        let mut safe = versions("patched")?;
        safe.append(&mut versions("unaffected")?);
        let kind = advisory.get("informational").and_then(Value::as_str);
        Some(Self {
            id: advisory.get("id")?.as_str()?.to_owned(),
            title: prose
                .lines()
                .find_map(|line| line.strip_prefix("# "))
                .unwrap_or_default()
                .to_owned(),
            is_remark: kind.is_some_and(|kind| kind != "unsound"),
            is_withdrawn: advisory.get("withdrawn").is_some(),
            safe,
        })
    }

    /// What it says of this very version, unless that was looked into.
    fn concerning(&self, package: &Package, policy: &Policy) -> Result<Option<String>> {
        let version = Version::parse(&package.version).attempt(format!("read the version of {package}"))?;
        if self.is_withdrawn || self.safe.iter().any(|safe| safe.matches(&version)) {
            return Ok(None);
        }
        let line = format!("{package}: {}: {}", self.id, self.title);
        match policy.ignores(&self.id) {
            Some(reason) => {
                println!("{line} (ignored: {reason})");
                Ok(None)
            }
            None => Ok(Some(line)),
        }
    }
}

fn requirements(value: Option<&Value>) -> Option<Vec<VersionReq>> {
    let listed = value.and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    listed
        .iter()
        .map(|requirement| VersionReq::parse(requirement.as_str()?).ok())
        .collect()
}

fn advisories_of(directory: &Path) -> Result<Vec<Advisory>> {
    let Ok(entries) = std::fs::read_dir(directory) else {
        // Most crates have never had one.
        return Ok(Vec::new());
    };
    let files = entries
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| path.extension() == Some("md".as_ref()));
    files
        .map(|path| {
            let text = std::fs::read_to_string(&path).attempt(format!("read {}", path.display()))?;
            Advisory::parse(&text)
                .ok_or_else(|| Failure::new(format!("{} is not an advisory as we know them", path.display())))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const ADVISORY: &str = r#"```toml
[advisory]
id = "RUSTSEC-2000-0001"
package = "sample"
date = "2000-01-01"

[versions]
patched = [">= 1.2.3", "^1.1.5"]
unaffected = ["< 1.0.0"]
```

# Reads past the end

Text.
"#;

    #[test]
    fn tells_which_versions_are_concerned() {
        let advisory = Advisory::parse(ADVISORY).unwrap();
        let concerned = |version: &str| {
            let version = Version::parse(version).unwrap();
            !advisory.safe.iter().any(|safe| safe.matches(&version))
        };
        assert_eq!(advisory.title, "Reads past the end");
        assert!(concerned("1.0.0") && concerned("1.1.4"));
        assert!(!concerned("0.9.0") && !concerned("1.1.5") && !concerned("1.2.3") && !concerned("2.0.0"));
    }

    #[test]
    fn tells_holes_from_remarks() {
        let with = |line: &str| {
            let text = ADVISORY.replace("date =", &format!("{line}\ndate ="));
            let advisory = Advisory::parse(&text).unwrap();
            (advisory.is_remark, advisory.is_withdrawn)
        };
        assert_eq!(with(""), (false, false));
        assert_eq!(with("informational = \"unsound\""), (false, false));
        assert_eq!(with("informational = \"unmaintained\""), (true, false));
        assert_eq!(with("withdrawn = \"2000-02-01\""), (false, true));
        assert!(Advisory::parse("# no data").is_none());
    }
}
