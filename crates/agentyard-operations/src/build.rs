//! Working trees: what is built and run in them.

mod assignments;
mod make;
mod run_command;
mod run_view;

use crate::registry::Entry;
pub use run_view::run_end_object;

pub(crate) const ALL: &[Entry] = &[Entry::of::<make::Make>(), Entry::of::<run_command::RunCommand>()];
