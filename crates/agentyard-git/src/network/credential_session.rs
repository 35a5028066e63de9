//! Credentials on their way to git: over a private socket, for one call, to one host.
//!
//! They are in no argument, no address, no setting and no environment of git. What git's environment holds is the
//! name of a socket that exists while the call runs, and a word without which it answers nobody.

use std::fs::DirBuilder;
use std::io::{self, Read, Write};
use std::net::Shutdown;
use std::os::unix::fs::DirBuilderExt as _;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::credentials::{Credential, CredentialHelper};
use super::remote_url::Place;
use super::{RemoteUrl, local};
use crate::Error;
use crate::program::Invocation;

/// Names the socket, to the helper.
pub const SOCKET_VARIABLE: &str = "AGENTYARD_CREDENTIAL_SOCKET";
/// Holds the word that the helper has to say.
pub const NONCE_VARIABLE: &str = "AGENTYARD_CREDENTIAL_NONCE";

/// No question of git's is longer.
const QUESTION_LIMIT: u64 = 64 * 1024;

/// How long one question may take to arrive.
const QUESTION_TIME: Duration = Duration::from_secs(5);

/// How often the thread looks whether the call has ended.
const STOP_INTERVAL: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: 20_000_000,
};

/// Serves one credential until it is dropped.
pub(super) struct CredentialSession {
    directory: PathBuf,
    socket: PathBuf,
    nonce: String,
    helper: String,
    ended: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

/// What is answered, and to which question.
struct Answer {
    nonce: String,
    protocol: &'static str,
    authority: String,
    credential: Credential,
}

impl CredentialSession {
    pub(super) fn serve(
        helper: &CredentialHelper,
        credential: &Credential,
        url: &RemoteUrl,
    ) -> Result<Self, Error> {
        let failed = |source: io::Error| Error::RunGit {
            verb: "credential",
            source,
        };
        let directory = helper.directory.join(format!("agentyard-{}", random_word()?));
        DirBuilder::new().mode(0o700).create(&directory).map_err(failed)?;
        let socket = directory.join("socket");
        let nonce = random_word()?;
        // From here on, dropping it removes the directory.
        let mut session = Self {
            directory,
            nonce: nonce.clone(),
            helper: format!(
                "!{} {}",
                local::quoted(&helper.program.to_string_lossy()),
                helper.arguments
            ),
            socket,
            ended: Arc::default(),
            thread: None,
        };
        let listener = UnixListener::bind(&session.socket).map_err(failed)?;
        listener.set_nonblocking(true).map_err(failed)?;
        let answer = Answer {
            nonce,
            protocol: match url.place() {
                Place::Http { secure: false, .. } => "http",
                _ => "https",
            },
            authority: url.authority().unwrap_or_default(),
            credential: credential.clone(),
        };
        let ended = session.ended.clone();
        session.thread = Some(std::thread::spawn(move || answer.serve(&listener, &ended)));
        Ok(session)
    }

    /// Tells git to ask us, and nobody else: a helper of the person's would keep what we answer.
    pub(super) fn introduce<'a>(&'a self, call: Invocation<'a>) -> Invocation<'a> {
        call.setting("credential.helper", "")
            .setting("credential.helper", self.helper.clone())
            .variable(SOCKET_VARIABLE, self.socket.as_os_str())
            .variable(NONCE_VARIABLE, &self.nonce)
    }
}

impl Drop for CredentialSession {
    fn drop(&mut self) {
        self.ended.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
        let _ = std::fs::remove_file(&self.socket);
        let _ = std::fs::remove_dir(&self.directory);
    }
}

impl Answer {
    fn serve(&self, listener: &UnixListener, ended: &AtomicBool) {
        while !ended.load(Ordering::Relaxed) {
            let mut watched = [PollFd::new(listener, PollFlags::IN)];
            let _ = poll(&mut watched, Some(&STOP_INTERVAL));
            if let Ok((stream, _)) = listener.accept() {
                // Whoever asks wrongly gets no answer; git then says that it has no credential.
                let _ = self.answer(stream);
            }
        }
    }

    fn answer(&self, mut stream: UnixStream) -> io::Result<()> {
        stream.set_nonblocking(false)?;
        stream.set_read_timeout(Some(QUESTION_TIME))?;
        stream.set_write_timeout(Some(QUESTION_TIME))?;
        let mut question = String::new();
        (&stream).take(QUESTION_LIMIT).read_to_string(&mut question)?;
        if self.is_for(&question) {
            let credential = &self.credential;
            write!(
                stream,
                "username={}\npassword={}\n",
                credential.username,
                credential.secret.expose()
            )?;
        }
        Ok(())
    }

