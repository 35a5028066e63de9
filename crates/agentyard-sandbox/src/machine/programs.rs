//! Programs that are there or not, and their versions.

use super::Machine;
use super::finding::Finding;
use super::probe::Outcome;

/// The oldest git whose behaviour we rely on.
const OLDEST_GIT: (u32, u32) = (2, 39);

impl Machine {
    /// The git program, of which everything else is made.
    #[must_use]
    pub fn git(&self) -> Finding {
        const WHAT: &str = "git";
        let (major, minor) = OLDEST_GIT;
        let remedy = format!("install git {major}.{minor} or newer, and see that it comes first on PATH");
        match self.probe(WHAT, &["--version"]) {
            Err(error) => Finding::missing(WHAT, error.to_string(), remedy),
            Ok(outcome) if !outcome.succeeded() => Finding::missing(WHAT, failure(&outcome), remedy),
            Ok(outcome) => match version(&outcome.first_line()) {
                Some(found) if found >= OLDEST_GIT => Finding::ok(WHAT, seen(&outcome)),
                _ => Finding::missing(WHAT, format!("{}: too old", seen(&outcome)), remedy),
            },
        }
    }

    /// Python, with what it needs to make environments.
    pub(crate) fn python(&self) -> Finding {
        const WHAT: &str = "python3";
        let finding = self.version(WHAT, &["--version"], "install Python 3 to let agents run Python");
        if finding.remedy.is_some() {
            return finding;
        }
        match self.probe(WHAT, &["-I", "-c", "import venv, ensurepip"]) {
            Ok(outcome) if outcome.succeeded() => finding,
            _ => Finding::limited(
                WHAT,
                format!("{}, but without `venv` and `ensurepip`", finding.detail),
                "install them to make environments with `python3 -m venv` (on Debian: python3-venv)",
            ),
        }
    }

    /// uv, which makes Python environments fast.
    pub(crate) fn uv(&self) -> Finding {
        self.version(
            "uv",
            &["--version"],
            "install uv for Python environments in a fraction of the time",
        )
    }

    /// conda, or the smaller program that does the same.
    pub(crate) fn conda_found(&self) -> Finding {
        const WHAT: &str = "conda";
        let remedy = "install micromamba or conda for environments of that kind";
        let micromamba = self.version("micromamba", &["--version"], remedy);
        if micromamba.remedy.is_none() {
            return Finding::ok(WHAT, format!("micromamba {}", micromamba.detail));
        }
        self.version(WHAT, &["--version"], remedy)
    }

    /// Node.
    pub(crate) fn node(&self) -> Finding {
        self.version(
            "node",
            &["--version"],
            "install Node.js to let agents run JavaScript tools",
        )
    }

    /// kubectl.
    pub(crate) fn kubectl(&self) -> Finding {
        let remedy = "install kubectl to look at what runs in a cluster";
        self.version("kubectl", &["version", "--client"], remedy)
    }

    fn version(&self, name: &'static str, arguments: &[&str], remedy: &str) -> Finding {
        match self.probe(name, arguments) {
            Ok(outcome) if outcome.succeeded() => Finding::ok(name, seen(&outcome)),
            Ok(outcome) => Finding::limited(name, failure(&outcome), remedy),
            Err(error) => Finding::missing(name, error.to_string(), remedy),
        }
    }
}

/// What a program says of itself, and where it is.
pub(crate) fn seen(outcome: &Outcome) -> String {
    format!("{} at {}", outcome.first_line(), outcome.program.display())
}

/// What a program complains about.
pub(crate) fn failure(outcome: &Outcome) -> String {
    format!("{} failed: {}", outcome.program.display(), outcome.complaint())
}

/// The first two numbers of the first version in a line.
fn version(line: &str) -> Option<(u32, u32)> {
    let word = line
        .split_whitespace()
        .find(|word| word.starts_with(|character: char| character.is_ascii_digit()))?;
    let mut numbers = word.split('.').map(str::parse);
    match (numbers.next(), numbers.next()) {
        (Some(Ok(major)), Some(Ok(minor))) => Some((major, minor)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_is_read_from_what_programs_print() {
        assert_eq!(version("git version 2.39.5 (Apple Git-154)"), Some((2, 39)));
        assert_eq!(version("git version 2.47.3"), Some((2, 47)));
        assert_eq!(version("git version 2.51.GIT"), Some((2, 51)));
        assert_eq!(version("git"), None);
    }
}
