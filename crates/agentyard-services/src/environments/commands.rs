//! What is run to make an environment and to install something: whole commands, made of our own words, paths that we chose
//! and requirements that were read and written anew. Nothing here runs anything.

use std::path::{Path, PathBuf};

use agentyard_sandbox::{Conda, Interpreter};

use super::EnvironmentSettings;
use super::entering::python_in;
use super::requested::Requested;
use super::requirement::{Requirement, Source};
use crate::error::{Error, Result};

/// A command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Invocation {
    pub(super) program: String,
    pub(super) arguments: Vec<String>,
    pub(super) environment: Vec<(String, String)>,
}

/// Where a command sees what it needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Inside {
    /// The environment.
    pub(super) environment: PathBuf,
    /// A directory for this one command, with what it is to read.
    pub(super) work: PathBuf,
    /// What was downloaded before.
    pub(super) cache: PathBuf,
}

/// The files in the directory for one command.
pub(super) const REQUIREMENTS: &str = "requirements.txt";
pub(super) const CONSTRAINTS: &str = "constraints.txt";
pub(super) const CERTIFICATES: &str = "certificates.pem";

/// The channel from which conda's packages come.
const CHANNEL: &str = "conda-forge";

/// Asks an interpreter for its version.
const VERSION: &str = "import sys; print('%d.%d.%d' % sys.version_info[:3])";

impl Invocation {
    fn new(program: impl Into<String>, arguments: &[&str]) -> Self {
        Self {
            program: program.into(),
            arguments: arguments.iter().map(|argument| (*argument).to_owned()).collect(),
            environment: Vec::new(),
        }
    }

    fn with(mut self, argument: impl Into<String>) -> Self {
        self.arguments.push(argument.into());
        self
    }

    fn with_variable(mut self, name: &str, value: impl Into<String>) -> Self {
        self.environment.push((name.to_owned(), value.into()));
        self
    }
}

/// Makes a virtual environment. pip is put into it when something is first installed: that takes a hundred times as long.
pub(super) fn make_venv(interpreter: &Interpreter, environment: &Path) -> Invocation {
    Invocation::new(text(&interpreter.program), &["-I", "-m", "venv", "--without-pip"])
        .with(text(environment))
}

/// Puts pip into a virtual environment.
pub(super) fn add_pip(environment: &Path) -> Invocation {
    Invocation::new(
        python_in(environment),
        &["-I", "-m", "ensurepip", "--default-pip"],
    )
}

/// Makes a virtual environment by uv.
pub(super) fn make_by_uv(uv: &str, interpreter: &Interpreter, inside: &Inside) -> Invocation {
    let arguments = [
        "venv",
        "--no-config",
        "--no-project",
        "--no-progress",
        "--no-python-downloads",
        "--offline",
        "--allow-existing",
    ];
    Invocation::new(uv, &arguments)
        .with(format!("--cache-dir={}", text(&inside.cache.join("uv"))))
        .with(format!("--python={}", text(&interpreter.program)))
        .with(text(&inside.environment))
}

/// Fills a new environment of conda with a Python.
pub(super) fn make_by_conda(conda: &Conda, inside: &Inside) -> Invocation {
    conda_install(conda, inside).with("python>=3.9")
}

/// Asks the Python of an environment for its version.
pub(super) fn ask_version(environment: &Path) -> Invocation {
    Invocation::new(python_in(environment), &["-I", "-c", VERSION])
}

/// Installs by pip.
pub(super) fn install_by_pip(settings: &EnvironmentSettings, inside: &Inside, upgrade: bool) -> Invocation {
    let arguments = [
        "-I",
        "-m",
        "pip",
        "install",
        "--isolated",
        "--no-input",
        "--disable-pip-version-check",
        "--no-color",
        "--progress-bar=off",
        "--no-warn-script-location",
        "--retries=2",
    ];
    let mut invocation = Invocation::new(python_in(&inside.environment), &arguments)
        // `--isolated` leaves out the person's configuration, and this the system's.
        .with_variable("PIP_CONFIG_FILE", "/dev/null")
        .with(format!("--cache-dir={}", text(&inside.cache.join("pip"))))
        .with(format!("--index-url={}", settings.index_url));
    for index in &settings.extra_index_urls {
        invocation = invocation.with(format!("--extra-index-url={index}"));
    }
    if settings.certificates.is_some() {
        invocation = invocation.with(format!("--cert={}", text(&inside.work.join(CERTIFICATES))));
    }
    with_files(invocation, inside, upgrade)
}

