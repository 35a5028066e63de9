//! Whether commands and code run, where, and what the walls around them hold.

use agentyard_sandbox::{Backend, Enforcement, Finding, Weakness};

const WHAT: &str = "sandbox";

/// The sandbox that the settings choose, as it was tried.
#[derive(Debug)]
pub(crate) struct TriedSandbox {
    /// Which one; without one, nothing is run.
    pub(crate) backend: Option<Backend>,
    /// What holds.
    pub(crate) enforcement: Enforcement,
    /// Whether commands run although walls gave way.
    pub(crate) allow_weaker: bool,
}

/// Says it.
pub(super) fn look(tried: &TriedSandbox) -> Finding {
    let Some(backend) = tried.backend else {
        return Finding::missing(
            WHAT,
            "commands and code are refused: `sandbox.backend` is `host`, which is not allowed",
            "set `sandbox.backend` to `auto`; or, where everybody who may call is trusted with this machine, set \
             `sandbox.allow_host = true`",
        );
    };
    if backend == Backend::Host {
        return Finding::limited(
            WHAT,
            "commands and code run on this host itself, without a sandbox: they can do whatever this user can",
            "install bubblewrap and set `sandbox.allow_host = false`, unless everybody who may call is trusted with this \
             machine",
        );
    }
    let Enforcement {
        holds,
        weaker,
        breaches,
    } = &tried.enforcement;
    if !breaches.is_empty() && !tried.allow_weaker {
        let detail = format!("{backend}: commands and code are refused: {}", reasons(breaches));
        let remedy = format!(
            "{}; or accept it with `sandbox.allow_weaker = true`",
            remedies(breaches)
        );
        return Finding::missing(WHAT, detail, remedy);
    }
    if !breaches.is_empty() {
        let detail = format!(
            "{backend}, although walls gave way, as `sandbox.allow_weaker` allows: {}",
            reasons(breaches)
        );
        return Finding::limited(WHAT, detail, remedies(breaches));
    }
    if weaker.is_empty() {
        return Finding::ok(WHAT, format!("{backend}; {}", holds.join(", ")));
    }
    let detail = format!("{backend}; {}; weaker: {}", holds.join(", "), reasons(weaker));
    Finding::limited(WHAT, detail, remedies(weaker))
}

fn reasons(weaknesses: &[Weakness]) -> String {
    let reasons: Vec<String> = weaknesses
        .iter()
        .map(|weakness| format!("{} ({})", weakness.what, weakness.reason))
        .collect();
    reasons.join(", ")
}

/// Each remedy once: several weaknesses often have the same.
fn remedies(weaknesses: &[Weakness]) -> String {
    let mut remedies: Vec<&str> = Vec::new();
    for weakness in weaknesses {
        if !remedies.contains(&weakness.remedy.as_str()) {
            remedies.push(&weakness.remedy);
        }
    }
    remedies.join("; ")
}

#[cfg(test)]
mod tests {
    use agentyard_sandbox::State;

    use super::*;

    fn weakness(what: &str) -> Weakness {
        Weakness {
            what: what.to_owned(),
            reason: "no cgroups".to_owned(),
            remedy: "run it as a service".to_owned(),
        }
    }

    fn found(backend: Option<Backend>, enforcement: Enforcement, allow_weaker: bool) -> Finding {
        look(&TriedSandbox {
            backend,
            enforcement,
            allow_weaker,
        })
    }

    #[test]
    fn what_holds_and_what_does_not_is_told() {
        let whole = Enforcement {
            holds: vec!["namespaces".to_owned(), "memory: cgroup v1".to_owned()],
            ..Enforcement::default()
        };
        let ok = found(Some(Backend::Bubblewrap), whole.clone(), false);
        assert_eq!(ok.state, State::Ok);
        assert_eq!(ok.detail, "bubblewrap; namespaces, memory: cgroup v1");

        let weaker = Enforcement {
            weaker: vec![weakness("memory"), weakness("processes")],
            ..whole.clone()
        };
        let limited = found(Some(Backend::Bubblewrap), weaker, false);
        assert_eq!(limited.state, State::Limited);
        assert!(
            limited.detail.contains("memory (no cgroups), processes"),
            "{limited:?}"
        );

        let breached = Enforcement {
            breaches: vec![weakness("system calls")],
            ..whole
        };
        let accepted = found(Some(Backend::Bubblewrap), breached.clone(), true);
        assert_eq!(accepted.state, State::Limited);
        let breached = found(Some(Backend::Bubblewrap), breached, false);
        assert_eq!(breached.state, State::Missing);
        let remedy = breached.remedy.as_deref().unwrap();
        assert!(
            remedy.starts_with("run it as a service; or accept") && remedy.contains("allow_weaker"),
            "{remedy}"
        );
        assert!(breached.detail.contains("system calls"), "{breached:?}");
    }

    #[test]
    fn no_sandbox_is_never_well() {
        for (backend, state) in [(None, State::Missing), (Some(Backend::Host), State::Limited)] {
            let finding = found(backend, Enforcement::default(), true);
            assert_eq!(finding.state, state, "{finding:?}");
        }
    }
}
