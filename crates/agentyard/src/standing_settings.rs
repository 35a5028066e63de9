//! How sandboxes that stay are kept, as the settings say.

use std::collections::BTreeMap;
use std::time::Duration;

use agentyard_sandbox::ImageName;
use agentyard_services::{ErrorKind, SandboxSettings};

use crate::config::Config;
use crate::exit::Failure;

const HOUR: Duration = Duration::from_secs(60 * 60);

/// The settings of the services; their files are given to this user and group, where that is another's.
pub(crate) fn sandboxes(config: &Config, owner: Option<(u32, u32)>) -> Result<SandboxSettings, Failure> {
    let settings = &config.e2b;
    Ok(SandboxSettings {
        owner,
        templates: templates(&settings.templates, &config.sandbox.image_registries)?,
        max_timeout: HOUR * settings.max_timeout_hours.max(1),
        most: settings.max_sandboxes_in_all,
        most_of_tenant: settings.max_sandboxes,
        spare: settings.spare as usize,
        network: settings.network.into(),
        public_traffic: settings.public_traffic,
        git_timeout: Duration::from_secs(config.git.sandbox_timeout_seconds),
        git_max_retries: config.git.sandbox_max_retries,
        git_own_credentials: config.git.sandbox_credentials,
    })
}

/// Which image each template is.
fn templates(written: &[String], registries: &[String]) -> Result<BTreeMap<String, String>, Failure> {
    let mut templates = BTreeMap::new();
    for entry in written {
        let invalid = |reason: String| {
            let shown: String = entry.escape_debug().take(120).collect();
            Failure::new(
                ErrorKind::InvalidInput,
                format!("`e2b.templates`: `{shown}` is no template: {reason}"),
            )
            .hint("write it as `name=image`, such as `python=docker.io/library/python:3.13`")
        };
        let (name, image) = entry
            .split_once('=')
            .filter(|(name, _)| !name.trim().is_empty())
            .ok_or_else(|| invalid("it has no name".to_owned()))?;
        let image = ImageName::parse(image.trim(), registries).map_err(|error| invalid(error.to_string()))?;
        templates.insert(name.trim().to_owned(), image.to_string());
    }
    Ok(templates)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_template_is_a_name_and_an_image() {
        let registries = ["docker.io".to_owned()];
        let read = |entry: &str| templates(&[entry.to_owned()], &registries);
        let known = read("py = docker.io/library/python:3.13").unwrap();
        assert!(known["py"].contains("library/python:3.13"), "{known:?}");
        for wrong in ["py", "=docker.io/library/python", "py=evil.example/x"] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
    }
}
