//! The crate against real repositories, made by the `git` program and by hand.

mod environment;
mod hostile;
mod log;
mod log_differential;
mod porcelain;
mod races;
mod repository;
mod roots;
mod snapshot;
mod status;
mod status_differential;
mod support;
