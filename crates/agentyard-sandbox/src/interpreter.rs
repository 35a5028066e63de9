//! Python interpreters that have started already.
//!
//! To start one takes longer than most code that agents run. So one is kept for each environment, in a sandbox, and forks
//! itself for each call ([`zygote`]): every call has processes, namespaces and limits of its own, as if it had a sandbox
//! of its own. Code that asks for a context gets one that is kept between its calls ([`contexts`]).
//!
//! Whatever goes wrong before the code has begun, the answer is to run it in an interpreter that is started for it
//! ([`cold`]), which does the same and takes longer.

mod call;
mod cold;
mod contexts;
mod packets;
mod pool;
mod report;
mod zygote;

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use tokio::sync::oneshot;

use crate::bubblewrap::Bubblewrap;
use crate::cgroups::Cgroups;
use crate::command::{Access, Command, CommandError, Limits, Mount, Network};
use crate::leader::Confinement;
use crate::sandbox::Running;
use crate::watch::Watch;
use call::{Call, Holder, Request};
use contexts::{Contexts, Found, Seat};
use pool::Pool;
use zygote::Zygote;

pub use call::Outcome;
pub use cold::ColdCall;
pub use report::{Frame, Raised, Report};

/// How often those are looked for that are not used any more.
const SWEEP_INTERVAL: Duration = Duration::from_secs(5);

/// How much memory an interpreter may use that only forks.
const ZYGOTE_MEMORY_BYTES: u64 = 512 * 1024 * 1024;

/// Python code to be run.
#[derive(Debug)]
pub struct Script {
    /// How it would be run without a warm interpreter: the program is the interpreter of its environment, and the first
    /// mount is the tree it works in. Its arguments are not looked at.
    pub command: Command,
    /// The code.
    pub code: Code,
    /// What the code finds in `sys.argv` beside its own name.
    pub arguments: Vec<String>,
    /// The interpreter that the environment was made from. It must not be in a mount that code can write to.
    pub interpreter: PathBuf,
    /// The environment, as the code sees it.
    pub prefix: Option<PathBuf>,
    /// What has its own interpreter: the same for all code with the same mounts and the same environment.
    pub key: String,
    /// Changes when the environment does.
    pub generation: u64,
    /// The name of the context that it runs in, if it is to find what earlier code has left.
    pub context: Option<String>,
}

/// Where code is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Code {
    /// Here.
    Text(String),
    /// In a file, at this path as the code sees it.
    File(PathBuf),
}

/// Code that runs in a warm interpreter.
#[derive(Debug)]
pub struct Interpreted {
    /// The code.
    pub running: Running,
    /// What came of it, as soon as it has ended.
    pub outcome: oneshot::Receiver<Outcome>,
    /// Whether it runs in a context that was not there before.
    pub context_is_new: bool,
}

/// Why code does not run in a warm interpreter.
#[derive(Debug)]
pub enum NotWarm {
    /// There is none for it: it can be run in one that is started for it. Contexts cannot.
    Unavailable {
        /// The code, of which nothing has run.
        script: Box<Script>,
        /// Why.
        reason: String,
    },
    /// Another call runs in its context.
    Busy,
    /// There are as many contexts as there may be, and calls run in all of them.
    Full,
}

/// Interpreters that have started already.
#[derive(Debug, Clone)]
pub struct Interpreters(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    bubblewrap: Bubblewrap,
    pool: Pool,
    contexts: Contexts,
    is_swept: Mutex<bool>,
}

impl Interpreters {
    /// Interpreters in such sandboxes. None is started yet.
    #[must_use]
    pub fn new(bubblewrap: Bubblewrap) -> Self {
        Self(Arc::new(Inner {
            bubblewrap,
            pool: Pool::default(),
            contexts: Contexts::default(),
            is_swept: Mutex::default(),
        }))
    }

    /// Runs code. Dropping what is returned ends it, with all that it has started.
    ///
    /// # Errors
    /// When it cannot be run in a warm interpreter. Nothing of it has run then.
    pub async fn run(&self, script: Script) -> Result<Interpreted, NotWarm> {
        let (holder, seat, is_new) = match &script.context {
            None => (None, None, false),
            Some(name) => match self.0.contexts.find(name, &script.key) {
                Found::Kept(holder, seat) => (Some(*holder), Some(seat), false),
                Found::New(seat) => (None, Some(seat), true),
                Found::Busy => return Err(NotWarm::Busy),
                Found::Full => return Err(NotWarm::Full),
            },
        };
        self.be_swept();
        match self.begun(&script, holder, seat).await {
            Ok((call, outcome)) => Ok(Interpreted {
                running: Running::new(call),
                outcome,
                context_is_new: is_new,
            }),
            Err(reason) => Err(NotWarm::Unavailable {
                script: Box::new(script),
                reason,
            }),
        }
    }

