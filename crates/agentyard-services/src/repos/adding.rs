//! Registering repositories.

use std::path::Path;

use agentyard_git::{self as git, BranchName, Git, RemoteUrl, Repository, Roots};
use agentyard_model::{AuditEvent, Caller, NewRepo, Permission, Repo, RepoName, TenantId};
use agentyard_store::Added;

use super::{Repos, naming};
use crate::error::{Error, ErrorKind, Result, from_store};
use crate::failures::from_git;

/// A repository that somebody wants to register.
#[derive(Debug, Clone, Default)]
pub struct RepoRequest {
    /// Its address, or the absolute path of a repository inside the roots.
    pub url: String,
    /// What to call it; made of the address when left out.
    pub name: Option<RepoName>,
    /// Its default branch, when it is not to be the remote's own choice.
    pub default_branch: Option<String>,
}

/// How many repositories may be called alike.
const MAX_ALIKE: usize = 100;

impl Repos {
    /// Registers a repository. One that is registered already is answered as it is.
    ///
    /// # Errors
    /// When the caller may not, the address may not be used, the name belongs to another address, or the address has
    /// another name.
    pub async fn add(&self, caller: &Caller, request: RepoRequest) -> Result<Repo> {
        caller.require(Permission::ProjectWrite)?;
        let url = self.checked(caller, &request.url).await?;
        let default_branch = request
            .default_branch
            .map(BranchName::new)
            .transpose()
            .map_err(from_git)?;
        let named = |name: RepoName| NewRepo {
            tenant: caller.tenant,
            name,
            url: url.to_string(),
            default_branch: default_branch.as_ref().map(ToString::to_string),
            created_by: caller.subject.to_string(),
        };
        match request.name {
            Some(name) => self.add_as(caller, named(naming::chosen(name)?)).await,
            None => {
                for name in naming::derived(&url).take(MAX_ALIKE) {
                    // One that only the configuration knows has its name already.
                    let reserved = self.configured(caller, &name).is_some_and(|it| it.url != url);
                    if reserved {
                        continue;
                    }
                    match self.register(caller, &named(name)).await? {
                        Added::Added(repo) | Added::UrlTaken(repo) => return Ok(repo),
                        Added::NameTaken(_) => {}
                    }
                }
                Err(
                    Error::invalid(format!("{MAX_ALIKE} repositories are called like {url}"))
                        .hint("pass `name`"),
                )
            }
        }
    }

    pub(super) async fn register(&self, caller: &Caller, new: &NewRepo) -> Result<Added> {
        let event = AuditEvent::done(caller, "repo_add", format!("{} {}", new.name, new.url));
        self.0
            .store
            .repos()
            .add(new, &event)
            .await
            .map_err(|error| from_store("registering a repository", error))
    }

    async fn add_as(&self, caller: &Caller, new: NewRepo) -> Result<Repo> {
        let of_other = self
            .configured(caller, &new.name)
            .filter(|it| it.url.as_str() != new.url);
        if let Some(configured) = of_other {
            return Err(name_taken(&new.name, configured.url.as_str()));
        }
        match self.register(caller, &new).await? {
            Added::Added(repo) => Ok(repo),
            Added::UrlTaken(repo) if repo.name == new.name => Ok(repo),
            Added::UrlTaken(repo) => Err(Error::new(
                ErrorKind::Conflict,
                format!("{} is registered already, as `{}`", repo.url, repo.name),
            )
            .hint(format!("call it `{}`", repo.name))),
            Added::NameTaken(repo) => Err(name_taken(&repo.name, &repo.url)),
        }
    }

    /// The address in the one form in which it is kept.
    async fn checked(&self, caller: &Caller, text: &str) -> Result<RemoteUrl> {
        let url = RemoteUrl::parse(text).map_err(from_git)?;
        if url.local_path().is_some() && caller.tenant != TenantId::LOCAL {
            return Err(Error::not_found("your tenant has no directories on this server")
                .hint("give an https address"));
        }
        let roots = self.roots_for(caller.tenant, &url)?;
        let git = self.0.git.clone();
        self.0.readers.pass(move |_| normalised(&git, url, &roots)).await
    }
}

/// A path in the form that the kernel gives it, so that a repository is not registered twice; any directory inside
/// a repository stands for the whole.
fn normalised(git: &Git, url: RemoteUrl, roots: &Roots) -> Result<RemoteUrl, git::Error> {
    let url = match url.local_path() {
        Some(path) => top_of(path, roots)?,
        None => url,
    };
    git.check_address(&url, roots)?;
    Ok(url)
}

fn top_of(path: &Path, roots: &Roots) -> Result<RemoteUrl, git::Error> {
    let repository = Repository::open(&roots.resolve(path)?)?;
    let top = repository.worktree().unwrap_or_else(|| repository.git_dir());
    RemoteUrl::parse(&top.to_string_lossy())
}

fn name_taken(name: &RepoName, url: &str) -> Error {
    Error::new(ErrorKind::Conflict, format!("the name `{name}` belongs to {url}"))
        .hint("choose another `name`, or leave it out")
}
