//! The layer of the environment: every key by its variable, and the aliases.

use std::cell::LazyCell;

use serde_json::Value;

use super::ConfigError;
use super::aliases::{ALIASES, Alias, Effect, OWN, is_own};
use super::environment::Environment;
use super::fault::printable;
use super::keys::{VARIABLE_PREFIX, variable_of};
use super::nearest::nearest;
use super::source::Source;
use super::tree::Table;

/// The key that two aliases set together.
const LISTEN: &str = "http.listen";

/// The layer of the environment, and a warning for each variable that looks like ours and is not.
///
/// The defaults name nearly every key and are quickly had; the list of all is made only for a variable
/// whose key is not among them.
pub(crate) fn layer<F: FnOnce() -> Vec<String>>(
    environment: &Environment,
    defaults: &[(String, Value)],
    all_keys: &LazyCell<Vec<String>, F>,
) -> Result<(Table, Vec<String>), ConfigError> {
    let mut layer = Layer::default();
    for alias in ALIASES.iter().chain(OWN) {
        if let Some(text) = environment.text(alias.name)? {
            layer.alias(alias, text)?;
        }
    }
    layer.listen(defaults);
    for name in environment
        .names_beginning(VARIABLE_PREFIX)
        .filter(|name| !is_own(name))
    {
        if let Some(text) = environment.text(name)? {
            layer.variable(name, text, defaults, all_keys);
        }
    }
    Ok((layer.table, layer.warnings))
}

#[derive(Default)]
struct Layer<'a> {
    table: Table,
    warnings: Vec<String>,
    host: Option<&'a str>,
    port: Option<&'a str>,
}

impl<'a> Layer<'a> {
    fn alias(&mut self, alias: &Alias, text: &'a str) -> Result<(), ConfigError> {
        let source = Source::Variable(alias.name.to_owned());
        match alias.effect {
            Effect::Sets(key) => self.table.set(key, text, source),
            Effect::Converts(key, convert, _) => match convert(text) {
                Ok(value) => self.table.set(key, &value, source),
                Err(expected) => {
                    return Err(ConfigError::InvalidValue {
                        key: key.to_owned(),
                        origin: source,
                        message: format!("{expected}, found `{}`", printable(text)),
                    });
                }
            },
            Effect::SetsOneOf(key, values) => {
                if values.contains(&text.trim()) {
                    self.table.set(key, text.trim(), source);
                }
            }
            Effect::ListenHost => self.host = Some(text.trim()),
            Effect::ListenPort => self.port = Some(text.trim()),
            Effect::Read(_) | Effect::Nothing(_) => {}
        }
        Ok(())
    }

    /// Joins the host and the port; what is not given comes from the default.
    fn listen(&mut self, defaults: &[(String, Value)]) {
        if self.host.is_none() && self.port.is_none() {
            return;
        }
        let usual = defaults
            .iter()
            .find(|(key, _)| key == LISTEN)
            .and_then(|(_, value)| value.as_str()?.rsplit_once(':'));
        let (usual_host, usual_port) = usual.unwrap_or(("127.0.0.1", "0"));
        let host = match self.host.unwrap_or(usual_host) {
            "localhost" => "127.0.0.1".to_owned(),
            host if host.contains(':') && !host.starts_with('[') => format!("[{host}]"),
            host => host.to_owned(),
        };
        let port = self.port.unwrap_or(usual_port);
        let name = match (self.host, self.port) {
            (Some(_), Some(_)) => "MCP_HTTP_HOST and $MCP_HTTP_PORT",
            (Some(_), None) => "MCP_HTTP_HOST",
            _ => "MCP_HTTP_PORT",
        };
        self.table.set(
            LISTEN,
            &format!("{host}:{port}"),
            Source::Variable(name.to_owned()),
        );
    }

    fn variable<F: FnOnce() -> Vec<String>>(
        &mut self,
        name: &str,
        text: &str,
        defaults: &[(String, Value)],
        all_keys: &LazyCell<Vec<String>, F>,
    ) {
        let of_this_name = |key: &&String| variable_of(key) == name;
        let quickly = defaults.iter().map(|(key, _)| key).find(of_this_name);
        if let Some(key) = quickly.or_else(|| all_keys.iter().find(of_this_name)) {
            self.table.set(key, text, Source::Variable(name.to_owned()));
            return;
        }
        // A warning only: other tools may share the prefix.
        let known: Vec<_> = all_keys.iter().map(|key| variable_of(key)).collect();
        let own = OWN.iter().map(|alias| alias.name);
        let suggestion = nearest(name, known.iter().map(String::as_str).chain(own))
            .map(|name| format!("; did you mean {name}?"))
            .unwrap_or_default();
        self.warnings.push(format!(
            "the environment variable {} sets nothing{suggestion}",
            printable(name)
        ));
    }
}
