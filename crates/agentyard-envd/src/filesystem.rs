//! `filesystem.Filesystem`: files that are looked at, moved, removed and watched. Messages as protocol buffers write them
//! in JSON. What files hold goes over plain HTTP.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// The path of its calls: `/filesystem.Filesystem/Stat`.
pub const SERVICE: &str = "filesystem.Filesystem";

/// A value in the query of `/files`: the first of this name. Which file is meant is its `path`, unless the files are named
/// one by one in the body.
#[must_use]
pub fn parameter(query: &str, wanted: &str) -> Option<String> {
    let value = query.split('&').find_map(|pair| {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        (name == wanted).then_some(value)
    })?;
    let spaced = value.replace('+', " ");
    let decoded = percent_encoding::percent_decode_str(&spaced).decode_utf8_lossy();
    Some(decoded.into_owned())
}

/// `Stat` and `MakeDir`, which answer with an [`EntryResponse`], and `Remove`, which answers with nothing.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct PathRequest {
    /// Where; below the home directory when it is not absolute.
    pub path: String,
}

/// `Move`, which answers with an [`EntryResponse`].
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct MoveRequest {
    /// From where.
    pub source: String,
    /// To where.
    pub destination: String,
}

/// An entry, as an answer.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct EntryResponse {
    /// The entry.
    pub entry: Entry,
}

/// Something in a directory.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Entry {
    /// Its name.
    pub name: String,
    /// What it is; of a link, what it leads to.
    #[serde(rename = "type")]
    pub kind: Kind,
    /// Its whole path.
    pub path: String,
    /// Its length. Written as text, as all numbers of 64 bits.
    #[serde(with = "text_number")]
    pub size: i64,
    /// Its mode.
    pub mode: u32,
    /// The same in letters, almost as `ls` shows it: `-rw-r--r--`.
    pub permissions: String,
    /// Whose it is.
    pub owner: String,
    /// Of which group.
    pub group: String,
    /// When it was changed, as RFC 3339 writes it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub modified_time: Option<String>,
    /// Where it leads, if it is a link.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub symlink_target: Option<String>,
    /// What was said about it when it was written.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub metadata: BTreeMap<String, String>,
    /// Whether it is a link.
    pub is_symlink: bool,
}

/// What an entry is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum Kind {
    /// Something else.
    #[default]
    #[serde(rename = "FILE_TYPE_UNSPECIFIED")]
    Unspecified,
    /// A file.
    #[serde(rename = "FILE_TYPE_FILE")]
    File,
    /// A directory.
    #[serde(rename = "FILE_TYPE_DIRECTORY")]
    Directory,
    /// A link that leads nowhere.
    #[serde(rename = "FILE_TYPE_SYMLINK")]
    Symlink,
}

/// `ListDir`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct ListRequest {
    /// Where.
    pub path: String,
    /// How deep; 1 is the directory itself.
    pub depth: u32,
}

/// What `ListDir` answers.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct ListResponse {
    /// What is there.
    pub entries: Vec<Entry>,
}

/// `WatchDir`, which answers with [`WatchEvent`]s, and `CreateWatcher`, which answers with a [`Watcher`].
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct WatchRequest {
    /// Which directory.
    pub path: String,
    /// Whether those below it too.
    pub recursive: bool,
    /// Whether to tell of what changed as a whole.
    pub include_entry: bool,
    /// Whether a network's file systems may be watched.
    pub allow_network_mounts: bool,
}

/// What happens while a directory is watched: one message of a stream.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum WatchEvent {
    /// It is watched from now on.
    Start {},
    /// Something changed.
    Filesystem(Box<Change>),
    /// Nothing, so that nobody thinks the connection dead.
    Keepalive {},
}

/// Something that changed.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Change {
    /// Where, below the directory that is watched.
    pub name: String,
    /// How.
    #[serde(rename = "type")]
    pub kind: ChangeKind,
    /// What is there now, if that was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub entry: Option<Entry>,
}

/// How something changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum ChangeKind {
    /// Somehow.
    #[default]
    #[serde(rename = "EVENT_TYPE_UNSPECIFIED")]
    Unspecified,
    /// It is new.
    #[serde(rename = "EVENT_TYPE_CREATE")]
    Create,
    /// It holds something else.
    #[serde(rename = "EVENT_TYPE_WRITE")]
    Write,
    /// It is gone.
    #[serde(rename = "EVENT_TYPE_REMOVE")]
    Remove,
    /// It is elsewhere.
    #[serde(rename = "EVENT_TYPE_RENAME")]
    Rename,
    /// Others may use it.
    #[serde(rename = "EVENT_TYPE_CHMOD")]
    Chmod,
}

/// What `CreateWatcher` answers; also `GetWatcherEvents`, which answers with [`Changes`], and `RemoveWatcher`, which
/// answers with nothing.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Watcher {
    /// By what it is found again.
    pub watcher_id: String,
}

/// What changed since it was asked for last.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Changes {
    /// In order.
    pub events: Vec<Change>,
}

/// Numbers of 64 bits, which JSON's readers often cannot hold: written as text, read as either.
mod text_number {
    use serde::{Deserialize as _, Deserializer, Serializer};

    pub(super) fn serialize<S: Serializer>(number: &i64, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(number)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<i64, D::Error> {
        match serde_json::Value::deserialize(deserializer)? {
            serde_json::Value::Number(number) => number.as_i64(),
            serde_json::Value::String(text) => text.parse().ok(),
            _ => None,
        }
        .ok_or_else(|| serde::de::Error::custom("not a number of 64 bits"))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn messages_are_written_as_protocol_buffers_have_them() {
        let change = Change {
            name: "a".to_owned(),
            kind: ChangeKind::Create,
            entry: None,
        };
        for (event, expected) in [
            (WatchEvent::Start {}, json!({ "start": {} })),
            (WatchEvent::Keepalive {}, json!({ "keepalive": {} })),
            (
                WatchEvent::Filesystem(Box::new(change)),
                json!({ "filesystem": { "name": "a", "type": "EVENT_TYPE_CREATE" } }),
            ),
        ] {
            assert_eq!(serde_json::to_value(event).unwrap(), expected);
        }
        let entry = serde_json::to_value(Entry::default()).unwrap();
        assert_eq!(entry["size"], json!("0"));
        let request: WatchRequest =
            serde_json::from_value(json!({ "path": "a", "includeEntry": true })).unwrap();
        assert!(request.include_entry);
    }
}
