//! `git push`: sending commits to a remote.

mod porcelain;
mod turns;

use crate::network::{Connection, Way};
use crate::program::LeftOut;
use crate::work::{Integration, IntegrationResult};
use crate::{BranchName, Error, Kept, ObjectId, RemoteName, Work};
pub use porcelain::{PushOutcome, PushedRef};
pub(crate) use turns::PushTurns;

/// What to push, and where to.
#[derive(Debug, Clone, Default)]
pub struct PushOptions {
    /// Where to; the remote that the branch follows when left out.
    pub remote: Option<RemoteName>,
    /// The branch; the current one when left out.
    pub branch: Option<BranchName>,
    /// Its name there, when it is another one.
    pub remote_branch: Option<BranchName>,
    /// Makes the branch follow that of the remote.
    pub set_upstream: bool,
    /// All tags too.
    pub tags: bool,
    /// Replaces what is there, whatever it is. It is kept first.
    pub force: bool,
    /// Replaces what is there if it is what was last fetched. It is kept first.
    pub force_with_lease: bool,
    /// Deletes the branch there. It is kept first.
    pub delete: bool,
    /// Says what would be done.
    pub dry_run: bool,
    /// The caller knows that something there will be lost.
    pub confirm: bool,
    /// When the remote has moved: fetch, rebase, and try again.
    pub rebase_on_reject: bool,
}

/// What came of a push.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Pushed {
    /// Where to.
    pub remote: String,
    /// The branch there.
    pub branch: String,
    /// What became of each reference.
    pub refs: Vec<PushedRef>,
    /// Whether the branch now follows that of the remote.
    pub upstream_set: bool,
    /// What was there and was replaced or deleted.
    pub kept: Option<Kept>,
    /// The remote had moved: the branch was rebased on this first.
    pub rebased_onto: Option<ObjectId>,
    /// How often it was tried again because the remote had moved.
    pub retries: u32,
    /// The remote had moved, and these files of both conflict. Nothing was pushed, and nothing changed here.
    pub conflicts: Vec<String>,
    /// Hooks that did not run.
    pub left_out: LeftOut,
}

/// A push whose parts are settled.
struct Push<'a> {
    options: &'a PushOptions,
    remote: RemoteName,
    /// The branch there.
    target: BranchName,
    connection: Connection,
}

