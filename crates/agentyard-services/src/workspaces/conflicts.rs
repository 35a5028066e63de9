//! Which workspaces would conflict with each other, or with their targets, before anybody merges them.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use agentyard_git::{self as git, CollidingFile, Collision, Contender, Forecast, Repository};
use agentyard_model::{
    Caller, MAX_PAGE_SIZE, PageRequest, Permission, Repo, RepoId, RepoName, Workspace, WorkspaceFilter,
    WorkspaceId, WorkspaceState,
};

use super::{Entered, WorkspaceReference, Workspaces};
use crate::error::{Result, from_store};

/// Whose conflicts to foresee.
#[derive(Debug, Clone, Default)]
pub struct ConflictsRequest {
    /// Those of this repository's workspaces; of all repositories' when left out.
    pub repo: Option<RepoName>,
    /// Only those that this workspace has a part in.
    pub workspace: Option<WorkspaceReference>,
    /// Leave out what is not committed.
    pub committed_only: bool,
}

/// What was foreseen.
#[derive(Debug, Default)]
pub struct WorkspaceConflicts {
    /// By repository, then by workspace, the newest first.
    pub conflicts: Vec<ForeseenConflict>,
    /// How many merges were foreseen.
    pub compared: usize,
    /// How many could not be, because too many files differ.
    pub uncompared: usize,
    /// Workspaces that were looked at without what is not committed in them, or not at all.
    pub incomplete: Vec<WorkspaceId>,
}

/// Two branches that would conflict.
#[derive(Debug, Clone)]
pub struct ForeseenConflict {
    /// Of which repository.
    pub repo: RepoName,
    /// The workspace.
    pub workspace: WorkspaceId,
    /// Its branch.
    pub branch: String,
    /// With what.
    pub with: Opponent,
    /// Some of the files, by path.
    pub files: Arc<[CollidingFile]>,
    /// How many files there are.
    pub file_count: usize,
}

/// What a workspace conflicts with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Opponent {
    /// Another workspace.
    Workspace {
        /// Which one.
        id: WorkspaceId,
        /// Its branch.
        branch: String,
    },
    /// The branch that it merges into.
    Target {
        /// Which one.
        branch: String,
    },
}

impl Workspaces {
    /// Foresees the merge of every two open workspaces of a repository, and of each with its target. Nothing is
    /// merged, and nobody's lease is prolonged.
    ///
    /// # Errors
    /// When the caller may not read, or there is no such repository or workspace.
    pub async fn conflicts(&self, caller: &Caller, request: &ConflictsRequest) -> Result<WorkspaceConflicts> {
        caller.require(Permission::ProjectRead)?;
        let focus = match &request.workspace {
            Some(which) => Some(self.open_row(caller, which).await?),
            None => None,
        };
        let repo = match (&focus, &request.repo) {
            (Some(row), _) => Some(row.repo),
            (None, Some(name)) => Some(self.0.repos.find(caller, name.as_str()).await?.id),
            (None, None) => None,
        };
        let mut found = WorkspaceConflicts::default();
        for rows in self.open_rows(caller, repo).await?.into_values() {
            self.foresee(rows, focus.as_ref(), request, &mut found).await?;
        }
        Ok(found)
    }

    /// The open workspaces, by repository.
    async fn open_rows(
        &self,
        caller: &Caller,
        repo: Option<RepoId>,
    ) -> Result<BTreeMap<RepoId, Vec<Workspace>>> {
        let filter = WorkspaceFilter {
            repo,
            owner: None,
            closed: false,
        };
        let mut rows: BTreeMap<RepoId, Vec<Workspace>> = BTreeMap::new();
        let mut page = PageRequest::new(Some(MAX_PAGE_SIZE), None);
        loop {
            let listed = self
                .0
                .store
                .workspaces()
                .list(caller.tenant, &filter, &page)
                .await;
            let listed = listed.map_err(|error| from_store("listing the workspaces", error))?;
            for row in listed.items {
                if row.state == WorkspaceState::Open {
                    rows.entry(row.repo).or_default().push(row);
                }
            }
            match listed.next {
                Some(next) => page.cursor = Some(next),
                None => return Ok(rows),
            }
        }
    }

