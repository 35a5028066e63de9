//! A sandbox of this machine that stays, and the task that looks after it.

use agentyard_envd::{Body, Exchange, Exchanged, Http2};
use http::Request;
use tokio::sync::{mpsc, oneshot, watch};

use super::{Load, Reach, Standing, Stands};
use crate::command::{CommandError, EndCause, Event};
use crate::sandbox::{Awaited, Process};

/// What is in such a sandbox, in one of the ways. One task has it to itself.
pub(crate) trait Held: Send + 'static {
    /// Waits for its end. Nothing is lost when this is dropped halfway.
    fn ended(&mut self) -> Awaited<'_, EndCause>;
    /// Begins to end it, at once.
    fn kill(&mut self);
    fn freeze(&mut self) -> Awaited<'_, Result<(), CommandError>>;
    fn thaw(&mut self) -> Awaited<'_, Result<(), CommandError>>;
    fn load(&mut self) -> Awaited<'static, Load>;
    fn set_reach(&mut self, reach: &Reach) -> Result<(), CommandError>;
}

/// Waits for the end of a daemon that is led like any command. Nothing is lost when this is dropped halfway.
pub(crate) async fn end_of(daemon: &mut dyn Process) -> EndCause {
    loop {
        match daemon.next().await {
            // What it says itself is for nobody.
            Ok(Event::Output(..)) => {}
            Ok(Event::Ended(exit)) => return exit.cause,
            Err(_) => return EndCause::Itself,
        }
    }
}

/// How it went.
type Done = Result<(), CommandError>;

/// What the task that looks after a sandbox is asked for, and whom to tell.
#[derive(Debug)]
enum Order {
    TakeDown,
    Freeze(oneshot::Sender<Done>),
    Thaw(oneshot::Sender<Done>),
    Load(oneshot::Sender<Load>),
    SetReach(Reach, oneshot::Sender<Done>),
}

/// A sandbox of this machine that stays.
#[derive(Debug)]
pub(super) struct Stood {
    connection: Http2,
    orders: mpsc::Sender<Order>,
    ended: watch::Receiver<Option<EndCause>>,
}

impl Standing {
    /// One that is held here, and answers at this connection.
    pub(crate) fn held(connection: Http2, held: impl Held) -> Self {
        let (orders, received) = mpsc::channel(8);
        let (tell, ended) = watch::channel(None);
        tokio::spawn(look_after(held, received, tell));
        Self::new(Stood {
            connection,
            orders,
            ended,
        })
    }
}

/// Looks after a sandbox until it has ended, or nobody wants it any more.
async fn look_after(
    mut held: impl Held,
    mut orders: mpsc::Receiver<Order>,
    tell: watch::Sender<Option<EndCause>>,
) {
    let cause = loop {
        let order = tokio::select! {
            cause = held.ended() => break cause,
            order = orders.recv() => order,
        };
        // Whoever has asked may have gone meanwhile.
        match order {
            None | Some(Order::TakeDown) => {
                held.kill();
                orders.close();
                held.ended().await;
                break EndCause::Stopped;
            }
            Some(Order::Freeze(asker)) => drop(asker.send(held.freeze().await)),
            Some(Order::Thaw(asker)) => drop(asker.send(held.thaw().await)),
            Some(Order::SetReach(reach, asker)) => drop(asker.send(held.set_reach(&reach))),
            Some(Order::Load(asker)) => {
                let load = held.load();
                tokio::spawn(async move { asker.send(load.await) });
            }
        }
    };
    // Its directories are nobody's by the time that its end is told.
    drop(held);
    tell.send_replace(Some(cause));
}

impl Stood {
    async fn ask<T>(&self, order: impl FnOnce(oneshot::Sender<T>) -> Order) -> Result<T, CommandError> {
        let (asker, answer) = oneshot::channel();
        // Where nobody listens any more, nobody answers either.
        let _ = self.orders.send(order(asker)).await;
        answer.await.map_err(|_| CommandError::Refused {
            reason: "the sandbox is gone".to_owned(),
            remedy: "make another".to_owned(),
        })
    }
}

impl Exchange for Stood {
    fn exchange(&self, request: Request<Body>) -> Exchanged<'_> {
        self.connection.exchange(request)
    }
}

impl Stands for Stood {
    fn freeze(&self) -> Awaited<'_, Result<(), CommandError>> {
        Box::pin(async { self.ask(Order::Freeze).await? })
    }

    fn thaw(&self) -> Awaited<'_, Result<(), CommandError>> {
        Box::pin(async { self.ask(Order::Thaw).await? })
    }

    fn load(&self) -> Awaited<'_, Load> {
        Box::pin(async { self.ask(Order::Load).await.unwrap_or_default() })
    }

    fn set_reach(&self, reach: Reach) -> Awaited<'_, Result<(), CommandError>> {
        Box::pin(async { self.ask(|asker| Order::SetReach(reach, asker)).await? })
    }

    fn ended(&self) -> Awaited<'_, EndCause> {
        let mut ended = self.ended.clone();
        Box::pin(async move {
            let cause = ended.wait_for(Option::is_some).await;
            cause.ok().and_then(|cause| *cause).unwrap_or(EndCause::Itself)
        })
    }

    fn take_down(&self) -> Awaited<'_, ()> {
        Box::pin(async {
            // Where nobody listens any more, it has ended.
            let _ = self.orders.send(Order::TakeDown).await;
            self.ended().await;
        })
    }
}
