//! Opening a workspace.

use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;

use agentyard_git::{self as git, BranchName, NewView, ObjectId, Repository};
use agentyard_model::{
    AuditEvent, Caller, NewWorkspace, Outcome, Permission, Repo, Timestamp, Workspace, WorkspaceState,
};
use agentyard_store::Claim;

use super::entering::{Attached, roots_of};
use super::naming::{branch_of, directory_of};
use super::{Entered, TreeHold, WorkspaceDetails, Workspaces};
use crate::error::{Error, ErrorKind, Result, from_store};
use crate::failures::from_git;
use crate::progress::Progress;
use crate::repos::RepoRequest;
use crate::turns::to_its_end;

/// Which workspace to open.
#[derive(Debug, Clone, Default)]
pub struct OpenRequest {
    /// A registered repository.
    pub repo: Option<String>,
    /// The address of one, which is registered when it is not yet.
    pub url: Option<String>,
    /// A repository on this machine, as for `url`.
    pub path: Option<PathBuf>,
    /// The branch. One that does not exist is made.
    pub branch: Option<String>,
    /// In place of a branch: who works, and
    pub agent: Option<String>,
    /// on what. The branch is `agent-{agent}-{task}`.
    pub task: Option<String>,
    /// The branch that a new one begins at, and will be merged into; the repository's default branch when left out.
    pub from: Option<String>,
}

/// An open workspace.
#[derive(Debug)]
pub struct Opened {
    /// What it is.
    pub workspace: WorkspaceDetails,
    /// Whether it was open before this call.
    pub reused: bool,
    /// Whether the branch was made by this call.
    pub new_branch: bool,
    /// Where work is kept that was unsaved when it was last closed.
    pub unsaved: Option<String>,
    /// Why what is known of the remote may be old.
    pub stale: Option<String>,
}

/// How often a workspace is asked for that others open and close meanwhile.
const ATTEMPTS: usize = 50;

impl Workspaces {
    /// Opens a workspace: the same one for the same branch, however often.
    ///
    /// # Errors
    /// When the caller may not write, the repository cannot be had, there is nothing to begin the branch at, or as
    /// many workspaces of the repository are in use as may be.
    pub async fn open(&self, caller: &Caller, request: OpenRequest, progress: &Progress) -> Result<Opened> {
        caller.require(Permission::ProjectWrite)?;
        let started = std::time::Instant::now();
        let branch = branch_wanted(&request)?;
        let from = request
            .from
            .as_ref()
            .map(|from| BranchName::new(from).map_err(from_git))
            .transpose()?;
        let repo = self.repo_wanted(caller, &request).await?;
        let repo = self.0.repos.prepare(repo, progress).await?;
        for _ in 0..ATTEMPTS {
            let row = match self
                .claim(caller, &repo, &branch, from.as_ref(), &request)
                .await?
            {
                Claim::New(row) | Claim::Reopened(row) => row,
                Claim::Existing(row) if row.state == WorkspaceState::Open => {
                    match self.reuse(caller, row.clone()).await {
                        // It was closed at this moment: seen anew by the next claim.
                        Err(_) if !self.is_open(&row).await? => continue,
                        reused => return reused,
                    }
                }
                Claim::Existing(row) => row,
                Claim::Full(open) => {
                    self.make_room(caller, &repo, open, progress).await?;
                    continue;
                }
            };
            // Who finds a row that is being opened or closed waits here for whoever does so. When that one died, the
            // lock is free, and this one goes on with it.
            let hold = self.hold_row(row.id, "workspace_open", caller, progress).await?;
            let current = self.0.store.workspaces().get(row.tenant, row.id).await;
            match current.map_err(|error| from_store("looking up the workspace", error))? {
                Some(row) if row.state == WorkspaceState::Opening => {
                    let (workspaces, caller) = (self.clone(), caller.clone());
                    let (repo, from, progress) = (repo.clone(), from.clone(), progress.clone());
                    // A caller who leaves meanwhile is likely to come back for it.
                    let opened = to_its_end(async move {
                        workspaces
                            .make(&caller, &repo, row, from.as_ref(), hold, &progress)
                            .await
                    })
                    .await?;
                    self.0.measures.opened(&opened.workspace.row, started.elapsed());
                    return Ok(opened);
                }
                Some(row) if row.state == WorkspaceState::Closing => {
                    self.finish_closing(&row, hold).await?;
                }
                // Somebody else has opened, closed or removed it meanwhile: seen anew by the next claim.
                _ => {}
            }
        }
        Err(Error::new(
            ErrorKind::Conflict,
            format!("the workspace on {branch} is opened and closed by others all the time"),
        )
        .hint("try again"))
    }

