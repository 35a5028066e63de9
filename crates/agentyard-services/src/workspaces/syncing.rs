//! Bringing a workspace up to date with its remote, all or nothing.

use agentyard_git::{
    self as git, BranchName, Carried, Integrated, Integration, IntegrationResult, ObjectId, StatusOptions,
    Trust, Work,
};
use agentyard_model::{AuditEvent, Caller, Outcome, Permission, Workspace};

use super::{Entered, WorkspaceReference, Workspaces};
use crate::error::Result;
use crate::failures::from_git;
use crate::progress::Progress;

/// Which workspace to bring up to date, and with what.
#[derive(Debug, Clone)]
pub struct SyncRequest {
    /// Which one.
    pub workspace: WorkspaceReference,
    /// With this branch of the remote; when left out with its own, or where the remote has none such with its target.
    pub with: Option<String>,
    /// How.
    pub how: Integration,
}

/// A workspace, and what came of bringing it up to date.
#[derive(Debug)]
pub struct Synced {
    /// Which one.
    pub workspace: Workspace,
    /// The branch of the remote that it was brought up to date with.
    pub with: String,
    /// What came of it.
    pub integrated: Integrated,
    /// The files of work that was not committed with which the new commits conflict. Where there are any, everything
    /// is as it was.
    pub unsaved_conflicts: Vec<String>,
    /// Whether work that was not committed was carried over.
    pub carried: bool,
}

impl Workspaces {
    /// Fetches, and puts what is new under the workspace's own work, committed or not. Where the two conflict, the
    /// tree is as it was before, and the files are named.
    ///
    /// # Errors
    /// When the caller may not write, there is no such workspace, the remote does not answer or lacks the branch.
    pub async fn sync(&self, caller: &Caller, request: SyncRequest, progress: &Progress) -> Result<Synced> {
        caller.require(Permission::ProjectWrite)?;
        let started = std::time::Instant::now();
        let with = request
            .with
            .map(|with| BranchName::new(with).map_err(from_git))
            .transpose()?;
        let entered = self.enter(caller, &request.workspace).await?;
        let repo = self.repo_of(&entered.row).await?;
        progress.report(0, None, format!("fetching {}", repo.name));
        let repo = self.0.repos.refresh(repo, progress).await?.repo;
        let hold = self.hold(&entered, "workspace_sync", caller, progress).await?;
        let target = entered.row.target.clone().or(repo.default_branch);
        let by = caller.subject.to_string();
        let (workspaces, place) = (self.clone(), entered.clone());
        let result = self
            .0
            .turnstile
            .pass(move |_| {
                let _hold = hold;
                let repository = workspaces.repository_of(&place)?;
                // A rebase that nobody waits for any more is still brought to one end or the other.
                let never = std::sync::atomic::AtomicBool::new(false);
                let work = Work::new(&workspaces.0.git, &repository, Trust::Untrusted, &never, &|_| {});
                let (name, tip) = upstream_of(&work, &place.row, with, target)?;
                let synced = workspaces.integrate(&place, &work, &tip, request.how, &by)?;
                Ok((name, synced))
            })
            .await;
        let outcome = if result.is_ok() {
            Outcome::Done
        } else {
            Outcome::Failed
        };
        let event = AuditEvent::with_outcome(caller, "workspace_sync", entered.row.id, outcome);
        self.0.audit.record_soon(event).await;
        let (with, carried) = result?;
        let conflicts = match &carried.integrated.result {
            IntegrationResult::WouldConflict(files) => files.len(),
            _ => carried.conflicts.len(),
        };
        self.0.measures.synced(&entered.row, started.elapsed(), conflicts);
        Ok(Synced {
            workspace: entered.row,
            with,
            integrated: carried.integrated,
            unsaved_conflicts: carried.conflicts,
            carried: carried.carried,
        })
    }

    fn integrate(
        &self,
        place: &Entered,
        work: &Work<'_>,
        tip: &ObjectId,
        how: Integration,
        by: &str,
    ) -> Result<Carried, git::Error> {
        self.restore_interrupted(place, work)?;
        let status = work
            .repository()
            .status(&StatusOptions::default(), work.cancel())?;
        if let Some(operation) = status.operation {
            return Err(git::Error::state(
                format!("a {operation:?} is in progress in this workspace").to_lowercase(),
                "finish or abort it first: git_status says how",
            ));
        }
        let carried = self.all_or_nothing(
            place,
            work,
            by,
            || work.integrate_carrying(tip, how),
            |carried| carried.conflicts.is_empty(),
        )?;
        self.checkpoint(place, work, "workspace_sync", by)?;
        Ok(carried)
    }
}

/// The remote's branch with which a workspace is brought up to date, and where it is.
fn upstream_of(
    work: &Work<'_>,
    row: &Workspace,
    with: Option<BranchName>,
    target: Option<String>,
) -> Result<(String, ObjectId), git::Error> {
    let tracked = |name: &str| {
        work.repository()
            .reference_target(&format!("refs/remotes/origin/{name}"))
            .map(|tip| (name.to_owned(), tip))
    };
    let found = match &with {
        Some(with) => tracked(with.as_str()),
        None => tracked(&row.branch).or_else(|| target.as_deref().and_then(tracked)),
    };
    found.ok_or_else(|| {
        let wanted = with.map_or_else(
            || format!("{} or {}", row.branch, target.unwrap_or_default()),
            |with| with.to_string(),
        );
        git::Error::state(
            format!("the remote has no branch {wanted}"),
            "name one that it has in `with`; repo_branches lists them",
        )
    })
}
