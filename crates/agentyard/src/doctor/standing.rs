//! Whether sandboxes that stay can be made here, how their copies share files, and how they are paused.

use agentyard_sandbox::{Backend, Finding, State};

use super::sandbox::TriedSandbox;

const WHAT: &str = "standing sandboxes";

/// What they would be made of, as it was tried.
#[derive(Debug)]
pub(super) struct Means<'a> {
    /// Whether views can be mounted where their files would be, or why not.
    pub(super) views: &'a Result<(), String>,
    /// Whether files there can share blocks.
    pub(super) reflink: Option<&'a Finding>,
    /// Which control groups stop everybody at once, or why none do. Asked for only where that is ours to do.
    pub(super) freezer: fn() -> Result<&'static str, String>,
}

/// Says it.
pub(super) fn look(tried: &TriedSandbox, means: &Means<'_>) -> Finding {
    let is_breached = !tried.enforcement.breaches.is_empty() && !tried.allow_weaker;
    match tried.backend {
        Some(Backend::Host) => Finding::missing(
            WHAT,
            "`host` has none",
            "set `sandbox.backend` to `bubblewrap` or `podman`",
        ),
        None => as_commands(),
        Some(_) if is_breached => as_commands(),
        Some(Backend::E2b) => Finding::limited(
            WHAT,
            "at the service, which pauses them; without snapshots and forks",
            "set `sandbox.backend` to `bubblewrap` or `podman` to have these",
        ),
        Some(Backend::Podman) => found(&[copies(means), Ok("paused by podman".to_owned())]),
        Some(Backend::Bubblewrap) => found(&[copies(means), pauses((means.freezer)())]),
    }
}

fn as_commands() -> Finding {
    Finding::missing(
        WHAT,
        "refused, as commands and code are",
        "do what the row `sandbox` says",
    )
}

/// One side of them: how it is, or how it is and what would make it better.
type Side = Result<String, (String, &'static str)>;

fn found(sides: &[Side]) -> Finding {
    let details: Vec<&str> = sides
        .iter()
        .map(|side| match side {
            Ok(detail) | Err((detail, _)) => detail.as_str(),
        })
        .collect();
    let remedies: Vec<&str> = sides
        .iter()
        .filter_map(|side| side.as_ref().err().map(|(_, remedy)| *remedy))
        .collect();
    match remedies.is_empty() {
        true => Finding::ok(WHAT, details.join("; ")),
        false => Finding::limited(WHAT, details.join("; "), remedies.join("; ")),
    }
}

fn copies(means: &Means<'_>) -> Side {
    let shares_blocks = means.reflink.is_some_and(|finding| finding.state == State::Ok);
    match means.views {
        Ok(()) => Ok("snapshots and forks share files by overlayfs".to_owned()),
        Err(reason) if shares_blocks => Ok(format!(
            "snapshots and forks share blocks by reflinks (no overlayfs: {reason})"
        )),
        Err(reason) => Err((
            format!("snapshots and forks are whole copies (no overlayfs: {reason})"),
            "let user namespaces be made, or keep the data directory on btrfs or XFS",
        )),
    }
}

fn pauses(freezer: Result<&'static str, String>) -> Side {
    match freezer {
        Ok(groups) => Ok(format!("paused by the freezer of {groups}")),
        Err(reason) => Err((
            format!("paused by a signal to each process ({reason})"),
            "run as a systemd service with Delegate=yes, or as root",
        )),
    }
}

#[cfg(test)]
mod tests {
    use agentyard_sandbox::{Enforcement, Weakness};

    use super::*;

    fn tried(backend: Option<Backend>) -> TriedSandbox {
        TriedSandbox {
            backend,
            enforcement: Enforcement::default(),
            allow_weaker: false,
        }
    }

    fn not_asked() -> Result<&'static str, String> {
        panic!("this is not ours to pause")
    }

    #[test]
    fn what_is_weaker_is_told_with_its_remedy() {
        let (works, fails) = (Ok(()), Err("forbidden".to_owned()));
        let cloned = Finding::ok("reflink", "cloned");
        let means = |views, reflink, freezer| Means {
            views,
            reflink,
            freezer,
        };
        let bubblewrap = tried(Some(Backend::Bubblewrap));
        let whole = look(&bubblewrap, &means(&works, None, || Ok("cgroup v2")));
        assert_eq!(
            (whole.state, whole.detail.as_str()),
            (
                State::Ok,
                "snapshots and forks share files by overlayfs; paused by the freezer of cgroup v2"
            )
        );
        let podman = look(
            &tried(Some(Backend::Podman)),
            &means(&fails, Some(&cloned), not_asked),
        );
        assert_eq!(
            (podman.state, podman.detail.as_str()),
            (
                State::Ok,
                "snapshots and forks share blocks by reflinks (no overlayfs: forbidden); paused by podman"
            )
        );
        let weak = look(&bubblewrap, &means(&fails, None, || Err("no groups".to_owned())));
        assert_eq!(
            (weak.state, weak.detail.as_str()),
            (
                State::Limited,
                "snapshots and forks are whole copies (no overlayfs: forbidden); paused by a signal to each process (no \
                 groups)"
            )
        );
        let remedy = weak.remedy.unwrap();
        assert!(
            remedy.contains("btrfs") && remedy.contains("Delegate=yes"),
            "{remedy}"
        );
    }

    #[test]
    fn where_there_are_none_it_is_told_why() {
        let means = Means {
            views: &Ok(()),
            reflink: None,
            freezer: not_asked,
        };
        let mut breached = tried(Some(Backend::Bubblewrap));
        breached.enforcement.breaches.push(Weakness {
            what: "network".to_owned(),
            reason: "it is reached".to_owned(),
            remedy: "mend it".to_owned(),
        });
        for (tried, state) in [
            (tried(None), State::Missing),
            (tried(Some(Backend::Host)), State::Missing),
            (tried(Some(Backend::E2b)), State::Limited),
            (breached, State::Missing),
        ] {
            let finding = look(&tried, &means);
            assert_eq!(finding.state, state, "{finding:?}");
            assert!(finding.remedy.is_some(), "{finding:?}");
        }
    }
}
