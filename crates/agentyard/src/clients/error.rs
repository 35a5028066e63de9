//! Why a client could not be told.

use std::path::PathBuf;

/// Why a client could not be told: what was attempted, on which file, and what to do instead.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ClientError {
    /// Nobody knows where the person's files are.
    #[error("could not find the home directory: HOME is not set; set it, or use --scope project")]
    NoHome,
    /// The address of the server cannot be used.
    #[error("`{url}` is no address of a server: {reason}; write it like https://yard.example.com")]
    InvalidUrl { url: String, reason: &'static str },
    /// The name cannot be that of a variable.
    #[error(
        "`{name}` is no name of an environment variable; use letters, digits and `_`, \
         and give the name, not the token"
    )]
    InvalidVariable { name: String },
    /// The program is somewhere that JSON and TOML cannot name.
    #[error("the path of this program is not valid Unicode; move it, or use --scope project")]
    ProgramNotUnicode,
    /// The file cannot be read.
    #[error("could not read {}; correct its permissions", path.display())]
    Unreadable {
        path: PathBuf,
        #[source]
        source: std::io::Error,
    },
    /// The file cannot be written.
    #[error("could not write {}; it is as it was", path.display())]
    Unwritable {
        path: PathBuf,
        #[source]
        source: std::io::Error,
    },
    /// The file was changed by somebody else meanwhile.
    #[error("{} was changed by another program meanwhile; it was left as it is: try again", path.display())]
    Changed { path: PathBuf },
    /// The file is broken.
    #[error("{}:{line}: {message}; correct it, it was left as it is", path.display())]
    Broken {
        path: PathBuf,
        line: usize,
        message: String,
    },
    /// The file is JSON with comments.
    #[error(
        "{} holds comments or trailing commas, which would be in the way; it was left as it is. \
         Add this yourself:\n\n{document}",
        path.display()
    )]
    Commented { path: PathBuf, document: String },
    /// Something else stands where our entry belongs.
    #[error("{}: `{key}` is no {expected}; correct it, it was left as it is", path.display())]
    OutOfPlace {
        path: PathBuf,
        key: String,
        expected: &'static str,
    },
}
