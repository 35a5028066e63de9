//! How a client reaches us: by starting a program, or over HTTP.

use std::fmt;
use std::str::FromStr;

use http::Uri;

use super::{Client, ClientError};

/// The address of a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ServerUrl {
    text: String,
    is_exposed: bool,
}

impl ServerUrl {
    /// Whether others could read what is sent there.
    pub(crate) fn is_exposed(&self) -> bool {
        self.is_exposed
    }

    /// The address of MCP on this server. One that names `/mcp` already, or a toolset below it, is kept.
    fn endpoint(&self) -> String {
        let (path, query) = self.text.split_once('?').unwrap_or((&self.text, ""));
        let names_mcp = path.split('/').skip(3).any(|segment| segment == "mcp");
        let path = if names_mcp {
            path.to_owned()
        } else {
            format!("{}/mcp", path.trim_end_matches('/'))
        };
        if query.is_empty() {
            path
        } else {
            format!("{path}?{query}")
        }
    }
}

impl fmt::Display for ServerUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl FromStr for ServerUrl {
    type Err = ClientError;

    fn from_str(text: &str) -> Result<Self, ClientError> {
        let invalid = |reason| ClientError::InvalidUrl {
            // Without what may be a password.
            url: text
                .rsplit('@')
                .next()
                .unwrap_or_default()
                .escape_debug()
                .take(200)
                .collect(),
            reason,
        };
        let uri: Uri = text.parse().map_err(|_| invalid("it cannot be read"))?;
        let host = uri
            .host()
            .filter(|host| !host.is_empty())
            .ok_or_else(|| invalid("it has no host"))?;
        if uri
            .authority()
            .is_some_and(|authority| authority.as_str().contains('@'))
        {
            return Err(invalid(
                "it holds a user or a password, which would be written to a file",
            ));
        }
        let is_exposed = match uri.scheme_str() {
            Some("https") => false,
            Some("http") => !is_loopback(host),
            _ => return Err(invalid("it is neither http nor https")),
        };
        Ok(Self {
            text: text.to_owned(),
            is_exposed,
        })
    }
}

fn is_loopback(host: &str) -> bool {
    let address = host
        .trim_start_matches('[')
        .trim_end_matches(']')
        .parse::<std::net::IpAddr>();
    host == "localhost" || address.is_ok_and(|address| address.is_loopback())
}

/// The name of the environment variable that holds the token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct VariableName(String);

impl VariableName {
    /// The variable that our own commands read.
    pub(crate) const USUAL: &'static str = "AGENTYARD_TOKEN";
}

impl fmt::Display for VariableName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for VariableName {
    type Err = ClientError;

    fn from_str(text: &str) -> Result<Self, ClientError> {
        let is_letter = |character: char| character.is_ascii_alphabetic() || character == '_';
        let is_name = text.starts_with(is_letter)
            && text
                .chars()
                .all(|character| is_letter(character) || character.is_ascii_digit());
        if is_name && text.len() <= 64 {
            Ok(Self(text.to_owned()))
        } else {
            Err(ClientError::InvalidVariable {
                // Somebody may have given the token itself: a few characters are enough to recognise it by.
                name: format!("{}…", text.escape_debug().take(8).collect::<String>()),
            })
        }
    }
}

/// How a client reaches us.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Launch {
    /// The client starts `agentyard mcp`.
    Local { program: String },
    /// The client starts `agentyard mcp --server`, which talks to the server.
    Bridge {
        program: String,
        server: ServerUrl,
        token: VariableName,
    },
    /// The client talks to the server.
    Http {
        endpoint: String,
        server: ServerUrl,
        token: VariableName,
    },
}

impl Launch {
    /// Every client talks HTTP itself, save VS Code: it does not put environment variables into headers
    /// (microsoft/vscode#336232), and a token must not stand in the file.
    pub(crate) fn new(client: Client, program: String, server: Option<(ServerUrl, VariableName)>) -> Self {
        match (client, server) {
            (_, None) => Self::Local { program },
            (Client::Vscode, Some((server, token))) => Self::Bridge {
                program,
                server,
                token,
            },
            (_, Some((server, token))) => Self::Http {
                endpoint: server.endpoint(),
                server,
                token,
            },
        }
    }

    /// The server and the variable of its token, if there is a server.
    pub(crate) fn server(&self) -> Option<(&ServerUrl, &VariableName)> {
        match self {
            Self::Local { .. } => None,
            Self::Bridge { server, token, .. } | Self::Http { server, token, .. } => Some((server, token)),
        }
    }

    /// The program to start and its arguments, if one is to be started.
    pub(crate) fn program(&self) -> Option<(&str, Vec<String>)> {
        match self {
            Self::Local { program } => Some((program, vec!["mcp".to_owned()])),
            Self::Bridge { program, server, .. } => {
                let arguments = vec!["mcp".to_owned(), "--server".to_owned(), server.to_string()];
                Some((program, arguments))
            }
            Self::Http { .. } => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_endpoint_is_found_below_the_address() {
        for (text, expected) in [
            ("https://yard.example", "https://yard.example/mcp"),
            ("https://yard.example/", "https://yard.example/mcp"),
            ("https://example.com/yard/", "https://example.com/yard/mcp"),
            ("https://yard.example/mcp", "https://yard.example/mcp"),
            ("https://yard.example/mcp/git", "https://yard.example/mcp/git"),
            ("https://mcp", "https://mcp/mcp"),
            (
                "https://yard.example/?toolsets=git",
                "https://yard.example/mcp?toolsets=git",
            ),
        ] {
            assert_eq!(text.parse::<ServerUrl>().unwrap().endpoint(), expected);
        }
    }

    #[test]
    fn an_address_with_a_password_or_without_a_host_is_refused() {
        for text in [
            "",
            "yard",
            "yard.example:443",
            "ftp://yard.example",
            "https://",
            "/mcp",
            "https://a b",
        ] {
            assert!(text.parse::<ServerUrl>().is_err(), "{text}");
        }
        let error = "https://ada:hunter2@yard.example"
            .parse::<ServerUrl>()
            .unwrap_err()
            .to_string();
        assert!(
            error.contains("password") && !error.contains("hunter2"),
            "{error}"
        );
    }

    #[test]
    fn only_what_leaves_the_machine_in_the_clear_is_exposed() {
        let exposed = |text: &str| text.parse::<ServerUrl>().unwrap().is_exposed();
        assert!(!exposed("https://yard.example") && !exposed("http://127.0.0.1:7420"));
        assert!(!exposed("http://[::1]:7420") && !exposed("http://localhost:7420"));
        assert!(exposed("http://yard.example"));
    }

    #[test]
    fn a_token_is_not_taken_for_a_name() {
        assert!("YARD_TOKEN_2".parse::<VariableName>().is_ok());
        for text in ["", "2A", "A-B", "${A}", "ayt_0123456789abcdef.secret"] {
            let error = text.parse::<VariableName>().unwrap_err().to_string();
            assert!(!error.contains("secret"), "{error}");
        }
    }
}
