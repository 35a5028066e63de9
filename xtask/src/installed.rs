//! What a directory says was installed into it: the last thing that an install writes.

use std::path::Path;

use crate::failure::{Attempt, Result};

const NOTE: &str = "installed";

/// Whether exactly this was installed, to its end.
pub(crate) fn is_there(directory: &Path, wanted: &str) -> bool {
    std::fs::read_to_string(directory.join(NOTE)).is_ok_and(|installed| installed == wanted)
}

/// Says that this has been installed.
pub(crate) fn note(directory: &Path, wanted: &str) -> Result {
    std::fs::write(directory.join(NOTE), wanted).attempt("note what was installed")
}
