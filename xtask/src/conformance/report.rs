//! What the conformance suite printed, scenario by scenario.

use std::fmt::Write as _;
use std::path::Path;

use serde_json::Value;

/// The scenarios that count, in the order they ran.
pub(super) struct Report {
    scenarios: Vec<Scenario>,
}

struct Scenario {
    name: String,
    passed: bool,
    /// Why its checks failed, when the suite wrote that down.
    reasons: Vec<String>,
}

impl Report {
    /// Reads the summary, which ends with the scenarios that are run but not scored:
    ///
    /// ```text
    /// === SUMMARY ===
    /// ✓ ping: 2 passed, 0 failed
    /// ✗ tools-list: 1 passed, 1 failed
    ///
    /// Total: 3 passed, 1 failed
    ///
    /// Not scored for 2025-11-25: 1 scenario(s) run, 1 failing. These do not affect conformance.
    ///   ✗ server-sse-polling (pending)
    /// ```
    pub(super) fn read(text: &str, results: &Path) -> Option<Self> {
        let (_, summary) = text.split_once("=== SUMMARY ===")?;
        let (scored, unscored) = summary.split_once("Not scored for").unwrap_or((summary, ""));
        let unscored: Vec<&str> = unscored.lines().filter_map(unscored_name).collect();
        let scenarios = scored
            .lines()
            .filter_map(scenario_line)
            .filter(|(_, name)| !unscored.contains(name))
            .map(|(passed, name)| Scenario {
                name: name.to_owned(),
                passed,
                reasons: if passed {
                    Vec::new()
                } else {
                    reasons(results, name)
                },
            })
            .collect();
        Some(Self { scenarios })
    }

    pub(super) fn passed(&self) -> usize {
        self.scenarios.iter().filter(|scenario| scenario.passed).count()
    }

    /// Whether every scenario passed, and there were as many as there should be.
    pub(super) fn is_complete(&self, expected: usize) -> bool {
        self.passed() == expected && self.scenarios.len() == expected
    }

    pub(super) fn failures(&self) -> String {
        let mut text = String::new();
        for scenario in self.scenarios.iter().filter(|scenario| !scenario.passed) {
            let _ = writeln!(text, "  ✗ {}", scenario.name);
            for reason in &scenario.reasons {
                let _ = writeln!(text, "      {reason}");
            }
        }
        text
    }
}

fn scenario_line(line: &str) -> Option<(bool, &str)> {
    let (mark, rest) = line.split_once(' ')?;
    let passed = match mark {
        "✓" => true,
        "✗" => false,
        _ => return None,
    };
    Some((passed, rest.split_once(':')?.0))
}

fn unscored_name(line: &str) -> Option<&str> {
    let name = line.trim().strip_prefix(['✓', '✗'])?;
    name.trim().split(' ').next()
}

/// The failed checks of a scenario, from the folder `server-SCENARIO-TIME` that the suite wrote.
fn reasons(results: &Path, scenario: &str) -> Vec<String> {
    let prefix = format!("server-{scenario}-2");
    let folders = std::fs::read_dir(results).into_iter().flatten().flatten();
    folders
        .filter(|folder| folder.file_name().to_string_lossy().starts_with(&prefix))
        .filter_map(|folder| std::fs::read(folder.path().join("checks.json")).ok())
        .filter_map(|json| serde_json::from_slice::<Vec<Value>>(&json).ok())
        .flatten()
        .filter(|check| check["status"] == "FAILURE")
        .map(|check| {
            let text = |key: &str| check[key].as_str().unwrap_or_default().to_owned();
            format!("{}: {}", text("id"), text("errorMessage"))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const PRINTED: &str = "\
=== Running scenario: ping ===

=== SUMMARY ===
✓ ping: 2 passed, 0 failed
✗ tools-list: 1 passed, 1 failed
✗ server-sse-polling: 0 passed, 1 failed

Total: 3 passed, 2 failed

Not scored for 2025-11-25: 1 scenario(s) run, 1 failing. These do not affect conformance.
  ✗ server-sse-polling (pending)
";

    #[test]
    fn counts_only_what_is_scored() {
        let report = Report::read(PRINTED, Path::new("no-such-folder")).unwrap();
        assert_eq!((report.passed(), report.scenarios.len()), (1, 2));
        assert_eq!(report.failures(), "  ✗ tools-list\n");
        assert!(!report.is_complete(2));
        assert!(!report.is_complete(1));
    }

    #[test]
    fn passes_only_with_every_expected_scenario() {
        let report = Report::read("=== SUMMARY ===\n✓ ping: 2 passed, 0 failed\n", Path::new(".")).unwrap();
        assert!(report.is_complete(1));
        assert!(
            !report.is_complete(2),
            "a suite that ran fewer scenarios is not a success"
        );
        assert!(Report::read("Error: cannot connect", Path::new(".")).is_none());
    }
}
