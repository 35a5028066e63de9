//! Versions that their authors have withdrawn, as the registry's index says.

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::graph::Package;
use crate::process::{cargo, output};

/// The locked versions that were yanked, or why that cannot be told.
///
/// Cargo has no command for it. Planning an update makes it ask the index about every crate,
/// and what the index answered is kept in cargo's home, where it can be read.
pub(super) fn find(packages: &[Package]) -> Result<Vec<String>, String> {
    output(cargo().args(["update", "--dry-run"]))
        .map_err(|_| "the registry's index is not reachable".to_owned())?;
    let caches = caches().ok_or("cargo keeps no index where it is expected")?;
    let mut yanked = Vec::new();
    let mut unknown = 0;
    for package in packages.iter().filter(|package| package.is_from_registry()) {
        match caches.iter().find_map(|cache| is_yanked(cache, package)) {
            Some(true) => yanked.push(format!("{package}: was yanked: `cargo update {}`", package.name)),
            Some(false) => {}
            None => unknown += 1,
        }
    }
    if unknown > 0 {
        return Err(format!(
            "the index in cargo's home does not know {unknown} crates"
        ));
    }
    println!("yanked crates: checked");
    Ok(yanked)
}

fn caches() -> Option<Vec<PathBuf>> {
    let home = std::env::var_os("CARGO_HOME")
        .map(PathBuf::from)
        .or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(".cargo")))?;
    let indexes = std::fs::read_dir(home.join("registry/index")).ok()?;
    Some(
        indexes
            .flatten()
            .map(|index| index.path().join(".cache"))
            .collect(),
    )
}

fn is_yanked(cache: &Path, package: &Package) -> Option<bool> {
    let entries = std::fs::read(cache.join(folder_of(&package.name))).ok()?;
    yanked_in(&entries, &package.version)
}

/// Where the index keeps a crate: `serde` is at `se/rd/serde`, short names are by length.
fn folder_of(name: &str) -> String {
    let name = name.to_lowercase();
    match name.len() {
        length @ 1..=2 => format!("{length}/{name}"),
        3 => format!("3/{}/{name}", &name[..1]),
        _ => format!("{}/{}/{name}", &name[..2], &name[2..4]),
    }
}

/// After a short head, the file has pairs of a version and its entry as JSON, each ended by a
/// zero byte.
fn yanked_in(entries: &[u8], version: &str) -> Option<bool> {
    let mut parts = entries.split(|byte| *byte == 0);
    parts.find(|part| *part == version.as_bytes())?;
    let entry: Value = serde_json::from_slice(parts.next()?).ok()?;
    Some(entry["yanked"] == true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_a_version_in_an_index_file() {
        let entries =
            b"\x03\x02\x00\x00\x00etag\x001.0.0\x00{\"yanked\": true}\x001.0.1\x00{\"yanked\":false}\x00";
        assert_eq!(yanked_in(entries, "1.0.0"), Some(true));
        assert_eq!(yanked_in(entries, "1.0.1"), Some(false));
        assert_eq!(yanked_in(entries, "1.0.2"), None);
    }

    #[test]
    fn knows_where_a_crate_is_kept() {
        assert_eq!(folder_of("a"), "1/a");
        assert_eq!(folder_of("syn"), "3/s/syn");
        assert_eq!(folder_of("serde"), "se/rd/serde");
        assert_eq!(folder_of("Inflector"), "in/fl/inflector");
    }
}
