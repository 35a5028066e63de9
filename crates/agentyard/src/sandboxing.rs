//! Which sandbox commands and code run in. Nothing is tried or started here: that happens with the first of them.

use std::sync::Arc;

use agentyard_sandbox::{
    Bubblewrap, BubblewrapSettings, E2b, Egress, EgressSettings, Host, ImageName, Interpreters, Network,
    Podman, PodmanSettings, Sandbox,
};
use agentyard_services::ErrorKind;

use crate::config::{self, Config, Environment, SandboxBackend};
use crate::exit::Failure;
use crate::{leading, standing};

/// What commands and code run in.
#[derive(Default)]
pub(crate) struct Sandboxing {
    /// Without one, they are refused.
    pub(crate) sandbox: Option<Arc<dyn Sandbox>>,
    /// Interpreters that wait for code, where the sandbox can have them.
    pub(crate) interpreters: Option<Interpreters>,
}

/// What the settings choose.
pub(crate) fn chosen(environment: &Environment, config: &Config) -> Result<Sandboxing, Failure> {
    Ok(match config.sandbox.backend {
        _ if runs_on_host(environment, config) => Sandboxing::of(Host::new(leading::program())),
        SandboxBackend::Host => Sandboxing::default(),
        SandboxBackend::Auto | SandboxBackend::Bubblewrap => {
            let bubblewrap = Bubblewrap::new(bubblewrap(environment, config)?);
            Sandboxing {
                interpreters: Some(Interpreters::new(bubblewrap.clone())),
                ..Sandboxing::of(bubblewrap)
            }
        }
        SandboxBackend::Podman => Sandboxing::of(Podman::new(podman(environment, config)?)),
        SandboxBackend::E2b => Sandboxing::of(e2b(config)?),
    })
}

impl Sandboxing {
    fn of(sandbox: impl Sandbox + 'static) -> Self {
        Self {
            sandbox: Some(Arc::new(sandbox)),
            interpreters: None,
        }
    }
}

/// Says loudly that commands run without a sandbox.
pub(crate) fn warn_of_host(environment: &Environment, config: &Config) {
    if runs_on_host(environment, config) {
        tracing::warn!(
            "commands of callers run on this host itself, without a sandbox: they can do whatever this user can \
             (`sandbox.allow_host`)"
        );
    }
}

/// Whether commands run on this host itself: because the settings ask for it, or because there is nothing better.
fn runs_on_host(environment: &Environment, config: &Config) -> bool {
    let settings = &config.sandbox;
    settings.allow_host
        && match settings.backend {
            SandboxBackend::Host => true,
            SandboxBackend::Auto => !has_program(environment, "bwrap"),
            SandboxBackend::Bubblewrap | SandboxBackend::Podman | SandboxBackend::E2b => false,
        }
}

fn has_program(environment: &Environment, name: &str) -> bool {
    let search_path = environment.value("PATH").unwrap_or_default();
    std::env::split_paths(search_path).any(|directory| directory.join(name).is_file())
}

fn bubblewrap(environment: &Environment, config: &Config) -> Result<BubblewrapSettings, Failure> {
    let settings = &config.sandbox;
    Ok(BubblewrapSettings {
        leader: leading::program(),
        daemon: standing::program(),
        search_path: environment.value("PATH").unwrap_or_default().to_owned(),
        home: environment.home().map(ToOwned::to_owned),
        user: (settings.user, settings.user),
        read_only: settings.read_only.clone(),
        egress: Some(egress(config)?),
        allow_weaker: settings.allow_weaker,
    })
}

fn podman(environment: &Environment, config: &Config) -> Result<PodmanSettings, Failure> {
    let settings = &config.sandbox;
    let known = ["PATH", "HOME", "XDG_RUNTIME_DIR"]
        .into_iter()
        .filter_map(|name| {
            let value = environment.value(name)?.to_str()?;
            Some((name.to_owned(), value.to_owned()))
        });
    Ok(PodmanSettings {
        leader: leading::program(),
        daemon: standing::program(),
        socket: None,
        directory: config.store.data_dir.join("podman"),
        environment: known.collect(),
        storage: Vec::new(),
        user: (settings.user, settings.user),
        image: ImageName::parse(&settings.image, &settings.image_registries)
            .map_err(|error| invalid("sandbox.image", &error))?,
        setup: settings.setup.clone(),
        setup_network: Network::Registry.min(settings.network.into()),
        egress: egress(config)?,
    })
}

