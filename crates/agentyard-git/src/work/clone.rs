//! `git clone`: a new copy of a repository.

mod directory;

use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use crate::network::{Connection, Way};
use crate::program::{Git, Invocation};
use crate::{BranchName, Error, ObjectId, Progress, RemoteUrl, Repository, Roots};
use directory::NewDirectory;

/// What to clone, and where to.
#[derive(Debug, Clone)]
pub struct CloneOptions {
    /// From where.
    pub url: RemoteUrl,
    /// An absolute path. Nothing is there, or an empty directory.
    pub path: PathBuf,
    /// The branch to check out, in place of the remote's own choice.
    pub branch: Option<BranchName>,
    /// So many commits of history.
    pub depth: Option<u32>,
    /// Only one branch.
    pub single_branch: bool,
    /// Without a working tree.
    pub bare: bool,
    /// Without a working tree, and with every reference of the remote under its own name.
    pub mirror: bool,
}

/// A new clone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cloned {
    /// Its working tree, or the repository itself when it has none.
    pub path: PathBuf,
    /// Where it came from.
    pub url: String,
    /// What is checked out.
    pub branch: Option<String>,
    /// The commit; none when the remote has no commits yet.
    pub commit: Option<ObjectId>,
}

impl Git {
    /// Clones a repository into the roots. What a failed or cancelled clone leaves behind is removed.
    pub fn clone_repository(
        &self,
        roots: &Roots,
        options: &CloneOptions,
        cancel: &AtomicBool,
        report: &(dyn Fn(Progress) + Sync),
    ) -> Result<Cloned, Error> {
        if options.depth == Some(0) {
            return Err(Error::invalid("a `depth` of 0", "give at least 1"));
        }
        let connection = Connection::open(self, &options.url, Way::Fetch, roots, cancel)?;
        let target = NewDirectory::make(roots, &options.path)?;
        let call = Invocation::outside(self, cancel, target.confined(), "clone");
        let mut call = connection
            .through(call, Way::Fetch)
            .words(&[
                "--progress",
                "--template=",
                "--no-local",
                "--no-recurse-submodules",
                "--origin=origin",
            ])
            .word_if(options.bare && !options.mirror, "--bare")
            .word_if(options.mirror, "--mirror")
            .reporting_to(report);
        if options.single_branch {
            call = call.word("--single-branch");
        } else if options.depth.is_some() {
            call = call.word("--no-single-branch");
        }
        if let Some(branch) = &options.branch {
            call = call.option("--branch", branch);
        }
        if let Some(depth) = options.depth {
            call = call.option("--depth", depth.to_string());
        }
        let call = call
            .end_of_options()
            .operand(connection.url().as_str())
            .operand(".");
        // Another attempt begins where the first did: git removes what it made, unless it was killed.
        connection.run(&call, |_| false)?;
        let cloned = describe(target.confined(), connection.url())?;
        target.stays();
        Ok(cloned)
    }
}

fn describe(directory: &crate::Confined, url: &RemoteUrl) -> Result<Cloned, Error> {
    let repository = Repository::open(directory)?;
    let local = repository.local();
    let name = local.head_name().ok().flatten();
    Ok(Cloned {
        path: directory.path().to_owned(),
        url: url.to_string(),
        branch: name.map(|name| crate::display_path(name.shorten())),
        commit: local.head_id().ok().map(|id| id.detach().into()),
    })
}

impl CloneOptions {
    /// A clone of `url` to `path`, with everything else as usual. A path that ends in a slash, or none, means a
    /// directory called like the repository.
    pub fn new(url: RemoteUrl, path: &Path) -> Result<Self, Error> {
        let text = path.as_os_str().to_string_lossy();
        let path = if text.ends_with('/') {
            let name = url
                .name()
                .ok_or_else(|| Error::invalid(format!("the address {url}"), "it names no repository"))?;
            path.join(name)
        } else {
            path.to_owned()
        };
        Ok(Self {
            url,
            path,
            branch: None,
            depth: None,
            single_branch: false,
            bare: false,
            mirror: false,
        })
    }
}
