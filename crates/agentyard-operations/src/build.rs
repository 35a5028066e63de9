//! Working trees: what is built and run in them.

mod assignments;
mod make;
mod network;
mod run_command;
mod run_view;

pub(crate) use assignments::Assignments;
pub(crate) use network::NetworkAsked;
pub(crate) use run_view::RunView;
pub use run_view::run_end_object;

use crate::registry::Entry;

pub(crate) const ALL: &[Entry] = &[Entry::of::<make::Make>(), Entry::of::<run_command::RunCommand>()];
