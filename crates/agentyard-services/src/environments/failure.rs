//! Why something could not be installed, as far as what the installer said tells.

use agentyard_sandbox::EndCause;

use super::performing::Performed;

/// Why something could not be installed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InstallFailure {
    /// What sort of failure it is.
    pub kind: FailureKind,
    /// What went wrong, in a sentence.
    pub message: String,
    /// What the installer said about it.
    pub lines: Vec<String>,
    /// What to do next.
    pub hint: String,
}

/// The sorts of failures.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FailureKind {
    /// No index has something of that name.
    UnknownPackage,
    /// It is there, but in no version that will do.
    NoMatchingVersion,
    /// Two requirements exclude each other.
    Conflict,
    /// An index could not be reached, or may not be.
    NetworkRefused,
    /// It had to be built, and that failed.
    BuildFailed,
    /// What was downloaded is not what was asked for.
    HashMismatch,
    /// There was no room.
    DiskFull,
    /// There was not enough memory.
    OutOfMemory,
    /// It took too long.
    TimedOut,
    /// Something else.
    Other,
}

impl FailureKind {
    /// Its name in answers.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::UnknownPackage => "unknown_package",
            Self::NoMatchingVersion => "no_matching_version",
            Self::Conflict => "conflict",
            Self::NetworkRefused => "network_refused",
            Self::BuildFailed => "build_failed",
            Self::HashMismatch => "hash_mismatch",
            Self::DiskFull => "disk_full",
            Self::OutOfMemory => "out_of_memory",
            Self::TimedOut => "timed_out",
            Self::Other => "other",
        }
    }

    fn message(self) -> &'static str {
        match self {
            Self::UnknownPackage => "the index has no package of that name",
            Self::NoMatchingVersion => "no version of the package fits what was asked for, or this Python",
            Self::Conflict => "the requirements exclude each other",
            Self::NetworkRefused => "the package index could not be reached",
            Self::BuildFailed => "a package had to be built, and that failed",
            Self::HashMismatch => "what the index gave is not what the hashes say",
            Self::DiskFull => "there was no room on the disk",
            Self::OutOfMemory => "it used more memory than a command may",
            Self::TimedOut => "it took longer than it may",
            Self::Other => "the installer failed",
        }
    }

    fn hint(self) -> &'static str {
        match self {
            Self::UnknownPackage => {
                "see that the name is that of the package in the index, not of the module: `opencv-python`, not `cv2`"
            }
            Self::NoMatchingVersion => "ask for another version, or none; the lines tell which there are",
            Self::Conflict => "loosen one of the versions that the lines name",
            Self::NetworkRefused => {
                "the index is set by `exec.index_url`, and who may be reached by `sandbox.network` and `sandbox.registries`"
            }
            Self::BuildFailed => {
                "ask for a version that is there as a wheel for this Python, or install what the build lacks"
            }
            Self::HashMismatch => "write down the hashes anew from a source that you trust",
            Self::DiskFull => {
                "remove what is not needed, or raise `sandbox.disk_mb` or `exec.max_environments_mb`"
            }
            Self::OutOfMemory => "raise `sandbox.memory_mb`, or ask for a version that is there as a wheel",
            Self::TimedOut => "ask for less at once: what was downloaded is kept, so the next try is faster",
            Self::Other => "the lines say what the installer complained about",
        }
    }
}

/// What the installers say, in this order: a network that fails also makes a package look unknown. Pairs of what must stand
/// on one line.
const SIGNS: &[(FailureKind, &str, &str)] = &[
    (FailureKind::DiskFull, "No space left on device", ""),
    (FailureKind::DiskFull, "Disk quota exceeded", ""),
    (FailureKind::HashMismatch, "DO NOT MATCH THE HASHES", ""),
    (FailureKind::HashMismatch, "Hash mismatch", ""),
    (FailureKind::NetworkRefused, "connection broken by", ""),
    (FailureKind::NetworkRefused, "Tunnel connection failed", ""),
    (FailureKind::NetworkRefused, "ProxyError", ""),
    (FailureKind::NetworkRefused, "SSLError", ""),
    (
        FailureKind::NetworkRefused,
        "Failed to establish a new connection",
        "",
    ),
    (FailureKind::NetworkRefused, "Read timed out", ""),
    (FailureKind::NetworkRefused, "error sending request", ""),
    (FailureKind::NetworkRefused, "client error (Connect)", ""),
    (FailureKind::NetworkRefused, "Could not resolve host", ""),
    (FailureKind::NetworkRefused, "CondaHTTPError", ""),
    (FailureKind::Conflict, "ResolutionImpossible", ""),
    (FailureKind::Conflict, "conflicting dependencies", ""),
    (FailureKind::BuildFailed, "metadata-generation-failed", ""),
    (FailureKind::BuildFailed, "subprocess-exited-with-error", ""),
    (FailureKind::BuildFailed, "Failed building wheel", ""),
    (FailureKind::BuildFailed, "Failed to build", ""),
    (FailureKind::UnknownPackage, "(from versions: none)", ""),
    (
        FailureKind::UnknownPackage,
        "was not found in the package registry",
        "",
    ),
    (FailureKind::UnknownPackage, "PackagesNotFoundError", ""),
    (FailureKind::UnknownPackage, "nothing provides", "requested"),
    (FailureKind::UnknownPackage, "does not exist", ""),
    (
        FailureKind::NoMatchingVersion,
        "No matching distribution found",
        "",
    ),
    (FailureKind::NoMatchingVersion, "requires a different Python", ""),
    (FailureKind::NoMatchingVersion, "there is no version of", ""),
    (FailureKind::NoMatchingVersion, "there are no versions of", ""),
    (FailureKind::Conflict, "requirements are unsatisfiable", ""),
    (FailureKind::Conflict, "incompatible", ""),
];

