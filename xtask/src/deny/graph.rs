//! Every crate that ours are built with.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use crate::failure::Result;
use crate::process::{cargo, output};
use crate::workspace;

/// How cargo names the public registry in a lock file, whatever mirror serves it.
pub(super) const CRATES_IO: &str = "registry+https://github.com/rust-lang/crates.io-index";

pub(super) struct Package {
    pub(super) name: String,
    pub(super) version: String,
    /// An SPDX expression.
    pub(super) licence: Option<String>,
    /// Absent for our own crates.
    pub(super) source: Option<String>,
}

impl Package {
    pub(super) fn is_from_registry(&self) -> bool {
        self.source.as_deref() == Some(CRATES_IO)
    }
}

impl fmt::Display for Package {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.name, self.version)
    }
}

pub(super) fn packages() -> Result<Vec<Package>> {
    let used = used()?;
    let metadata = workspace::metadata_of_all()?;
    let listed = metadata["packages"].as_array().map_or(&[][..], Vec::as_slice);
    let packages = listed.iter().map(|package| {
        let word = |key: &str| package[key].as_str().map(str::to_owned);
        Package {
            name: word("name").unwrap_or_default(),
            version: word("version").unwrap_or_default(),
            licence: word("license"),
            source: word("source"),
        }
    });
    Ok(packages
        .filter(|package| used.contains(&package.to_string()))
        .collect())
}

/// `NAME VERSION` of every crate that is built, for any platform, also for tests. The lock file
/// has some more, which are optional and never switched on.
fn used() -> Result<BTreeSet<String>> {
    let tree = output(cargo().args([
        "tree",
        "--locked",
        "--workspace",
        "--target",
        "all",
        "--prefix",
        "none",
    ]))?;
    let package = |line: &str| {
        let (name, rest) = line.split_once(" v")?;
        Some(format!("{name} {}", rest.split(' ').next()?))
    };
    Ok(tree.lines().filter_map(package).collect())
}

/// Crates that are there in several versions: allowed, but worth seeing.
pub(super) fn duplicates(packages: &[Package]) -> Vec<String> {
    let mut versions: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for package in packages {
        versions.entry(&package.name).or_default().push(&package.version);
    }
    let several = versions.into_iter().filter(|(_, versions)| versions.len() > 1);
    several
        .map(|(name, versions)| format!("{name} ({})", versions.join(", ")))
        .collect()
}
