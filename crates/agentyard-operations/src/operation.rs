//! What an operation is: declared once, shown on three faces.

use std::fmt;

use agentyard_model::{Caller, Permission, Toolset};
use agentyard_services::{Progress, Result, Services};
use schemars::JsonSchema;
use serde::de::DeserializeOwned;

use crate::output::Output;

/// One thing that a client can ask for.
///
/// The doc comment on `Input` is the description that clients read, and those on its
/// fields describe the arguments. A `call` converts, calls one service method, and
/// converts back; a branch in it belongs below.
pub trait Operation: 'static {
    /// The MCP tool's name; route and command are built from the same words.
    const NAME: &'static str;
    /// Its command, where that has other words than its name has before and after the first `_`: `file read`.
    const COMMAND: Option<&'static str> = None;
    /// Which MCP server lists it.
    const TOOLSET: Toolset;
    /// What it does to the world.
    const EFFECT: Effect;
    /// For an operation with modes that changes something in some: those of its modes that change nothing. Where
    /// only reading is offered, it is offered with these.
    const READING_MODES: &'static [&'static str] = &[];
    /// Who may call it. The service enforces it; this is what lists are filtered by,
    /// and a test holds the two against each other.
    const ACCESS: Access;
    /// Whether it talks to other machines.
    const REACHES_OUT: bool = false;
    /// Its REST route below `/api`.
    const ROUTE: Route;
    /// Other routes to it, for clients that name its object in another way.
    const ALSO: &'static [Route] = &[];
    /// Other names of its arguments, as clients of other servers know them, each with ours.
    const ALIASES: &'static [(&'static str, &'static str)] = &[];
    /// The list among its arguments that a command line takes without its name.
    const WORDS: Option<&'static str> = None;
    /// What it needs to know.
    type Input: DeserializeOwned + JsonSchema + Send + 'static;
    /// What it answers.
    type Output: Output;

    /// Does it.
    fn call(context: Context<'_>, input: Self::Input) -> impl Future<Output = Result<Self::Output>> + Send;
}

/// What a call is made with.
#[derive(Clone, Copy)]
pub struct Context<'a> {
    /// What the platform does.
    pub services: &'a Services,
    /// Who calls.
    pub caller: &'a Caller,
    /// Where to say how far it is.
    pub progress: &'a Progress,
}

/// What an operation does to the world. MCP's annotations follow from it, so they
/// cannot say otherwise.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    /// Changes nothing.
    Read,
    /// Changes something; doing it twice is the same as once.
    Set,
    /// Adds or changes something each time.
    Write,
    /// Throws something away.
    Destroy,
}

impl Effect {
    /// The effect as it is written.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Set => "set",
            Self::Write => "write",
            Self::Destroy => "destroy",
        }
    }
}

/// Who may call an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// Everybody with an identity: it tells callers about themselves.
    Identity,
    /// Who holds this permission.
    Holds(Permission),
}

/// An HTTP method that an operation can have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Method {
    /// Reads. Arguments are in the path and the query.
    Get,
    /// Changes. Arguments are in the path and a JSON body.
    Post,
    /// Sets. Arguments are in the path and a JSON body.
    Put,
    /// Removes. Arguments are in the path and the query.
    Delete,
}

impl Method {
    /// The method as HTTP writes it.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Get => "GET",
            Self::Post => "POST",
            Self::Put => "PUT",
            Self::Delete => "DELETE",
        }
    }

    /// Whether arguments that are not in the path are in a JSON body.
    #[must_use]
    pub const fn has_body(self) -> bool {
        matches!(self, Self::Post | Self::Put)
    }
}

/// Where an operation is found over REST.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Route {
    /// How.
    pub method: Method,
    /// Below `/api`, with arguments in braces: `/v1/tokens/{token}`.
    pub path: &'static str,
}

impl Route {
    /// A route that reads.
    #[must_use]
    pub const fn get(path: &'static str) -> Self {
        Self {
            method: Method::Get,
            path,
        }
    }

    /// A route that adds or changes.
    #[must_use]
    pub const fn post(path: &'static str) -> Self {
        Self {
            method: Method::Post,
            path,
        }
    }

    /// A route that sets.
    #[must_use]
    pub const fn put(path: &'static str) -> Self {
        Self {
            method: Method::Put,
            path,
        }
    }

    /// A route that removes.
    #[must_use]
    pub const fn delete(path: &'static str) -> Self {
        Self {
            method: Method::Delete,
            path,
        }
    }

    /// The arguments that stand in the path.
    pub fn parameters(&self) -> impl Iterator<Item = &'static str> {
        self.path
            .split('/')
            .filter_map(|segment| segment.strip_prefix('{')?.strip_suffix('}'))
    }
}

impl fmt::Display for Route {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} /api{}", self.method.as_str(), self.path)
    }
}
