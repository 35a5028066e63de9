//! Trying again, later each time.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use super::NetworkSettings;
use super::failure::Trouble;
use crate::{Error, Progress};

/// How often the flag is looked at that says whether anybody still waits.
const CANCEL_INTERVAL: Duration = Duration::from_millis(20);

/// The longest wait between two attempts.
const LONGEST_WAIT: Duration = Duration::from_secs(20);

type Report<'a> = Option<&'a (dyn Fn(Progress) + Sync)>;

/// How often, and after which waits, something is tried.
pub(super) struct Attempts<'a> {
    most: u32,
    first_wait: Duration,
    cancel: &'a AtomicBool,
    report: Report<'a>,
}

impl<'a> Attempts<'a> {
    pub(super) fn new(settings: &NetworkSettings, cancel: &'a AtomicBool, report: Report<'a>) -> Self {
        Self {
            most: settings.attempts.max(1),
            first_wait: settings.first_wait,
            cancel,
            report,
        }
    }

    /// Tries until it works, cannot work, or was tried often enough.
    pub(super) fn run<T>(&self, mut attempt: impl FnMut() -> Result<T, Trouble>) -> Result<T, Error> {
        let mut number = 1;
        loop {
            let trouble = match attempt() {
                Ok(done) => return Ok(done),
                Err(trouble) => trouble,
            };
            if !trouble.is_passing || number >= self.most {
                return Err(trouble.error);
            }
            number += 1;
            tracing::info!(attempt = number, of = self.most, error = %trouble.error, "trying again");
            self.tell(number);
            self.wait(number)?;
        }
    }

    fn tell(&self, number: u32) {
        if let Some(report) = self.report {
            report(Progress {
                stage: format!("attempt {number} of {}", self.most),
                done: u64::from(number),
                total: Some(u64::from(self.most)),
            });
        }
    }

    /// Before the second attempt the first wait, before each later one twice as long; a random part of it, so that
    /// many who failed together do not come back together.
    fn wait(&self, number: u32) -> Result<(), Error> {
        let doubled = self.first_wait.saturating_mul(1 << (number - 2).min(10));
        let end = Instant::now() + doubled.min(LONGEST_WAIT).mul_f64(0.5 + random_half());
        loop {
            if self.cancel.load(Ordering::Relaxed) {
                return Err(Error::Cancelled);
            }
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(());
            }
            std::thread::sleep(left.min(CANCEL_INTERVAL));
        }
    }
}

fn random_half() -> f64 {
    f64::from(getrandom::u32().unwrap_or(u32::MAX / 2)) / f64::from(u32::MAX) / 2.0
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;

    fn settings(attempts: u32) -> NetworkSettings {
        NetworkSettings {
            attempts,
            first_wait: Duration::from_nanos(1),
            ..NetworkSettings::default()
        }
    }

    fn passing() -> Trouble {
        Trouble {
            is_passing: true,
            ..Trouble::for_good(Error::Missing { what: "x".to_owned() })
        }
    }

    #[test]
    fn what_may_pass_is_tried_again_and_told() {
        let told = Mutex::new(Vec::new());
        let report = |progress: Progress| told.lock().unwrap().push(progress.stage);
        let never = AtomicBool::new(false);
        let settings = settings(3);
        let attempts = Attempts::new(&settings, &never, Some(&report));
        let mut count = 0;
        let result = attempts.run(|| {
            count += 1;
            if count < 3 { Err(passing()) } else { Ok(count) }
        });
        assert_eq!(result.unwrap(), 3);
        assert_eq!(*told.lock().unwrap(), ["attempt 2 of 3", "attempt 3 of 3"]);
    }

    #[test]
    fn what_will_not_pass_is_tried_once_and_nothing_more_often_than_asked() {
        let never = AtomicBool::new(false);
        for (trouble, most, expected) in [(false, 3, 1), (true, 3, 3), (true, 1, 1), (true, 0, 1)] {
            let mut count = 0;
            let settings = settings(most);
            let result: Result<(), Error> = Attempts::new(&settings, &never, None).run(|| {
                count += 1;
                Err(Trouble {
                    is_passing: trouble,
                    ..passing()
                })
            });
            assert!(result.is_err());
            assert_eq!(count, expected);
        }
    }

    #[test]
    fn a_wait_ends_when_nobody_waits_any_more() {
        let cancelled = AtomicBool::new(true);
        let settings = NetworkSettings {
            first_wait: Duration::from_secs(3600),
            ..NetworkSettings::default()
        };
        let result: Result<(), Error> = Attempts::new(&settings, &cancelled, None).run(|| Err(passing()));
        assert!(matches!(result, Err(Error::Cancelled)));
    }
}
