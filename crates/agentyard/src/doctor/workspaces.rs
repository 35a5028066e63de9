//! How working trees of workspaces are made here, and why.

use std::path::Path;

use agentyard_sandbox::namespace::Trial;
use agentyard_sandbox::{Finding, State};

use crate::config::{WorkspaceSettings, WorkspaceWay};
use crate::namespace;

const WHAT: &str = "workspaces";

/// The remedy for a way that was asked for and cannot be had.
const ANY_WAY: &str = "set `workspaces.way` to `auto`, or correct what is in the way";

/// Whether views can be mounted by processes that are started now, as whoever asks.
pub(super) fn views(
    settings: &WorkspaceSettings,
    trial: Option<&Trial>,
    work_place: &Path,
) -> Result<(), String> {
    let is_root = rustix::process::geteuid().is_root();
    match (namespace::obstacle(settings), trial) {
        (Some(reason), _) if !is_root => Err(reason.to_owned()),
        (_, None) => Err("not tried: this program cannot be found".to_owned()),
        (_, Some(trial)) => trial.run(work_place),
    }
}

/// Says it, by what was tried where work would be done.
pub(super) fn look(way: WorkspaceWay, views: Result<(), String>, reflink: Option<&Finding>) -> Finding {
    let reflink = match reflink {
        Some(finding) if finding.state == State::Ok => Ok(()),
        Some(finding) => Err(finding.detail.as_str()),
        None => Err("not tried"),
    };
    match (way, views, reflink) {
        (WorkspaceWay::Auto | WorkspaceWay::Overlay, Ok(()), _) => {
            Finding::ok(WHAT, "views, mounted by overlayfs")
        }
        (WorkspaceWay::Overlay, Err(reason), _) => {
            Finding::missing(WHAT, format!("views were asked for: {reason}"), ANY_WAY)
        }
        (WorkspaceWay::Reflink, _, Ok(())) => {
            Finding::ok(WHAT, "copies that share their blocks, as asked for")
        }
        (WorkspaceWay::Reflink, _, Err(reason)) => Finding::missing(
            WHAT,
            format!("copies that share their blocks were asked for: {reason}"),
            ANY_WAY,
        ),
        (WorkspaceWay::Checkout, ..) => Finding::ok(WHAT, "checkouts, as asked for"),
        (WorkspaceWay::Auto, Err(reason), Ok(())) => Finding::ok(
            WHAT,
            format!("copies that share their blocks; no views: {reason}"),
        ),
        (WorkspaceWay::Auto, Err(views), Err(_)) => Finding::limited(
            WHAT,
            format!("checkouts, which take longer and more space; no views: {views}"),
            "let user namespaces be made, or keep the data directory on btrfs or XFS",
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_best_way_that_works_is_told_with_why_it_is_no_better_one() {
        let works = Finding::ok("reflink", "a file was cloned");
        let fails = Finding::missing("reflink", "no clone", "use btrfs");
        let told = |way, overlay: Result<(), &str>, reflink| {
            let finding = look(way, overlay.map_err(ToOwned::to_owned), Some(reflink));
            (finding.state, finding.detail)
        };
        let auto = WorkspaceWay::Auto;
        assert_eq!(
            told(auto, Ok(()), &fails),
            (State::Ok, "views, mounted by overlayfs".to_owned())
        );
        assert_eq!(
            told(auto, Err("forbidden"), &works),
            (
                State::Ok,
                "copies that share their blocks; no views: forbidden".to_owned()
            )
        );
        let (state, detail) = told(auto, Err("forbidden"), &fails);
        assert_eq!(state, State::Limited);
        assert!(
            detail.starts_with("checkouts") && detail.ends_with("forbidden"),
            "{detail}"
        );
    }

    #[test]
    fn a_way_that_was_asked_for_is_told_when_it_fails() {
        let fails = Finding::missing("reflink", "no clone", "use btrfs");
        let state = |way| look(way, Err("forbidden".to_owned()), Some(&fails)).state;
        assert_eq!(state(WorkspaceWay::Overlay), State::Missing);
        assert_eq!(state(WorkspaceWay::Reflink), State::Missing);
        assert_eq!(state(WorkspaceWay::Checkout), State::Ok);
    }

    #[test]
    fn what_does_not_answer_has_not_worked() {
        let trial = Trial {
            program: "/bin/true".into(),
            argument: namespace::TRIAL_COMMAND,
        };
        let place = tempfile::tempdir().unwrap();
        assert!(trial.run(place.path()).is_err());
        assert_eq!(std::fs::read_dir(place.path()).unwrap().count(), 0);
    }
}