/// Installs by uv.
pub(super) fn install_by_uv(
    uv: &str,
    settings: &EnvironmentSettings,
    inside: &Inside,
    upgrade: bool,
) -> Invocation {
    let arguments = [
        "pip",
        "install",
        "--no-config",
        "--no-progress",
        "--color=never",
        "--no-python-downloads",
        // The cache is another mount, so nothing can be linked from it.
        "--link-mode=copy",
    ];
    let mut invocation = Invocation::new(uv, &arguments)
        .with(format!("--cache-dir={}", text(&inside.cache.join("uv"))))
        .with(format!("--python={}", python_in(&inside.environment)))
        .with(format!("--default-index={}", settings.index_url));
    for index in &settings.extra_index_urls {
        invocation = invocation.with(format!("--index={index}"));
    }
    if settings.certificates.is_some() {
        let certificates = text(&inside.work.join(CERTIFICATES));
        invocation = invocation.with_variable("SSL_CERT_FILE", certificates);
    }
    with_files(invocation, inside, upgrade)
}

/// Installs by conda, which reads no such files.
pub(super) fn install_conda_packages(
    conda: &Conda,
    inside: &Inside,
    requested: &Requested,
    settings: &EnvironmentSettings,
) -> Result<Invocation> {
    if !requested.constraints.is_empty() {
        return Err(Error::invalid("conda takes no constraints file")
            .hint("name the versions in the requirements, or use a `venv` environment"));
    }
    let specifications = requested.requirements.iter().map(conda_specification);
    let mut invocation = conda_install(conda, inside);
    if settings.certificates.is_some() {
        let certificates = text(&inside.work.join(CERTIFICATES));
        invocation = invocation
            .with_variable("SSL_CERT_FILE", certificates.clone())
            .with_variable("REQUESTS_CA_BUNDLE", certificates);
    }
    for specification in specifications {
        invocation = invocation.with(specification?);
    }
    Ok(invocation)
}

fn conda_install(conda: &Conda, inside: &Inside) -> Invocation {
    let mut arguments = vec!["install", "--yes", "--quiet", "--override-channels"];
    if conda.stands_alone {
        arguments.push("--no-rc");
    }
    let cache = inside.cache.join("conda");
    Invocation::new(text(&conda.program), &arguments)
        .with(format!("--channel={CHANNEL}"))
        .with(format!("--prefix={}", text(&inside.environment)))
        .with_variable("MAMBA_ROOT_PREFIX", text(&cache))
        .with_variable("CONDA_PKGS_DIRS", text(&cache.join("pkgs")))
        .with_variable("CONDARC", "/dev/null")
}

/// `numpy>=2,<3`, as conda writes it too.
fn conda_specification(requirement: &Requirement) -> Result<String> {
    let plain =
        requirement.extras.is_empty() && requirement.marker.is_none() && requirement.hashes.is_empty();
    let Source::Index(versions) = &requirement.source else {
        return Err(not_for_conda(requirement));
    };
    if !plain || versions.iter().any(|range| range.operator == "===") {
        return Err(not_for_conda(requirement));
    }
    Ok(requirement.to_string())
}

fn not_for_conda(requirement: &Requirement) -> Error {
    Error::invalid(format!(
        "conda cannot install `{requirement}`: it knows names and versions, and neither extras, markers, hashes nor addresses"
    ))
    .hint("leave those out, or use a `venv` environment (`configure_environment`)")
}

fn with_files(mut invocation: Invocation, inside: &Inside, upgrade: bool) -> Invocation {
    if upgrade {
        invocation = invocation.with("--upgrade");
    }
    invocation
        .with(format!("--constraint={}", text(&inside.work.join(CONSTRAINTS))))
        .with(format!("--requirement={}", text(&inside.work.join(REQUIREMENTS))))
}

/// Paths are ours, or were found on this machine by their names.
fn text(path: &Path) -> String {
    path.display().to_string()
}
