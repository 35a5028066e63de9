//! `requirements.txt`: lines with requirements, comments, and files that hold more of them. Options that would change how
//! pip works are refused by line: whoever wrote the file is not whoever runs this server.

use super::{MAX_REQUIREMENTS, Requested, wrong};
use crate::environments::requirement::Requirement;
use crate::error::{Error, Result};

/// How many files may be read for one.
const MAX_FILES: usize = 20;

/// How many hashes one requirement may have.
const MAX_HASHES: usize = 200;

/// What a file's lines are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Role {
    Requirements,
    Constraints,
}

/// A line without comment and continuation, with the number of its first part.
struct Line {
    number: usize,
    text: String,
}

/// Reads a file and those that it names.
pub(super) fn read(
    path: &str,
    read: &dyn Fn(&str) -> Result<String>,
    requested: &mut Requested,
) -> Result<()> {
    let mut waiting = vec![(path.to_owned(), Role::Requirements)];
    let mut seen: Vec<(String, Role)> = Vec::new();
    while let Some((path, role)) = waiting.pop() {
        if seen.contains(&(path.clone(), role)) {
            continue;
        }
        if seen.len() == MAX_FILES {
            return Err(wrong(
                &path,
                0,
                &format!("more than {MAX_FILES} files belong to the first one"),
            ));
        }
        let content = read(&path)?;
        for line in lines(&content) {
            let mistake = |what: &str| wrong(&path, line.number, what);
            match included(&line.text) {
                Some((role, file)) => {
                    let file = beside(&path, file).ok_or_else(|| {
                        mistake("the file that it names lies outside of the tree, or is no path")
                    })?;
                    waiting.push((file, role));
                }
                None => {
                    let requirement = requirement(&line.text).map_err(|what| mistake(&what))?;
                    match role {
                        Role::Requirements => requested.requirements.push(requirement),
                        Role::Constraints => requested.constraints.push(requirement),
                    }
                }
            }
            if requested.requirements.len() + requested.constraints.len() > MAX_REQUIREMENTS {
                return Err(mistake(&format!("more than {MAX_REQUIREMENTS} requirements")));
            }
        }
        seen.push((path, role));
    }
    Ok(())
}

fn lines(content: &str) -> Vec<Line> {
    let mut lines: Vec<Line> = Vec::new();
    let mut goes_on = false;
    for (place, text) in content.trim_start_matches('\u{feff}').lines().enumerate() {
        let comment = if goes_on {
            None
        } else {
            text.trim_start().strip_prefix('#')
        };
        let text = if comment.is_some() { "" } else { text };
        let text = text.find(" #").map_or(text, |comment| &text[..comment]);
        let (text, continued) = match text.strip_suffix('\\') {
            Some(text) => (text, true),
            None => (text, false),
        };
        match lines.last_mut().filter(|_| goes_on) {
            Some(line) => line.text.push_str(text),
            None => lines.push(Line {
                number: place + 1,
                text: text.to_owned(),
            }),
        }
        goes_on = continued;
    }
    lines.retain(|line| !line.text.trim().is_empty());
    lines
}

/// `-r other.txt`, `--constraint=other.txt`.
fn included(line: &str) -> Option<(Role, &str)> {
    const OPTIONS: &[(&str, Role)] = &[
        ("--requirement", Role::Requirements),
        ("--constraint", Role::Constraints),
        ("-r", Role::Requirements),
        ("-c", Role::Constraints),
    ];
    let line = line.trim();
    OPTIONS.iter().find_map(|(option, role)| {
        let rest = line.strip_prefix(option)?;
        let file = rest.strip_prefix('=').or_else(|| rest.strip_prefix([' ', '\t']));
        Some((*role, file?.trim()))
    })
}

/// A path as seen from the file that names it. Whether it is in the tree by its links too, the reading finds out.
fn beside(file: &str, path: &str) -> Option<String> {
    if path.is_empty() || path.starts_with('/') || path.contains("://") || path.contains(['\\', '\0']) {
        return None;
    }
    let mut steps: Vec<&str> = file
        .split('/')
        .filter(|step| !step.is_empty() && *step != ".")
        .collect();
    steps.pop();
    for step in path.split('/') {
        match step {
            "" | "." => {}
            ".." => drop(steps.pop()?),
            step => steps.push(step),
        }
    }
    let joined = steps.join("/");
    Some(if file.starts_with('/') {
        format!("/{joined}")
    } else {
        joined
    })
}

