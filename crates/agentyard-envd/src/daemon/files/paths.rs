//! What a path means: below home when it is not absolute, and in its shortest form.

use std::path::{Component, Path, PathBuf};

use crate::connect::{Code, Fault};

/// The absolute path that is meant. As in E2B, `..` takes away what stands before it, be that a link or not.
pub(super) fn resolved(home: &Path, path: &str) -> Result<PathBuf, Fault> {
    if path.contains('\0') {
        let message = "a path has a NUL character in it, which no file can have: leave it out";
        return Err(Fault::new(Code::InvalidArgument, message));
    }
    let path = match path.strip_prefix('~') {
        None => home.join(path),
        Some("") => home.to_owned(),
        Some(below) if below.starts_with('/') => home.join(below.trim_start_matches('/')),
        Some(_) => {
            return Err(Fault::new(
                Code::InvalidArgument,
                format!(
                    "`{}` is the home of another user, and there is none: write the whole path, or `./` before it",
                    shown(Path::new(path))
                ),
            ));
        }
    };
    let mut shortest = PathBuf::from("/");
    for component in path.components() {
        match component {
            Component::Normal(name) => shortest.push(name),
            Component::ParentDir => {
                shortest.pop();
            }
            Component::RootDir | Component::CurDir | Component::Prefix(_) => {}
        }
    }
    Ok(shortest)
}

/// The last name of a path, as it is told.
pub(super) fn name(path: &Path) -> String {
    path.file_name()
        .map_or_else(|| "/".to_owned(), |name| name.to_string_lossy().into_owned())
}

/// A path in a sentence: on one line, whatever is in it.
pub(super) fn shown(path: &Path) -> String {
    let mut text = String::new();
    for character in path.to_string_lossy().chars() {
        if character.is_control() {
            text.extend(character.escape_default());
        } else {
            text.push(character);
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_below_home_unless_they_say_otherwise() {
        for (path, meant) in [
            ("", "/home/user"),
            ("a/b", "/home/user/a/b"),
            ("./a//b/", "/home/user/a/b"),
            ("~", "/home/user"),
            ("~/a", "/home/user/a"),
            ("~//etc", "/home/user/etc"),
            ("/tmp/../etc/./x", "/etc/x"),
            ("../../../..", "/"),
            ("a~", "/home/user/a~"),
        ] {
            assert_eq!(
                resolved(Path::new("/home/user"), path).unwrap(),
                Path::new(meant),
                "{path}"
            );
        }
    }

    #[test]
    fn what_no_file_can_be_is_refused() {
        for path in ["a\0b", "~root", "~root/x"] {
            let fault = resolved(Path::new("/home/user"), path).unwrap_err();
            assert_eq!(fault.code, Code::InvalidArgument, "{path}");
        }
    }

    #[test]
    fn a_path_stays_on_its_line() {
        assert_eq!(shown(Path::new("/a\nb\u{1b}[1m ü")), "/a\\nb\\u{1b}[1m ü");
    }
}
