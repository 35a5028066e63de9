//! What every way to run commands has in common.

use std::fmt;
use std::future::Future;
use std::path::PathBuf;
use std::pin::Pin;

use serde::Serialize;

use crate::command::{Command, CommandError, Event, Mount};
use crate::egress::Denied;
use crate::standing::{Site, Standing};

/// Something that is awaited behind a trait.
pub type Awaited<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// A way to run commands.
pub trait Sandbox: fmt::Debug + Send + Sync {
    /// Which one it is.
    fn backend(&self) -> Backend;

    /// Starts a command. Dropping what is returned ends it, with all that it has started.
    ///
    /// # Errors
    /// When this machine cannot isolate it as it must be, or what looks after it cannot be started. That the command
    /// itself cannot be is told by [`Running::next`].
    fn start(&self, command: Command) -> Awaited<'_, Result<Running, CommandError>>;

    /// Stands up a sandbox that stays until it is taken down.
    ///
    /// # Errors
    /// When this way has none that stay, or this machine cannot isolate it as it must be.
    fn stand_up(&self, site: Site) -> Awaited<'_, Result<Standing, CommandError>> {
        drop(site);
        let backend = self.backend();
        Box::pin(async move {
            Err(CommandError::Refused {
                reason: format!("`{backend}` has no sandboxes that stay"),
                remedy: "set `sandbox.backend` to `bubblewrap` or `podman`".to_owned(),
            })
        })
    }

    /// Removes a snapshot that [`Standing::snapshot`] made, by the name that it told. One that is gone need not be.
    ///
    /// # Errors
    /// When this way makes none, or whoever keeps it cannot be reached.
    fn remove_snapshot<'a>(&'a self, name: &'a str) -> Awaited<'a, Result<(), CommandError>> {
        let backend = self.backend();
        Box::pin(async move {
            Err(CommandError::Refused {
                reason: format!("`{name}` was made by a service, and `{backend}` is none"),
                remedy: "set `sandbox.backend` to `e2b`, as it was when that was made".to_owned(),
            })
        })
    }

    /// Where a command sees a directory.
    fn path_inside(&self, mount: &Mount) -> PathBuf {
        mount.at.clone()
    }

    /// What holds here, as was tried and not only asked for. Tried once, and only when somebody wants to know.
    fn enforcement(&self) -> Awaited<'_, Enforcement>;

    /// Begins to keep ready what further commands will want, where the settings ask for that. It is tried again by itself
    /// when it fails now.
    ///
    /// # Errors
    /// When nothing can be kept ready at the moment, and why.
    fn warm_up(&self) -> Awaited<'_, Result<(), CommandError>> {
        Box::pin(std::future::ready(Ok(())))
    }

    /// Takes down what is kept ready for further commands. To be called before a process ends.
    fn end(&self) -> Awaited<'_, ()> {
        Box::pin(std::future::ready(()))
    }
}

/// The ways to run commands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Backend {
    /// Namespaces, made by bubblewrap.
    Bubblewrap,
    /// Containers, made by podman.
    Podman,
    /// Machines of a service that speaks E2B's protocol.
    E2b,
    /// No isolation at all.
    Host,
}

impl Backend {
    /// Whether its sandboxes are with somebody else, and their files with them.
    #[must_use]
    pub fn is_elsewhere(self) -> bool {
        self == Self::E2b
    }

    /// Its name in settings and answers.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Bubblewrap => "bubblewrap",
            Self::Podman => "podman",
            Self::E2b => "e2b",
            Self::Host => "host",
        }
    }
}

impl fmt::Display for Backend {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

/// What a sandbox holds and what it does not.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct Enforcement {
    /// What holds, and by which means: `memory: cgroup v1`.
    pub holds: Vec<String>,
    /// What holds only in part, and why; it is run even so where the settings allow it.
    pub weaker: Vec<Weakness>,
    /// Walls that were tried and gave way: nothing is run.
    pub breaches: Vec<Weakness>,
}

/// Something that does not hold as it should.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Weakness {
    /// What.
    pub what: String,
    /// Why.
    pub reason: String,
    /// How to get it.
    pub remedy: String,
}

/// A command that runs. Dropping this ends it, with all that it has started.
#[derive(Debug)]
pub struct Running(Box<dyn Process>);

/// A command that runs, in one of the ways.
pub(crate) trait Process: fmt::Debug + Send {
    fn next(&mut self) -> Awaited<'_, Result<Event, CommandError>>;
    fn stop(&mut self);

    /// What it asked for over its network and was refused.
    fn denied(&self) -> Vec<Denied> {
        Vec::new()
    }
}

impl Running {
    pub(crate) fn new(process: impl Process + 'static) -> Self {
        Self(Box::new(process))
    }

    /// What it does next. The last thing that it does is to end. Nothing is lost when this is dropped halfway.
    ///
    /// # Errors
    /// When it could not be started, or when what looks after it was ended from outside.
    pub async fn next(&mut self) -> Result<Event, CommandError> {
        self.0.next().await
    }

    /// Ends the command, and all that it has started: it is asked to, and after a while made to. [`Running::next`] tells
    /// when it is done.
    pub fn stop(&mut self) {
        self.0.stop();
    }

    /// What it asked for over its network and was refused so far, also after it has ended.
    #[must_use]
    pub fn denied(&self) -> Vec<Denied> {
        self.0.denied()
    }
}
