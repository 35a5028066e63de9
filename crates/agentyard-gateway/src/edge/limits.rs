//! Bounds: how often, how much at once, and how large.

mod attempts;
mod body;
mod load;
mod rate;

pub(super) use attempts::{FailedAttempts, KnownTokens};
pub use body::{limit_body, read_body};
pub(crate) use load::OpenEnded;
pub use load::{LoadLimit, shed_load};
pub use rate::{RateLimits, limit_rate};
