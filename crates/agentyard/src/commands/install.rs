//! `agentyard mcp install`: connects a client.

use std::process::ExitCode;

use agentyard_services::ErrorKind;

use crate::cli::InstallArgs;
use crate::clients::{ClientError, Installation, Places};
use crate::exit::Failure;
use crate::platform::{self, Setting};
use crate::render;

/// Prints what connects the client, or writes it where the client looks.
pub(crate) fn install(setting: &Setting, arguments: &InstallArgs) -> Result<ExitCode, Failure> {
    let refused = |error: ClientError| Failure::new(ErrorKind::InvalidInput, platform::with_causes(&error));
    let server = match setting.server()? {
        Some(address) => {
            let address = address.parse().map_err(refused)?;
            Some((address, arguments.token_env.parse().map_err(refused)?))
        }
        None => None,
    };
    let program = std::env::current_exe().map_err(|error| {
        Failure::new(
            ErrorKind::Unavailable,
            format!("this program's own path is unknown: {error}"),
        )
    })?;
    let places = Places::new(&setting.environment, &platform::current_directory()?);
    let installation =
        Installation::new(arguments.client, arguments.scope, server, &program, &places).map_err(refused)?;
    let said = if arguments.write {
        installation.write().map_err(refused)?
    } else {
        installation.instructions()
    };
    render::text(&said).map_err(Failure::output)?;
    Ok(ExitCode::SUCCESS)
}
