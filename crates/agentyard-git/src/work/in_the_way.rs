//! Local changes that an operation would have overwritten, by what git said.

use crate::Error;

/// The failure that names them; any other stays as it is.
pub(super) fn named_files(doing: &str, failure: Error) -> Error {
    let Error::GitFailed { said, .. } = &failure else {
        return failure;
    };
    let files = overwritten(said);
    if files.is_empty() {
        return failure;
    }
    Error::state(
        format!(
            "{doing} would overwrite local changes, and nothing was done; in the way: {}",
            files.join(", ")
        ),
        "commit these files with `git_commit`, put them aside with `git_stash`, or move untracked ones away; then \
         call again",
    )
}

fn overwritten(said: &str) -> Vec<&str> {
    let mut files = Vec::new();
    let mut listing = false;
    for line in said.lines() {
        if line.contains("would be overwritten by") || line.contains("would be removed by") {
            listing = true;
        } else if let Some(file) = line.strip_prefix('\t').or_else(|| line.strip_prefix("  ")) {
            if listing {
                files.push(file.trim_end());
            }
        } else {
            listing = false;
        }
    }
    files.truncate(20);
    files
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_in_the_way_are_found() {
        let said = "error: Your local changes to the following files would be overwritten by merge:\n\ta b\n\tc\nPlease commit your changes or stash them before you merge.\nerror: The following untracked working tree files would be overwritten by merge:\n\td\nPlease move\nAborting";
        assert_eq!(overwritten(said), ["a b", "c", "d"]);
        assert!(overwritten("fatal: not something we can merge\n\tx").is_empty());
    }
}
