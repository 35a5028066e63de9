//! Addresses of repositories: the few forms that are accepted, and everything else refused.

use std::fmt;
use std::path::{Path, PathBuf};

use url::{Host, Url};

use crate::{Error, text};

/// Longer than any address that a forge gives out.
const MAX_LENGTH: usize = 2048;

/// The address of a repository, normalised and free of secrets: it may be stored and shown.
///
/// Accepted are `https://`, `http://`, `ssh://`, `user@host:path`, `file://` and absolute paths. Where it may lead is
/// checked later, when a connection is about to be made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RemoteUrl {
    text: String,
    place: Place,
}

/// Where an address leads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Place {
    Http { secure: bool, host: Host, port: u16 },
    Ssh { host: Host, port: u16 },
    Local(PathBuf),
}

impl RemoteUrl {
    /// Reads an address as a caller or a configuration gives it.
    pub fn parse(text: &str) -> Result<Self, Error> {
        let shown = || {
            let shown: String = crate::remote_url::without_credentials(text)
                .chars()
                .take(200)
                .collect();
            format!("the address {shown:?}")
        };
        let (place, text) = parse(text).map_err(|reason| Error::invalid(shown(), reason))?;
        Ok(Self { text, place })
    }

    /// The address, as git gets it.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// The directory, when it is one of this machine.
    pub fn local_path(&self) -> Option<&Path> {
        match &self.place {
            Place::Local(path) => Some(path),
            Place::Http { .. } | Place::Ssh { .. } => None,
        }
    }

    /// Whether it is reached over HTTP, with or without TLS.
    pub fn is_http(&self) -> bool {
        matches!(self.place, Place::Http { .. })
    }

    pub(crate) fn place(&self) -> &Place {
        &self.place
    }

    /// Host and port as credentials name them; none for a place on this machine.
    pub fn authority(&self) -> Option<String> {
        match &self.place {
            Place::Http { secure, host, port } => {
                let usual = if *secure { 443 } else { 80 };
                Some(if *port == usual {
                    host.to_string()
                } else {
                    format!("{host}:{port}")
                })
            }
            Place::Ssh { host, .. } => Some(host.to_string()),
            Place::Local(_) => None,
        }
    }

    /// The last part of its path, without `.git`: what a directory for it would be called.
    pub fn name(&self) -> Option<&str> {
        let path = self.text.trim_end_matches('/');
        let name = path.rsplit(['/', ':']).next()?;
        let name = name.strip_suffix(".git").unwrap_or(name);
        (!name.is_empty()).then_some(name)
    }
}

impl fmt::Display for RemoteUrl {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.text)
    }
}

const ACCEPTED: &str = "use https://host/path, ssh://user@host/path, user@host:path, or an absolute path";
const SECRET: &str = "it contains a password or token; give the address without, and the token by the environment of the server (`GITHUB_TOKEN`, or `AGENTYARD_GIT_CREDENTIALS=host=user:token`)";

fn parse(text: &str) -> Result<(Place, String), &'static str> {
    if text.is_empty() {
        return Err("it is empty");
    }
    if text.len() > MAX_LENGTH {
        return Err("it is too long");
    }
    if text != text::one_line(text) || text != text.trim() || text.contains('\\') {
        return Err("it contains control characters, backslashes, or spaces around it");
    }
    if text.starts_with('-') {
        return Err("it starts with a dash");
    }
    if text.starts_with('/') {
        return Ok((Place::Local(PathBuf::from(text)), text.to_owned()));
    }
    match text.split_once("://") {
        Some((scheme, _)) => match scheme.to_ascii_lowercase().as_str() {
            "https" | "http" => parse_http(text),
            "ssh" => parse_ssh(text),
            "file" => parse_file(text),
            _ => Err(ACCEPTED),
        },
        None => parse_short(text),
    }
}

fn parse_http(text: &str) -> Result<(Place, String), &'static str> {
    let url = parsed(text)?;
    if url.password().is_some() {
        return Err(SECRET);
    }
    let secure = url.scheme() == "https";
    let host = checked(url.host().map(|host| host.to_owned()).ok_or(ACCEPTED)?)?;
    let port = url.port_or_known_default().ok_or("its port is not a number")?;
    let place = Place::Http {
        secure,
        host: host.clone(),
        port,
    };
    // The user name goes: it is not part of the place, and some hosts take a token for one.
    let port = url.port().map(|port| format!(":{port}")).unwrap_or_default();
    Ok((
        place,
        format!("{}://{host}{port}{}", url.scheme(), path_of(&url)?),
    ))
}

