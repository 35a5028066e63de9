//! Where code of callers is kept and run who name no place for it.

use std::io;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use agentyard_git::Roots;
use agentyard_model::{Caller, TenantId};
use sha2::{Digest as _, Sha256};

use crate::error::{Error, ErrorKind, Result};
use crate::failures::from_git;

/// Places that nobody need name.
#[derive(Debug, Clone)]
pub(crate) struct Scratch {
    /// Below this, each caller has a directory of its own.
    top: PathBuf,
    settings: ScratchSettings,
}

/// What is set about places that nobody need name.
#[derive(Debug, Clone, Default)]
pub struct ScratchSettings {
    /// Where code of the local tenant is kept, whatever the working directory is.
    pub code_storage: Option<PathBuf>,
    /// Directories that hold too much to be given to code only because they are the working directory: a home directory,
    /// the top of the file system.
    pub too_wide: Vec<PathBuf>,
}

impl Scratch {
    pub(crate) fn new(data: &Path, settings: ScratchSettings) -> Self {
        Self {
            top: data.join("scratch"),
            settings,
        }
    }

    /// The directory that the settings give to a caller's code, if they do.
    pub(crate) fn code_storage(&self, caller: &Caller) -> Option<PathBuf> {
        let is_local = caller.tenant == TenantId::LOCAL;
        self.settings.code_storage.clone().filter(|_| is_local)
    }

    /// Whether code may have a directory that was not named for it.
    pub(crate) fn allows(&self, working_directory: &Path) -> bool {
        let is_top = working_directory.parent().is_none();
        !is_top
            && !self
                .settings
                .too_wide
                .iter()
                .any(|wide| wide == working_directory)
    }

    /// The caller's own directory.
    pub(crate) fn of(&self, caller: &Caller) -> PathBuf {
        let tenant = caller.tenant.to_string();
        self.top.join(tenant).join(name_of(&caller.subject.to_string()))
    }
}

/// Makes a directory that may not be there yet, and opens it as the only one that may be used.
pub(crate) async fn open(directory: PathBuf) -> Result<Roots> {
    let opening = tokio::task::spawn_blocking(move || {
        std::fs::DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(&directory)
            .map_err(|error| unusable(&directory, &error))?;
        Roots::new([directory]).map_err(from_git)
    });
    opening
        .await
        .map_err(|error| Error::internal("opening the directory for code", error))?
}

fn unusable(directory: &Path, error: &io::Error) -> Error {
    let directory = directory.display().to_string();
    Error::new(
        ErrorKind::Unavailable,
        format!(
            "the directory {} for code could not be made: {error}",
            directory.escape_debug()
        ),
    )
    .hint("correct `exec.code_storage_dir` (CODE_STORAGE_DIR), or name a `workspace`")
}

/// One name for each subject, whatever characters it has: nobody can choose one that another has.
fn name_of(subject: &str) -> String {
    hex::encode(&Sha256::digest(subject.as_bytes())[..16])
}

#[cfg(test)]
mod tests {
    use agentyard_model::Subject;

    use super::*;

    fn external(subject: &str) -> Caller {
        Caller {
            subject: Subject::External {
                issuer: "https://issuer.example".to_owned(),
                subject: subject.to_owned(),
            },
            ..Caller::local()
        }
    }

    #[test]
    fn everybody_has_a_directory_of_their_own() {
        let scratch = Scratch::new(Path::new("/data"), ScratchSettings::default());
        let directories = ["ada", "Ada", "../ada", "a/b", ""].map(|name| scratch.of(&external(name)));
        for (index, directory) in directories.iter().enumerate() {
            let tenant = Path::new("/data/scratch").join(TenantId::LOCAL.to_string());
            assert_eq!(directory.parent(), Some(tenant.as_path()));
            assert!(!directories[..index].contains(directory));
        }
    }

    #[test]
    fn what_holds_too_much_is_not_given_by_accident() {
        let settings = ScratchSettings {
            code_storage: None,
            too_wide: vec!["/home/ada".into()],
        };
        let scratch = Scratch::new(Path::new("/data"), settings);
        for (directory, allowed) in [("/", false), ("/home/ada", false), ("/home/ada/project", true)] {
            assert_eq!(scratch.allows(Path::new(directory)), allowed, "{directory}");
        }
    }
}
