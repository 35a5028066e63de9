//! Who asks, and for which part of the registry. Settled per request, because in the
//! newer era there is nothing but requests.

use std::sync::Arc;

use agentyard_model::{Caller, RequestId, Toolsets};
use agentyard_operations::{Registered, Selection, registry};
use rmcp::model::Extensions;

/// Who the caller of an MCP server is.
#[derive(Clone)]
pub(crate) enum Identity {
    /// Whoever started the process (stdio).
    Process(Box<Caller>),
    /// Whoever the edge found in the HTTP request.
    Request,
}

/// The toolsets that an address narrows the server to: `/mcp/git`, `/mcp?toolsets=git`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct AddressedToolsets(pub(crate) Toolsets);

/// Who asks, and what is offered there.
pub(crate) struct Scope {
    pub(crate) caller: Caller,
    pub(crate) selection: Arc<Selection>,
}

impl Scope {
    /// The scope of a request.
    pub(crate) fn of(identity: &Identity, offered: &Arc<Selection>, extensions: &Extensions) -> Self {
        let parts = extensions.get::<http::request::Parts>();
        let caller = match identity {
            Identity::Process(caller) => caller.in_request(RequestId::new()),
            // A request that reached this point without passing the edge is nobody's.
            Identity::Request => parts
                .and_then(|parts| parts.extensions.get::<Caller>())
                .cloned()
                .unwrap_or_else(Caller::anonymous),
        };
        let addressed = parts.and_then(|parts| parts.extensions.get::<AddressedToolsets>());
        let selection = match addressed {
            Some(AddressedToolsets(toolsets)) => Arc::new(offered.within(*toolsets)),
            None => offered.clone(),
        };
        Self {
            caller: selection.restrict(caller),
            selection,
        }
    }

    /// The operations that this caller is shown.
    pub(crate) fn shown(&self) -> impl Iterator<Item = &'static Registered> {
        registry()
            .iter()
            .filter(|operation| self.selection.shows_to(operation.entry(), &self.caller))
    }

    /// An operation that this caller may name. Whether it may call it, the service says.
    pub(crate) fn find(&self, name: &str) -> Option<&'static Registered> {
        registry()
            .find(name)
            .filter(|operation| self.selection.offers_to(operation.entry(), &self.caller))
    }

    /// Whether any operation of this name's kind is shown, for what only makes sense with it.
    pub(crate) fn shows(&self, name: &str) -> bool {
        self.shown().any(|operation| operation.entry().name == name)
    }
}
