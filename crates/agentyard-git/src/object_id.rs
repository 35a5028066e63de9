//! Names of objects.

use std::fmt;
use std::str::FromStr;

/// The full name of an object, SHA-1 or SHA-256.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ObjectId(gix::ObjectId);

/// The text is not the full name of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("an object id has 40 or 64 hexadecimal digits")]
pub struct InvalidObjectId;

impl From<gix::ObjectId> for ObjectId {
    fn from(id: gix::ObjectId) -> Self {
        Self(id)
    }
}

impl From<ObjectId> for gix::ObjectId {
    fn from(id: ObjectId) -> Self {
        id.0
    }
}

impl FromStr for ObjectId {
    type Err = InvalidObjectId;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        gix::ObjectId::from_hex(text.as_bytes())
            .map(Self)
            .map_err(|_| InvalidObjectId)
    }
}

impl fmt::Display for ObjectId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}", self.0)
    }
}

impl fmt::Debug for ObjectId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "ObjectId({})", self.0)
    }
}