/// How many lines are told, and how long each may be.
const MAX_LINES: usize = 12;
const MAX_LINE: usize = 400;

/// What such a line begins with.
const IMPORTANT: &[&str] = &[
    "ERROR",
    "error",
    "Error",
    "×",
    "╰─>",
    "├─▶",
    "╰─▶",
    "hint",
    "note",
    "fatal",
    "critical",
    "WARNING: Retrying",
];

/// What came of a command that failed.
pub(super) fn explain(performed: &Performed) -> InstallFailure {
    let kind = match performed.exit.cause {
        EndCause::Deadline => FailureKind::TimedOut,
        EndCause::MemoryLimit => FailureKind::OutOfMemory,
        EndCause::DiskLimit => FailureKind::DiskFull,
        EndCause::Itself | EndCause::Stopped | EndCause::OutputLimit => kind_of(&performed.output),
    };
    InstallFailure {
        kind,
        message: kind.message().to_owned(),
        lines: important_lines(&performed.output),
        hint: kind.hint().to_owned(),
    }
}

fn kind_of(output: &str) -> FailureKind {
    let found = SIGNS.iter().find(|(_, sign, also)| {
        output
            .lines()
            .any(|line| line.contains(sign) && line.contains(also))
    });
    found.map_or(FailureKind::Other, |(kind, _, _)| *kind)
}

/// The lines that matter of what a program said: those in which it complains, or else the last.
pub(super) fn important_lines(output: &str) -> Vec<String> {
    let lines: Vec<&str> = output
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty())
        .collect();
    let mut told: Vec<&str> = lines.iter().copied().filter(is_important_line).collect();
    told.dedup();
    // Some say what is wrong in one such line, and why in those that follow.
    if told.len() < 2 {
        let first = lines.iter().position(is_important_line).unwrap_or_default();
        told = lines[first..].to_vec();
    }
    let surplus = told.len().saturating_sub(MAX_LINES);
    told.into_iter()
        .skip(surplus)
        .map(|line| {
            line.chars()
                .filter(|character| !character.is_control())
                .take(MAX_LINE)
                .collect()
        })
        .collect()
}

fn is_important_line(line: &&str) -> bool {
    IMPORTANT.iter().any(|beginning| line.starts_with(beginning))
}

/// What pip left out because of its marker: `Ignoring name: markers '…' don't match your environment`.
pub(super) fn skipped(output: &str) -> Vec<String> {
    let lines = output.lines().filter_map(|line| line.strip_prefix("Ignoring "));
    let names = lines.filter_map(|line| line.split_once(": markers "));
    names
        .map(|(name, _)| name.chars().take(MAX_LINE).collect())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_installers_say_is_understood() {
        for (output, kind) in [
            (
                "ERROR: Could not find a version that satisfies the requirement nope (from versions: none)\nERROR: No matching distribution found for nope",
                FailureKind::UnknownPackage,
            ),
            (
                "ERROR: Could not find a version that satisfies the requirement a==9 (from versions: 1.0)\nERROR: No matching distribution found for a==9",
                FailureKind::NoMatchingVersion,
            ),
            (
                "WARNING: Retrying (Retry(total=4)) after connection broken by 'ProxyError(x)'\nERROR: Could not find a version that satisfies the requirement a (from versions: none)",
                FailureKind::NetworkRefused,
            ),
            (
                "ERROR: Cannot install a and b because these package versions have conflicting dependencies.\nERROR: ResolutionImpossible: for help visit",
                FailureKind::Conflict,
            ),
            ("  error: subprocess-exited-with-error", FailureKind::BuildFailed),
            (
                "ERROR: Could not install packages due to an OSError: [Errno 28] No space left on device",
                FailureKind::DiskFull,
            ),
            (
                "ERROR: THESE PACKAGES DO NOT MATCH THE HASHES FROM THE REQUIREMENTS FILE.",
                FailureKind::HashMismatch,
            ),
            (
                "  × No solution found when resolving dependencies:\n  ╰─▶ Because nope was not found in the package registry and you require nope, we can conclude that your requirements are unsatisfiable.",
                FailureKind::UnknownPackage,
            ),
            (
                "  ╰─▶ Because there is no version of a==9 and you require a==9, we can conclude that your requirements are unsatisfiable.",
                FailureKind::NoMatchingVersion,
            ),
            ("something else", FailureKind::Other),
        ] {
            assert_eq!(kind_of(output), kind, "{output}");
        }
    }

    #[test]
    fn what_a_marker_excludes_is_told() {
        let output =
            "Ignoring colorama: markers 'os_name == \"nt\"' don't match your environment\nCollecting a";
        assert_eq!(skipped(output), ["colorama"]);
    }

    #[test]
    fn complaints_are_told_before_the_rest() {
        let output = "Collecting a\n  Downloading\nERROR: x\nERROR: x\n\nnotice\nERROR: \u{1b}y";
        assert_eq!(important_lines(output), ["ERROR: x", "ERROR: y"]);
        let output = "Resolving\nerror: No solution found\n  Because a was not found";
        assert_eq!(
            important_lines(output),
            ["error: No solution found", "Because a was not found"]
        );
        assert_eq!(important_lines("a\n\nb"), ["a", "b"]);
        let many = "ERROR: z\n".repeat(3)
            + &(0..50)
                .map(|number| format!("error {number}\n"))
                .collect::<String>();
        assert_eq!(important_lines(&many).len(), MAX_LINES);
    }
}
