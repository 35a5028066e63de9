//! Python, as far as it is there: the interpreters of this machine, and what is installed in an environment.

mod conda;
mod distributions;
mod environment;
mod interpreters;

pub use conda::Conda;
pub use distributions::{Distribution, distributions, normalized_name};
pub use environment::{has_interpreter, made_with};
pub use interpreters::{Interpreter, InvalidPythonVersion, PythonVersion};
