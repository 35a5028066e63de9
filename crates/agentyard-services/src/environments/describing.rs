//! What an environment is, and what is installed in it.

use std::collections::BTreeMap;
use std::os::fd::AsFd as _;
use std::path::PathBuf;

use agentyard_model::{Caller, Permission, Timestamp};
use agentyard_sandbox::{Backend, Enforcement, Limits, Network, distributions};

use super::Environments;
use super::entering::State;
use super::kind::EnvironmentKind;
use super::requirement::{Requirement, Source, VersionRange};
use super::target::{Location, Owner, Target};
use crate::error::{Error, Result};
use crate::places::Place;
use crate::progress::Progress;

/// How many packages one call may ask for.
const MAX_PACKAGES: usize = 500;

/// What an environment is, and what holds for code that runs in it.
#[derive(Debug, Clone)]
pub struct EnvironmentView {
    /// What kind it is.
    pub kind: EnvironmentKind,
    /// For conda, which of several.
    pub conda_name: Option<String>,
    /// Where it is on this machine, when it is not one of ours.
    pub path: Option<PathBuf>,
    /// Where code sees it.
    pub inside: PathBuf,
    /// Whether it was made yet; the first use makes it.
    pub exists: bool,
    /// The version of its Python; of one that is not made yet, the version that it will have.
    pub python: Option<String>,
    /// How many packages are installed in it.
    pub packages: usize,
    /// Another number after each change.
    pub generation: u64,
    /// When it was made.
    pub created: Option<Timestamp>,
    /// Whether the last installation did not come to its end.
    pub unfinished: bool,
    /// Which kinds there can be here.
    pub kinds: Vec<KindAvailability>,
    /// How code is isolated; nothing when none is run here.
    pub backend: Option<Backend>,
    /// The most that code may have of the network.
    pub network: Network,
    /// What code may take.
    pub limits: Limits,
    /// What of this holds here, and what does not.
    pub enforcement: Enforcement,
}

/// Whether there can be a kind of environment here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KindAvailability {
    /// The kind.
    pub kind: EnvironmentKind,
    /// Why not, and what to do about it.
    pub missing: Option<String>,
}

/// Which packages are installed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckedPackages {
    /// One for each that was asked for; all that there are when none was.
    pub packages: Vec<CheckedPackage>,
    /// Whether the environment was made yet.
    pub exists: bool,
}

/// Whether a package is installed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckedPackage {
    /// Its name.
    pub name: String,
    /// Its version, when it is installed.
    pub version: Option<String>,
    /// Whether it is what was asked for, when that was an exact version.
    pub satisfied: Option<bool>,
}

impl Environments {
    /// What the environment of a place is. Nothing is made for that.
    ///
    /// # Errors
    /// When the caller may not read, or there is no such place.
    pub async fn describe(&self, caller: &Caller, place: &Place) -> Result<EnvironmentView> {
        caller.require(Permission::ProjectRead)?;
        let owner = self.owner(caller, place, &Progress::ignored()).await?;
        self.describe_owner(owner).await
    }

    pub(super) async fn describe_owner(&self, owner: Owner) -> Result<EnvironmentView> {
        let enforcement = match &self.0.sandbox {
            Some(sandbox) => sandbox.enforcement().await,
            None => Enforcement::default(),
        };
        self.blocking("looking at an environment", move |environments| {
            let target = environments.target(&owner)?;
            Ok(environments.view(&target, enforcement))
        })
        .await
    }

    fn view(&self, target: &Target, enforcement: Enforcement) -> EnvironmentView {
        let record = match self.look_at(target) {
            State::Ready(record) => Some(record),
            State::Absent(_) => None,
        };
        let packages = record.as_ref().and_then(|record| {
            let directory = target.open().ok()?;
            distributions(directory.as_fd(), record.python).ok()
        });
        let availability = |kind: EnvironmentKind| KindAvailability {
            kind,
            missing: self
                .missing(kind)
                .map(|missing| format!("{}: {}", missing.reason, missing.remedy)),
        };
        let kinds = EnvironmentKind::ALL.iter().copied().map(availability).collect();
        let planned = || match target.kind {
            EnvironmentKind::Conda => None,
            EnvironmentKind::Venv | EnvironmentKind::VenvUv => Some(self.interpreter().ok()?.version),
        };
        let python = record.as_ref().map(|record| record.python).or_else(planned);
        EnvironmentView {
            kind: target.kind,
            conda_name: target.conda_name.clone(),
            path: match &target.location {
                Location::Ours => None,
                Location::Machine(_) | Location::Tree(..) => Some(target.host_path()),
            },
            inside: self.inside(target),
            exists: record.is_some(),
            python: python.map(|version| version.to_string()),
            packages: packages.map_or(0, |packages| packages.len()),
            generation: record.as_ref().map_or(0, |record| record.generation),
            created: record.as_ref().map(|record| record.created),
            unfinished: record.is_some_and(|record| record.unfinished),
            kinds,
            backend: self.0.sandbox.as_ref().map(|sandbox| sandbox.backend()),
            network: self.0.settings.network,
            limits: self.0.limits,
            enforcement,
        }
    }

    /// Which packages are installed in the environment of a place; without names, all. Nothing is made or run for that.
    ///
    /// # Errors
    /// When the caller may not read, there is no such place, or a name is none.
    pub async fn check(
        &self,
        caller: &Caller,
        place: &Place,
        packages: &[String],
    ) -> Result<CheckedPackages> {
        caller.require(Permission::ProjectRead)?;
        if packages.len() > MAX_PACKAGES {
            return Err(Error::invalid(format!("more than {MAX_PACKAGES} packages")));
        }
        let wanted = packages
            .iter()
            .map(|text| Requirement::read(text))
            .collect::<Result<Vec<_>>>()?;
        let owner = self.owner(caller, place, &Progress::ignored()).await?;
        self.blocking("reading what is installed", move |environments| {
            let target = environments.target(&owner)?;
            let State::Ready(record) = environments.look_at(&target) else {
                return Ok(CheckedPackages {
                    packages: wanted
                        .iter()
                        .map(|wanted| checked(wanted, &BTreeMap::new()))
                        .collect(),
                    exists: false,
                });
            };
            let directory = target.open()?;
            let found = distributions(directory.as_fd(), record.python)
                .map_err(|error| Error::internal("reading what is installed", error))?;
            let found: BTreeMap<String, String> = found
                .into_iter()
                .map(|found| (found.name, found.version))
                .collect();
            let packages = if wanted.is_empty() {
                let all = found.into_iter().map(|(name, version)| CheckedPackage {
                    name,
                    version: Some(version),
                    satisfied: None,
                });
                all.collect()
            } else {
                wanted.iter().map(|wanted| checked(wanted, &found)).collect()
            };
            Ok(CheckedPackages {
                packages,
                exists: true,
            })
        })
        .await
    }
}

fn checked(wanted: &Requirement, found: &BTreeMap<String, String>) -> CheckedPackage {
    let name = wanted.normalized();
    let version = found.get(&name).cloned();
    // Only what is told exactly is compared: how versions are ordered is for installers to know.
    let exact = match &wanted.source {
        Source::Index(ranges) => match ranges.as_slice() {
            [
                VersionRange {
                    operator: "==" | "===",
                    version,
                },
            ] if !version.contains('*') => Some(version),
            _ => None,
        },
        Source::Url(_) => None,
    };
    CheckedPackage {
        satisfied: exact
            .zip(version.as_ref())
            .map(|(exact, version)| exact == version),
        name,
        version,
    }
}
