//! What a bare `agentyard` does.

use super::ConfigError;
use super::environment::Environment;
use super::fault::printable;
use super::source::Source;

/// The variable with which other servers choose their transport.
const VARIABLE: &str = "MCP_TRANSPORT_TYPE";

/// How clients reach the process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Transport {
    /// Over standard input and output: `agentyard mcp`.
    Stdio,
    /// Over HTTP: `agentyard serve`.
    Http,
}

/// The transport that the environment asks for, for an `agentyard` without a command.
pub(crate) fn asked_for(environment: &Environment) -> Result<Option<Transport>, ConfigError> {
    match environment.text(VARIABLE)?.map(str::trim) {
        None => Ok(None),
        Some("stdio") => Ok(Some(Transport::Stdio)),
        Some("http") => Ok(Some(Transport::Http)),
        Some(other) => Err(ConfigError::InvalidValue {
            key: "transport".to_owned(),
            origin: Source::Variable(VARIABLE.to_owned()),
            message: format!("`{}` is none of `stdio`, `http`", printable(other)),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_variable_chooses() {
        let asked = |value| asked_for(&Environment::of(&[(VARIABLE, value)]));
        assert_eq!(asked("http").unwrap(), Some(Transport::Http));
        assert_eq!(asked("stdio").unwrap(), Some(Transport::Stdio));
        assert_eq!(asked("").unwrap(), None);
        assert_eq!(
            asked("sse").unwrap_err().to_string(),
            "$MCP_TRANSPORT_TYPE: the value of `transport` cannot be used: `sse` is none of `stdio`, `http`"
        );
    }
}