fn requirement(line: &str) -> Result<Requirement, String> {
    let line = line.trim();
    if line.starts_with('-') {
        let option: String = line
            .chars()
            .take_while(|character| !" =\t".contains(*character))
            .take(40)
            .collect();
        return Err(format!(
            "the option `{}` is not taken: indexes and sources are set where Agentyard runs",
            option.escape_debug()
        ));
    }
    let (text, options) = line.split_once(" --").unwrap_or((line, ""));
    let mut requirement = Requirement::read(text).map_err(|error| Error::message(&error).to_owned())?;
    if line.len() > text.len() {
        for option in options.split(" --") {
            requirement.hashes.push(hash(option.trim())?);
        }
    }
    if requirement.hashes.len() > MAX_HASHES {
        return Err(format!("more than {MAX_HASHES} hashes"));
    }
    Ok(requirement)
}

/// `hash=sha256:…`.
fn hash(option: &str) -> Result<String, String> {
    let refused = || {
        format!(
            "`--{}` is not taken: only `--hash=sha256:…` may follow a requirement",
            option.escape_debug()
        )
    };
    let value = option
        .strip_prefix("hash")
        .and_then(|rest| rest.strip_prefix(['=', ' ']))
        .ok_or_else(refused)?
        .trim();
    let (algorithm, digits) = value.split_once(':').ok_or_else(refused)?;
    let length = match algorithm {
        "sha256" => 64,
        "sha384" => 96,
        "sha512" => 128,
        _ => return Err(refused()),
    };
    let is_hash = digits.len() == length && digits.chars().all(|digit| digit.is_ascii_hexdigit());
    if is_hash {
        Ok(value.to_owned())
    } else {
        Err(refused())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(files: &[(&str, &str)]) -> Result<(Vec<String>, Vec<String>), String> {
        let find = |path: &str| {
            let found = files.iter().find(|(name, _)| *name == path);
            found
                .map(|(_, content)| (*content).to_owned())
                .ok_or_else(|| Error::not_found(format!("no {path}")))
        };
        let mut requested = Requested::default();
        read(files[0].0, &find, &mut requested).map_err(|error| error.message().to_owned())?;
        let shown = |list: &[Requirement]| list.iter().map(ToString::to_string).collect();
        Ok((shown(&requested.requirements), shown(&requested.constraints)))
    }

    #[test]
    fn requirements_comments_continuations_and_other_files() {
        let hash = "0".repeat(64);
        let first = format!(
            "\u{feff}# comment\n\nnumpy >= 2 # why\n  -r sub/more.txt\n--constraint=limits.txt\nhashed==1 \\\n  --hash=sha256:{hash} \\\n  --hash=sha256:{hash}\n"
        );
        let files = [
            ("requirements.txt", first.as_str()),
            (
                "sub/more.txt",
                "requests\r\n-r ../requirements.txt\n-c ./../limits.txt\n",
            ),
            ("limits.txt", "urllib3<3\n"),
        ];
        let hashed = format!("hashed==1 --hash=sha256:{hash} --hash=sha256:{hash}");
        let (requirements, constraints) = told(&files).unwrap();
        assert_eq!(requirements, ["numpy>=2", &hashed, "requests"]);
        assert_eq!(constraints, ["urllib3<3"]);
    }

    #[test]
    fn options_are_refused_by_line() {
        for line in [
            "--index-url https://evil.example",
            "-i https://evil.example",
            "--extra-index-url=https://evil.example",
            "--find-links /tmp",
            "--trusted-host evil.example",
            "-e .",
            "-e git+https://evil.example/x",
            "--editable=.",
            "--pre",
            "--no-binary :all:",
            "--config-settings x",
            "-rother.txt",
            "./local",
            "file:///etc/passwd",
            "numpy --install-option=--prefix=/",
            "numpy --global-option x",
            "numpy --hash=md5:00",
            "numpy --hash=sha256:zz",
            "numpy --hash=sha256:00 --pre",
            "numpy -e .",
            "${HOME}/x",
            "-r /etc/passwd",
            "-r ../outside.txt",
            "-r https://evil.example/x.txt",
            "-c a/../../x",
            "numpy \\\n--index-url=https://evil.example",
        ] {
            let content = format!("ok\n{line}\n");
            let message = told(&[("requirements.txt", &content), ("other.txt", "")]).unwrap_err();
            assert!(
                message.starts_with("`requirements.txt`, line 2: "),
                "{line}: {message}"
            );
        }
    }

    #[test]
    fn there_are_bounds() {
        let many = "a\n".repeat(MAX_REQUIREMENTS + 1);
        assert!(told(&[("r.txt", &many)]).unwrap_err().contains("more than"));
        let names: Vec<String> = (0..=MAX_FILES).map(|number| format!("{number}.txt")).collect();
        let contents: Vec<String> = (1..=MAX_FILES + 1)
            .map(|number| format!("-r {number}.txt\n"))
            .collect();
        let files: Vec<(&str, &str)> = names
            .iter()
            .zip(&contents)
            .map(|(name, content)| (name.as_str(), content.as_str()))
            .collect();
        assert!(told(&files).unwrap_err().contains("files belong"));
    }
}