fn e2b(config: &Config) -> Result<E2b, Failure> {
    let settings = config
        .e2b
        .client(config.sandbox.proxy.clone(), registries(config));
    E2b::new(settings).map_err(|error| Failure::new(ErrorKind::InvalidInput, error.to_string()))
}

/// The way out of sandboxes, for commands that may reach others.
fn egress(config: &Config) -> Result<Egress, Failure> {
    let proxy = config.sandbox.proxy.as_ref();
    Egress::new(EgressSettings {
        registries: registries(config),
        upstream: proxy.map(|proxy| proxy.expose().to_owned()),
        ..EgressSettings::default()
    })
    .map_err(|error| invalid("sandbox.registries` or `sandbox.proxy", &error))
}

fn invalid(key: &str, error: &dyn std::error::Error) -> Failure {
    Failure::new(ErrorKind::InvalidInput, format!("`{key}`: {error}"))
}

/// The registries that sandboxes reach: those that are named, and where packages of Python come from.
fn registries(config: &Config) -> Vec<String> {
    let indexes = std::iter::once(&config.exec.index_url).chain(&config.exec.extra_index_urls);
    let own: Vec<String> = indexes.filter_map(|url| host_of(url)).collect();
    let usual = host_of(&config::ExecSettings::default().index_url);
    let named = config.sandbox.registries.iter().cloned();
    // Naming a host says that its address may be a private one, which the usual one's is not.
    named
        .chain(own.into_iter().filter(|host| Some(host) != usual.as_ref()))
        .collect()
}

/// The host of an address, with the port that it names.
fn host_of(url: &str) -> Option<String> {
    let (_, rest) = url.split_once("://")?;
    let authority = rest.split(['/', '?', '#']).next()?;
    let host = authority.rsplit('@').next()?;
    (!host.is_empty()).then(|| host.to_ascii_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_registry_is_named_by_the_host_of_its_address() {
        for (url, host) in [
            ("https://pypi.org/simple", Some("pypi.org")),
            (
                "https://ada:secret@Packages.example:8443/x?y",
                Some("packages.example:8443"),
            ),
            ("https://", None),
            ("pypi.org/simple", None),
        ] {
            assert_eq!(host_of(url).as_deref(), host, "{url}");
        }
    }

    #[test]
    fn registries_are_those_named_and_those_of_python() {
        let mut config = Config::default();
        assert_eq!(registries(&config), [""; 0]);
        config.sandbox.registries = vec!["npm.example".to_owned()];
        config.exec.extra_index_urls = vec!["https://pypi.example/simple".to_owned()];
        assert_eq!(registries(&config), ["npm.example", "pypi.example"]);
    }

    #[test]
    fn the_host_is_used_only_where_that_is_allowed_and_there_is_nothing_better() {
        let (with, without) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        std::fs::write(with.path().join("bwrap"), "").unwrap();
        let environment =
            |directory: &tempfile::TempDir| Environment::of(&[("PATH", directory.path().to_str().unwrap())]);
        let mut config = Config::default();
        assert!(!runs_on_host(&environment(&without), &config));
        config.sandbox.allow_host = true;
        assert!(runs_on_host(&environment(&without), &config));
        assert!(!runs_on_host(&environment(&with), &config));
        config.sandbox.backend = SandboxBackend::Bubblewrap;
        assert!(!runs_on_host(&environment(&without), &config));
        config.sandbox.backend = SandboxBackend::Host;
        assert!(runs_on_host(&environment(&with), &config));
        config.sandbox.allow_host = false;
        let chosen = chosen(&environment(&with), &config).unwrap();
        assert!(chosen.sandbox.is_none());
    }
}