impl Work<'_> {
    /// Pushes a branch.
    pub fn push(&self, options: &PushOptions) -> Result<Pushed, Error> {
        let current = self.current_branch();
        let Some(branch) = options.branch.clone().or(current) else {
            return Err(Error::state(
                "no branch is checked out, so there is none to push",
                "pass `branch`",
            ));
        };
        let target = options.remote_branch.clone().unwrap_or_else(|| branch.clone());
        self.check_destruction(options, &target)?;
        let remote = self.choose_remote(options.remote.as_ref(), Some(&branch))?;
        let connection = self.connect(&remote, Way::Push)?;
        let push = Push {
            options,
            remote,
            target,
            connection,
        };
        let pushes = &self.git().pushes;
        let _turn = pushes.take(
            push.connection.url().as_str(),
            push.target.reference(),
            self.cancel(),
        )?;
        let mut pushed = if options.delete {
            self.push_deletion(&push)?
        } else {
            self.push_branch(&push, &branch)?
        };
        pushed.remote = push.remote.to_string();
        pushed.branch = push.target.to_string();
        pushed.left_out = self.left_out(&["pre-push"]);
        Ok(pushed)
    }

    fn check_destruction(&self, options: &PushOptions, target: &BranchName) -> Result<(), Error> {
        let what = match options {
            PushOptions { delete: true, .. } => "deleting",
            PushOptions { force: true, .. }
            | PushOptions {
                force_with_lease: true,
                ..
            } => "force-pushing",
            _ => return Ok(()),
        };
        if self.git().settings().protected_branches.cover(target.as_str()) {
            return Err(Error::refused(
                format!("{what} {target} is refused: the branch is protected"),
                "push to another branch; `git.protected_branches` lists those that are protected",
            ));
        }
        if options.confirm || options.dry_run {
            return Ok(());
        }
        Err(Error::refused(
            format!("{what} the remote branch {target} drops commits there, for everybody"),
            "repeat the call with `confirm: true`; what is dropped is kept here under refs/agentyard/kept",
        ))
    }

    fn push_deletion(&self, push: &Push<'_>) -> Result<Pushed, Error> {
        let tip = self.remote_tip(push)?.ok_or_else(|| Error::Missing {
            what: format!("the remote {} has no branch {}", push.remote, push.target),
        })?;
        let kept = self.keep_remote_tip(push, &tip)?;
        let refs = self.send(push, &format!(":{}", push.target.reference()), Some(Some(tip)))?;
        fail_if_rejected(push, &refs)?;
        if !push.options.dry_run {
            self.note_tracking(push, None)?;
        }
        Ok(Pushed {
            refs,
            kept,
            ..Pushed::default()
        })
    }

    fn push_branch(&self, push: &Push<'_>, branch: &BranchName) -> Result<Pushed, Error> {
        let mut pushed = Pushed::default();
        let lease = self.lease(push)?;
        if let Some(Some(tip)) = &lease
            && !self.contains(tip, &self.branch_tip(branch)?)?
        {
            pushed.kept = self.keep_remote_tip(push, tip)?;
        }
        let most = self.git().settings().network.attempts.max(1);
        for attempt in 1..=most {
            let tip = self.branch_tip(branch)?;
            let source = format!("{tip}:{}", push.target.reference());
            pushed.refs = self.send(push, &source, lease)?;
            let has_moved = pushed.refs.iter().any(PushedRef::is_behind);
            if !has_moved || lease.is_some() || push.options.dry_run || !push.options.rebase_on_reject {
                break;
            }
            if attempt == most {
                break;
            }
            match self.catch_up(push, branch)? {
                Ok(onto) => {
                    pushed.rebased_onto = Some(onto);
                    pushed.retries += 1;
                }
                Err(files) => {
                    pushed.conflicts = files;
                    return Ok(pushed);
                }
            }
        }
        // A tag may be rejected where the branch is not.
        let arrived = pushed
            .refs
            .iter()
            .any(|pushed| pushed.name == push.target.as_str() && pushed.rejection().is_none());
        if !push.options.dry_run && arrived {
            let tip = self.branch_tip(branch)?;
            self.note_tracking(push, Some(&tip))?;
            if push.options.set_upstream {
                self.follow_remote(branch, &push.remote, &push.target)?;
                pushed.upstream_set = true;
            }
        }
        fail_if_rejected(push, &pushed.refs)?;
        Ok(pushed)
    }

    /// Fetches what the remote has, and puts the branch on top of it: of which commit, or else in which files that
    /// would conflict, and everything is as it was.
    fn catch_up(&self, push: &Push<'_>, branch: &BranchName) -> Result<Result<ObjectId, Vec<String>>, Error> {
        let onto = self.fetch_branch(&push.remote, &push.target)?;
        if self.repository().worktree().is_none() || self.current_branch().as_ref() != Some(branch) {
            return Err(Error::state(
                format!(
                    "the remote has commits that are not in {branch}, and it is not checked out here to be rebased"
                ),
                format!("check {branch} out, call git_pull, then push again"),
            ));
        }
        match self.integrate_or_restore(&onto, Integration::Rebase)?.result {
            IntegrationResult::WouldConflict(files) => Ok(Err(files)),
            _ => Ok(Ok(onto)),
        }
    }

    /// What the remote's branch must be for the push to replace it: `None` when it is not to be replaced at all,
    /// `Some(None)` when it must not be there.
    fn lease(&self, push: &Push<'_>) -> Result<Option<Option<ObjectId>>, Error> {
        if push.options.force_with_lease {
            let tracking = self.tracking_reference(&push.remote, &push.target);
            return Ok(Some(self.repository().reference_target(&tracking)));
        }
        if push.options.force {
            return self.remote_tip(push).map(Some);
        }
        Ok(None)
    }

    fn send(
        &self,
        push: &Push<'_>,
        specification: &str,
        lease: Option<Option<ObjectId>>,
    ) -> Result<Vec<PushedRef>, Error> {
        let mut call = push
            .connection
            .through(self.invoke("push"), Way::Push)
            .words(&[
                "--porcelain",
                "--progress",
                "--no-follow-tags",
                "--recurse-submodules=no",
                "--no-signed",
            ])
            .word_if(push.options.dry_run, "--dry-run")
            .reporting();
        if let Some(expected) = lease {
            let expected = expected.map(|id| id.to_string()).unwrap_or_default();
            call = call.option(
                "--force-with-lease",
                format!("{}:{expected}", push.target.reference()),
            );
        }
        call = call
            .end_of_options()
            .operand(push.connection.url().as_str())
            .operand(specification);
        if push.options.tags && !push.options.delete {
            call = call.operand("refs/tags/*:refs/tags/*");
        }
        let finished = push
            .connection
            .run(&call, |finished| porcelain::has_refs(&finished.output))?;
        Ok(porcelain::parse(&finished.output, &finished.errors))
    }

    /// Where the remote's branch is now.
    fn remote_tip(&self, push: &Push<'_>) -> Result<Option<ObjectId>, Error> {
        let reference = push.target.reference();
        let call = push
            .connection
            .through(self.invoke("ls-remote"), Way::Fetch)
            .word("--refs")
            .end_of_options()
            .operand(push.connection.url().as_str())
            .operand(&reference);
        let finished = push.connection.run(&call, |_| false)?;
        let output = String::from_utf8_lossy(&finished.output);
        let found = output.lines().find_map(|line| {
            let (id, name) = line.split_once('\t')?;
            (name == reference).then(|| id.parse().ok()).flatten()
        });
        Ok(found)
    }

    /// Gets what is about to be lost there, and keeps it here.
    fn keep_remote_tip(&self, push: &Push<'_>, tip: &ObjectId) -> Result<Option<Kept>, Error> {
        if push.options.dry_run {
            return Ok(None);
        }
        let call = push
            .connection
            .through(self.invoke("fetch"), Way::Fetch)
            .words(&[
                "--progress",
                "--no-tags",
                "--no-write-fetch-head",
                "--no-auto-maintenance",
                "--no-recurse-submodules",
            ])
            .reporting()
            .end_of_options()
            .operand(push.connection.url().as_str())
            .operand(push.target.reference());
        push.connection.run(&call, |_| false)?;
        self.keep("push", tip).map(Some)
    }

    /// Notes where the remote's branch is, as git does for remotes that it knows by name.
    fn note_tracking(&self, push: &Push<'_>, tip: Option<&ObjectId>) -> Result<(), Error> {
        let tracking = format!("{}/{}", push.remote.reference(), push.target);
        let call = self.invoke("update-ref").value("-m", "update by push");
        let call = match tip {
            Some(tip) => call.end_of_options().operand(&tracking).object(tip),
            None => call.word("-d").end_of_options().operand(&tracking),
        };
        call.run().map(drop)
    }

    /// Has a branch follow one of a remote, which need not be known here yet.
    fn follow_remote(
        &self,
        branch: &BranchName,
        remote: &RemoteName,
        target: &BranchName,
    ) -> Result<(), Error> {
        let values = [
            ("remote", remote.as_str().to_owned()),
            ("merge", target.reference()),
        ];
        for (key, value) in values {
            self.invoke("config")
                .words(&["--local", "--replace-all"])
                .end_of_options()
                .operand(format!("branch.{branch}.{key}"))
                .operand(value)
                .run()?;
        }
        Ok(())
    }

    pub(crate) fn branch_tip(&self, branch: &BranchName) -> Result<ObjectId, Error> {
        self.repository()
            .reference_target(&branch.reference())
            .ok_or_else(|| Error::Missing {
                what: format!("there is no branch {branch} with commits here"),
            })
    }

    /// Whether `tip` has `id` in its history.
    pub(crate) fn contains(&self, id: &ObjectId, tip: &ObjectId) -> Result<bool, Error> {
        let finished = self
            .invoke("merge-base")
            .word("--is-ancestor")
            .object(id)
            .object(tip)
            .run_whatever_it_answers()?;
        // An object that is not here is in nobody's history here.
        Ok(finished.code == Some(0))
    }
}

fn fail_if_rejected(push: &Push<'_>, refs: &[PushedRef]) -> Result<(), Error> {
    let Some((name, reason)) = refs.iter().find_map(PushedRef::rejection) else {
        return Ok(());
    };
    let remedy = if refs.iter().any(PushedRef::is_behind) {
        format!(
            "the remote has commits that are not here: call git_pull (remote {}, branch {}), then push again",
            push.remote, push.target
        )
    } else if refs.iter().any(PushedRef::is_stale) {
        "the remote has moved since it was last fetched: call git_fetch, look at what is new, then push again"
            .to_owned()
    } else {
        "the remote does not accept it: look at what it says, and push what it accepts, or to another branch"
            .to_owned()
    };
    Err(Error::state(
        format!(
            "git push to {} was rejected: {name}: {reason}",
            push.connection.url()
        ),
        remedy,
    ))
}