    /// Goes into the workspace of a branch, which is opened when it is not yet.
    pub(crate) async fn enter_or_open(
        &self,
        caller: &Caller,
        repo: &str,
        branch: &str,
        progress: &Progress,
    ) -> Result<Entered> {
        let found = self.0.repos.find(caller, repo).await?;
        let row = self
            .0
            .store
            .workspaces()
            .find(caller.tenant, found.id, branch)
            .await;
        let row = match row.map_err(|error| from_store("looking up the workspace", error))? {
            Some(row) if row.state == WorkspaceState::Open => row,
            _ => {
                let request = OpenRequest {
                    repo: Some(found.id.to_string()),
                    branch: Some(branch.to_owned()),
                    ..OpenRequest::default()
                };
                self.open(caller, request, progress).await?.workspace.row
            }
        };
        self.enter_row(caller, row).await
    }

    /// The repository that is meant. One that is named by its address is registered by this.
    async fn repo_wanted(&self, caller: &Caller, request: &OpenRequest) -> Result<Repo> {
        match (&request.repo, &request.url, &request.path) {
            (Some(repo), None, None) => self.0.repos.find(caller, repo).await,
            (None, Some(url), None) => self.at_address(caller, url).await,
            (None, None, Some(path)) => self.at_path(caller, path).await,
            (None, None, None) => match self.0.working_directories.get(caller).await? {
                Some(directory) => self.repo_around(caller, &directory).await,
                None => Err(Error::invalid("which repository? `repo` is missing")
                    .hint("pass `repo`, `url` or `path`; repo_list shows what is registered")),
            },
            _ => Err(Error::invalid(
                "`repo`, `url` and `path` say the same thing: pass one of them",
            )),
        }
    }

    /// The repository at an address, which is registered when it is not yet.
    async fn at_address(&self, caller: &Caller, url: &str) -> Result<Repo> {
        let request = RepoRequest {
            url: url.to_owned(),
            ..RepoRequest::default()
        };
        self.0.repos.add(caller, request).await
    }

    /// As [`Workspaces::at_address`], of one on this machine.
    async fn at_path(&self, caller: &Caller, path: &Path) -> Result<Repo> {
        let path = path.to_str().ok_or_else(|| {
            Error::invalid(format!(
                "the path of the repository is not valid UTF-8: {}",
                path.display()
            ))
        })?;
        self.at_address(caller, path).await
    }

    /// The repository in which a caller stands, perhaps in a workspace of it.
    async fn repo_around(&self, caller: &Caller, directory: &Path) -> Result<Repo> {
        if let Some(row) = self.row_of_directory(caller, directory).await? {
            return self.repo_of(&row).await;
        }
        self.at_path(caller, directory).await
    }

    async fn claim(
        &self,
        caller: &Caller,
        repo: &Repo,
        branch: &BranchName,
        from: Option<&BranchName>,
        request: &OpenRequest,
    ) -> Result<Claim> {
        let new = NewWorkspace {
            tenant: caller.tenant,
            repo: repo.id,
            branch: branch.to_string(),
            name: directory_of(branch.as_str()),
            agent: request.agent.clone(),
            task: request.task.clone(),
            // When none was chosen, it is the default branch, whichever that is at the time.
            target: from.map(ToString::to_string),
            owner: caller.subject.to_string(),
            lease_until: self.0.clock.now().after(self.0.settings.lease),
            limit: self.0.settings.max_per_repo,
        };
        let event = AuditEvent::done(caller, "workspace_open", format!("{}/{branch}", repo.name));
        self.0
            .store
            .workspaces()
            .claim(&new, &event)
            .await
            .map_err(|error| from_store("opening the workspace", error))
    }

    async fn reuse(&self, caller: &Caller, row: Workspace) -> Result<Opened> {
        let unsaved = row.kept_ref.clone();
        let entered = self.enter_row(caller, row).await?;
        self.0.measures.reused(&entered.row);
        Ok(Opened {
            workspace: self.details(entered.row).await?,
            reused: true,
            new_branch: false,
            unsaved,
            stale: None,
        })
    }

    /// Whether a workspace that was open still is.
    pub(super) async fn is_open(&self, row: &Workspace) -> Result<bool> {
        let current = self.0.store.workspaces().get(row.tenant, row.id).await;
        let current = current.map_err(|error| from_store("looking up the workspace", error))?;
        Ok(current.is_some_and(|current| current.state == WorkspaceState::Open))
    }

