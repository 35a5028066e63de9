//! What git's words about a remote mean: whether another attempt may help, and what else would.

use super::RemoteUrl;
use super::remote_url::Place;
use crate::program::Finished;
use crate::{Error, Progress, text};

/// Why a call to a remote failed.
pub(super) struct Trouble {
    pub(super) error: Error,
    /// Whether it may have gone away the next time.
    pub(super) is_passing: bool,
    pub(super) is_redirect: bool,
}

impl Trouble {
    pub(super) fn for_good(error: Error) -> Self {
        Self {
            error,
            is_passing: false,
            is_redirect: false,
        }
    }
}

/// What a failure is, by what git said. Each list is tried in this order: a refused login also ends a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    UnknownHostKey,
    Denied,
    Absent,
    NoSuchRef,
    Redirected,
    Stalled,
    Passing,
    Certificate,
    Other,
}

const WORDS: &[(Kind, &[&str])] = &[
    (
        Kind::UnknownHostKey,
        &["Host key verification failed", "host key is known"],
    ),
    (
        Kind::Denied,
        &[
            "Authentication failed",
            "could not read Username",
            "could not read Password",
            "terminal prompts disabled",
            "Permission denied (",
            "returned error: 401",
            "returned error: 403",
            "Invalid username or",
        ],
    ),
    (
        Kind::Absent,
        &[
            "returned error: 404",
            "returned error: 410",
            "' not found",
            "Repository not found",
            "does not appear to be a git repository",
            "repository not found",
        ],
    ),
    (
        Kind::NoSuchRef,
        &[
            "couldn't find remote ref",
            "Remote branch ",
            "unadvertised object",
        ],
    ),
    (
        Kind::Redirected,
        &[
            "returned error: 301",
            "returned error: 302",
            "returned error: 303",
            "returned error: 307",
            "returned error: 308",
            "unable to update url base from redirection",
        ],
    ),
    (
        Kind::Stalled,
        &[
            "Operation too slow",
            "Less than 1000 bytes/sec",
            "Timeout, server",
        ],
    ),
    (
        Kind::Passing,
        &[
            "Could not resolve",
            "Temporary failure in name resolution",
            "Connection refused",
            "Connection reset",
            "Connection timed out",
            "Connection closed",
            "Operation timed out",
            "Failed to connect",
            "Failed connect",
            "Couldn't connect",
            "Could not connect",
            "No route to host",
            "Network is unreachable",
            "Broken pipe",
            "Empty reply from server",
            "early EOF",
            "unexpected disconnect",
            "hung up unexpectedly",
            "RPC failed",
            "transfer closed",
            "returned error: 429",
            "returned error: 500",
            "returned error: 502",
            "returned error: 503",
            "returned error: 504",
            "SSL_ERROR_SYSCALL",
            "GnuTLS recv error",
            "kex_exchange_identification",
        ],
    ),
    (
        Kind::Certificate,
        &["SSL certificate", "certificate verif", "server certificate"],
    ),
];

fn kind(said: &str) -> Kind {
    WORDS
        .iter()
        .find(|(_, words)| words.iter().any(|word| said.contains(word)))
        .map_or(Kind::Other, |(kind, _)| *kind)
}

/// What a failed call means. `had_credential` tells whether git was given one of ours.
pub(super) fn trouble(
    verb: &'static str,
    url: &RemoteUrl,
    finished: &Finished,
    had_credential: bool,
) -> Trouble {
    let said = gist(&finished.errors);
    let found = kind(&said);
    let lock = crate::work::locks::lock_in(&String::from_utf8_lossy(&finished.errors));
    // Somebody else fetched into the same repository at the same moment.
    let has_lost = verb == "fetch" && said.contains("cannot lock ref") && said.contains("but expected");
    // A working tree of the same repository came or went while git looked at all of them.
    let has_lost = has_lost || (said.contains("failed to read") && said.contains("/commondir"));
    let error = match found {
        Kind::Other if lock.is_some() => Error::Locked {
            verb,
            lock: text::one_line(&lock.unwrap_or_default()),
        },
        Kind::UnknownHostKey => Error::refused(
            format!("git {verb} {url} failed: the key of the host is not known, so it may be another one"),
            "a person checks the host's key and adds it to ~/.ssh/known_hosts (connecting once with ssh does)",
        ),
        Kind::Denied => Error::refused(
            format!("git {verb} {url} was denied: {said}"),
            login_remedy(url, had_credential),
        ),
        Kind::Absent => Error::Missing {
            what: format!(
                "git {verb} found no repository at {url}; hosts also say so when the credentials do not reach it"
            ),
        },
        Kind::NoSuchRef => Error::Missing {
            what: format!("git {verb} {url} failed: {said}"),
        },
        Kind::Redirected | Kind::Certificate | Kind::Other => Error::GitFailed {
            verb,
            path: url.to_string(),
            code: finished.code,
            said,
        },
        Kind::Stalled => Error::Unreachable {
            what: format!("git {verb} {url} was given up: the remote stopped sending"),
            remedy: "try again later".to_owned(),
        },
        Kind::Passing => Error::Unreachable {
            what: format!("git {verb} {url} failed: {said}"),
            remedy: "it was tried several times; check the address, and try again later".to_owned(),
        },
    };
    Trouble {
        error,
        is_passing: found == Kind::Passing || has_lost,
        is_redirect: found == Kind::Redirected,
    }
}

