//! What is said of code that has run.

use std::sync::Arc;

pub use agentyard_sandbox::Frame;

use crate::runs::RunAnswer;

/// What a caller who waited for code is told.
#[derive(Debug)]
pub struct ExecAnswer {
    /// How it ended, if it has, and what it said.
    pub run: RunAnswer,
    /// What else came of it, when it has ended.
    pub details: Option<Arc<ExecDetails>>,
}

/// What came of code beside its end.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ExecDetails {
    /// The exception that ended it, in the code's own words.
    pub exception: Option<Exception>,
    /// The package that it wanted and that is not there.
    pub missing_package: Option<MissingPackage>,
    /// The files of the tree that it changed.
    pub files: Vec<ChangedPath>,
    /// How many more there are.
    pub files_left_out: usize,
    /// The images among them.
    pub images: Vec<Image>,
    /// What was installed for it before it was run once more.
    pub installed: Option<Installed>,
    /// The context that it ran in.
    pub context: Option<ContextState>,
    /// Whether an interpreter was kept ready for it.
    pub warm: bool,
    /// What else the caller should know, such as that an environment was made.
    pub note: Option<String>,
}

/// An exception that nobody caught.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Exception {
    /// Its type.
    pub kind: String,
    /// What it says.
    pub message: String,
    /// Where in the agent's own files it came from, outermost first.
    pub frames: Vec<Frame>,
}

/// A package that is not there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MissingPackage {
    /// What was to be imported.
    pub import: String,
    /// What to install for that.
    pub package: String,
}

/// A file that has changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangedPath {
    /// Where it is in the tree.
    pub path: String,
    /// What happened to it.
    pub change: FileChangeKind,
}

/// What can happen to a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileChangeKind {
    /// It was not there before.
    Created,
    /// It was there.
    Changed,
    /// It is not there any more.
    Deleted,
}

impl FileChangeKind {
    /// Its name in answers.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Created => "created",
            Self::Changed => "changed",
            Self::Deleted => "deleted",
        }
    }
}

/// An image that the code has written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Image {
    /// Where it is in the tree.
    pub path: String,
    /// What kind it is.
    pub media_type: &'static str,
    /// The image.
    pub bytes: Vec<u8>,
}

/// What was installed so that code could run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Installed {
    /// What was asked for.
    pub packages: Vec<String>,
    /// What came of it.
    pub report: String,
    /// Whether it is there now.
    pub succeeded: bool,
}

/// The context that code ran in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContextState {
    /// Its name.
    pub name: String,
    /// Whether it was not there before.
    pub is_new: bool,
    /// Whether it is gone, with all that was in it.
    pub ended: bool,
}
