//! What a probe found.

use serde::Serialize;

/// Whether something works.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// It works.
    Ok,
    /// It works in part.
    Limited,
    /// It does not work.
    Missing,
}

/// What a probe found, and how to get what is not there.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// What was looked at.
    pub what: &'static str,
    /// Whether it works.
    pub state: State,
    /// What was seen.
    pub detail: String,
    /// What to do about it.
    pub remedy: Option<String>,
}

impl Finding {
    /// Something that works.
    #[must_use]
    pub fn ok(what: &'static str, detail: impl Into<String>) -> Self {
        Self {
            what,
            state: State::Ok,
            detail: detail.into(),
            remedy: None,
        }
    }

    /// Something that works in part.
    #[must_use]
    pub fn limited(what: &'static str, detail: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self {
            what,
            state: State::Limited,
            detail: detail.into(),
            remedy: Some(remedy.into()),
        }
    }

    /// Something that does not work.
    #[must_use]
    pub fn missing(what: &'static str, detail: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self {
            what,
            state: State::Missing,
            detail: detail.into(),
            remedy: Some(remedy.into()),
        }
    }
}
