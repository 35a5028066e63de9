//! A call that is watched while it goes on: its steps, and the events of the run that it waits for.

use agentyard_model::{Caller, RunId};
use agentyard_services::{
    Error, ErrorKind, Followed, Following, Progress, Result, RunEnd, RunHappening, Services, Step,
};
use futures::SinkExt;
use futures::channel::mpsc::Sender;
use serde_json::{Map, Value};

use crate::operation::Context;
use crate::output::{Presentation, Reply};
use crate::registry::{Face, Registered};

/// What is seen of a call. The last thing is its end.
#[derive(Debug)]
pub enum Live {
    /// How far it is.
    Step(Step),
    /// What happened in the run that it waits for, but for its end.
    Run(RunId, Followed),
    /// Its end.
    End(Result<LiveEnd>),
}

/// How a watched call ended.
#[derive(Debug)]
pub enum LiveEnd {
    /// With an answer.
    Answer(Reply),
    /// With the end of a run.
    Run {
        /// The run.
        run: RunId,
        /// The number of its last event.
        event: u64,
        /// How it ended.
        end: RunEnd,
        /// What the call answers beside that, when it waited for the end.
        details: Option<Reply>,
    },
}

impl LiveEnd {
    fn with(self, more: Option<Reply>) -> Self {
        match self {
            Self::Run { run, event, end, .. } => Self::Run {
                run,
                event,
                end,
                details: more,
            },
            answer @ Self::Answer(_) => answer,
        }
    }
}

impl Registered {
    /// Calls it, and shows what happens. A call that starts a run lasts until the run has ended and all of it has been
    /// shown, however long the call itself would have waited.
    pub async fn call_live(
        &self,
        services: &Services,
        caller: &Caller,
        arguments: Map<String, Value>,
        presentation: Presentation,
        face: Face,
        mut show: Sender<Live>,
    ) {
        let end = self
            .watched(services, caller, arguments, presentation, face, &mut show)
            .await;
        // Who does not look any more is about to drop this.
        let _ = show.send(Live::End(end)).await;
    }

    async fn watched(
        &self,
        services: &Services,
        caller: &Caller,
        arguments: Map<String, Value>,
        presentation: Presentation,
        face: Face,
        show: &mut Sender<Live>,
    ) -> Result<LiveEnd> {
        let (progress, mut steps) = Progress::watched();
        let context = Context {
            services,
            caller,
            progress: &progress,
        };
        let call = self.call(context, arguments, presentation, face);
        tokio::pin!(call);
        let (mut following, mut answered) = (None, false);
        loop {
            tokio::select! {
                followed = next(&mut following) => {
                    if let Some(end) = seen(followed, show).await {
                        // A call that still waits was waiting for this.
                        let details = if answered { None } else { call.await.ok() };
                        return end.map(|end| end.with(details));
                    }
                }
                Ok(()) = steps.changed(), if following.is_none() => {
                    let step = steps.borrow_and_update().clone();
                    match step.run {
                        Some(run) => following = Some(services.runs.follow(caller, run, None)?),
                        None => {
                            let _ = show.send(Live::Step(step)).await;
                        }
                    }
                }
                reply = &mut call, if !answered => {
                    answered = true;
                    let run = steps.borrow().run;
                    match run {
                        None => return reply.map(LiveEnd::Answer),
                        // How it ends is known from the run.
                        Some(run) if following.is_none() => {
                            following = Some(services.runs.follow(caller, run, None)?);
                        }
                        Some(_) => {}
                    }
                }
            }
        }
    }
}

/// What happened next in a run, if one is followed; without one it never ends.
async fn next(following: &mut Option<Following>) -> (RunId, Option<Followed>) {
    match following {
        Some(following) => (following.run(), following.next().await),
        None => std::future::pending().await,
    }
}

/// Shows what happened, unless it is the end.
async fn seen(
    (run, followed): (RunId, Option<Followed>),
    show: &mut Sender<Live>,
) -> Option<Result<LiveEnd>> {
    let Some(followed) = followed else {
        let message = "following the run: it told no end";
        return Some(Err(Error::new(ErrorKind::Internal, message)));
    };
    if let Followed::Event(event) = &followed {
        match &event.happening {
            RunHappening::Complete(end) => {
                return Some(Ok(LiveEnd::Run {
                    run,
                    event: event.id,
                    end: *end,
                    details: None,
                }));
            }
            RunHappening::Failed(error) => return Some(Err(error.again())),
            RunHappening::Output { .. } | RunHappening::Progress { .. } => {}
        }
    }
    let _ = show.send(Live::Run(run, followed)).await;
    None
}
