//! The environment of the process, read once: nothing else in Agentyard asks for a variable.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use super::ConfigError;

/// The variables as they were when the process started. A variable that is set to nothing
/// counts as not set, since that is how compose files and unit files leave one out.
#[derive(Debug, Clone, Default)]
pub(crate) struct Environment {
    variables: BTreeMap<String, OsString>,
}

impl Environment {
    /// The variables of this process.
    #[expect(
        clippy::disallowed_methods,
        reason = "this is the one place that reads the environment"
    )]
    pub(crate) fn of_process() -> Self {
        // `vars_os` because `vars` panics on a value that is not Unicode.
        std::env::vars_os().collect()
    }

    /// The value of a variable, as it is.
    pub(crate) fn value(&self, name: &str) -> Option<&OsStr> {
        self.variables.get(name).map(OsString::as_os_str)
    }

    /// The value of a variable, as text.
    pub(crate) fn text(&self, name: &str) -> Result<Option<&str>, ConfigError> {
        match self.value(name) {
            None => Ok(None),
            Some(value) => value
                .to_str()
                .map(Some)
                .ok_or_else(|| ConfigError::VariableNotUnicode {
                    variable: name.to_owned(),
                }),
        }
    }

    /// The names of the variables that begin like this.
    pub(crate) fn names_beginning(&self, prefix: &'static str) -> impl Iterator<Item = &str> {
        self.variables
            .range(prefix.to_owned()..)
            .map(|(name, _)| name.as_str())
            .take_while(move |name| name.starts_with(prefix))
    }

    /// The home directory.
    pub(crate) fn home(&self) -> Option<&Path> {
        self.absolute_path("HOME")
    }

    /// Where this person's configuration files live.
    pub(crate) fn config_home(&self) -> Option<PathBuf> {
        self.base_directory("XDG_CONFIG_HOME", ".config")
    }

    /// Where this person's data lives.
    pub(crate) fn data_home(&self) -> Option<PathBuf> {
        self.base_directory("XDG_DATA_HOME", ".local/share")
    }

    fn base_directory(&self, variable: &str, below_home: &str) -> Option<PathBuf> {
        self.absolute_path(variable)
            .map(Path::to_path_buf)
            .or_else(|| self.home().map(|home| home.join(below_home)))
    }

    /// A relative path is as good as none, as the XDG rules ask: it would mean another
    /// directory whenever the process starts elsewhere.
    fn absolute_path(&self, name: &str) -> Option<&Path> {
        self.value(name).map(Path::new).filter(|path| path.is_absolute())
    }
}

impl FromIterator<(OsString, OsString)> for Environment {
    fn from_iter<I: IntoIterator<Item = (OsString, OsString)>>(variables: I) -> Self {
        let variables = variables
            .into_iter()
            .filter(|(_, value)| !value.is_empty())
            // A name that is not Unicode is none of ours.
            .filter_map(|(name, value)| Some((name.into_string().ok()?, value)))
            .collect();
        Self { variables }
    }
}

#[cfg(test)]
impl Environment {
    /// An environment of these variables alone.
    pub(crate) fn of(variables: &[(&str, &str)]) -> Self {
        variables
            .iter()
            .map(|(name, value)| (OsString::from(name), OsString::from(value)))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::ffi::OsStringExt;

    use super::*;

    #[test]
    fn a_variable_set_to_nothing_is_not_set() {
        let environment = Environment::of(&[("HOME", ""), ("A", "1")]);
        assert_eq!(environment.home(), None);
        assert_eq!(environment.text("A").unwrap(), Some("1"));
    }

    #[test]
    fn base_directories_follow_the_xdg_rules() {
        let environment = Environment::of(&[("HOME", "/home/ada"), ("XDG_DATA_HOME", "relative")]);
        assert_eq!(
            environment.data_home(),
            Some(PathBuf::from("/home/ada/.local/share"))
        );
        let environment = Environment::of(&[("XDG_CONFIG_HOME", "/etc/ada")]);
        assert_eq!(environment.config_home(), Some(PathBuf::from("/etc/ada")));
        assert_eq!(environment.data_home(), None);
    }

    #[test]
    fn a_value_that_is_no_text_names_its_variable() {
        let variable = (OsString::from("MCP_AUTH_MODE"), OsString::from_vec(vec![0xff]));
        let environment = Environment::from_iter([variable]);
        let error = environment.text("MCP_AUTH_MODE").unwrap_err().to_string();
        assert!(error.contains("MCP_AUTH_MODE"), "{error}");
    }

    #[test]
    fn names_are_found_by_how_they_begin() {
        let environment = Environment::of(&[
            ("AGENTYARC", "1"),
            ("AGENTYARD_A", "1"),
            ("AGENTYARD_B", "2"),
            ("B", "3"),
        ]);
        let names: Vec<_> = environment.names_beginning("AGENTYARD_").collect();
        assert_eq!(names, ["AGENTYARD_A", "AGENTYARD_B"]);
    }
}
