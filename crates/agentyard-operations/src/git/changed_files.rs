//! Files by what happened to them.

use agentyard_services::{Conflicted, Moved, Staged};
use schemars::JsonSchema;
use serde::{Serialize, Serializer};
use serde_json::{Map, Value, json};

/// Changed files, one after another so that the list can be cut anywhere, and grouped when it is written.
#[derive(JsonSchema, Default)]
pub(super) struct ChangedFiles(#[schemars(with = "Shape")] Vec<(&'static str, Value)>);

/// What [`ChangedFiles`] look like on the wire.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "only its schema is of interest")]
pub(super) struct Shape {
    added: Option<Vec<String>>,
    modified: Option<Vec<String>>,
    deleted: Option<Vec<String>>,
    renamed: Option<Vec<MovedShape>>,
    copied: Option<Vec<MovedShape>>,
    type_changed: Option<Vec<String>>,
}

#[derive(JsonSchema)]
#[expect(dead_code, reason = "only its schema is of interest")]
pub(super) struct MovedShape {
    from: String,
    to: String,
}

impl ChangedFiles {
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn truncate(&mut self, count: usize) {
        self.0.truncate(count);
    }
}

impl From<Staged> for ChangedFiles {
    fn from(staged: Staged) -> Self {
        let mut files = Vec::with_capacity(staged.len());
        let paths = |kind, paths: Vec<String>| paths.into_iter().map(move |path| (kind, Value::from(path)));
        let moves = |kind, moves: Vec<Moved>| {
            moves
                .into_iter()
                .map(move |moved| (kind, json!({ "from": moved.from, "to": moved.to })))
        };
        files.extend(paths("added", staged.added));
        files.extend(paths("modified", staged.modified));
        files.extend(paths("deleted", staged.deleted));
        files.extend(moves("renamed", staged.renamed));
        files.extend(moves("copied", staged.copied));
        files.extend(paths("type_changed", staged.type_changed));
        Self(files)
    }
}

impl Serialize for ChangedFiles {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut grouped = Map::new();
        for (kind, file) in &self.0 {
            let list = grouped.entry(*kind).or_insert_with(|| Value::Array(Vec::new()));
            if let Value::Array(files) = list {
                files.push(file.clone());
            }
        }
        grouped.serialize(serializer)
    }
}

/// The paths of files with conflicts.
pub(super) fn conflicted_paths(conflicted: Vec<Conflicted>) -> Vec<String> {
    conflicted.into_iter().map(|file| file.path).collect()
}
