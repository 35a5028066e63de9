//! What is told of code that was run.

use std::sync::Arc;

use agentyard_services::{ChangedPath, ContextState, Exception, ExecAnswer, Frame, Image, MissingPackage};
use schemars::JsonSchema;
use serde::Serialize;

use crate::attachment::{AttachedContent, Attachment};
use crate::build::RunView;
use crate::output::Output;

/// An execution: how it ended, what it said, and what came of it.
#[derive(Serialize, JsonSchema)]
pub(super) struct ExecutionView {
    #[serde(flatten)]
    run: RunView,
    /// The exception that ended it.
    #[serde(skip_serializing_if = "Option::is_none")]
    exception: Option<ExceptionView>,
    /// It imports what is not installed: pass `package` to install_dependencies.
    #[serde(skip_serializing_if = "Option::is_none")]
    missing_package: Option<MissingPackageView>,
    /// What `auto_install` installed before the code was run again.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 1000))]
    installed: Vec<String>,
    /// Why `auto_install` could not install it.
    #[serde(skip_serializing_if = "Option::is_none")]
    not_installed: Option<String>,
    /// Files of the workspace that it changed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 1000))]
    files: Vec<ChangedFileView>,
    /// How many more it changed.
    #[serde(skip_serializing_if = "is_zero")]
    files_left_out: usize,
    /// The interpreter that keeps its variables.
    #[serde(skip_serializing_if = "Option::is_none")]
    context: Option<ContextView>,
    /// What else is to be known.
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<String>,
    #[serde(skip)]
    images: Vec<Image>,
}

/// An exception that code raised.
#[derive(Serialize, JsonSchema)]
struct ExceptionView {
    /// Its class.
    r#type: String,
    /// What it says.
    #[serde(skip_serializing_if = "String::is_empty")]
    message: String,
    /// Where it came from in files of the workspace, the innermost last.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 100))]
    frames: Vec<FrameView>,
}

/// A place in code.
#[derive(Serialize, JsonSchema)]
struct FrameView {
    /// The file.
    file: String,
    /// The line.
    line: u32,
    /// The function.
    #[serde(skip_serializing_if = "String::is_empty")]
    function: String,
    /// What stands there.
    #[serde(skip_serializing_if = "String::is_empty")]
    text: String,
}

/// A package that is not installed.
#[derive(Serialize, JsonSchema)]
struct MissingPackageView {
    /// What the code imports.
    import: String,
    /// The package that brings it.
    package: String,
}

/// A file that code changed.
#[derive(Serialize, JsonSchema)]
struct ChangedFileView {
    /// Where it is in the workspace.
    path: String,
    /// `created`, `changed` or `deleted`.
    change: &'static str,
}

/// An interpreter that keeps its variables.
#[derive(Serialize, JsonSchema)]
struct ContextView {
    /// Its name.
    name: String,
    /// It began with this call: nothing of earlier ones was there.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    new: bool,
    /// It ended with this call: the next one begins anew.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    ended: bool,
}

impl Output for ExecutionView {
    fn item_count(&self) -> usize {
        self.run.item_count()
    }

    fn keep(&mut self, count: usize) {
        self.run.keep(count);
    }

    fn attachments(&mut self) -> Vec<Attachment> {
        let images = std::mem::take(&mut self.images);
        let mut attachments: Vec<Attachment> = images.into_iter().map(attached).collect();
        attachments.extend(self.run.attachments());
        attachments
    }
}

/// A picture as its kind is shown: drawn ones are text.
fn attached(image: Image) -> Attachment {
    let content = match String::from_utf8(image.bytes) {
        Ok(text) if image.media_type == "image/svg+xml" => AttachedContent::Text {
            uri: format!("file:///workspace/{}", image.path),
            text,
        },
        Ok(text) => AttachedContent::Bytes(text.into_bytes()),
        Err(not_text) => AttachedContent::Bytes(not_text.into_bytes()),
    };
    Attachment {
        name: image.path,
        media_type: image.media_type,
        content,
    }
}

impl From<ExecAnswer> for ExecutionView {
    fn from(answer: ExecAnswer) -> Self {
        // Nobody else has them, but for who waits for the same run.
        let details = answer.details.map(Arc::unwrap_or_clone).unwrap_or_default();
        let (installed, not_installed) = match details.installed {
            Some(installed) if installed.succeeded => (installed.packages, None),
            Some(installed) => (Vec::new(), Some(installed.report)),
            None => (Vec::new(), None),
        };
        Self {
            run: answer.run.into(),
            exception: details.exception.map(Into::into),
            missing_package: details.missing_package.map(Into::into),
            installed,
            not_installed,
            files: details.files.into_iter().map(Into::into).collect(),
            files_left_out: details.files_left_out,
            context: details.context.map(Into::into),
            note: details.note,
            images: details.images,
        }
    }
}

impl From<Exception> for ExceptionView {
    fn from(exception: Exception) -> Self {
        Self {
            r#type: exception.kind,
            message: exception.message,
            frames: exception.frames.into_iter().map(Into::into).collect(),
        }
    }
}

impl From<Frame> for FrameView {
    fn from(frame: Frame) -> Self {
        Self {
            file: frame.file,
            line: frame.line,
            function: frame.function,
            text: frame.text,
        }
    }
}

impl From<MissingPackage> for MissingPackageView {
    fn from(missing: MissingPackage) -> Self {
        Self {
            import: missing.import,
            package: missing.package,
        }
    }
}

impl From<ChangedPath> for ChangedFileView {
    fn from(changed: ChangedPath) -> Self {
        Self {
            path: changed.path,
            change: changed.change.as_str(),
        }
    }
}

impl From<ContextState> for ContextView {
    fn from(context: ContextState) -> Self {
        Self {
            name: context.name,
            new: context.is_new,
            ended: context.ended,
        }
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands over a reference")]
fn is_zero(count: &usize) -> bool {
    *count == 0
}
