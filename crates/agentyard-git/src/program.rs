//! The `git` program: how it is started, and everything that keeps a repository from steering it.
//!
//! Trees and references change through this program. Every call is built from words of our own and typed
//! values ([`Invocation`]), runs in an environment that is made here ([`environment`](self)), with settings
//! that are stronger than the repository's ([`hardening`]), confined by the kernel to its repository
//! ([`confinement`]), and ends with its caller ([`process`]).

mod confinement;
mod hardening;
mod invocation;
mod personal;
mod process;
mod tether;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::AtomicBool;

use crate::work::PushTurns;
use crate::{BranchName, Error, NetworkSettings, ProtectedBranches, Repository};
pub use confinement::Enforcement;
use confinement::{Confinement, Installation};
pub use hardening::LeftOut;
pub(crate) use hardening::{Reach, left_out, programs};
pub(crate) use invocation::Invocation;
use personal::PersonalSettings;
pub(crate) use process::Finished;
pub use tether::{Tether, run_tethered};

/// The `git` program, and on whose behalf it runs.
#[derive(Debug)]
pub struct Git {
    program: PathBuf,
    settings: GitSettings,
    installation: OnceLock<Option<Installation>>,
    personal: PersonalSettings,
    /// Who pushes where.
    pub(crate) pushes: PushTurns,
}

/// What git may do, and for whom.
#[derive(Debug, Clone, Default)]
pub struct GitSettings {
    /// Where the program is looked for, as in `PATH`.
    pub search_path: Option<OsString>,
    /// Without one, git runs on nobody's behalf: no home directory, no identity but `identity`.
    pub person: Option<Person>,
    /// Who makes commits.
    pub identity: Identity,
    /// Whether commits and annotated tags are signed when a call does not say.
    pub sign: bool,
    /// How calls that go to other machines are made to end with this process, even when it is killed.
    pub tether: Option<Tether>,
    /// Settings of whoever runs the server, stronger than all others: `git -c`, for every call.
    pub extra: Vec<(String, String)>,
    /// The branches whose history is never rewritten and that are never deleted.
    pub protected_branches: ProtectedBranches,
    /// How other machines are reached.
    pub network: NetworkSettings,
}

/// The person as whom the server runs, whose own settings count: identity, signing, credential helpers.
#[derive(Debug, Clone, Default)]
pub struct Person {
    /// The home directory.
    pub home: PathBuf,
    /// What else of the environment git and the programs it needs may see, such as the search path and the
    /// socket of the SSH agent. Nothing that begins with `GIT_` belongs here.
    pub environment: Vec<(String, OsString)>,
}

/// Who makes commits, where no call says otherwise; stronger than git's own settings.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Identity {
    /// The author's name.
    pub author_name: Option<String>,
    /// The author's address.
    pub author_email: Option<String>,
    /// The committer's name.
    pub committer_name: Option<String>,
    /// The committer's address.
    pub committer_email: Option<String>,
}

/// Whether the person who runs the server vouches for what a repository would have git run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Trust {
    /// Nothing of the repository runs.
    #[default]
    Untrusted,
    /// Its hooks, filters and drivers run, as the person's own git would run them.
    Trusted,
}

/// Where git is found when the search path leads nowhere.
const USUAL_DIRECTORIES: &[&str] = &["/usr/local/bin", "/usr/bin", "/bin"];

impl Git {
    /// The first `git` on the search path. Nothing is started yet.
    pub fn find(settings: GitSettings) -> Self {
        let search_path = settings.search_path.as_deref();
        let listed = search_path.map(std::env::split_paths).into_iter().flatten();
        let program = listed
            .filter(|directory| directory.is_absolute())
            .chain(USUAL_DIRECTORIES.iter().map(PathBuf::from))
            .map(|directory| directory.join("git"))
            .find(|candidate| candidate.is_file())
            .unwrap_or_else(|| PathBuf::from("/usr/bin/git"));
        Self {
            program,
            settings,
            installation: OnceLock::new(),
            personal: PersonalSettings::default(),
            pushes: PushTurns::default(),
        }
    }

    /// What it may do, and for whom.
    pub fn settings(&self) -> &GitSettings {
        &self.settings
    }

    /// How far the kernel keeps git inside a repository that is not trusted, on this machine.
    pub fn enforcement(&self) -> Enforcement {
        self.installation()
            .map_or(Enforcement::Unavailable, Installation::enforcement)
    }

    /// A setting of the person's own, as it holds for a repository. Keys are in lower case.
    pub(crate) fn personal_setting(
        &self,
        repository: &Repository,
        key: &str,
        cancel: &AtomicBool,
    ) -> Result<Option<String>, Error> {
        let settings = self.personal.of(self, Some(repository), cancel)?;
        let mut found = settings
            .into_iter()
            .rev()
            .filter(|(name, _)| name.eq_ignore_ascii_case(key));
        Ok(found.next().map(|(_, value)| value))
    }

    /// The first branch of a new repository, where nobody says: the person's choice, or `main`.
    pub(crate) fn default_branch(&self, cancel: &AtomicBool) -> Result<BranchName, Error> {
        let settings = self.personal.of(self, None, cancel)?;
        let mut chosen = settings
            .into_iter()
            .rev()
            .filter(|(name, _)| name.eq_ignore_ascii_case("init.defaultbranch"));
        match chosen.next() {
            Some((_, name)) => BranchName::new(name),
            None => BranchName::new("main"),
        }
    }

    /// The program's file.
    pub fn program(&self) -> &Path {
        &self.program
    }

    /// The person's own settings, as far as they count.
    pub(crate) fn personal_settings(&self, cancel: &AtomicBool) -> Result<Vec<(String, String)>, Error> {
        self.personal.of(self, None, cancel)
    }

    /// Whether the person reaches other machines through a proxy.
    pub(crate) fn has_proxy(&self) -> bool {
        let person = self.settings.person.iter();
        person.flat_map(|person| &person.environment).any(|(name, _)| {
            name.to_ascii_uppercase().ends_with("_PROXY") && !name.eq_ignore_ascii_case("no_proxy")
        })
    }

    fn confinement<'a>(&'a self, access: confinement::Reachable<'a>) -> Option<Confinement<'a>> {
        self.installation()
            .and_then(|installation| installation.confine(access))
    }

    /// What confinement needs to know of the installation; found out once, when first needed.
    fn installation(&self) -> Option<&Installation> {
        self.installation
            .get_or_init(|| Installation::probe(&self.program))
            .as_ref()
    }

    fn missing(&self, source: std::io::Error) -> Error {
        Error::StartGit {
            program: self.program.display().to_string(),
            source,
        }
    }
}
