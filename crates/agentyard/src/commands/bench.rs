//! The bare work of `git_status`, without any face: what the benchmarks take off a call's
//! time to see what the faces cost.
//!
//! It works in step with its caller, once for each line that it is sent, as a server does:
//! in a loop of its own it would find everything in the processor's caches, and so would
//! blame the faces for what waiting costs.

use std::io::{self, BufRead, Write};
use std::path::Path;
use std::process::ExitCode;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use agentyard_git::{KeepLimits, KeptRepositories, Roots, StatusOptions};
use agentyard_services::ErrorKind;

use crate::exit::Failure;
use crate::platform;

/// Reads the status once for each line of input, and answers with the microseconds it took.
pub(crate) fn status(path: &Path) -> Result<ExitCode, Failure> {
    let failed = |error| Failure::new(ErrorKind::InvalidInput, error);
    let path = platform::absolute(path)?;
    let roots = Roots::new([path.clone()]).map_err(failed)?;
    let kept = KeptRepositories::new(KeepLimits::default());
    let mut output = io::stdout().lock();
    for line in io::stdin().lock().lines() {
        line.map_err(Failure::output)?;
        let started = Instant::now();
        let directory = roots.resolve(&path).map_err(failed)?;
        let repository = kept.open(&directory).map_err(failed)?;
        repository
            .status(&StatusOptions::default(), &AtomicBool::new(false))
            .map_err(failed)?;
        writeln!(output, "{:.1}", started.elapsed().as_secs_f64() * 1e6).map_err(Failure::output)?;
        output.flush().map_err(Failure::output)?;
    }
    Ok(ExitCode::SUCCESS)
}
