//! The operations over a real platform: real git, a real database, a fixed clock.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod conflicts;
mod files;
mod git_reads;
mod guards;
mod references;
mod surface;
