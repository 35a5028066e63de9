//! What each command does.

pub(crate) mod audit;
pub(crate) mod bench;
pub(crate) mod config;
pub(crate) mod doctor;
pub(crate) mod generate;
pub(crate) mod install;
pub(crate) mod mcp;
pub(crate) mod migrate;
pub(crate) mod operation;
pub(crate) mod run;
mod screen;
pub(crate) mod serve;
pub(crate) mod shell;
pub(crate) mod trust;
mod typed_secrets;