    /// Foresees what the workspaces of one repository would come to.
    async fn foresee(
        &self,
        rows: Vec<Workspace>,
        focus: Option<&Workspace>,
        request: &ConflictsRequest,
        found: &mut WorkspaceConflicts,
    ) -> Result<()> {
        let Some(first) = rows.first() else {
            return Ok(());
        };
        let repo = self.repo_of(first).await?;
        let focus = focus.and_then(|focus| rows.iter().position(|row| row.id == focus.id));
        let mut sides = Vec::with_capacity(rows.len());
        for row in rows {
            // One that is closed or broken meanwhile is still known by its branch.
            let tree = match request.committed_only {
                true => None,
                false => self.attach(&row).await.ok(),
            };
            let target = row.target.clone().or_else(|| repo.default_branch.clone());
            sides.push(Side { row, target, tree });
        }
        let (workspaces, key) = (self.clone(), repo.id.to_string());
        let committed_only = request.committed_only;
        let (sides, forecast, incomplete) = self
            .0
            .turnstile
            .pass(move |cancel| {
                let mirror = workspaces.0.trees.open_mirror(&key)?;
                let mut incomplete = Vec::new();
                let mut contenders = Vec::with_capacity(sides.len());
                for side in &sides {
                    let contender = workspaces.contender(side, &mirror, cancel)?;
                    if contender.work.is_none() && !committed_only {
                        incomplete.push(side.row.id);
                    }
                    contenders.push(contender);
                }
                let forecast = mirror.forecast(&workspaces.0.forecasts, &contenders, focus, cancel)?;
                Ok((sides, forecast, incomplete))
            })
            .await?;
        found.incomplete.extend(incomplete);
        found.take(&repo, &sides, forecast);
        Ok(())
    }

    /// A workspace as it stands: with what is not committed, if that can be read.
    fn contender(
        &self,
        side: &Side,
        mirror: &Repository,
        cancel: &AtomicBool,
    ) -> Result<Contender, git::Error> {
        let branch = &side.row.branch;
        let work = match &side.tree {
            None => None,
            Some(tree) => {
                let entered = Entered {
                    row: side.row.clone(),
                    tree: tree.clone(),
                };
                let work = self
                    .repository_of(&entered)
                    .and_then(|repository| repository.working_tree(cancel));
                if cancel.load(Ordering::Relaxed) {
                    return Err(git::Error::Cancelled);
                }
                work.inspect_err(|error| {
                    tracing::debug!(%error, workspace = %side.row.id, "work that is not committed is left out");
                })
                .ok()
            }
        };
        let head = work.as_ref().and_then(|work| work.head);
        let head = head.or_else(|| mirror.reference_target(&format!("refs/heads/{branch}")));
        let target = side.target.as_ref();
        Ok(Contender {
            name: side.row.id.to_string(),
            head: head.ok_or_else(|| git::Error::Missing {
                what: format!(
                    "the branch {branch} of the workspace {} has no commit",
                    side.row.id
                ),
            })?,
            work: work.map(Arc::new),
            target: target
                .and_then(|target| mirror.reference_target(&format!("refs/remotes/origin/{target}"))),
        })
    }
}

/// A workspace, and what its work is to be held against.
struct Side {
    row: Workspace,
    target: Option<String>,
    tree: Option<Arc<super::Attached>>,
}

impl WorkspaceConflicts {
    fn take(&mut self, repo: &Repo, sides: &[Side], forecast: Forecast) {
        self.compared += forecast.compared;
        self.uncompared += forecast.uncompared;
        let unreadable = forecast.unreadable.iter().filter_map(|number| sides.get(*number));
        for side in unreadable {
            if !self.incomplete.contains(&side.row.id) {
                self.incomplete.push(side.row.id);
            }
        }
        let mut collisions: Vec<Collision> = forecast
            .against_target
            .into_iter()
            .chain(forecast.pairs)
            .collect();
        collisions.sort_by_key(|collision| (collision.ours, collision.theirs));
        self.conflicts
            .extend(collisions.into_iter().filter_map(|collision| {
                let ours = sides.get(collision.ours)?;
                let with = match collision.theirs {
                    None => Opponent::Target {
                        branch: ours.target.clone()?,
                    },
                    Some(theirs) => {
                        let theirs = &sides.get(theirs)?.row;
                        Opponent::Workspace {
                            id: theirs.id,
                            branch: theirs.branch.clone(),
                        }
                    }
                };
                Some(ForeseenConflict {
                    repo: repo.name.clone(),
                    workspace: ours.row.id,
                    branch: ours.row.branch.clone(),
                    with,
                    files: collision.files,
                    file_count: collision.total,
                })
            }));
    }
}
