//! Standard input and output as the reactor's own streams where that is possible, which saves a thread and
//! its hand-over per message, and lets the process end while a read waits.
//!
//! rmcp's `stdio_pipes` does so when both are pipes; but Node, and with it most MCP clients, gives its
//! children sockets. Nor does it show when the reader of our output is gone.

use std::pin::Pin;

use tokio::io::{AsyncRead, AsyncWrite};

pub(super) struct StandardStreams {
    pub(super) reader: Box<dyn AsyncRead + Send + Unpin>,
    pub(super) writer: Box<dyn AsyncWrite + Send + Unpin>,
    /// Ends when nobody reads our output any more. May never: a file is always read.
    pub(super) closed: Pin<Box<dyn Future<Output = ()> + Send>>,
}

impl StandardStreams {
    /// Standard input and output must not be used otherwise from here on.
    pub(super) fn open() -> Self {
        let reader = reactor::reader().unwrap_or_else(|| Box::new(tokio::io::stdin()));
        let (writer, closed) = reactor::writer()
            .unwrap_or_else(|| (Box::new(tokio::io::stdout()), Box::pin(std::future::pending())));
        Self {
            reader,
            writer,
            closed,
        }
    }
}

#[cfg(target_os = "linux")]
mod reactor {
    use std::{
        fs::File,
        io,
        os::{
            fd::{AsFd, OwnedFd},
            unix::fs::FileTypeExt,
            unix::net,
        },
        pin::Pin,
    };

    use tokio::{
        io::{AsyncRead, AsyncWrite, Interest, Ready},
        net::{
            UnixStream,
            unix::{OwnedReadHalf, pipe},
        },
    };

    type Writer = (
        Box<dyn AsyncWrite + Send + Unpin>,
        Pin<Box<dyn Future<Output = ()> + Send>>,
    );

    // A pipe is opened anew rather than duplicated, so that only our view of it is non-blocking, and not that
    // of the other processes that hold it.
    const INPUT: &str = "/proc/self/fd/0";
    const OUTPUT: &str = "/proc/self/fd/1";

    pub(super) fn reader() -> Option<Box<dyn AsyncRead + Send + Unpin>> {
        let input = io::stdin().as_fd().try_clone_to_owned().ok()?;
        match kind(&input)? {
            Kind::Pipe => Some(Box::new(pipe::OpenOptions::new().open_receiver(INPUT).ok()?)),
            Kind::Socket => Some(Box::new(socket(input).ok()?)),
        }
    }

    pub(super) fn writer() -> Option<Writer> {
        let output = io::stdout().as_fd().try_clone_to_owned().ok()?;
        match kind(&output)? {
            Kind::Pipe => {
                let writer = pipe::OpenOptions::new().open_sender(OUTPUT).ok()?;
                let watch = pipe::OpenOptions::new().open_sender(OUTPUT).ok()?;
                Some((Box::new(writer), Box::pin(pipe_closed(watch))))
            }
            Kind::Socket => {
                let (watch, writer) = socket(output).ok()?.into_split();
                Some((Box::new(writer), Box::pin(socket_closed(watch))))
            }
        }
    }

    enum Kind {
        Pipe,
        Socket,
    }

    fn kind(descriptor: &OwnedFd) -> Option<Kind> {
        let file_type = File::from(descriptor.try_clone().ok()?)
            .metadata()
            .ok()?
            .file_type();
        if file_type.is_fifo() {
            Some(Kind::Pipe)
        } else if file_type.is_socket() {
            Some(Kind::Socket)
        } else {
            None
        }
    }

    /// A socket cannot be opened anew, so this makes it non-blocking for whoever else holds our end of it:
    /// nobody, since it was made for this process.
    fn socket(descriptor: OwnedFd) -> io::Result<UnixStream> {
        let stream = net::UnixStream::from(descriptor);
        // Fails for a socket of another family, which is then served by a thread.
        stream.peer_addr()?;
        stream.set_nonblocking(true)?;
        UnixStream::from_std(stream)
    }

    async fn pipe_closed(watch: pipe::Sender) {
        // The kernel reports an error on the writing end of a pipe exactly when the reading end is gone.
        if watch.ready(Interest::ERROR).await.is_err() {
            std::future::pending::<()>().await;
        }
    }

    async fn socket_closed(watch: OwnedReadHalf) {
        let mut ignored = [0; 512];
        loop {
            let Ok(ready) = watch.ready(Interest::READABLE).await else {
                break;
            };
            if ready.is_read_closed() {
                // Perhaps only the half that we do not use; then a write will tell.
                if watch
                    .ready(Interest::WRITABLE)
                    .await
                    .is_ok_and(Ready::is_write_closed)
                {
                    return;
                }
                break;
            }
            // Nobody should write to our output; should someone, it is no reason to spin.
            if let Err(error) = watch.try_read(&mut ignored)
                && error.kind() != io::ErrorKind::WouldBlock
            {
                break;
            }
        }
        std::future::pending::<()>().await;
    }
}

#[cfg(not(target_os = "linux"))]
mod reactor {
    use std::pin::Pin;

    use tokio::io::{AsyncRead, AsyncWrite};

    type Writer = (
        Box<dyn AsyncWrite + Send + Unpin>,
        Pin<Box<dyn Future<Output = ()> + Send>>,
    );

    pub(super) fn reader() -> Option<Box<dyn AsyncRead + Send + Unpin>> {
        None
    }

    pub(super) fn writer() -> Option<Writer> {
        None
    }
}
