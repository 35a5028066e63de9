//! What a client may ask for: one file per noun, wire types, and the registry.
//!
//! An operation is declared once, here; MCP tools, REST routes with their OpenAPI
//! document, and commands are made from the registry by one adapter each, none of
//! which knows an operation by name. This crate touches the services and nothing else.

#![warn(missing_docs)]

mod operation;

mod arguments;
mod attachment;
mod brief;
mod level;
mod output;
mod schema;
mod texts;

mod live;
mod measure;
mod registry;
mod selection;

// The nouns, in the order in which their operations are shown.
mod git;

mod repos;

mod workspaces;

mod files;

mod build;

mod exec;

mod sandboxes;

mod sandbox_git;

mod identities;

mod tokens;

mod secrets;

mod audit;

use std::sync::OnceLock;

pub use agentyard_services::{Progress, Step};
pub use arguments::nearest;
pub use attachment::{AttachedContent, Attachment, base64};
pub use build::run_end_object;
pub use level::Level;
pub use live::{Live, LiveEnd};
pub use operation::{Access, Context, Effect, Method, Operation, Route};
pub use output::{Output, Presentation, Reply};
pub use registry::{Entry, Face, Listed, Registered, Registry};
pub use selection::Selection;
pub use texts::arguments_from_texts;

/// All operations.
pub fn registry() -> &'static Registry {
    static REGISTRY: OnceLock<Registry> = OnceLock::new();
    REGISTRY.get_or_init(|| {
        Registry::of(&[
            git::ALL,
            repos::ALL,
            workspaces::ALL,
            files::ALL,
            build::ALL,
            exec::ALL,
            sandboxes::ALL,
            sandbox_git::ALL,
            identities::ALL,
            tokens::ALL,
            secrets::ALL,
            audit::ALL,
        ])
    })
}
