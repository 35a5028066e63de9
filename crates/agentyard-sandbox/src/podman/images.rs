//! Images that are there: found, fetched, or made of another by commands that are run once.

use std::fmt::Write as _;
use std::time::Duration;

use serde_json::Value;
use sha2::{Digest as _, Sha256};

use super::api::{Api, ApiError, clean};
use super::image::ImageName;
use super::service::refused;
use crate::command::CommandError;

/// How long fetching an image may take.
const PULL_LIMIT: Duration = Duration::from_secs(15 * 60);

/// How long making an image of a container may take.
const COMMIT_LIMIT: Duration = Duration::from_secs(10 * 60);

/// Where images are named that were made of others.
const SET_UP: &str = "localhost/agentyard-setup";

/// An image that is there.
#[derive(Debug, Clone)]
pub(super) struct Image {
    pub(super) id: String,
    pub(super) environment: Vec<(String, String)>,
}

impl Image {
    /// An image by its name, if it is there.
    pub(super) async fn find(api: &Api, name: &str) -> Result<Option<Self>, CommandError> {
        match api.get(&format!("/images/{name}/json")).await {
            Ok(found) => Ok(Self::read(&found)),
            Err(error) if error.is_missing() => Ok(None),
            Err(error) => Err(refused(&error)),
        }
    }

    /// Fetches an image from its registry.
    pub(super) async fn pull(api: &Api, name: &ImageName) -> Result<Self, CommandError> {
        let unavailable = |reason: String| CommandError::Refused {
            reason: format!("the image {name} is not on this machine{reason}"),
            remedy: format!("look at its name, or run `podman pull {name}` where the server runs"),
        };
        if name.is_local() {
            return Err(unavailable(String::new()));
        }
        let path = format!("/images/pull?reference={name}&quiet=true");
        let pulled = api.post_for(&path, PULL_LIMIT).await;
        let failure = match &pulled {
            Ok(told) => told["error"].as_str().map(clean),
            Err(error) => Some(error.to_string()),
        };
        if let Some(failure) = failure {
            return Err(unavailable(format!(" and could not be fetched: {failure}")));
        }
        Self::find(api, &name.to_string())
            .await?
            .ok_or_else(|| unavailable(" although it was fetched".to_owned()))
    }

    /// The name under which this image is kept after these commands. Another image under the same name, or another word in
    /// a command, gives another name.
    pub(super) fn name_after(&self, commands: &[String]) -> String {
        let mut digest = Sha256::new();
        digest.update(self.id.as_bytes());
        for command in commands {
            digest.update((command.len() as u64).to_le_bytes());
            digest.update(command.as_bytes());
        }
        let mut name = format!("{SET_UP}:");
        for byte in digest.finalize() {
            // Writing to a string cannot fail.
            let _ = write!(name, "{byte:02x}");
        }
        name
    }

    /// Makes an image of a container as it is now.
    pub(super) async fn commit(api: &Api, container: &str, name: &str) -> Result<(), ApiError> {
        let (repository, tag) = name.rsplit_once(':').unwrap_or((name, "latest"));
        let path = format!("/commit?container={container}&repo={repository}&tag={tag}&pause=false");
        api.post_for(&path, COMMIT_LIMIT).await.map(drop)
    }

    fn read(found: &Value) -> Option<Self> {
        let environment = found["Config"]["Env"].as_array().into_iter().flatten();
        let pair = |entry: &Value| {
            let (name, value) = entry.as_str()?.split_once('=')?;
            Some((name.to_owned(), value.to_owned()))
        };
        Some(Self {
            id: found["Id"].as_str()?.to_owned(),
            environment: environment.filter_map(pair).collect(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_image_is_made_anew_when_anything_differs() {
        let image = |id: &str| Image {
            id: id.to_owned(),
            environment: Vec::new(),
        };
        let words = |words: &[&str]| words.iter().map(|&word| word.to_owned()).collect::<Vec<_>>();
        let names = [
            image("a").name_after(&words(&["b", "c"])),
            image("a").name_after(&words(&["bc"])),
            image("a").name_after(&words(&["c", "b"])),
            image("ab").name_after(&words(&["c"])),
        ];
        for (index, name) in names.iter().enumerate() {
            assert!(!names[index + 1..].contains(name), "{name}");
        }
        assert_eq!(names[0], image("a").name_after(&words(&["b", "c"])));
    }
}
