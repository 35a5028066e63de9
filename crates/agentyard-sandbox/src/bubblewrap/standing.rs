//! A sandbox that stays: a daemon of ours inside, and a task out here that looks after it.

use std::fs::OpenOptions;
use std::io;
use std::os::unix::fs::OpenOptionsExt as _;
use std::os::unix::net::UnixStream as StdUnixStream;
use std::path::PathBuf;

use agentyard_envd::{Body, Exchange, Exchanged, Http2};
use http::Request;
use rustix::fs::OFlags;
use tokio::net::UnixStream;
use tokio::sync::{mpsc, watch};

use super::policy::Role;
use super::{Inner, KEEPER_LIFE};
use crate::command::{Access, Command, CommandError, EndCause, Event, Limits, Mount};
use crate::leader::Led;
use crate::sandbox::Awaited;
use crate::standing::{Load, Reach, STANDING_HOME, Site, Standing, Stands};

/// Where the daemon's program is inside.
const DAEMON: &str = "/run/agentyard";

/// A program that calls [`agentyard_envd::serve`] with its standard input, and the words that make it do so.
#[derive(Debug, Clone)]
pub struct DaemonProgram {
    /// The program. It is shown inside.
    pub program: PathBuf,
    /// Its arguments.
    pub arguments: Vec<String>,
}

impl Inner {
    pub(super) async fn stand_up(&self, site: Site) -> Result<Standing, CommandError> {
        self.must_hold().await?;
        let (ours, theirs) = StdUnixStream::pair().map_err(CommandError::Prepare)?;
        let command = self.daemon(site).map_err(CommandError::Prepare)?;
        let mut led = self.started(command, Role::Daemon, Some(theirs.into())).await?;
        led.sandboxed().await?;
        let connection = connected(ours).await.map_err(CommandError::Prepare)?;
        let (orders, received) = mpsc::channel(8);
        let (tell, ended) = watch::channel(None);
        tokio::spawn(look_after(led, received, tell));
        Ok(Standing::new(Stood {
            connection,
            orders,
            ended,
        }))
    }

    fn daemon(&self, site: Site) -> io::Result<Command> {
        let DaemonProgram { program, arguments } = &self.settings.daemon;
        let mut mounts = site.mounts;
        let shown = OpenOptions::new()
            .read(true)
            .custom_flags(OFlags::PATH.bits().cast_signed())
            .open(program)?;
        mounts.push(Mount {
            source: shown.into(),
            host_path: program.clone(),
            at: DAEMON.into(),
            access: Access::ReadOnly,
        });
        Ok(Command {
            program: DAEMON.to_owned(),
            arguments: arguments.clone(),
            mounts,
            directory: STANDING_HOME.into(),
            hidden: Vec::new(),
            environment: site.environment,
            input: Vec::new(),
            network: site.reach.network,
            limits: Limits {
                duration: KEEPER_LIFE,
                ..site.limits
            },
        })
    }
}

async fn connected(socket: StdUnixStream) -> io::Result<Http2> {
    socket.set_nonblocking(true)?;
    Http2::over(UnixStream::from_std(socket)?)
        .await
        .map_err(io::Error::other)
}

/// What the task that looks after a sandbox is asked for.
#[derive(Debug)]
enum Order {
    TakeDown,
}

/// Looks after the daemon until it has ended, or nobody wants it any more.
async fn look_after(mut led: Led, mut orders: mpsc::Receiver<Order>, tell: watch::Sender<Option<EndCause>>) {
    let cause = loop {
        tokio::select! {
            event = led.next_event() => match event {
                // What it says itself is for nobody.
                Ok(Event::Output(..)) => {}
                Ok(Event::Ended(exit)) => break exit.cause,
                Err(_) => break EndCause::Itself,
            },
            order = orders.recv() => match order {
                None | Some(Order::TakeDown) => {
                    led.kill();
                    orders.close();
                    while !matches!(led.next_event().await, Ok(Event::Ended(_)) | Err(_)) {}
                    break EndCause::Stopped;
                }
            },
        }
    };
    tell.send_replace(Some(cause));
}

/// A sandbox that stays.
#[derive(Debug)]
struct Stood {
    connection: Http2,
    orders: mpsc::Sender<Order>,
    ended: watch::Receiver<Option<EndCause>>,
}

impl Exchange for Stood {
    fn exchange(&self, request: Request<Body>) -> Exchanged<'_> {
        self.connection.exchange(request)
    }
}

impl Stands for Stood {
    fn freeze(&self) -> Awaited<'_, Result<(), CommandError>> {
        Box::pin(async { Err(not_yet("frozen")) })
    }

    fn thaw(&self) -> Awaited<'_, Result<(), CommandError>> {
        Box::pin(async { Err(not_yet("thawed")) })
    }

    fn load(&self) -> Awaited<'_, Load> {
        Box::pin(async { Load::default() })
    }

    fn set_reach(&self, _: Reach) -> Awaited<'_, Result<(), CommandError>> {
        Box::pin(async { Err(not_yet("let to others")) })
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

fn not_yet(done: &str) -> CommandError {
    CommandError::Refused {
        reason: format!("this sandbox cannot be {done}"),
        remedy: "take it down and stand up another".to_owned(),
    }
}