fn parse_ssh(text: &str) -> Result<(Place, String), &'static str> {
    let url = parsed(text)?;
    if url.password().is_some() {
        return Err(SECRET);
    }
    let user = checked_user(url.username())?;
    let host = parsed_host(url.host_str().unwrap_or_default())?;
    let place = Place::Ssh {
        host: host.clone(),
        port: url.port().unwrap_or(22),
    };
    let port = url.port().map(|port| format!(":{port}")).unwrap_or_default();
    Ok((place, format!("ssh://{user}{host}{port}{}", path_of(&url)?)))
}

fn parse_file(text: &str) -> Result<(Place, String), &'static str> {
    let url = parsed(text)?;
    let path = url
        .to_file_path()
        .ok()
        .filter(|path| path.is_absolute() && url.query().is_none() && url.fragment().is_none())
        .ok_or("it is not the path of a directory on this machine")?;
    let shown = path.to_str().ok_or("it is not valid UTF-8")?.to_owned();
    if shown != text::one_line(&shown) {
        return Err("it contains control characters");
    }
    Ok((Place::Local(path), shown))
}

/// `user@host:path`, as `ssh` and `scp` know it.
fn parse_short(text: &str) -> Result<(Place, String), &'static str> {
    if let Some(rest) = text.strip_prefix('[') {
        let (host, path) = rest.split_once("]:").ok_or(ACCEPTED)?;
        return short("", &format!("[{host}]"), path);
    }
    // `user@[::1]:path`: the first colon is inside the brackets.
    if let Some((user, rest)) = text.split_once("@[")
        && !user.contains(['/', ':'])
    {
        let (host, path) = rest.split_once("]:").ok_or(ACCEPTED)?;
        return short(user, &format!("[{host}]"), path);
    }
    let (before, path) = text.split_once(':').ok_or(ACCEPTED)?;
    if before.contains('/') || path.starts_with(':') {
        return Err(ACCEPTED);
    }
    match before.rsplit_once('@') {
        Some((user, host)) => short(user, host, path),
        // `user:password@host:path` is no form that ssh knows.
        None if path.contains('@') => Err(SECRET),
        None => short("", before, path),
    }
}

fn short(user: &str, host: &str, path: &str) -> Result<(Place, String), &'static str> {
    let user = checked_user(user)?;
    let host = parsed_host(host)?;
    if path.is_empty() || path.starts_with('-') {
        return Err("it names no repository");
    }
    let text = format!("{user}{host}:{path}");
    Ok((Place::Ssh { host, port: 22 }, text))
}

fn parsed(text: &str) -> Result<Url, &'static str> {
    let url = Url::parse(text).map_err(|_| "its host or port cannot be read")?;
    if url.query().is_some() || url.fragment().is_some() {
        return Err("it has a query or a fragment, which repositories do not have");
    }
    Ok(url)
}

fn parsed_host(text: &str) -> Result<Host, &'static str> {
    checked(Host::parse(text).map_err(|_| "its host cannot be read")?)
}

fn checked(host: Host) -> Result<Host, &'static str> {
    match host {
        Host::Domain(name) => {
            let name = name.trim_end_matches('.');
            let plain = |character: char| character.is_ascii_alphanumeric() || "-._".contains(character);
            if name.is_empty() || name.starts_with('-') || !name.chars().all(plain) {
                return Err("its host cannot be read");
            }
            // `127.1.` is an address again once its dot is gone.
            match Host::parse(name) {
                Ok(Host::Domain(name)) => Ok(Host::Domain(name)),
                Ok(address) => Ok(address),
                Err(_) => Err("its host cannot be read"),
            }
        }
        address => Ok(address),
    }
}

fn checked_user(user: &str) -> Result<String, &'static str> {
    let plain = |character: char| character.is_ascii_alphanumeric() || "-._+".contains(character);
    if user.contains(':') {
        return Err(SECRET);
    }
    if user.starts_with('-') || !user.chars().all(plain) {
        return Err("its user name cannot be read");
    }
    Ok(if user.is_empty() {
        String::new()
    } else {
        format!("{user}@")
    })
}

fn path_of(url: &Url) -> Result<&str, &'static str> {
    let path = url.path();
    if path.trim_matches('/').is_empty() {
        return Err("it names no repository");
    }
    let lower = path.to_ascii_lowercase();
    if ["%00", "%0a", "%0d", "%1b"]
        .iter()
        .any(|code| lower.contains(code))
    {
        return Err("it contains control characters");
    }
    Ok(path)
}

#[cfg(test)]
mod tests;
