//! `cargo xtask deny`: what may come in with a dependency.
//!
//! The policy is `deny.toml`, in cargo-deny's format, and the check is ours. cargo-deny itself
//! takes five minutes of processor time to build, a fifth of what the whole gate may take on
//! two cores, and the prebuilt copies in the registries are too old to read this workspace.
//! Of what it does we need little, and that little runs here in seconds.

mod advisories;
mod graph;
mod policy;
mod spdx;
mod yanked;

use crate::args::Args;
use crate::failure::{Failure, Result};
use advisories::Checked;
use graph::Package;
use policy::Policy;

pub(crate) fn verb(args: Args) -> Result {
    args.finish()?;
    for note in check()? {
        println!("! {note}");
    }
    Ok(())
}

/// Checks everything that can be checked here, and gives what could not be as notes.
pub(crate) fn check() -> Result<Vec<String>> {
    let policy = Policy::read()?;
    let packages = graph::packages()?;
    let mut problems = Vec::new();
    let mut notes = Vec::new();

    problems.extend(
        packages
            .iter()
            .filter_map(|package| licence_problem(package, &policy)),
    );
    problems.extend(
        packages
            .iter()
            .filter_map(|package| ban_problem(package, &policy)),
    );
    problems.extend(packages.iter().filter_map(source_problem));
    println!("{} crates: licences, bans and sources checked", packages.len());
    println!(
        "in more than one version: {}",
        graph::duplicates(&packages).join(", ")
    );

    match yanked::find(&packages) {
        Ok(found) => problems.extend(found),
        Err(why) => notes.push(format!("yanked crates: NOT checked: {why}")),
    }
    match advisories::check(&packages, &policy)? {
        Checked::Yes {
            problems: found,
            remarks,
        } => {
            problems.extend(found);
            notes.extend(remarks);
        }
        Checked::No { why } => notes.push(format!("advisories: NOT checked: {why}")),
    }

    if problems.is_empty() {
        return Ok(notes);
    }
    for line in problems.iter().chain(&notes) {
        println!("{line}");
    }
    Err(
        Failure::new(format!("{} objections to dependencies", problems.len()))
            .next("`cargo tree --invert NAME` shows who brings it in; the policy is deny.toml"),
    )
}

fn licence_problem(package: &Package, policy: &Policy) -> Option<String> {
    let Some(licence) = &package.licence else {
        return (!policy.excepts(&package.name, "")).then(|| format!("{package}: declares no licence"));
    };
    match spdx::is_allowed(licence, |id| {
        policy.allows(id) || policy.excepts(&package.name, id)
    }) {
        Ok(true) => None,
        Ok(false) => Some(format!("{package}: licence `{licence}` is not allowed")),
        Err(why) => Some(format!("{package}: licence `{licence}` cannot be read: {why}")),
    }
}

fn ban_problem(package: &Package, policy: &Policy) -> Option<String> {
    let reason = policy.ban(&package.name)?;
    Some(format!("{package}: is banned: {reason}"))
}

fn source_problem(package: &Package) -> Option<String> {
    let unknown = package
        .source
        .as_deref()
        .filter(|source| *source != graph::CRATES_IO)?;
    Some(format!(
        "{package}: comes from `{unknown}`, which is not the public registry"
    ))
}
