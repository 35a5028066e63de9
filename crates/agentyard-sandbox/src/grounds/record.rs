//! What is written down about a sandbox or a snapshot.

use std::fs;
use std::io;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::{CopyWay, GroundsError, at};

/// The file in which it stands.
const FILE: &str = "record.json";

/// What a sandbox or a snapshot stands on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Record {
    /// How it was made.
    pub(super) way: CopyWay,
    /// The layers below, the uppermost first.
    pub(super) layers: Vec<String>,
    /// How many bytes these hold, all together.
    #[serde(default)]
    pub(super) bytes: u64,
}

impl Default for Record {
    fn default() -> Self {
        Self {
            way: CopyWay::Copied,
            layers: Vec::new(),
            bytes: 0,
        }
    }
}

impl Record {
    pub(super) fn write(&self, directory: &Path) -> Result<(), GroundsError> {
        let path = directory.join(FILE);
        let text = serde_json::to_vec(self).map_err(at("writing", &path))?;
        fs::write(&path, text).map_err(at("writing", &path))
    }

    /// Nothing where there is none.
    pub(super) fn read(directory: &Path) -> Result<Option<Self>, GroundsError> {
        let path = directory.join(FILE);
        match fs::read(&path) {
            Ok(text) => serde_json::from_slice(&text)
                .map(Some)
                .map_err(at("reading", &path)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(at("reading", &path)(error)),
        }
    }
}
