//! Whether a Kubernetes cluster is configured.

use std::path::{Path, PathBuf};

use agentyard_sandbox::Finding;

use crate::config::Environment;

/// What a process inside a cluster is given.
const SERVICE_ACCOUNT: &str = "/var/run/secrets/kubernetes.io/serviceaccount/token";

/// Looks for a cluster's configuration, in the order in which it would be used.
pub(crate) fn look(environment: &Environment) -> Finding {
    const WHAT: &str = "cluster";
    let named = environment
        .value("KUBECONFIG")
        .map(|list| std::env::split_paths(list).collect());
    let usual = || {
        environment
            .home()
            .map(|home| home.join(".kube/config"))
            .into_iter()
            .collect()
    };
    let candidates: Vec<PathBuf> = named.unwrap_or_else(usual);
    let inside = Path::new(SERVICE_ACCOUNT);
    let found = candidates
        .iter()
        .map(PathBuf::as_path)
        .chain([inside])
        .find(|path| path.is_file());
    match found {
        Some(path) if path == inside => {
            Finding::ok(WHAT, "this process runs inside a cluster, with a service account")
        }
        Some(path) => Finding::ok(
            WHAT,
            format!("configured by {}; nobody has asked it anything", path.display()),
        ),
        None => Finding::missing(
            WHAT,
            "no configuration in KUBECONFIG, ~/.kube/config or a service account",
            "set KUBECONFIG to run sandboxes in a Kubernetes cluster",
        ),
    }
}

#[cfg(test)]
mod tests {
    use agentyard_sandbox::State;

    use super::*;

    #[test]
    fn a_configuration_is_found_where_kubectl_would_find_it() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().to_str().unwrap();
        let state = |variables: &[(&str, &str)]| look(&Environment::of(variables)).state;
        assert_eq!(state(&[("HOME", path)]), State::Missing);
        std::fs::create_dir(home.path().join(".kube")).unwrap();
        std::fs::write(home.path().join(".kube/config"), "").unwrap();
        assert_eq!(state(&[("HOME", path)]), State::Ok);
        assert_eq!(
            state(&[("HOME", path), ("KUBECONFIG", "/nowhere")]),
            State::Missing
        );
        let listed = format!("/nowhere:{path}/.kube/config");
        assert_eq!(state(&[("KUBECONFIG", &listed)]), State::Ok);
    }
}