    /// Ends what there is for keys that begin so: what they stand for is gone.
    pub fn forget(&self, beginning: &str) {
        self.0.contexts.forget(beginning);
        self.0.pool.forget(beginning);
    }

    async fn begun(
        &self,
        script: &Script,
        holder: Option<Holder>,
        seat: Option<Seat>,
    ) -> Result<(Call, oneshot::Receiver<Outcome>), String> {
        let request = Request::new(script)?;
        let holder = match holder {
            Some(holder) => holder,
            None => self.holder(script).await?,
        };
        let zygote = Arc::clone(&holder.zygote);
        let command = &script.command;
        let begun = Call::begin(holder, &request, &command.input, command.limits, seat).await;
        begun.map_err(|error| {
            self.0.pool.give_up(&zygote);
            format!("the interpreter did not take the code: {error}")
        })
    }

    /// A child of an interpreter, which nothing has run in yet.
    async fn holder(&self, script: &Script) -> Result<Holder, String> {
        let command = &script.command;
        if writable(command).any(|mount| script.interpreter.starts_with(&mount.at)) {
            return Err("code could have written the interpreter".to_owned());
        }
        let way_out = self.0.bubblewrap.way_out(command.network);
        let way_out = way_out.map_err(|error| error.to_string())?;
        let groups = Cgroups::of_this_machine().ok();
        let zygote = self
            .0
            .pool
            .get(
                &script.key,
                script.generation,
                self.started(script, groups.is_some()),
            )
            .await?;
        let mut child = zygote.child(command.network).await.map_err(|error| {
            self.0.pool.give_up(&zygote);
            format!("the interpreter could not fork: {error}")
        })?;
        let confined = || {
            let group = groups.map(|groups| groups.make(&command.limits)).transpose()?;
            let writable = writable(command).map(|mount| mount.source.try_clone());
            let watch = Watch::new(
                command.limits,
                writable.collect::<Result<_, _>>()?,
                group.is_none(),
            );
            let confinement = Confinement::new(group, watch, way_out);
            let listener = std::mem::take(&mut child.listener);
            Ok::<_, std::io::Error>(confinement.started_as(child.first.pid, listener))
        };
        let confinement = confined().map_err(|error| format!("the code could not be limited: {error}"))?;
        Ok(Holder {
            child,
            confinement,
            zygote,
            is_fresh: true,
        })
    }

    async fn started(&self, script: &Script, counts_by_group: bool) -> Result<Zygote, CommandError> {
        let place = place_of(script).map_err(CommandError::Prepare)?;
        Zygote::start(&self.0.bubblewrap, place, counts_by_group).await
    }

    /// Has somebody look, now and then, for what is not used any more.
    fn be_swept(&self) {
        let mut is_swept = self.0.is_swept.lock().unwrap_or_else(PoisonError::into_inner);
        if !*is_swept {
            *is_swept = true;
            tokio::spawn(sweep(Arc::downgrade(&self.0)));
        }
    }
}

async fn sweep(interpreters: Weak<Inner>) {
    loop {
        tokio::time::sleep(SWEEP_INTERVAL).await;
        let Some(inner) = interpreters.upgrade() else {
            return;
        };
        let mut is_swept = inner.is_swept.lock().unwrap_or_else(PoisonError::into_inner);
        // All of both, whether or not the first has any left.
        if !(inner.pool.sweep() | inner.contexts.sweep()) {
            *is_swept = false;
            return;
        }
    }
}

/// What a command can write to.
fn writable(command: &Command) -> impl Iterator<Item = &Mount> {
    let mounts = command.mounts.iter();
    mounts.filter(|mount| mount.access == Access::ReadWrite)
}

/// The sandbox of an interpreter: that of the code, without anything of a single call's.
fn place_of(script: &Script) -> std::io::Result<Command> {
    let command = &script.command;
    let mounts = command.mounts.iter().map(Mount::try_clone);
    Ok(Command {
        program: script.interpreter.display().to_string(),
        arguments: Vec::new(),
        mounts: mounts.collect::<Result<_, _>>()?,
        directory: PathBuf::from("/"),
        hidden: command.hidden.clone(),
        environment: Vec::new(),
        input: Vec::new(),
        network: Network::None,
        limits: Limits {
            memory_bytes: command.limits.memory_bytes.max(ZYGOTE_MEMORY_BYTES),
            ..command.limits
        },
    })
}
