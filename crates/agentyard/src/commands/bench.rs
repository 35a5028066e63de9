//! The bare work of `git_status`, timed without any face: what the benchmarks take off
//! a call's time to see what the faces cost.

use std::path::Path;
use std::process::ExitCode;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use agentyard_git::{Repository, Roots, StatusOptions};
use agentyard_services::ErrorKind;
use serde_json::json;

use crate::exit::Failure;
use crate::{platform, render};

/// Reads the status so many times and tells the median.
pub(crate) fn status(path: &Path, count: usize) -> Result<ExitCode, Failure> {
    let failed = |error| Failure::new(ErrorKind::InvalidInput, error);
    let path = platform::absolute(path)?;
    let roots = Roots::new([path.clone()]).map_err(failed)?;
    let mut microseconds = Vec::with_capacity(count);
    for _ in 0..count.max(1) {
        let started = Instant::now();
        let directory = roots.resolve(&path).map_err(failed)?;
        let repository = Repository::open(&directory).map_err(failed)?;
        repository
            .status(&StatusOptions::default(), &AtomicBool::new(false))
            .map_err(failed)?;
        microseconds.push(started.elapsed().as_secs_f64() * 1e6);
    }
    microseconds.sort_by(f64::total_cmp);
    let median = microseconds[microseconds.len() / 2];
    render::answer(&json!({ "median_us": median, "count": microseconds.len() }), true)
        .map_err(Failure::output)?;
    Ok(ExitCode::SUCCESS)
}