    /// Makes the tree of a row that is being opened. When that fails, the row is as if nobody had asked.
    async fn make(
        &self,
        caller: &Caller,
        repo: &Repo,
        row: Workspace,
        from: Option<&BranchName>,
        hold: TreeHold,
        progress: &Progress,
    ) -> Result<Opened> {
        let made = self.make_tree(repo, &row, from, progress).await;
        let made = match made {
            Ok(made) => made,
            Err(error) => {
                let target = format!("{}/{}", repo.name, row.branch);
                let event = AuditEvent::with_outcome(caller, "workspace_open", target, Outcome::Failed);
                self.0.audit.record_soon(event).await;
                self.unmake(row, hold).await;
                return Err(error);
            }
        };
        let lease = self.0.clock.now().after(self.0.settings.lease);
        let base = made.base.as_ref().map(ToString::to_string);
        let opened = self
            .0
            .store
            .workspaces()
            .opened(row.id, made.way.as_str(), base.as_deref(), lease)
            .await
            .map_err(|error| from_store("opening the workspace", error))?
            .ok_or_else(|| {
                Error::new(
                    ErrorKind::Conflict,
                    "the workspace was removed while it was opened",
                )
                .hint("open it again")
            })?;
        self.keep_attached(&opened, made.tree);
        drop(hold);
        self.refresh_soon(repo);
        Ok(Opened {
            unsaved: opened.kept_ref.clone(),
            workspace: self.details(opened).await?,
            reused: false,
            new_branch: made.new_branch,
            stale: made.stale,
        })
    }

    async fn make_tree(
        &self,
        repo: &Repo,
        row: &Workspace,
        from: Option<&BranchName>,
        progress: &Progress,
    ) -> Result<Made> {
        progress.report(0, None, "preparing workspace");
        let trees = self.0.trees.clone();
        let (repo, mut stale) = self.current_mirror(repo, progress).await?;
        let branch = BranchName::new(&row.branch).map_err(from_git)?;
        let start = match self.start_of(&repo, &branch, from).await? {
            Some(start) => start,
            None => {
                // Perhaps it is newer than what is known here.
                let repo = match self.0.repos.refresh(repo.clone(), progress).await {
                    Ok(fetched) => fetched.repo,
                    Err(error) => {
                        stale = Some(error.message().to_owned());
                        repo
                    }
                };
                self.start_of(&repo, &branch, from)
                    .await?
                    .ok_or_else(|| nothing_to_begin_at(&repo, &branch, from))?
            }
        };
        let source = self.source_of(row).await?;
        let (git, key, name) = (self.0.git.clone(), row.repo.to_string(), row.name.clone());
        let reporting = progress.clone();
        let (tree, way, base) = self
            .0
            .turnstile
            .pass(move |cancel| {
                let report = |step: git::Progress| reporting.report(step.done, step.total, step.stage);
                let new = NewView {
                    name: &name,
                    branch: &branch,
                    start: start.commit,
                };
                let view = trees.open_view(&git, &key, &new, cancel, &report)?;
                let roots = roots_of(&view.path, trees.mirror_path(&key), source)?;
                let tree = Attached::new(view.path, roots)?;
                // Nobody was there before.
                tree.note_recovered();
                Ok((tree, view.way, view.base))
            })
            .await?;
        Ok(Made {
            tree,
            way,
            base,
            new_branch: start.is_new,
            stale,
        })
    }

    /// The repository with a mirror that is not too old; and why it may be, when its remote did not answer.
    async fn current_mirror(&self, repo: &Repo, progress: &Progress) -> Result<(Repo, Option<String>)> {
        let now = self.0.clock.now();
        let recent = |at: Timestamp| at.after(self.0.settings.fetch_after) > now;
        if repo.fetched_at.is_some_and(recent) {
            return Ok((repo.clone(), None));
        }
        match self.0.repos.refresh(repo.clone(), progress).await {
            Ok(fetched) => Ok((fetched.repo, None)),
            Err(error) => Ok((repo.clone(), Some(error.message().to_owned()))),
        }
    }

    /// Where a branch begins; none when nothing is known that it could begin at.
    async fn start_of(
        &self,
        repo: &Repo,
        branch: &BranchName,
        from: Option<&BranchName>,
    ) -> Result<Option<Start>> {
        let trees = self.0.trees.clone();
        let key = repo.id.to_string();
        let branch = branch.clone();
        let from = from.cloned();
        let default = repo.default_branch.clone();
        self.0
            .turnstile
            .pass(move |_| {
                let mirror = trees.open_mirror(&key)?;
                let tracked = |name: &str| tip(&mirror, &format!("refs/remotes/origin/{name}"));
                if let Some(commit) = tip(&mirror, &branch.reference()).or_else(|| tracked(branch.as_str())) {
                    return Ok(Some(Start {
                        commit,
                        is_new: false,
                    }));
                }
                let base = from.map(|from| from.to_string()).or(default);
                let commit = base
                    .and_then(|base| tracked(&base).or_else(|| tip(&mirror, &format!("refs/heads/{base}"))));
                Ok(commit.map(|commit| Start { commit, is_new: true }))
            })
            .await
    }

