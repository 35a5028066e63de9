//! What a path in the configuration means.

use std::path::{Path, PathBuf};

use super::source::Source;

/// The path that was meant: `~/` is the home directory, and a relative path in a file
/// begins at that file, so that it does not depend on where the process is started.
/// Relative paths of variables and flags are left to the current directory, as in any shell.
pub(crate) fn resolve(text: &str, source: &Source, home: Option<&Path>) -> Result<PathBuf, String> {
    let below_home = match text {
        "~" => Some(""),
        _ => text.strip_prefix("~/"),
    };
    if let Some(rest) = below_home {
        return home
            .map(|home| {
                if rest.is_empty() {
                    home.to_path_buf()
                } else {
                    home.join(rest)
                }
            })
            .ok_or_else(|| {
                format!("`{text}` begins at the home directory, but HOME is not set; write the whole path")
            });
    }
    let directory = match source {
        Source::File { path, .. } => path.parent(),
        Source::Default | Source::Variable(_) | Source::Flag(_) => None,
    };
    Ok(directory.map_or_else(|| PathBuf::from(text), |directory| directory.join(text)))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    #[test]
    fn paths_begin_at_home_at_the_file_or_where_they_say() {
        let file = Source::File {
            path: Arc::from(Path::new("/etc/agentyard/agentyard.toml")),
            line: 1,
        };
        let variable = Source::Variable("X".to_owned());
        let home = Some(Path::new("/home/ada"));
        for (text, source, expected) in [
            ("~/work", &file, "/home/ada/work"),
            ("~", &variable, "/home/ada"),
            ("repos", &file, "/etc/agentyard/repos"),
            ("repos", &variable, "repos"),
            ("/srv", &file, "/srv"),
            ("~ada/work", &variable, "~ada/work"),
        ] {
            assert_eq!(
                resolve(text, source, home).unwrap(),
                PathBuf::from(expected),
                "{text}"
            );
        }
        assert!(resolve("~/work", &file, None).unwrap_err().contains("HOME"));
    }
}
