//! Wiring of the execution log: from its settings to where records go.

use std::time::Duration;

use agentyard_services::{ErrorKind, ExecutionSettings, SurrealCredentials, SurrealLevel, SurrealSettings};

use crate::config::{self, SurrealUserLevel};
use crate::exit::Failure;

/// How records are kept and sent. Settings that can never work are told at once.
pub(crate) fn settings(settings: &config::ExecutionSettings) -> Result<ExecutionSettings, Failure> {
    let surreal = settings.surreal_url.as_ref().map(|url| {
        Ok::<_, Failure>(SurrealSettings {
            url: url.clone(),
            namespace: settings.surreal_namespace.clone(),
            database: settings.surreal_database.clone(),
            table: settings.surreal_table.clone(),
            credentials: credentials(settings)?,
            batch: settings.surreal_batch,
            flush_interval: Duration::from_millis(settings.surreal_flush_ms),
            timeout: Duration::from_millis(settings.surreal_timeout_ms),
        })
    });
    let surreal = surreal.transpose()?;
    if let Some(surreal) = &surreal {
        surreal
            .check()
            .map_err(|error| Failure::new(ErrorKind::InvalidInput, error))?;
    }
    Ok(ExecutionSettings {
        keep_days: settings.keep_days,
        keep_count: settings.keep_count,
        surreal,
    })
}

fn credentials(settings: &config::ExecutionSettings) -> Result<SurrealCredentials, Failure> {
    let named = (&settings.surreal_username, &settings.surreal_password);
    match (&settings.surreal_token, named) {
        (Some(token), (None, None)) => Ok(SurrealCredentials::Token(token.clone())),
        (None, (Some(username), Some(password))) => Ok(SurrealCredentials::Password {
            username: username.clone(),
            password: password.clone(),
            level: match settings.surreal_user_level {
                SurrealUserLevel::Root => SurrealLevel::Root,
                SurrealUserLevel::Namespace => SurrealLevel::Namespace,
                SurrealUserLevel::Database => SurrealLevel::Database,
            },
        }),
        (None, (None, None)) => Ok(SurrealCredentials::None),
        _ => Err(Failure::new(
            ErrorKind::InvalidInput,
            "`executions`: SurrealDB is given half a way to know us, or two",
        )
        .hint("set `surreal_username` and `surreal_password`, or `surreal_token`, or none of them")),
    }
}

#[cfg(test)]
mod tests {
    use agentyard_model::Secret;

    use super::*;

    fn with(change: impl FnOnce(&mut config::ExecutionSettings)) -> Result<ExecutionSettings, Failure> {
        let mut configured = config::ExecutionSettings {
            surreal_url: Some("http://127.0.0.1:8000".to_owned()),
            ..config::ExecutionSettings::default()
        };
        change(&mut configured);
        settings(&configured)
    }

    #[test]
    fn nothing_is_sent_unless_a_server_is_named() {
        assert!(
            settings(&config::ExecutionSettings::default())
                .unwrap()
                .surreal
                .is_none()
        );
        assert!(with(|_| {}).unwrap().surreal.is_some());
    }

    #[test]
    fn a_server_knows_us_in_one_way() {
        let user = |it: &mut config::ExecutionSettings| it.surreal_username = Some("ada".to_owned());
        let password =
            |it: &mut config::ExecutionSettings| it.surreal_password = Some(Secret::new("hunter22"));
        let token = |it: &mut config::ExecutionSettings| it.surreal_token = Some(Secret::new("hunter22"));
        let known = with(|it| {
            user(it);
            password(it);
        });
        let credentials = known.unwrap().surreal.unwrap().credentials;
        assert!(matches!(
            credentials,
            SurrealCredentials::Password {
                level: SurrealLevel::Root,
                ..
            }
        ));
        assert!(matches!(
            with(token).unwrap().surreal.unwrap().credentials,
            SurrealCredentials::Token(_)
        ));
        assert!(with(user).is_err() && with(password).is_err());
        assert!(
            with(|it| {
                user(it);
                password(it);
                token(it);
            })
            .is_err()
        );
        assert!(with(|it| it.surreal_table = "a b".to_owned()).is_err());
    }
}
