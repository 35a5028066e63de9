//! `agentyard audit verify`: proves that the audit log is whole.

use std::process::ExitCode;

use agentyard_git::Roots;
use agentyard_model::Caller;
use agentyard_operations::Selection;
use agentyard_services::{ErrorKind, WorkingDirectories};
use serde_json::json;

use crate::exit::Failure;
use crate::platform::{self, Setting};
use crate::{render, runtime};

/// Walks the chains, and fails at the first link that does not hold.
pub(crate) fn verify(setting: &Setting) -> Result<ExitCode, Failure> {
    if setting.global.server.is_some() {
        return Err(Failure::new(
            ErrorKind::InvalidInput,
            "the audit log is verified where its database is",
        )
        .hint("run this on the server's machine, without --server"));
    }
    let config = setting.config(Vec::new())?;
    let store = platform::store(&config)?;
    let roots = Roots::new([]).map_err(|error| Failure::new(ErrorKind::Internal, error))?;
    let directories = WorkingDirectories::Stored(store.clone());
    let platform = platform::platform(
        setting,
        platform::Behalf::Person,
        &config,
        &store,
        roots,
        directories,
        Selection::default(),
    )?;
    let caller = Caller::local();
    let found = runtime::one_thread()?.block_on(async {
        let found = platform.services.audit.verify(&caller).await;
        store.close().await;
        found
    });
    let found = found.map_err(|error| Failure::service(&error, &caller.request_id))?;
    match found.first_fault {
        None => {
            let answer = json!({ "whole": true, "tenants": found.tenants, "records": found.records });
            render::answer(&answer, setting.global.json).map_err(Failure::output)?;
            Ok(ExitCode::SUCCESS)
        }
        Some(fault) => Err(Failure::new(
            ErrorKind::Conflict,
            format!("the audit log is not whole: {fault}"),
        )
        .hint("compare with a backup; somebody has changed the database past Agentyard")),
    }
}
