//! What programs have in their environment beside what this process has.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use http::{Request, Response, StatusCode};

use super::routes::Daemon;
use super::{Initialization, calls};
use crate::connect::{Code, Fault};
use crate::exchange::{Body, empty};

/// How many variables can be set, so that programs can still be started.
const MOST_VARIABLES: usize = 1000;

/// The variables that were set for all programs.
#[derive(Debug, Default)]
pub(super) struct Environment(Mutex<BTreeMap<String, String>>);

impl Environment {
    /// What is set now.
    pub(super) fn variables(&self) -> BTreeMap<String, String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Sets these too.
    fn extend(&self, added: BTreeMap<String, String>) -> Result<(), Fault> {
        check(&added)?;
        let mut variables = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if variables.len() + added.len() > MOST_VARIABLES {
            let message = format!("a sandbox has at most {MOST_VARIABLES} environment variables of its own");
            return Err(Fault::new(Code::ResourceExhausted, message));
        }
        variables.extend(added);
        Ok(())
    }
}

/// Whether a program can have these in its environment.
pub(super) fn check(variables: &BTreeMap<String, String>) -> Result<(), Fault> {
    let is_wrong =
        |name: &String, value: &String| name.is_empty() || name.contains(['=', '\0']) || value.contains('\0');
    match variables.iter().find(|(name, value)| is_wrong(name, value)) {
        None => Ok(()),
        Some((name, _)) => Err(Fault::new(
            Code::InvalidArgument,
            format!(
                "the environment variable `{}` cannot be set: names are not empty and hold no `=`, \
                 and neither they nor values hold a zero byte",
                name.escape_debug()
            ),
        )),
    }
}

/// `POST /init`.
pub(super) async fn initialize(daemon: &Daemon, request: Request<Body>) -> Response<Body> {
    let told = async {
        let told: Initialization = calls::message(request.into_body()).await?;
        daemon.environment.extend(told.env_vars)
    };
    match told.await {
        Ok(()) => {
            let mut response = Response::new(empty());
            *response.status_mut() = StatusCode::NO_CONTENT;
            response
        }
        Err(fault) => calls::refused(&fault),
    }
}

/// `GET /envs`.
pub(super) fn show(daemon: &Daemon) -> Response<Body> {
    calls::json(&daemon.environment.variables()).unwrap_or_else(|fault| calls::refused(&fault))
}
