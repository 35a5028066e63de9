//! Code: kept in files, run, and given the packages that it imports.

mod append_to_code_file;
mod check_installed_packages;
mod code_file_view;
mod configure_environment;
mod environment_view;
mod execute_code;
mod execute_code_file;
mod execution_view;
mod get_environment_config;
mod initialize_code_file;
mod install_dependencies;
mod list_executions;
mod overwrite_code_file;
mod read_code_file;

use agentyard_services::Place;

use crate::registry::Entry;

pub(crate) const ALL: &[Entry] = &[
    Entry::of::<execute_code::ExecuteCode>(),
    Entry::of::<execute_code_file::ExecuteCodeFile>(),
    Entry::of::<initialize_code_file::InitializeCodeFile>(),
    Entry::of::<append_to_code_file::AppendToCodeFile>(),
    Entry::of::<overwrite_code_file::OverwriteCodeFile>(),
    Entry::of::<read_code_file::ReadCodeFile>(),
    Entry::of::<install_dependencies::InstallDependencies>(),
    Entry::of::<check_installed_packages::CheckInstalledPackages>(),
    Entry::of::<configure_environment::ConfigureEnvironment>(),
    Entry::of::<get_environment_config::GetEnvironmentConfig>(),
    Entry::of::<list_executions::ListExecutions>(),
];

/// How other servers call a file that holds code.
const PATH_ALIASES: &[(&str, &str)] = &[("file_path", "path"), ("filename", "path")];

/// Where a call is to work: a caller who names nothing has a place of its own.
fn place(workspace: Option<String>, repo: Option<String>, branch: Option<String>) -> Place {
    Place {
        workspace,
        repo,
        branch,
        scratch: true,
    }
}
