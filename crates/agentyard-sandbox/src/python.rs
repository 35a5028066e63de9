//! Python, as far as it is there: the interpreters of this machine, and what is installed in an environment.

mod distributions;
mod interpreters;

pub use distributions::{Distribution, distributions, normalized_name};
pub use interpreters::{Interpreter, PythonVersion};
