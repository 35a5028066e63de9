//! With what a tree can be worked on.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use agentyard_git::FileTree;
use agentyard_model::Caller;
use agentyard_sandbox::{Machine, Tool};
use tokio::sync::Mutex;
use tokio::time::Instant;

use super::Files;
use super::project::{self, ProjectPart};
use crate::error::{Error, Result};
use crate::places::Place;

/// What there is to work with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Environment {
    /// The tree.
    pub directory: PathBuf,
    /// Whether commands are run here.
    pub runs_commands: bool,
    /// The programs that are there.
    pub tools: Arc<Vec<Tool>>,
    /// What the project says about itself.
    pub project: Vec<ProjectPart>,
}

/// The programs of this machine, asked for anew after a while.
pub(super) struct Toolbox {
    machine: Machine,
    known: Mutex<Option<(Instant, Arc<Vec<Tool>>)>>,
}

/// Somebody may install something meanwhile.
const KNOWN_FOR: Duration = Duration::from_secs(300);

impl Files {
    /// With what the tree can be worked on: programs and their versions, and what the project says that it uses.
    ///
    /// # Errors
    /// When the caller may not read, or there is no such tree.
    pub async fn environment(&self, caller: &Caller, place: &Place) -> Result<Environment> {
        let read = self.places.read(caller, place, |tree, cancel| {
            let tree = FileTree::open(tree)?;
            let files = tree.project_files(project::NAMES, cancel)?;
            Ok((tree.path().to_owned(), project::parts(&files)))
        });
        let (directory, project) = read.await?;
        Ok(Environment {
            directory,
            runs_commands: self.runs_commands,
            tools: self.toolbox.tools().await?,
            project,
        })
    }
}

impl Toolbox {
    pub(super) fn new(machine: Machine) -> Self {
        Self {
            machine,
            known: Mutex::default(),
        }
    }

    /// One caller asks; the others wait for what it learns.
    async fn tools(&self) -> Result<Arc<Vec<Tool>>> {
        let mut known = self.known.lock().await;
        if let Some((asked_at, tools)) = &*known
            && asked_at.elapsed() < KNOWN_FOR
        {
            return Ok(Arc::clone(tools));
        }
        let machine = self.machine.clone();
        let tools = tokio::task::spawn_blocking(move || machine.toolbox())
            .await
            .map_err(|error| Error::internal("asking programs for their versions", error))?;
        let tools = Arc::new(tools);
        *known = Some((Instant::now(), Arc::clone(&tools)));
        Ok(tools)
    }
}
