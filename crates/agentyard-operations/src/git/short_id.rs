//! Ids in lists.

use std::fmt::Display;

/// As many digits as tell objects apart in all but the largest repositories.
const DIGITS: usize = 10;

/// The beginning of an id, which git takes for the whole.
pub(super) fn short_id(id: impl Display) -> String {
    let mut text = id.to_string();
    text.truncate(DIGITS);
    text
}
