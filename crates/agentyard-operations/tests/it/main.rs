//! The operations over a real platform: real git, a real database, a fixed clock.

mod guards;
mod surface;