    fn is_for(&self, question: &str) -> bool {
        let mut lines = question.lines();
        let knows = lines.next() == Some(self.nonce.as_str());
        let value = |name: &str| {
            let mut values = question.lines().filter_map(|line| line.strip_prefix(name));
            // Asked twice, git would take the last; nobody who means well asks twice.
            values.next().filter(|_| values.next().is_none())
        };
        knows && value("protocol=") == Some(self.protocol) && value("host=") == Some(self.authority.as_str())
    }
}

/// The helper's side, in the process that git starts: passes git's question on, and the answer back.
///
/// # Errors
/// When the socket or git is gone.
pub fn answer_credential_request(
    socket: &Path,
    nonce: &str,
    action: &str,
    question: impl Read,
    mut answer: impl Write,
) -> io::Result<()> {
    // git also reports what worked and what did not; there is nothing to keep.
    if action != "get" {
        return Ok(());
    }
    let mut asked = Vec::new();
    question.take(QUESTION_LIMIT).read_to_end(&mut asked)?;
    let mut stream = UnixStream::connect(socket)?;
    stream.write_all(nonce.as_bytes())?;
    stream.write_all(b"\n")?;
    stream.write_all(&asked)?;
    stream.shutdown(Shutdown::Write)?;
    let mut told = Vec::new();
    stream.take(QUESTION_LIMIT).read_to_end(&mut told)?;
    answer.write_all(&told)?;
    answer.flush()
}

fn random_word() -> Result<String, Error> {
    let mut bytes = [0_u8; 16];
    getrandom::fill(&mut bytes).map_err(|error| Error::RunGit {
        verb: "credential",
        source: io::Error::other(error.to_string()),
    })?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use agentyard_model::Secret;

    use super::super::HostPatterns;
    use super::*;

    fn session(directory: &Path) -> CredentialSession {
        let helper = CredentialHelper {
            program: "/opt/it's/agentyard".into(),
            arguments: "git-credential",
            directory: directory.to_owned(),
        };
        let credential = Credential {
            hosts: HostPatterns::new(["a.example"]),
            username: "me".to_owned(),
            secret: Secret::new("hunter2"),
        };
        let url = RemoteUrl::parse("https://a.example/b").unwrap();
        CredentialSession::serve(&helper, &credential, &url).unwrap()
    }

    fn ask(session: &CredentialSession, nonce: &str, action: &str, question: &str) -> String {
        let mut answer = Vec::new();
        answer_credential_request(&session.socket, nonce, action, question.as_bytes(), &mut answer).unwrap();
        String::from_utf8(answer).unwrap()
    }

    #[test]
    fn only_the_right_question_is_answered() {
        let directory = tempfile::tempdir().unwrap();
        let session = session(directory.path());
        let right = "protocol=https\nhost=a.example\n";
        assert_eq!(
            ask(&session, &session.nonce, "get", right),
            "username=me\npassword=hunter2\n"
        );
        for (nonce, action, question) in [
            (session.nonce.as_str(), "store", right),
            (&session.nonce, "erase", right),
            ("", "get", right),
            ("guessed", "get", right),
            (&session.nonce, "get", "protocol=http\nhost=a.example\n"),
            (&session.nonce, "get", "protocol=https\nhost=b.example\n"),
            (&session.nonce, "get", "protocol=https\nhost=a.example:8443\n"),
            (
                &session.nonce,
                "get",
                "protocol=https\nhost=a.example\nhost=b.example\n",
            ),
            (&session.nonce, "get", "protocol=https\n"),
        ] {
            assert_eq!(
                ask(&session, nonce, action, question),
                "",
                "{nonce} {action} {question}"
            );
        }
    }

    #[test]
    fn the_socket_is_private_and_goes_with_the_call() {
        let directory = tempfile::tempdir().unwrap();
        let session = session(directory.path());
        let mode = std::fs::metadata(&session.directory)
            .unwrap()
            .permissions()
            .mode();
        assert_eq!(mode & 0o777, 0o700);
        assert_eq!(session.helper, r"!'/opt/it'\''s/agentyard' git-credential");
        drop(session);
        assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0);
    }
}
