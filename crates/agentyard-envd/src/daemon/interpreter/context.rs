//! One context: a kernel when there is code for it, and a queue of what is to be run in it.

use std::collections::BTreeMap;
use std::os::unix::process::ExitStatusExt as _;
use std::path::PathBuf;
use std::process::ExitStatus;

use bytes::Bytes;
use tokio::sync::{mpsc, oneshot};

use super::kernel::{Ending, Kernel};
use super::language::Language;
use super::output::Output;

/// How many executions wait in a context.
const QUEUE: usize = 32;

/// Code to be run.
#[derive(Debug)]
pub(super) struct Job {
    pub(super) code: String,
    /// Variables for this execution alone.
    pub(super) variables: BTreeMap<String, String>,
    /// Variables for a kernel, if one is started for it.
    pub(super) environment: BTreeMap<String, String>,
    /// Who listens.
    pub(super) lines: mpsc::Sender<Bytes>,
}

/// A context. It is gone with the last of its copies.
#[derive(Debug, Clone)]
pub(super) struct Context {
    pub(super) id: String,
    pub(super) language: Language,
    pub(super) directory: PathBuf,
    jobs: mpsc::Sender<Job>,
    restarts: mpsc::Sender<oneshot::Sender<()>>,
}

impl Context {
    /// A new one, which has no kernel yet.
    pub(super) fn new(id: String, language: Language, directory: PathBuf) -> Self {
        let (jobs, queue) = mpsc::channel(QUEUE);
        let (restarts, orders) = mpsc::channel(1);
        let runner = Runner {
            language,
            directory: directory.clone(),
            queue,
            orders,
            kernel: None,
            count: 0,
            loss: None,
        };
        tokio::spawn(runner.run());
        Self {
            id,
            language,
            directory,
            jobs,
            restarts,
        }
    }

    /// Runs this after what waits already. Gives it back if too much does.
    pub(super) fn execute(&self, job: Job) -> Result<(), Job> {
        self.jobs.try_send(job).map_err(|error| match error {
            mpsc::error::TrySendError::Full(job) | mpsc::error::TrySendError::Closed(job) => job,
        })
    }

    /// Ends its kernel and whatever runs or waits, and returns when that is done.
    pub(super) async fn restart(&self) {
        let (done, awaited) = oneshot::channel();
        if self.restarts.send(done).await.is_ok() {
            let _ = awaited.await;
        }
    }
}

/// What runs the code of a context.
struct Runner {
    language: Language,
    directory: PathBuf,
    queue: mpsc::Receiver<Job>,
    orders: mpsc::Receiver<oneshot::Sender<()>>,
    kernel: Option<Kernel>,
    /// How many executions the kernel has seen.
    count: u64,
    /// Why the next execution finds nothing of the earlier ones, if nobody was told.
    loss: Option<&'static str>,
}

/// What a runner does next.
enum Step {
    Run(Job),
    Restart(oneshot::Sender<()>),
    KernelEnded,
    Removed,
}

impl Runner {
    async fn run(mut self) {
        loop {
            let step = tokio::select! {
                biased;
                order = self.orders.recv() => order.map_or(Step::Removed, Step::Restart),
                job = self.queue.recv() => job.map_or(Step::Removed, Step::Run),
                () = rest(&mut self.kernel) => Step::KernelEnded,
            };
            match step {
                Step::Run(job) => {
                    if let Some(done) = self.execute(job).await {
                        self.restart(done).await;
                    }
                }
                Step::Restart(done) => self.restart(done).await,
                Step::KernelEnded => {
                    self.drop_kernel().await;
                    self.loss = Some("its process ended while nothing was run");
                }
                Step::Removed => {
                    self.drop_kernel().await;
                    return self.tell_waiting(false).await;
                }
            }
        }
    }

    /// Runs one, and returns early if it is told to restart.
    async fn execute(&mut self, job: Job) -> Option<oneshot::Sender<()>> {
        if job.lines.is_closed() {
            return None;
        }
        let mut output = Output::new(job.lines.clone());
        if let Some(why) = self.loss.take() {
            let note = format!("[this context was started afresh: {why}; variables and imports are gone]\n");
            output.note(&note).await;
        }
        let mut kernel = match self.take_kernel(&job).await {
            Ok(kernel) => kernel,
            Err(error) => {
                let (program, directory) = (self.language.program(), self.directory.display());
                let value = format!("{program} cannot be started in {directory}: {error}");
                output.error("KernelNotStarted", &value, "").await;
                return None;
            }
        };
        self.count += 1;
        output.count(self.count).await;
        let ending = tokio::select! {
            biased;
            order = self.orders.recv() => {
                tell_restarted(&output, order.is_some()).await;
                self.kernel = Some(kernel);
                return order;
            }
            ending = kernel.run(&job.code, &job.variables, &mut output) => ending,
        };
        match ending {
            Ending::Done => {
                self.kernel = Some(kernel);
                return None;
            }
            Ending::Died(status) => self.tell_death(status, &output).await,
            Ending::Deaf => self.loss = Some("an execution before could not be interrupted"),
            Ending::Meddled => {
                let value =
                    "the code has closed or written to what belongs to its context, which was started afresh";
                output.error("UnexpectedEndOfExecution", value, "").await;
            }
        }
        self.kernel = Some(kernel);
        self.drop_kernel().await;
        None
    }

    async fn tell_death(&self, status: ExitStatus, output: &Output) {
        let afresh = "the next execution starts afresh, without its variables";
        let value = match (status.code(), status.signal()) {
            // A script may well end with `exit`.
            (Some(0), _) if self.language == Language::Bash => {
                output
                    .note("[the shell has ended; the next execution has a new one]\n")
                    .await;
                return;
            }
            (Some(code), _) => format!(
                "{} ended with exit status {code}; {afresh}",
                self.language.program()
            ),
            (None, Some(9)) => {
                let memory = "perhaps because the sandbox has no memory left";
                format!("{} was killed, {memory}; {afresh}", self.language.program())
            }
            (None, signal) => {
                let signal = signal.unwrap_or_default();
                format!(
                    "{} was ended by signal {signal}; {afresh}",
                    self.language.program()
                )
            }
        };
        output.error("UnexpectedEndOfExecution", &value, "").await;
    }

    async fn take_kernel(&mut self, job: &Job) -> std::io::Result<Kernel> {
        match self.kernel.take() {
            Some(kernel) => Ok(kernel),
            None => {
                self.count = 0;
                Kernel::start(self.language, &self.directory, &job.environment).await
            }
        }
    }

    async fn restart(&mut self, done: oneshot::Sender<()>) {
        self.drop_kernel().await;
        self.loss = None;
        self.tell_waiting(true).await;
        // Who asked may have gone.
        let _ = done.send(());
    }

    /// What waits is not run.
    async fn tell_waiting(&mut self, restarted: bool) {
        while let Ok(job) = self.queue.try_recv() {
            tell_restarted(&Output::new(job.lines), restarted).await;
        }
    }

    async fn drop_kernel(&mut self) {
        if let Some(kernel) = self.kernel.take() {
            kernel.end().await;
        }
    }
}

async fn tell_restarted(output: &Output, restarted: bool) {
    let (name, value) = if restarted {
        (
            "ContextRestarting",
            "the context was restarted; run the code again",
        )
    } else {
        (
            "ContextRemoved",
            "the context was removed; run the code in another",
        )
    };
    output.error(name, value, "").await;
}

async fn rest(kernel: &mut Option<Kernel>) {
    match kernel {
        Some(kernel) => kernel.rest().await,
        None => std::future::pending().await,
    }
}
