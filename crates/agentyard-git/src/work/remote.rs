//! Remotes: which there are, where they lead, and changes of that.

use gix::bstr::{BStr, ByteSlice as _};

use crate::network::{Connection, Way, check_at_rest};
use crate::{BranchName, Error, Kept, RemoteName, RemoteUrl, Repository, Work, text};

/// What is left of a remote that was removed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RemovedRemote {
    /// Where it led.
    pub url: String,
    /// Where its branches are kept, as far as they were known here.
    pub kept: Vec<Kept>,
}

impl Work<'_> {
    /// Adds a remote. Nothing is fetched.
    pub fn add_remote(&self, name: &RemoteName, url: &RemoteUrl) -> Result<(), Error> {
        if self.remote_names().contains(&name.as_str().to_owned()) {
            return Err(Error::state(
                format!("there is a remote {name} already"),
                "choose another name, or change its address with mode `set_url`",
            ));
        }
        self.check_stored_url(url)?;
        self.invoke("remote")
            .word("add")
            .end_of_options()
            .operand(name)
            .operand(url.as_str())
            .run()?;
        self.expect_url(name, url, "url")
    }

    /// Changes where a remote leads; with `push`, only where pushes go.
    pub fn set_remote_url(&self, name: &RemoteName, url: &RemoteUrl, push: bool) -> Result<(), Error> {
        self.require_remote(name)?;
        self.check_stored_url(url)?;
        let key = if push { "pushurl" } else { "url" };
        self.invoke("config")
            .words(&["--local", "--replace-all"])
            .end_of_options()
            .operand(format!("remote.{name}.{key}"))
            .operand(url.as_str())
            .run()?;
        self.expect_url(name, url, key)
    }

    /// Gives a remote another name, and its branches with it.
    pub fn rename_remote(&self, from: &RemoteName, to: &RemoteName) -> Result<(), Error> {
        self.require_remote(from)?;
        if self.remote_names().contains(&to.as_str().to_owned()) {
            return Err(Error::state(
                format!("there is a remote {to} already"),
                "choose another name",
            ));
        }
        self.invoke("remote")
            .words(&["rename", "--no-progress"])
            .end_of_options()
            .operand(from)
            .operand(to)
            .run()
            .map(drop)
    }

    /// Removes a remote with its settings and its branches, which are kept first.
    pub fn remove_remote(&self, name: &RemoteName, confirm: bool) -> Result<RemovedRemote, Error> {
        self.require_remote(name)?;
        let url = self
            .repository()
            .remotes()
            .into_iter()
            .find(|remote| remote.name == name.as_str())
            .map(|remote| remote.fetch_url)
            .unwrap_or_default();
        let branches = self.references_below(&format!("{}/", name.reference()))?;
        if !confirm {
            return Err(Error::refused(
                format!(
                    "removing the remote {name} ({url}) drops its settings and the {} branches known of it",
                    branches.len()
                ),
                "repeat the call with `confirm: true`",
            ));
        }
        let mut kept: Vec<Kept> = Vec::new();
        for id in branches.into_values() {
            // Branches often share a tip.
            if !kept.iter().any(|other| other.id == id) {
                kept.push(self.keep("remote", &id)?);
            }
        }
        self.invoke("remote")
            .word("remove")
            .end_of_options()
            .operand(name)
            .run()?;
        Ok(RemovedRemote { url, kept })
    }

    /// Where a remote leads, or pushes to it go.
    pub fn remote_url(&self, name: &RemoteName, push: bool) -> Result<RemoteUrl, Error> {
        self.configured_url(name, if push { Way::Push } else { Way::Fetch })
    }

    /// The remote that is meant: the one named, the one that the branch follows, the only one, or `origin`.
    pub(crate) fn choose_remote(
        &self,
        named: Option<&RemoteName>,
        branch: Option<&BranchName>,
    ) -> Result<RemoteName, Error> {
        if let Some(name) = named {
            self.require_remote(name)?;
            return Ok(name.clone());
        }
        let names = self.remote_names();
        let followed = branch.and_then(|branch| self.branch_setting(branch, "remote"));
        let chosen = match (followed, names.as_slice()) {
            (Some(name), _) if names.contains(&name) => name,
            (_, [only]) => only.clone(),
            (_, names) if names.iter().any(|name| name == "origin") => "origin".to_owned(),
            (_, []) => {
                return Err(Error::state(
                    "this repository has no remote",
                    "add one: git_remote with mode `add`, `name` and `url`",
                ));
            }
            (_, names) => {
                return Err(Error::invalid(
                    "a call without `remote`",
                    format!("name one of: {}", text::one_line(&names.join(", "))),
                ));
            }
        };
        RemoteName::new(chosen)
    }

    /// Goes where a remote leads, having checked that. Its name is of no use to git: it would look up by itself
    /// what was checked here.
    pub(crate) fn connect(&self, remote: &RemoteName, way: Way) -> Result<Connection, Error> {
        let url = self.configured_url(remote, way)?;
        let roots = self.repository().confined_git_dir().roots();
        Connection::open(self.git(), &url, way, roots, self.cancel())
    }

    /// A setting of a branch, such as the remote that it follows.
    pub(crate) fn branch_setting(&self, branch: &BranchName, key: &str) -> Option<String> {
        let local = self.repository().local();
        let config = local.config_snapshot();
        let name: &BStr = branch.as_str().into();
        let value = config.string_by("branch", Some(name), key)?;
        value.to_str().ok().map(ToOwned::to_owned)
    }

    fn configured_url(&self, name: &RemoteName, way: Way) -> Result<RemoteUrl, Error> {
        self.require_remote(name)?;
        let local = self.repository().local();
        let config = local.config_snapshot();
        let section: &BStr = name.as_str().into();
        let first = |key: &str| Some(config.strings_by("remote", Some(section), key)?.first()?.clone());
        let found = match way {
            Way::Push => first("pushurl").or_else(|| first("url")),
            Way::Fetch => first("url"),
        };
        let url = found.ok_or_else(|| {
            Error::state(
                format!("the remote {name} has no address"),
                "give it one: git_remote with mode `set_url`",
            )
        })?;
        let url = url.to_str().map_err(|_| {
            Error::invalid(
                format!("the address of the remote {name}"),
                "it is not valid UTF-8",
            )
        })?;
        RemoteUrl::parse(url)
    }

    /// Refuses what could never be used; and a repository on this machine that is outside the roots.
    fn check_stored_url(&self, url: &RemoteUrl) -> Result<(), Error> {
        check_at_rest(self.git(), url, self.repository().confined_git_dir().roots())
    }

    /// Reads back what git wrote.
    fn expect_url(&self, name: &RemoteName, url: &RemoteUrl, key: &str) -> Result<(), Error> {
        let again = Repository::open(
            self.repository()
                .confined_worktree()
                .unwrap_or(self.repository().confined_git_dir()),
        )?;
        let local = again.local();
        let config = local.config_snapshot();
        let section: &BStr = name.as_str().into();
        let written = config.strings_by("remote", Some(section), key);
        match written.as_deref() {
            Some([only]) if only == url.as_str() => Ok(()),
            _ => Err(Error::state(
                format!("the address of the remote {name} was not written as asked"),
                "look at it with mode `list`",
            )),
        }
    }

    fn require_remote(&self, name: &RemoteName) -> Result<(), Error> {
        let names = self.remote_names();
        if names.iter().any(|known| known == name.as_str()) {
            return Ok(());
        }
        let known = if names.is_empty() {
            "there are none".to_owned()
        } else {
            format!("there are: {}", text::one_line(&names.join(", ")))
        };
        Err(Error::Missing {
            what: format!("there is no remote {name}; {known}"),
        })
    }

    /// The names of all remotes, as they are configured.
    pub(crate) fn remote_names(&self) -> Vec<String> {
        let local = self.repository().local();
        let config = local.config_snapshot();
        let sections = config.sections_by_name("remote").into_iter().flatten();
        let mut names: Vec<String> = sections
            .filter_map(|section| Some(section.header().subsection_name()?.to_str().ok()?.to_owned()))
            .collect();
        names.sort();
        names.dedup();
        names
    }
}
