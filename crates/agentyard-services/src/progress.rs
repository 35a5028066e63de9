//! How far a call is: told by a service, shown by a face.

use agentyard_model::RunId;
use tokio::sync::watch;

/// How far a call is.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Step {
    /// So much is done, in any unit that only grows.
    pub done: u64,
    /// Of so much, when that is known.
    pub total: Option<u64>,
    /// What is being done.
    pub message: String,
    /// The run that the call waits for: whoever wants more than this can follow it.
    pub run: Option<RunId>,
}

/// Where an operation says how far it is. Only the newest step is kept: a face that is
/// slow to show one never slows the work down, and nothing piles up.
#[derive(Debug, Clone, Default)]
pub struct Progress {
    sender: Option<watch::Sender<Step>>,
}

impl Progress {
    /// For a caller who did not ask.
    #[must_use]
    pub const fn ignored() -> Self {
        Self { sender: None }
    }

    /// For a caller who did, and where to read it.
    #[must_use]
    pub fn watched() -> (Self, watch::Receiver<Step>) {
        let (sender, receiver) = watch::channel(Step::default());
        (Self { sender: Some(sender) }, receiver)
    }

    /// Says how far it is.
    pub fn report(&self, done: u64, total: Option<u64>, message: impl Into<String>) {
        if let Some(sender) = &self.sender {
            sender.send_modify(|step| {
                step.done = done;
                step.total = total;
                step.message = message.into();
            });
        }
    }

    /// Says which run the call waits for.
    pub(crate) fn name_run(&self, run: RunId) {
        if let Some(sender) = &self.sender {
            sender.send_modify(|step| step.run = Some(run));
        }
    }
}
