//! What a process is told.

use std::io;
use std::os::fd::OwnedFd;

use tokio::io::AsyncWriteExt as _;
use tokio::net::unix::pipe::Sender;
use tokio::sync::{Mutex, Semaphore};

use crate::connect::{Code, Fault};
use crate::process::Input;

/// How many may wait for a process to take what they have for it.
const WAITING: usize = 16;

/// Where a process takes what it is told.
#[derive(Debug)]
pub(super) struct Inlet {
    kind: Kind,
    /// None once it is closed.
    file: Mutex<Option<Sender>>,
    waiting: Semaphore,
}

/// What it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Nowhere,
    Stdin,
    Pty,
}

impl Inlet {
    /// Nothing can be told.
    pub(super) fn nowhere() -> Self {
        Self::new(Kind::Nowhere, None)
    }

    /// The other end of standard input, non-blocking.
    pub(super) fn stdin(file: OwnedFd) -> io::Result<Self> {
        Ok(Self::new(
            Kind::Stdin,
            Some(Sender::from_owned_fd_unchecked(file)?),
        ))
    }

    /// A terminal, non-blocking. It is waited for as pipes are.
    pub(super) fn pty(file: OwnedFd) -> io::Result<Self> {
        Ok(Self::new(Kind::Pty, Some(Sender::from_owned_fd_unchecked(file)?)))
    }

    fn new(kind: Kind, file: Option<Sender>) -> Self {
        Self {
            kind,
            file: Mutex::new(file),
            waiting: Semaphore::new(WAITING),
        }
    }

    /// Returns when all of it was taken. Whoever comes first is first.
    pub(super) async fn take(&self, input: &Input) -> Result<(), Fault> {
        let bytes = match (input, self.kind) {
            (Input::Stdin(bytes), Kind::Stdin) | (Input::Pty(bytes), Kind::Pty) => bytes,
            (Input::Pty(_), _) => return Err(unfit("it has no terminal; send to its standard input")),
            (Input::Stdin(_), Kind::Pty) => return Err(unfit("it runs in a terminal; send to that")),
            (Input::Stdin(_), Kind::Nowhere) => {
                return Err(unfit(
                    "it was started without standard input; start it with `stdin`",
                ));
            }
        };
        let _place = self.waiting.try_acquire().map_err(|_| {
            let message = format!("{WAITING} others wait for the process to take their input");
            Fault::new(Code::ResourceExhausted, message)
        })?;
        let mut file = self.file.lock().await;
        let file = file
            .as_mut()
            .ok_or_else(|| unfit("its standard input is closed"))?;
        file.write_all(bytes)
            .await
            .map_err(|error| unfit(&format!("it does not take any more: {error}")))
    }

    /// Closes standard input after what was told before.
    pub(super) async fn close(&self) -> Result<(), Fault> {
        match self.kind {
            Kind::Stdin => {
                self.file.lock().await.take();
                Ok(())
            }
            Kind::Nowhere => Err(unfit("it was started without standard input")),
            Kind::Pty => Err(unfit(
                "it runs in a terminal, where the end of input is sent as Ctrl+D",
            )),
        }
    }

    /// Closes it, whatever it is. Nobody may be writing any more.
    pub(super) async fn shut(&self) {
        self.file.lock().await.take();
    }
}

fn unfit(reason: &str) -> Fault {
    Fault::new(
        Code::FailedPrecondition,
        format!("the process cannot be sent this: {reason}"),
    )
}
