//! `agentyard serve` on a free port, with a data folder of its own.

use std::ffi::OsString;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::failure::Result;
use crate::supervised::{Launch, Scratch, Supervised, free_port};

/// A running server; it stops when this is dropped.
pub(crate) struct Served {
    server: Supervised,
    data_dir: PathBuf,
    port: u16,
}

impl Served {
    pub(crate) fn start(binary: &Path, options: &[OsString]) -> Result<Self> {
        let scratch = Scratch::new("server", None)?;
        let data_dir = scratch.path().join("data");
        let port = free_port()?;
        let mut command: Vec<OsString> = vec![binary.into(), "serve".into()];
        command.extend(["--listen".into(), format!("127.0.0.1:{port}").into()]);
        command.extend(["--data-dir".into(), data_dir.clone().into()]);
        command.extend(options.iter().cloned());

        let mut server = Supervised::start(Launch {
            command,
            scratch,
            stop_signal: "TERM",
            user: None,
        })?;
        server.wait_until("`agentyard serve`", || is_healthy(port))?;
        Ok(Self {
            server,
            data_dir,
            port,
        })
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}{path}", self.port)
    }

    pub(crate) fn data_dir(&self) -> &Path {
        &self.data_dir
    }

    pub(crate) fn log(&self) -> String {
        self.server.log()
    }
}

fn is_healthy(port: u16) -> bool {
    health_status_line(port).is_ok_and(|line| line.starts_with("HTTP/1.1 200"))
}

fn health_status_line(port: u16) -> std::io::Result<String> {
    let mut stream = TcpStream::connect(("127.0.0.1", port))?;
    stream.set_read_timeout(Some(Duration::from_secs(5)))?;
    let request = format!("GET /healthz HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes())?;
    let mut answer = [0; 64];
    let length = stream.read(&mut answer)?;
    Ok(String::from_utf8_lossy(&answer[..length]).into_owned())
}
