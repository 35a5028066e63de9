//! Credentials for git hosts: from the environment of the server to git, without a trace on the way.

use std::path::PathBuf;
use std::process::ExitCode;

use agentyard_git::{
    Credential, CredentialHelper, HostPatterns, NONCE_VARIABLE, SOCKET_VARIABLE, answer_credential_request,
};
use agentyard_model::Secret;

use crate::config::{ConfigError, Environment};

/// The hidden command by which git asks for a credential.
pub(crate) const COMMAND: &str = "git-credential";

/// A forge whose token has a variable of its own.
struct Forge {
    /// The variables of the token, the strongest first.
    tokens: &'static [&'static str],
    /// Where it is valid.
    host: Option<&'static str>,
    /// The variable of another host where it is valid.
    host_variable: Option<&'static str>,
    /// What the forge takes for a user name beside a token.
    username: &'static str,
}

const FORGES: &[Forge] = &[
    Forge {
        tokens: &["GH_TOKEN", "GITHUB_TOKEN"],
        host: Some("github.com"),
        host_variable: Some("GH_HOST"),
        username: "x-access-token",
    },
    Forge {
        tokens: &["GITLAB_TOKEN"],
        host: Some("gitlab.com"),
        host_variable: Some("GITLAB_HOST"),
        username: "oauth2",
    },
    Forge {
        tokens: &["BITBUCKET_TOKEN"],
        host: Some("bitbucket.org"),
        host_variable: None,
        username: "x-token-auth",
    },
    Forge {
        tokens: &["GITEA_TOKEN"],
        host: None,
        host_variable: Some("GITEA_HOST"),
        username: "git",
    },
];

/// Beside a token for a host that we know nothing of.
const USERNAME: &str = "git";

/// Every credential of the environment. Those that name their host come first.
pub(crate) fn of(environment: &Environment) -> Result<Vec<Credential>, ConfigError> {
    let mut credentials = Vec::new();
    let listed = environment.text("AGENTYARD_GIT_CREDENTIALS")?.unwrap_or_default();
    for entry in listed
        .split([',', '\n'])
        .map(str::trim)
        .filter(|entry| !entry.is_empty())
    {
        // Its text stays out of the message: it may hold a token.
        let (host, secret) = entry
            .split_once('=')
            .filter(|(host, secret)| !host.trim().is_empty() && !secret.is_empty())
            .ok_or(ConfigError::MalformedCredentials {
                variable: "AGENTYARD_GIT_CREDENTIALS",
            })?;
        let (username, secret) = secret.split_once(':').unwrap_or((USERNAME, secret));
        credentials.push(credential([host.trim()], username, secret));
    }
    for forge in FORGES {
        for name in forge.tokens {
            let Some(token) = environment.text(name)? else {
                continue;
            };
            let other = forge
                .host_variable
                .map(|name| environment.text(name))
                .transpose()?;
            let hosts = forge.host.into_iter().chain(other.flatten().map(bare_host));
            credentials.push(credential(hosts, forge.username, token.trim()));
        }
    }
    Ok(credentials)
}

/// How git asks this process. Without a file of our own there is nobody for git to start.
pub(crate) fn helper(environment: &Environment) -> Option<CredentialHelper> {
    let directory = ["XDG_RUNTIME_DIR", "TMPDIR"]
        .iter()
        .filter_map(|name| environment.value(name))
        .map(PathBuf::from)
        .find(|directory| directory.is_absolute() && directory.is_dir())
        .unwrap_or_else(|| PathBuf::from("/tmp"));
    Some(CredentialHelper {
        program: std::env::current_exe().ok()?,
        arguments: COMMAND,
        directory,
    })
}

/// Answers git's question, in the process that git started for it.
pub(crate) fn answer(action: &str) -> ExitCode {
    let environment = Environment::of_process();
    let (Some(socket), Ok(Some(nonce))) = (
        environment.value(SOCKET_VARIABLE),
        environment.text(NONCE_VARIABLE),
    ) else {
        return ExitCode::FAILURE;
    };
    let answered = answer_credential_request(
        socket.as_ref(),
        nonce,
        action,
        std::io::stdin().lock(),
        std::io::stdout().lock(),
    );
    match answered {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}

fn credential<'a>(hosts: impl IntoIterator<Item = &'a str>, username: &str, secret: &str) -> Credential {
    Credential {
        hosts: HostPatterns::new(hosts),
        username: username.to_owned(),
        secret: Secret::new(secret),
    }
}

/// Some tools want an address where a host is meant.
fn bare_host(text: &str) -> &str {
    let text = text.trim();
    let text = text.split_once("://").map_or(text, |(_, rest)| rest);
    text.trim_end_matches('/')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(variables: &[(&str, &str)]) -> Vec<(String, String, String)> {
        let credentials = of(&Environment::of(variables)).unwrap();
        let shown = credentials.into_iter().map(|credential| {
            (
                format!("{:?}", credential.hosts),
                credential.username,
                credential.secret.expose().to_owned(),
            )
        });
        shown.collect()
    }

    fn expected(hosts: &[&str], username: &str, secret: &str) -> (String, String, String) {
        (
            format!("{:?}", HostPatterns::new(hosts.iter().copied())),
            username.to_owned(),
            secret.to_owned(),
        )
    }

    #[test]
    fn tokens_are_for_their_hosts() {
        assert_eq!(found(&[]), []);
        assert_eq!(
            found(&[
                ("GITHUB_TOKEN", "a"),
                ("GH_TOKEN", "b"),
                ("GH_HOST", "https://git.corp.example/"),
                ("GITLAB_TOKEN", "c"),
                ("BITBUCKET_TOKEN", "d"),
                ("GITEA_TOKEN", "e"),
                ("GITEA_HOST", "gitea.example:3000"),
            ]),
            [
                expected(&["github.com", "git.corp.example"], "x-access-token", "b"),
                expected(&["github.com", "git.corp.example"], "x-access-token", "a"),
                expected(&["gitlab.com"], "oauth2", "c"),
                expected(&["bitbucket.org"], "x-token-auth", "d"),
                expected(&["gitea.example:3000"], "git", "e"),
            ]
        );
    }

    #[test]
    fn any_host_can_be_given_and_comes_first() {
        let variables = [
            ("GITHUB_TOKEN", "weak"),
            (
                "AGENTYARD_GIT_CREDENTIALS",
                "github.com=me:to:ken, 127.0.0.1:80=x=y\n\n*.a.example=z",
            ),
        ];
        assert_eq!(
            found(&variables),
            [
                expected(&["github.com"], "me", "to:ken"),
                expected(&["127.0.0.1:80"], "git", "x=y"),
                expected(&["*.a.example"], "git", "z"),
                expected(&["github.com"], "x-access-token", "weak"),
            ]
        );
    }

    #[test]
    fn what_cannot_be_read_is_refused_without_being_shown() {
        for text in ["hunter2", "=hunter2", "host="] {
            let error = of(&Environment::of(&[("AGENTYARD_GIT_CREDENTIALS", text)])).unwrap_err();
            let message = error.to_string();
            assert!(
                message.contains("AGENTYARD_GIT_CREDENTIALS") && !message.contains("hunter2"),
                "{message}"
            );
        }
    }
}
