//! `agentyard trust`: which repositories may run their own programs. No tool does this: it is for a person.

use std::path::Path;
use std::process::ExitCode;

use agentyard_git::Repository;
use agentyard_model::Caller;
use agentyard_services::{Error, ErrorKind, Services, WorkingDirectories};
use serde_json::{Value, json};

use crate::cli::TrustArgs;
use crate::exit::Failure;
use crate::platform::{self, Setting};
use crate::{render, runtime};

/// Trusts a repository, revokes that, or lists what is trusted.
pub(crate) fn trust(setting: &Setting, arguments: &TrustArgs) -> Result<ExitCode, Failure> {
    if setting.global.server.is_some() {
        return Err(Failure::new(
            ErrorKind::InvalidInput,
            "repositories are trusted on the machine where they are",
        )
        .hint("run this there, without --server"));
    }
    let config = setting.config(Vec::new())?;
    let store = platform::store(&config)?;
    let directory = match &arguments.directory {
        Some(directory) => Some(platform::absolute(directory)?),
        None => None,
    };
    let platform = platform::platform(
        setting,
        platform::Behalf::Person,
        &config,
        &store,
        platform::opened(Vec::new())?,
        WorkingDirectories::Stored(store.clone()),
        agentyard_operations::Selection::default(),
    )?;
    let caller = Caller::local();
    let answer = runtime::one_thread()?.block_on(async {
        let answer = match directory {
            None => list(&platform.services, &caller).await,
            Some(directory) if arguments.revoke => revoke(&platform.services, &caller, &directory).await,
            Some(directory) => add(&platform.services, &caller, &directory).await,
        };
        store.close().await;
        answer
    })?;
    render::answer(&answer, setting.global.json).map_err(Failure::output)?;
    Ok(ExitCode::SUCCESS)
}

async fn list(services: &Services, caller: &Caller) -> Result<Value, Failure> {
    let trusted = services.trust.list(caller).await.map_err(failure(caller))?;
    let trusted: Vec<Value> = trusted
        .iter()
        .map(|repository| json!({ "repository": repository.path, "trusted_at": repository.trusted_at }))
        .collect();
    Ok(json!({ "trusted": trusted }))
}

async fn add(services: &Services, caller: &Caller, directory: &Path) -> Result<Value, Failure> {
    let repository = repository_at(directory)?;
    let runs = repository.programs();
    let path = services
        .trust
        .add(caller, &repository)
        .await
        .map_err(failure(caller))?;
    Ok(json!({ "trusted": path, "may_run": runs }))
}

async fn revoke(services: &Services, caller: &Caller, directory: &Path) -> Result<Value, Failure> {
    // What is listed may be gone, and is revoked by its name then.
    let path = match repository_at(directory) {
        Ok(repository) => repository.common_dir().to_owned(),
        Err(_) => directory.to_owned(),
    };
    if services
        .trust
        .revoke(caller, &path)
        .await
        .map_err(failure(caller))?
    {
        return Ok(json!({ "revoked": path }));
    }
    Err(
        Failure::new(ErrorKind::NotFound, format!("{} is not trusted", path.display()))
            .hint("`agentyard trust --list` shows what is"),
    )
}

/// Whoever stands at the terminal may look wherever the system lets them.
fn repository_at(directory: &Path) -> Result<Repository, Failure> {
    let top = platform::enclosing_repository(directory);
    platform::opened(platform::own_roots_of([top]))?
        .resolve(directory)
        .and_then(|directory| Repository::open(&directory))
        .map_err(|error| Failure::new(ErrorKind::InvalidInput, platform::with_causes(&error)))
}

fn failure(caller: &Caller) -> impl Fn(Error) -> Failure + '_ {
    |error| Failure::service(&error, &caller.request_id)
}
