//! PostgreSQL: a server that may be away for a while.

use std::str::FromStr;
use std::time::Duration;

use agentyard_model::Secret;
use sqlx::postgres::{PgConnectOptions, PgConnection, PgPoolOptions};
use sqlx::{Connection, Executor};

use super::Database;
use crate::{Error, Result};

/// How long to wait for a connection, which is also how long a server may take to come
/// back without a call failing.
const ACQUIRE_TIMEOUT: Duration = Duration::from_secs(5);

/// How long a connection may take to prove that it is still good.
const PROOF_TIMEOUT: Duration = Duration::from_secs(5);

/// Limits that the server keeps for us, also after we are gone: were this machine to
/// lose its power in a transaction, the rows that it holds would otherwise stay locked
/// until the server's TCP gives up, hours later.
const SESSION_LIMITS: &str = "SET statement_timeout = '25s'; SET lock_timeout = '20s'; \
     SET idle_in_transaction_session_timeout = '30s'";

/// What may follow the `?` of a URL.
const PARAMETERS: &[&str] = &[
    "application_name",
    "dbname",
    "host",
    "hostaddr",
    "options",
    "password",
    "port",
    "sslcert",
    "sslkey",
    "sslmode",
    "sslrootcert",
    "statement-cache-capacity",
    "user",
];

/// A pool of connections to this server. None is made before it is needed.
pub(super) fn connect(url: &Secret, max_connections: u32) -> Result<Database> {
    let pool = PgPoolOptions::new()
        .max_connections(max_connections.max(1))
        .acquire_timeout(ACQUIRE_TIMEOUT)
        .after_connect(|connection, _| {
            Box::pin(async move {
                connection.execute(SESSION_LIMITS).await?;
                Ok(())
            })
        })
        // The pool asks a returning connection whether it still works, and would wait
        // for ever for one that went silent. It must not come to that question.
        .after_release(|connection, _| Box::pin(prove(connection)))
        .connect_lazy_with(options(url)?);
    Ok(Database::Postgres(pool))
}

/// Reads the URL. None of the parser's own words are passed on, since they may quote it.
fn options(url: &Secret) -> Result<PgConnectOptions> {
    let text = url.expose();
    if !["postgres://", "postgresql://"]
        .iter()
        .any(|scheme| text.starts_with(scheme))
    {
        return Err(invalid("it does not begin with `postgres://`"));
    }
    // The parser would log a parameter that it does not know, and its value with it.
    let mut names = text
        .split_once('?')
        .map_or("", |(_, parameters)| parameters)
        .split('&')
        .filter(|parameter| !parameter.is_empty())
        .map(|parameter| parameter.split_once('=').map_or(parameter, |(name, _)| name));
    if !names.all(|name| PARAMETERS.contains(&name)) {
        return Err(invalid("it has a parameter that is not known"));
    }
    PgConnectOptions::from_str(text).map_err(|_| invalid("it is malformed"))
}

fn invalid(reason: &'static str) -> Error {
    Error::InvalidUrl { reason }
}

async fn prove(connection: &mut PgConnection) -> sqlx::Result<bool> {
    match tokio::time::timeout(PROOF_TIMEOUT, connection.ping()).await {
        Ok(answer) => answer.map(|()| true),
        Err(_) => Err(sqlx::Error::PoolTimedOut),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_is_refused_without_being_shown() {
        for url in [
            "mysql://me:hunter2@host/db",
            "postgres://me:hunter2@host:port/db",
            "postgres://me@host/db?passwort=hunter2",
            "postgres://me@host/db?hunter2",
            "postgres://me@host/db?sslmode=hunter2",
            "hunter2",
            "",
        ] {
            let error = options(&Secret::new(url)).unwrap_err();
            let shown = format!("{error} {error:?}");
            assert!(!shown.contains("hunter2"), "{shown}");
        }
        assert!(options(&Secret::new("postgresql://me@host:5432/db?sslmode=require")).is_ok());
    }
}