    /// Closes what has not been used for longest, so that one more fits.
    async fn make_room(
        &self,
        caller: &Caller,
        repo: &Repo,
        open: Vec<Workspace>,
        progress: &Progress,
    ) -> Result<()> {
        let now = self.0.clock.now();
        // What a process left half done that died takes room that nobody needs.
        for row in open.iter().filter(|row| row.state != WorkspaceState::Open) {
            if self.finish(row.clone()).await {
                return Ok(());
            }
        }
        let idle = |row: &&Workspace| row.state == WorkspaceState::Open && row.lease_until <= now;
        for row in open.iter().filter(idle) {
            progress.report(0, None, format!("closing the idle workspace on {}", row.branch));
            match self.evict(caller, row, "least recently used").await {
                Ok(true) => return Ok(()),
                // Somebody works in it after all, so another one has to go.
                Ok(false) => {}
                Err(error) => {
                    tracing::warn!(error = %error.chain(), workspace = %row.id, "an idle workspace could not be closed");
                }
            }
        }
        let owners: Vec<String> = open
            .iter()
            .take(5)
            .map(|row| format!("{} ({})", row.branch, row.owner))
            .collect();
        Err(Error::new(
            ErrorKind::LimitExceeded,
            format!(
                "{} has {} workspaces and all are in use: {}",
                repo.name,
                open.len(),
                owners.join(", ")
            ),
        )
        .hint("close one with workspace_close, wait until a lease ends, or raise `workspaces.max_per_repo`"))
    }

    /// Has the base of the default branch made in the background, so that the next workspace opens at once.
    fn refresh_soon(&self, repo: &Repo) {
        let Some(default) = repo.default_branch.clone() else {
            return;
        };
        if !self.0.refreshed.is_due(repo.id) {
            return;
        }
        let (trees, git, key) = (self.0.trees.clone(), self.0.git.clone(), repo.id.to_string());
        let cancel = self.0.background.0.clone();
        tokio::task::spawn_blocking(move || {
            let refreshed = trees.open_mirror(&key).and_then(|mirror| {
                let Some(newest) = tip(&mirror, &format!("refs/remotes/origin/{default}")) else {
                    return Ok(());
                };
                trees.refresh_base(&git, &key, &newest, &cancel, &|_| {})?;
                trees.prune_bases(&key, &[newest], &cancel)
            });
            if let Err(error) = refreshed
                && !cancel.load(Ordering::Relaxed)
            {
                tracing::warn!(%error, repo = key, "the base of new workspaces could not be refreshed");
            }
        });
    }
}

/// A tree that was made, and how.
struct Made {
    tree: Attached,
    way: git::Way,
    base: Option<ObjectId>,
    new_branch: bool,
    /// Why what is known of the remote may be old.
    stale: Option<String>,
}

/// Where a branch begins.
struct Start {
    commit: ObjectId,
    is_new: bool,
}

fn nothing_to_begin_at(repo: &Repo, branch: &BranchName, from: Option<&BranchName>) -> Error {
    if let Some(from) = from {
        return Error::not_found(format!(
            "{} has neither a branch `{branch}` nor `{from}` to begin it at",
            repo.name
        ))
        .hint("name one that exists in `from`; repo_branches lists them");
    }
    let default = repo.default_branch.as_deref();
    let default = default.map_or_else(String::new, |default| format!(" on `{default}`"));
    Error::new(
        ErrorKind::Conflict,
        format!(
            "{} has no commits yet{default}, so there is nothing to begin `{branch}` at",
            repo.name
        ),
    )
    .hint("push a first commit to it, or name a branch that it has in `from`")
}

fn tip(mirror: &Repository, reference: &str) -> Option<ObjectId> {
    mirror.reference_target(reference)
}

fn branch_wanted(request: &OpenRequest) -> Result<BranchName> {
    match (&request.branch, &request.agent, &request.task) {
        (Some(branch), _, _) => BranchName::new(branch).map_err(from_git),
        (None, Some(agent), Some(task)) => branch_of(agent, task),
        (None, Some(_), None) => Err(Error::invalid(
            "`task` is missing: an agent's branch is named after its task",
        )),
        (None, None, Some(_)) => Err(Error::invalid(
            "`agent` is missing: a task's branch is named after its agent",
        )),
        (None, None, None) => Err(Error::invalid("which branch? `branch` is missing")
            .hint("pass `branch`, or `agent` and `task` for a branch of their own")),
    }
}