fn login_remedy(url: &RemoteUrl, had_credential: bool) -> String {
    let host = url.authority().unwrap_or_default();
    if matches!(url.place(), Place::Ssh { .. }) {
        return "a person adds a key that the host accepts to the ssh agent of the server, or use https"
            .to_owned();
    }
    let own = match host.as_str() {
        "github.com" => "`GITHUB_TOKEN`, or ",
        "gitlab.com" => "`GITLAB_TOKEN`, or ",
        "bitbucket.org" => "`BITBUCKET_TOKEN`, or ",
        _ => "",
    };
    let variables = format!("{own}`AGENTYARD_GIT_CREDENTIALS={host}=user:token`");
    if had_credential {
        format!(
            "the token for {host} lacks the right or has ended; a person starts the server with another one in {variables}"
        )
    } else {
        format!("a person starts the server with {variables}, or sets up a git credential helper for {host}")
    }
}

/// What git said that matters: without progress and hints, on few lines.
pub(super) fn gist(errors: &[u8]) -> String {
    let lines: Vec<String> = errors
        .split(|byte| matches!(byte, b'\n' | b'\r'))
        .filter(|line| Progress::parse(line).is_none())
        .map(|line| text::one_line(&String::from_utf8_lossy(line)).trim().to_owned())
        .filter(|line| !line.is_empty() && line != "remote:" && !line.starts_with("hint:"))
        .collect();
    let first = lines.len().saturating_sub(8);
    let text = lines[first..].join("; ");
    text.chars().take(1000).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gits_words_are_sorted() {
        let cases = [
            (
                "fatal: unable to access 'https://x/': Could not resolve host: x",
                Kind::Passing,
            ),
            (
                "fatal: unable to access 'https://x/': Failed to connect to x port 443: Connection refused",
                Kind::Passing,
            ),
            (
                "fatal: unable to access 'https://x/': The requested URL returned error: 503",
                Kind::Passing,
            ),
            (
                "fatal: unable to access 'https://x/': The requested URL returned error: 429",
                Kind::Passing,
            ),
            (
                "error: RPC failed; curl 56 Recv failure: Connection reset by peer; fatal: early EOF",
                Kind::Passing,
            ),
            (
                "error: RPC failed; curl 28 Operation too slow. Less than 1000 bytes/sec transferred",
                Kind::Stalled,
            ),
            (
                "remote: Invalid username or password.; fatal: Authentication failed for 'https://x/'",
                Kind::Denied,
            ),
            (
                "fatal: could not read Username for 'https://x': terminal prompts disabled",
                Kind::Denied,
            ),
            (
                "fatal: unable to access 'https://x/': The requested URL returned error: 403",
                Kind::Denied,
            ),
            (
                "git@x: Permission denied (publickey).; fatal: Could not read from remote repository.",
                Kind::Denied,
            ),
            (
                "Host key verification failed.; fatal: Could not read from remote repository.",
                Kind::UnknownHostKey,
            ),
            ("fatal: repository 'https://x/' not found", Kind::Absent),
            ("fatal: couldn't find remote ref refs/heads/nope", Kind::NoSuchRef),
            (
                "fatal: unable to access 'https://x/': The requested URL returned error: 301",
                Kind::Redirected,
            ),
            (
                "fatal: unable to access 'https://x/': SSL certificate problem: self-signed",
                Kind::Certificate,
            ),
            ("fatal: something else", Kind::Other),
        ];
        for (said, expected) in cases {
            assert_eq!(kind(said), expected, "{said}");
        }
    }

    #[test]
    fn progress_and_hints_are_left_out() {
        let said = b"remote: Counting objects:  50% (1/2)\rremote: Counting objects: 100% (2/2), done.\nhint: try this\nremote: \nfatal: \x1b[1mno\n";
        assert_eq!(gist(said), "fatal: [1mno");
    }
}
