//! Files that programs write and nobody reads.

use std::os::unix::ffi::OsStrExt as _;

use crate::RepositoryPath;

/// Lock files of package managers.
const NAMES: &[&[u8]] = &[
    b"Cargo.lock",
    b"Gemfile.lock",
    b"Pipfile.lock",
    b"bun.lock",
    b"bun.lockb",
    b"composer.lock",
    b"deno.lock",
    b"flake.lock",
    b"go.sum",
    b"mix.lock",
    b"npm-shrinkwrap.json",
    b"package-lock.json",
    b"packages.lock.json",
    b"pdm.lock",
    b"pnpm-lock.yaml",
    b"poetry.lock",
    b"pubspec.lock",
    b"uv.lock",
    b"yarn.lock",
];

/// Bundles and their maps.
const ENDINGS: &[&[u8]] = &[b".min.js", b".min.css", b".map", b".snap", b".pb.go", b"_pb2.py"];

/// Directories that builds fill.
const DIRECTORIES: &[&[u8]] = &[b"dist", b"node_modules", b"__generated__"];

/// Whether a file is generated, by its name. One that is asked for by name is not taken for such.
pub(super) fn is_generated(path: &[u8], asked_for: &[RepositoryPath]) -> bool {
    if asked_for
        .iter()
        .any(|asked| asked.as_path().as_os_str().as_bytes() == path)
    {
        return false;
    }
    let mut parts = path.split(|&byte| byte == b'/').rev();
    let name = parts.next().unwrap_or_default();
    NAMES.contains(&name)
        || ENDINGS.iter().any(|ending| name.ends_with(ending))
        || parts.any(|directory| DIRECTORIES.contains(&directory))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn generated_files_are_known_by_their_names() {
        for path in [
            "Cargo.lock",
            "web/package-lock.json",
            "a.min.js",
            "dist/x.js",
            "web/dist/x",
        ] {
            assert!(is_generated(path.as_bytes(), &[]), "{path}");
        }
        for path in ["src/lock.rs", "Cargo.toml", "dist", "map", "distance/x"] {
            assert!(!is_generated(path.as_bytes(), &[]), "{path}");
        }
        let asked = [RepositoryPath::new("Cargo.lock").unwrap()];
        assert!(!is_generated(b"Cargo.lock", &asked));
        assert!(is_generated(b"b/Cargo.lock", &asked));
    }
}
