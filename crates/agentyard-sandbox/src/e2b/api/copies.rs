//! Snapshots and forks, which the service makes and keeps.

use std::time::Duration;

use http::{Method, StatusCode};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{Api, ApiError, Made, one_line, seconds};

/// What a segment of a path may hold as it is.
const SEGMENT: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_');

/// How long the name of a snapshot may be.
const MAX_NAME: usize = 256;

#[derive(Deserialize)]
struct Taken {
    #[serde(rename = "snapshotID")]
    id: String,
}

/// One fork, or why there is none.
#[derive(Deserialize)]
struct Forked {
    sandbox: Option<Value>,
    error: Option<Failure>,
}

#[derive(Deserialize)]
#[serde(default)]
#[derive(Default)]
struct Failure {
    code: u16,
    message: String,
}

impl Api {
    /// Keeps a sandbox as it is, and tells what the service calls that.
    pub(in super::super) async fn snapshot(&self, id: &str, name: &str) -> Result<String, ApiError> {
        let what = "making a snapshot";
        let path = format!("sandboxes/{id}/snapshots");
        let body = json!({ "name": name });
        let answer = self.call(what, Method::POST, &path, Some(&body), false).await?;
        let Taken { id } = self.read(what, &answer)?;
        if id.is_empty() || id.len() > MAX_NAME || !id.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(self.unreadable(what, &"the snapshot's name is none"));
        }
        Ok(id)
    }

    /// Removes a snapshot. One that is gone is removed.
    pub(in super::super) async fn remove_snapshot(&self, name: &str) -> Result<(), ApiError> {
        // A name has whatever the service put into it, and is one segment all the same.
        let path = format!("templates/{}", utf8_percent_encode(name, SEGMENT));
        let removed = self
            .call("removing a snapshot", Method::DELETE, &path, None, false)
            .await;
        match removed {
            Err(error) if error.is_gone() => Ok(()),
            removed => removed.map(drop),
        }
    }

    /// Makes copies of a sandbox, each of which may fail by itself.
    pub(in super::super) async fn fork(
        &self,
        id: &str,
        count: u32,
        lifetime: Duration,
    ) -> Result<Vec<Result<Made, ApiError>>, ApiError> {
        let what = "forking a sandbox";
        let path = format!("sandboxes/{id}/fork");
        let body = json!({ "timeout": seconds(lifetime), "count": count });
        let answer = self.call(what, Method::POST, &path, Some(&body), false).await?;
        let forks: Vec<Forked> = self.read(what, &answer)?;
        if forks.len() != count as usize {
            let told = format!("{count} copies were asked for, and it tells of {}", forks.len());
            return Err(self.unreadable(what, &told));
        }
        let fork = |forked: Forked| match forked {
            Forked {
                sandbox: Some(sandbox),
                error: None,
            } => {
                let made = serde_json::from_value(sandbox).map_err(|error| self.unreadable(what, &error));
                self.checked(what, made?)
            }
            Forked { error, .. } => {
                let failure = error.unwrap_or_default();
                Err(ApiError::Refused {
                    what,
                    host: self.host(),
                    status: StatusCode::from_u16(failure.code).unwrap_or(StatusCode::BAD_GATEWAY),
                    message: one_line(&failure.message),
                })
            }
        };
        Ok(forks.into_iter().map(fork).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_one_segment() {
        let segment = |name: &str| utf8_percent_encode(name, SEGMENT).to_string();
        assert_eq!(segment("team/name:v1"), "team%2Fname%3Av1");
        assert_eq!(segment("../sandboxes?x#y"), "%2E%2E%2Fsandboxes%3Fx%23y");
        assert_eq!(segment("snap-1_a"), "snap-1_a");
    }
}
