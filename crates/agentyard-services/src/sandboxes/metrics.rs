//! What sandboxes take.

use std::collections::VecDeque;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use agentyard_model::{Caller, SandboxId, Timestamp};
use agentyard_sandbox::Load;
use tokio::time::Instant;

use super::Sandboxes;
use super::kept::Kept;
use super::owners::Wish;
use crate::error::Result;

/// How often it is looked what each takes.
pub(super) const SAMPLED_EVERY: Duration = Duration::from_secs(5);

/// How many samples of each are kept: those of an hour.
const KEPT: usize = 720;

/// What a sandbox took at an instant, and what it may take.
#[derive(Debug, Clone, PartialEq)]
pub struct SandboxSample {
    /// When.
    pub at: Timestamp,
    /// How much of the processors, in hundredths of one, since the sample before.
    pub cpu_percent: f64,
    /// How much memory.
    pub memory_bytes: u64,
    /// How much of that is only there to be fast.
    pub cache_bytes: u64,
    /// How much disk.
    pub disk_bytes: u64,
    /// How many processors it may use.
    pub cpu_count: u32,
    /// How much memory it may use.
    pub memory_limit_bytes: u64,
    /// How much disk it may use.
    pub disk_limit_bytes: u64,
}

/// What was found at an instant.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sampled {
    at: Timestamp,
    /// The same on a clock that nobody sets.
    taken: Instant,
    load: Load,
    cpu_percent: f64,
}

impl Sandboxes {
    /// What a sandbox has taken in the last hour, oldest first; the last is of this moment while it runs.
    ///
    /// # Errors
    /// When the caller may not know, or there is no such sandbox.
    pub async fn metrics(
        &self,
        caller: &Caller,
        id: SandboxId,
        since: Option<Timestamp>,
        until: Option<Timestamp>,
    ) -> Result<Vec<SandboxSample>> {
        let row = self.row(caller, id, Wish::See).await?;
        let Some(kept) = self.kept().get(&row.id).cloned() else {
            return Ok(Vec::new());
        };
        self.sample(&kept).await;
        let is_wanted = |sampled: &&Sampled| {
            since.is_none_or(|since| sampled.at >= since) && until.is_none_or(|until| sampled.at <= until)
        };
        let details = self.details(row);
        let samples = kept.samples.lock().unwrap_or_else(PoisonError::into_inner);
        let sample = |sampled: &Sampled| SandboxSample {
            at: sampled.at,
            cpu_percent: sampled.cpu_percent,
            memory_bytes: sampled.load.memory_bytes.unwrap_or_default(),
            cache_bytes: sampled.load.cache_bytes.unwrap_or_default(),
            disk_bytes: sampled.load.disk_bytes.unwrap_or_default(),
            cpu_count: details.cpu_count,
            memory_limit_bytes: details.memory_bytes,
            disk_limit_bytes: details.disk_bytes,
        };
        Ok(samples.iter().filter(is_wanted).map(sample).collect())
    }

    /// Looks what each sandbox takes that runs.
    pub(super) async fn sample_all(&self) {
        let all: Vec<Arc<Kept>> = self.kept().values().cloned().collect();
        for kept in all {
            self.sample(&kept).await;
        }
    }

    async fn sample(&self, kept: &Kept) {
        let Some(standing) = kept.running() else {
            return;
        };
        let load = standing.load().await;
        let (at, taken) = (self.0.parts.clock.now(), Instant::now());
        let mut samples = kept.samples.lock().unwrap_or_else(PoisonError::into_inner);
        let cpu_percent = samples.back().map_or(0.0, |last| used_since(last, &load, taken));
        push(
            &mut samples,
            Sampled {
                at,
                taken,
                load,
                cpu_percent,
            },
        );
    }
}

fn push(samples: &mut VecDeque<Sampled>, sampled: Sampled) {
    if samples.len() == KEPT {
        samples.pop_front();
    }
    samples.push_back(sampled);
}

/// How much of the processors was used since then, in hundredths of one.
fn used_since(last: &Sampled, load: &Load, now: Instant) -> f64 {
    let passed = now.duration_since(last.taken).as_secs_f64();
    let used = load.cpu.unwrap_or_default();
    let used = used
        .saturating_sub(last.load.cpu.unwrap_or_default())
        .as_secs_f64();
    if passed < 0.001 {
        return last.cpu_percent;
    }
    (used / passed * 10_000.0).round() / 100.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processors_are_counted_between_two_looks() {
        let load = |milliseconds| Load {
            cpu: Some(Duration::from_millis(milliseconds)),
            ..Load::default()
        };
        let now = Instant::now();
        let last = Sampled {
            at: Timestamp::from_microseconds(0),
            taken: now,
            load: load(500),
            cpu_percent: 7.0,
        };
        let later = now + Duration::from_secs(2);
        assert!((used_since(&last, &load(1500), later) - 50.0).abs() < f64::EPSILON);
        assert!((used_since(&last, &load(1500), now) - 7.0).abs() < f64::EPSILON);
        assert!(used_since(&last, &load(0), later).abs() < f64::EPSILON);
    }

    #[test]
    fn samples_are_bounded() {
        let mut samples = VecDeque::new();
        for second in 0..1000 {
            push(
                &mut samples,
                Sampled {
                    at: Timestamp::from_microseconds(second),
                    taken: Instant::now(),
                    load: Load::default(),
                    cpu_percent: 0.0,
                },
            );
        }
        assert_eq!((samples.len(), samples[0].at.as_microseconds()), (KEPT, 280));
    }
}
