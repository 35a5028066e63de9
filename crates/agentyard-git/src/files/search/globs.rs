//! Which files are searched, by their names.

use gix::bstr::BStr;
use globset::{GlobBuilder, GlobSet, GlobSetBuilder};

use crate::descriptor::as_path;
use crate::{Error, text};

/// Patterns of paths.
pub(super) struct Globs {
    include: GlobSet,
    exclude: GlobSet,
}

/// How many there may be, and how long each.
const MAX_GLOBS: usize = 100;
const MAX_GLOB: usize = 512;

impl Globs {
    pub(super) fn new(include: &[String], exclude: &[String]) -> Result<Self, Error> {
        Ok(Self {
            include: set("include", include)?,
            exclude: set("exclude", exclude)?,
        })
    }

    /// Whether a file is searched.
    pub(super) fn include(&self, path: &BStr) -> bool {
        (self.include.is_empty() || self.include.is_match(as_path(path))) && !self.exclude(path)
    }

    /// Whether a file or directory is left out, with all that is in it.
    pub(super) fn exclude(&self, path: &BStr) -> bool {
        self.exclude.is_match(as_path(path))
    }
}

fn set(argument: &str, globs: &[String]) -> Result<GlobSet, Error> {
    if globs.len() > MAX_GLOBS {
        return Err(Error::invalid(
            argument,
            format!("it has more than {MAX_GLOBS} globs"),
        ));
    }
    let wrong = |glob: &str, error: globset::Error| {
        Error::invalid(
            format!("the glob `{}` in {argument}", text::one_line(glob)),
            error.kind().to_string(),
        )
    };
    let mut set = GlobSetBuilder::new();
    for glob in globs {
        if glob.len() > MAX_GLOB || glob.is_empty() {
            return Err(Error::invalid(
                argument,
                format!("a glob has 1 to {MAX_GLOB} bytes"),
            ));
        }
        for anchored in forms(glob) {
            let built = GlobBuilder::new(&anchored).literal_separator(true).build();
            set.add(built.map_err(|error| wrong(glob, error))?);
        }
    }
    set.build().map_err(|error| wrong("", error))
}

/// A glob without a slash is meant for names at any depth; one that names a directory, for all that is in it.
fn forms(glob: &str) -> Vec<String> {
    let glob = glob.strip_prefix("./").unwrap_or(glob);
    let is_name = !glob.trim_end_matches('/').contains('/');
    let path = glob.trim_matches('/');
    let anchored = if is_name && !glob.starts_with('/') {
        format!("**/{path}")
    } else {
        path.to_owned()
    };
    let inside = format!("{anchored}/**");
    vec![anchored, inside]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn includes(glob: &str, path: &str) -> bool {
        Globs::new(&[glob.to_owned()], &[]).unwrap().include(path.into())
    }

    #[test]
    fn names_match_at_any_depth_and_paths_from_the_top() {
        assert!(includes("*.rs", "a.rs") && includes("*.rs", "x/y/a.rs") && !includes("*.rs", "a.rst"));
        assert!(includes("*.{ts,tsx}", "x/a.tsx"));
        assert!(includes("src/*.rs", "src/a.rs") && !includes("src/*.rs", "x/src/a.rs"));
        assert!(!includes("src/*.rs", "src/x/a.rs") && includes("src/**/*.rs", "src/x/a.rs"));
        assert!(includes("/a.rs", "a.rs") && !includes("/a.rs", "x/a.rs"));
    }

    #[test]
    fn a_directory_stands_for_what_is_in_it() {
        for glob in ["docs", "docs/", "./docs/"] {
            assert!(
                includes(glob, "docs/x/y.md") && includes(glob, "z/docs/y.md"),
                "{glob}"
            );
        }
        assert!(includes("a/docs/", "a/docs/y.md") && !includes("a/docs/", "b/a/docs/y.md"));
    }

    #[test]
    fn a_wrong_glob_is_named() {
        let error = Globs::new(&["a[".to_owned()], &[]).err().unwrap();
        assert!(error.to_string().contains("`a[` in include"), "{error}");
    }
}
