//! A requirement as PEP 508 writes it: `name[extra] >=1,<2 ; marker`. Read strictly and written anew, so that what reaches
//! an installer is a requirement and nothing else: no option, no path, no second line, no variable to be replaced.

mod marker;
mod scanner;

use std::fmt;

use agentyard_sandbox::normalized_name;

use crate::error::{Error, Result};
use scanner::Scanner;

/// The longest requirement.
const MAX_LENGTH: usize = 2000;

/// How many extras or versions one may name.
const MAX_PARTS: usize = 50;

/// Something that is to be installed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Requirement {
    /// The name, as it was written.
    pub(super) name: String,
    pub(super) extras: Vec<String>,
    pub(super) source: Source,
    /// When it is needed at all.
    pub(super) marker: Option<String>,
    /// What its files must be: `sha256:…`.
    pub(super) hashes: Vec<String>,
}

/// Where a requirement comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Source {
    /// An index, in one of these versions.
    Index(Vec<VersionRange>),
    /// This address.
    Url(String),
}

/// Versions that will do: `>=1.2`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct VersionRange {
    pub(super) operator: &'static str,
    pub(super) version: String,
}

/// The longest first: one begins like another.
const OPERATORS: &[&str] = &["===", "~=", "==", "!=", "<=", ">=", "<", ">"];

impl Requirement {
    /// Reads a requirement.
    pub(super) fn read(text: &str) -> Result<Self> {
        Self::parse(text).map_err(|wrong| {
            let shown: String = text.chars().take(200).collect();
            Error::invalid(format!("`{}` is no requirement: {wrong}", shown.escape_debug()))
                .hint("write a name, and if need be extras and versions: `requests[socks]>=2.31,<3`")
        })
    }

    /// The name by which it is known, however it was written.
    pub(super) fn normalized(&self) -> String {
        normalized_name(&self.name)
    }

    fn parse(text: &str) -> Result<Self, String> {
        if text.len() > MAX_LENGTH {
            return Err(format!("it is longer than {MAX_LENGTH} bytes"));
        }
        if text.trim_start().starts_with('-') {
            return Err("options of the installer are not taken".to_owned());
        }
        let mut scanner = Scanner::new(text);
        let name = scanner
            .name()
            .ok_or("a name of letters, digits, `.`, `_` and `-` comes first")?;
        let extras = extras(&mut scanner)?;
        let source = if scanner.take("@") {
            Source::Url(url(&mut scanner)?)
        } else {
            Source::Index(versions(&mut scanner)?)
        };
        let marker = if scanner.take(";") {
            Some(marker::read(&mut scanner)?)
        } else {
            None
        };
        if !scanner.is_done() {
            return Err(format!("`{}` is not understood", scanner.rest().trim()));
        }
        Ok(Self {
            name: name.to_owned(),
            extras,
            source,
            marker,
            hashes: Vec::new(),
        })
    }
}

/// As a line of a requirements file.
impl fmt::Display for Requirement {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.name)?;
        if !self.extras.is_empty() {
            write!(formatter, "[{}]", self.extras.join(","))?;
        }
        match &self.source {
            Source::Url(url) => write!(formatter, " @ {url}")?,
            Source::Index(versions) => {
                for (place, range) in versions.iter().enumerate() {
                    let comma = if place == 0 { "" } else { "," };
                    write!(formatter, "{comma}{}{}", range.operator, range.version)?;
                }
            }
        }
        if let Some(marker) = &self.marker {
            write!(formatter, " ; {marker}")?;
        }
        for hash in &self.hashes {
            write!(formatter, " --hash={hash}")?;
        }
        Ok(())
    }
}

fn extras(scanner: &mut Scanner<'_>) -> Result<Vec<String>, String> {
    let mut extras = Vec::new();
    if !scanner.take("[") || scanner.take("]") {
        return Ok(extras);
    }
    loop {
        let name = scanner.name().ok_or("an extra is a name")?;
        extras.push(name.to_owned());
        if scanner.take("]") {
            return Ok(extras);
        }
        if !scanner.take(",") || extras.len() == MAX_PARTS {
            return Err("extras are names with commas between them: `name[a,b]`".to_owned());
        }
    }
}

fn versions(scanner: &mut Scanner<'_>) -> Result<Vec<VersionRange>, String> {
    let in_parentheses = scanner.take("(");
    let mut versions = Vec::new();
    while let Some(operator) = OPERATORS.iter().find(|operator| scanner.take(operator)) {
        let version = scanner
            .word(|character| character.is_ascii_alphanumeric() || "._+!*-".contains(character))
            .ok_or_else(|| format!("no version follows `{operator}`"))?;
        versions.push(VersionRange {
            operator,
            version: version.to_owned(),
        });
        if versions.len() == MAX_PARTS {
            return Err(format!("it names more than {MAX_PARTS} versions"));
        }
        if !scanner.take(",") {
            break;
        }
        if !OPERATORS
            .iter()
            .any(|operator| scanner.rest().starts_with(operator))
        {
            return Err("no version follows the last comma".to_owned());
        }
    }
    if in_parentheses && !scanner.take(")") {
        return Err("a parenthesis is not closed".to_owned());
    }
    Ok(versions)
}

/// An address over HTTPS, without a name or password in it.
fn url(scanner: &mut Scanner<'_>) -> Result<String, String> {
    let url = scanner
        .word(|character| character.is_ascii_alphanumeric() || "-._~:/?#[]@!&()*+,;=%".contains(character))
        .unwrap_or_default();
    let rest = url
        .strip_prefix("https://")
        .ok_or("after `@`, only addresses that begin with `https://` are taken")?;
    let host = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let is_host = !host.is_empty()
        && host
            .chars()
            .all(|character| character.is_ascii_alphanumeric() || ".-:[]".contains(character));
    if !is_host {
        return Err("its address must name a host, without a user or password".to_owned());
    }
    Ok(url.to_owned())
}

#[cfg(test)]
mod tests;
