//! Why the configuration cannot be used.

use std::path::PathBuf;

use super::source::Source;

/// Why the configuration cannot be used: what was read, where, and what to write instead.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ConfigError {
    /// The file is there, or was asked for, and cannot be read.
    #[error(
        "could not read the configuration file {}; correct the path or its permissions, or leave it out",
        path.display()
    )]
    Unreadable {
        path: PathBuf,
        #[source]
        source: std::io::Error,
    },
    /// The file is no text that a person wrote.
    #[error("the configuration file {} is no plain file of at most {limit} bytes", path.display())]
    NotAFile { path: PathBuf, limit: u64 },
    /// The file is not TOML.
    #[error("{}:{line}: the configuration file is not valid TOML: {message}", path.display())]
    Syntax {
        path: PathBuf,
        line: usize,
        message: String,
    },
    /// There is no such key.
    #[error(
        "{origin}: there is no setting `{key}`;{} `agentyard config reference` lists all of them",
        suggestion(nearest.as_deref())
    )]
    UnknownKey {
        key: String,
        origin: Source,
        nearest: Option<String>,
    },
    /// The key is right and its value is not.
    #[error("{origin}: the value of `{key}` cannot be used: {message}")]
    InvalidValue {
        key: String,
        origin: Source,
        message: String,
    },
    /// A variable holds bytes that are no text.
    #[error("the environment variable {variable} is not valid Unicode; set it to plain text or unset it")]
    VariableNotUnicode { variable: String },
    /// A list of tokens is not of the form `host=token`. It is not shown.
    #[error("the environment variable {variable} has an entry that is not `host=token` or `host=user:token`")]
    MalformedCredentials { variable: &'static str },
    /// An override of the command line is not of the form `section.key=value`.
    #[error("`--set {text}` has no `=`; write `--set section.key=value`")]
    OverrideWithoutValue { text: String },
    /// Something needs the data directory and nobody said where it is.
    #[error(
        "no data directory: neither HOME nor XDG_DATA_HOME is set; \
         pass --data-dir DIRECTORY or set AGENTYARD_DATA_DIR"
    )]
    NoDataDirectory,
    /// The settings cannot be shown.
    #[error("could not show the configuration")]
    NotShowable(#[source] serde_json::Error),
}

fn suggestion(nearest: Option<&str>) -> String {
    nearest
        .map(|key| format!(" did you mean `{key}`?"))
        .unwrap_or_default()
}
