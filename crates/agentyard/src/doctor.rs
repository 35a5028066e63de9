//! `agentyard doctor`: what this machine can do, and how to get the rest.

mod cluster;
mod confinement;
mod data_directory;
mod disk;
mod limits;
mod sandbox;
mod standing;
mod table;
mod workspaces;

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use agentyard_sandbox::namespace::Trial;
use agentyard_sandbox::{Finding, Machine, MachineContext, State};
use serde::Serialize;

use crate::config::{Environment, WorkspaceSettings};
pub(crate) use sandbox::TriedSandbox;

/// What the doctor is told.
#[derive(Debug)]
pub(crate) struct Examination<'a> {
    /// The environment.
    pub(crate) environment: &'a Environment,
    /// The data directory, or why there is none.
    pub(crate) data_dir: Result<&'a Path, String>,
    /// How workspaces are to be made.
    pub(crate) workspaces: &'a WorkspaceSettings,
    /// Where commands and code run.
    pub(crate) sandbox: TriedSandbox,
    /// How to try whether views can be mounted.
    pub(crate) trial: Option<Trial>,
    /// What was seen of the database, or why it cannot be reached.
    pub(crate) database: Result<String, String>,
}

/// What the doctor found.
#[derive(Debug, Serialize)]
pub(crate) struct Report {
    rows: Vec<Row>,
}

/// One thing that was looked at.
#[derive(Debug, Serialize)]
struct Row {
    #[serde(flatten)]
    finding: Finding,
    /// Whether Agentyard cannot do without it today.
    needed: bool,
}

impl Report {
    /// Whether everything works that is needed now.
    pub(crate) fn is_fit(&self) -> bool {
        !self
            .rows
            .iter()
            .any(|row| row.needed && row.finding.state == State::Missing)
    }

    /// The report for people.
    pub(crate) fn to_table(&self, look: Look) -> String {
        table::render(&self.rows, look)
    }
}

/// How a report looks.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Look {
    /// Whether states are coloured.
    pub(crate) colours: bool,
    /// The width to keep to, in columns; without one, lines are as long as they are.
    pub(crate) width: Option<u16>,
}

/// Looks at everything. It takes up to a few seconds, since everything is tried.
pub(crate) fn examine(examination: &Examination<'_>) -> Report {
    let (data_directory, work_place) = data_directory::look(&examination.data_dir);
    let machine = machine(examination.environment, work_place.clone());
    let (isolation, tools) = std::thread::scope(|scope| {
        let isolation = scope.spawn(|| machine.isolation());
        let tools = machine.tools();
        (isolation.join().unwrap_or_default(), tools)
    });
    let views = workspaces::views(examination.workspaces, examination.trial.as_ref(), &work_place);
    let reflink = isolation.iter().find(|finding| finding.what == "reflink");
    let workspaces = workspaces::look(examination.workspaces.way, views.clone(), reflink);
    let means = standing::Means {
        views: &views,
        reflink,
        freezer: Machine::freezer,
    };
    let standing = standing::look(&examination.sandbox, &means);
    let needed = [machine.git(), database(&examination.database), data_directory];
    let helpful = [confinement::look(examination.environment)]
        .into_iter()
        .chain([workspaces, sandbox::look(&examination.sandbox), standing])
        .chain(isolation)
        .chain(tools)
        .chain([
            cluster::look(examination.environment),
            disk::look(&work_place),
            limits::inotify(),
            limits::open_files(),
        ]);
    let row = |needed| move |finding| Row { finding, needed };
    Report {
        rows: needed
            .into_iter()
            .map(row(true))
            .chain(helpful.map(row(false)))
            .collect(),
    }
}

fn machine(environment: &Environment, scratch: PathBuf) -> Machine {
    Machine::new(MachineContext {
        search_path: environment.value("PATH").map(OsString::from).unwrap_or_default(),
        home: environment.home().map(Path::to_path_buf),
        runtime_directory: environment.value("XDG_RUNTIME_DIR").map(PathBuf::from),
        scratch,
    })
}

fn database(reached: &Result<String, String>) -> Finding {
    const WHAT: &str = "database";
    match reached {
        Ok(detail) => Finding::ok(WHAT, detail),
        Err(reason) => Finding::missing(
            WHAT,
            reason,
            "correct `store.url` (AGENTYARD_DATABASE_URL), or unset it to use SQLite in the data directory",
        ),
    }
}

#[cfg(test)]
mod tests;
