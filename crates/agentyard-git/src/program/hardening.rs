//! Settings for every git process that are stronger than the repository's own.
//!
//! Two layers: a fixed set, and one setting for each key of the repository's configuration that names a program,
//! a file or an address. What no setting can undo is refused.

use gix::bstr::ByteSlice as _;

use super::Trust;
use crate::{Error, Repository, text};

/// A key and its value, as `git -c` would take them.
pub(crate) type Setting = (String, String);

/// What a git process is about to do, as far as it decides what may not be in the configuration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reach {
    /// It works on the repository alone.
    Repository,
    /// It merges contents, for which a repository may name programs.
    Merging,
    /// It signs, for which it runs the person's own signing program.
    Signing,
    /// It merges contents and signs what comes of it.
    SignedMerging,
    /// It talks to other machines.
    Network,
}

impl Reach {
    /// Whether it runs the person's signing program.
    pub(crate) fn signs(self) -> bool {
        matches!(self, Self::Signing | Self::SignedMerging)
    }
}

/// For every process. What is acknowledged is on disk, nobody is asked, nothing runs in the background.
const ALWAYS: &[(&str, &str)] = &[
    ("core.fsync", "all"),
    ("core.fsyncMethod", "batch"),
    ("core.editor", ":"),
    ("sequence.editor", ":"),
    ("core.pager", "cat"),
    ("color.ui", "false"),
    ("core.quotePath", "false"),
    ("gc.auto", "0"),
    ("maintenance.auto", "false"),
    ("commit.gpgSign", "false"),
    ("tag.gpgSign", "false"),
    ("push.gpgSign", "false"),
    ("log.showSignature", "false"),
    ("submodule.recurse", "false"),
    ("fetch.recurseSubmodules", "false"),
    ("push.recurseSubmodules", "no"),
    ("status.submoduleSummary", "false"),
    ("merge.autoStash", "false"),
    ("rebase.autoStash", "false"),
    ("rerere.enabled", "false"),
    ("safe.bareRepository", "explicit"),
    // The owner was checked when the repository was opened, for each of its parts.
    ("safe.directory", "*"),
    ("advice.detachedHead", "false"),
];

/// For repositories that are not trusted.
const UNTRUSTED: &[(&str, &str)] = &[
    ("core.hooksPath", "/dev/null"),
    ("core.fsmonitor", "false"),
    ("core.attributesFile", "/dev/null"),
    ("core.excludesFile", "/dev/null"),
    ("core.askPass", ""),
    ("core.alternateRefsCommand", ":"),
    ("blame.ignoreRevsFile", ""),
    ("mailmap.file", ""),
    ("mailmap.blob", ""),
    ("diff.orderFile", "/dev/null"),
    ("diff.ignoreSubmodules", "dirty"),
    ("transfer.fsckObjects", "true"),
    ("fetch.fsckObjects", "true"),
    ("receive.fsckObjects", "true"),
];

/// How many filters are named. A repository with more has made its point.
const MAX_FILTERS: usize = 20;

/// What becomes of a key that stands in the configuration of a repository that is not trusted.
#[derive(Debug, PartialEq, Eq)]
enum Fate {
    Harmless,
    /// It is given this value.
    Becomes(&'static str),
    /// git is not started.
    Refused,
}

/// The settings for a process in a repository.
pub(super) fn settings(
    repository: Option<&Repository>,
    trust: Trust,
    reach: Reach,
) -> Result<Vec<Setting>, Error> {
    let mut settings = owned(ALWAYS);
    if trust == Trust::Untrusted {
        settings.extend(owned(UNTRUSTED));
        if let Some(repository) = repository {
            settings.extend(overriding(repository, reach)?);
        }
    }
    Ok(settings)
}

/// Drops those of the person's settings about which a repository's own word counts more: who commits, how lines
/// end. It has no say about programs, keys and addresses.
pub(super) fn prefer_repository(settings: &mut Vec<Setting>, repository: &Repository) {
    const NEVER: &[&str] = &[
        "gpg.",
        "credential.",
        "http.",
        "https.",
        "ssh.",
        "url.",
        "core.sshcommand",
        "user.signingkey",
    ];
    let own: Vec<String> = keys(repository).map(|key| key.full().to_lowercase()).collect();
    settings.retain(|(key, _)| {
        let key = key.to_lowercase();
        NEVER.iter().any(|never| key.starts_with(never)) || !own.contains(&key)
    });
}

/// What of a repository git would run or follow, were it trusted: hooks by name, and keys of its configuration.
/// Where there is none, trust makes no difference.
pub(crate) fn programs(repository: &Repository) -> Vec<String> {
    let named = keys(repository).filter(|key| {
        matches!(
            key.full().to_ascii_lowercase().as_str(),
            "core.hookspath" | "core.fsmonitor"
        ) || [Reach::Repository, Reach::SignedMerging, Reach::Network]
            .into_iter()
            .any(|reach| key.fate(reach) != Fate::Harmless)
    });
    let hooks = repository.hooks().map(|hook| format!("hook {hook}"));
    hooks
        .chain(named.map(|key| text::one_line(&key.full())))
        .collect()
}

/// What a repository would have had git run, and did not.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LeftOut {
    /// Hooks, by name.
    pub hooks: Vec<String>,
    /// Filters, by name.
    pub filters: Vec<String>,
}

/// Which of these hooks, and which filters, a repository has. Both lists are empty for a repository that
/// names no program.
pub(crate) fn left_out(repository: &Repository, hooks: &[&str]) -> LeftOut {
    let local = repository.local();
    let config = local.config_snapshot();
    let hooks_are_elsewhere = config.string("core.hooksPath").is_some();
    let hooks = hooks
        .iter()
        .filter(|hook| hooks_are_elsewhere || repository.has_hook(hook))
        .map(|hook| (*hook).to_owned())
        .collect();
    let mut filters: Vec<String> = keys(repository)
        .filter(|key| key.section == "filter" && matches!(key.name.as_str(), "clean" | "smudge" | "process"))
        .filter_map(|key| key.subsection)
        .map(|name| text::one_line(&name))
        .collect();
    filters.dedup();
    filters.truncate(MAX_FILTERS);
    LeftOut { hooks, filters }
}

/// A key of a repository's configuration, in lower case but for the middle.
#[derive(Debug, Clone)]
struct Key {
    section: String,
    subsection: Option<String>,
    name: String,
}

impl Key {
    fn full(&self) -> String {
        match &self.subsection {
            Some(subsection) => format!("{}.{subsection}.{}", self.section, self.name),
            None => format!("{}.{}", self.section, self.name),
        }
    }

    /// Whether the middle could be the address of a repository: no name of a remote has a colon, or begins with a
    /// slash.
    fn is_address(&self) -> bool {
        let middle = self.subsection.as_deref().unwrap_or_default();
        middle.contains(':') || middle.starts_with('/')
    }

    fn fate(&self, reach: Reach) -> Fate {
        let has_subsection = self.subsection.is_some();
        match (self.section.as_str(), self.name.as_str()) {
            ("include" | "includeif", _) => Fate::Refused,
            ("filter", "clean" | "smudge" | "process") => Fate::Becomes(""),
            ("filter", "required") => Fate::Becomes("false"),
            ("diff", "command" | "textconv" | "external") => Fate::Becomes(""),
            ("trailer", "command" | "cmd") => Fate::Becomes(""),
            // Each line of a rebase's plan is made by it, and a line may name a program.
            ("rebase", "instructionformat") => Fate::Becomes("%s"),
            // Options for the command line.
            ("branch", "mergeoptions") => Fate::Becomes(""),
            ("gpg", "program" | "defaultkeycommand") if reach.signs() => Fate::Refused,
            ("merge", "driver") if matches!(reach, Reach::Merging | Reach::SignedMerging) => Fate::Refused,
            ("remote", "uploadpack") => Fate::Becomes("git-upload-pack"),
            ("remote", "receivepack") => Fate::Becomes("git-receive-pack"),
            ("remote", "promisor") => Fate::Becomes("false"),
            ("remote", "vcs" | "proxy" | "proxyauthmethod") if reach == Reach::Network => Fate::Refused,
            ("url", _) if reach == Reach::Network => Fate::Refused,
            // A key for one address is stronger than any general one, whatever its source.
            ("http" | "https", name) if reach == Reach::Network && !is_harmless_http(name) => Fate::Refused,
            // The general list of helpers is emptied before the person's own are named.
            ("credential", "helper") if !has_subsection => Fate::Harmless,
            ("credential", _) if reach == Reach::Network => Fate::Refused,
            ("fetch", "bundleuri") if reach == Reach::Network => Fate::Refused,
            // An address that git is given explicitly would be taken for the name of this remote.
            ("remote", _) if reach == Reach::Network && self.is_address() => Fate::Refused,
            ("core", "sshcommand" | "gitproxy") if reach == Reach::Network => Fate::Refused,
            _ => Fate::Harmless,
        }
    }
}

fn is_harmless_http(name: &str) -> bool {
    matches!(
        name,
        "postbuffer" | "version" | "lowspeedlimit" | "lowspeedtime" | "maxrequests" | "useragent"
    )
}

fn overriding(repository: &Repository, reach: Reach) -> Result<Vec<Setting>, Error> {
    let mut settings = Vec::new();
    for key in keys(repository) {
        match key.fate(reach) {
            Fate::Harmless => {}
            Fate::Becomes(value) => settings.push((key.full(), value.to_owned())),
            Fate::Refused => {
                return Err(Error::UntrustedSetting {
                    path: repository.shown(),
                    key: text::one_line(&key.full()),
                });
            }
        }
    }
    Ok(settings)
}

fn keys(repository: &Repository) -> impl Iterator<Item = Key> {
    let local = repository.local();
    let config = local.config_snapshot();
    let mut keys = Vec::new();
    for section in config.plumbing().sections() {
        let header = section.header();
        for name in section.body().value_names() {
            keys.push(Key {
                section: header.name().to_str_lossy().to_ascii_lowercase(),
                subsection: header
                    .subsection_name()
                    .map(|name| name.to_str_lossy().into_owned()),
                name: name.to_ascii_lowercase(),
            });
        }
    }
    keys.into_iter()
}

fn owned(settings: &[(&str, &str)]) -> Vec<Setting> {
    settings
        .iter()
        .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fate(section: &str, subsection: Option<&str>, name: &str, reach: Reach) -> Fate {
        Key {
            section: section.to_owned(),
            subsection: subsection.map(ToOwned::to_owned),
            name: name.to_owned(),
        }
        .fate(reach)
    }

    #[test]
    fn programs_are_taken_out_and_addresses_refused() {
        for reach in [Reach::Repository, Reach::Merging, Reach::Signing, Reach::Network] {
            assert_eq!(fate("include", None, "path", reach), Fate::Refused);
            assert_eq!(fate("includeif", Some("gitdir:/"), "path", reach), Fate::Refused);
            assert_eq!(fate("filter", Some("x"), "clean", reach), Fate::Becomes(""));
        }
        let cases = [
            ("url", Some("ext::sh"), "insteadof", Reach::Network),
            ("http", None, "proxy", Reach::Network),
            ("http", Some("https://a.example"), "sslverify", Reach::Network),
            ("credential", Some("https://a.example"), "helper", Reach::Network),
            ("core", None, "sshcommand", Reach::Network),
            ("remote", Some("origin"), "vcs", Reach::Network),
            ("remote", Some("https://a.example/b"), "url", Reach::Network),
            ("remote", Some("git@a.example:b"), "url", Reach::Network),
            ("remote", Some("/srv/a/.git"), "url", Reach::Network),
            ("credential", None, "username", Reach::Network),
            ("fetch", None, "bundleuri", Reach::Network),
            ("merge", Some("x"), "driver", Reach::Merging),
            ("gpg", Some("ssh"), "program", Reach::Signing),
            ("merge", Some("x"), "driver", Reach::SignedMerging),
            ("gpg", Some("ssh"), "program", Reach::SignedMerging),
        ];
        for (section, subsection, name, reach) in cases {
            assert_eq!(
                fate(section, subsection, name, reach),
                Fate::Refused,
                "{section}.{name}"
            );
            assert_eq!(fate(section, subsection, name, Reach::Repository), Fate::Harmless);
        }
        assert_eq!(fate("http", None, "postbuffer", Reach::Network), Fate::Harmless);
        assert_eq!(
            fate("rebase", None, "instructionformat", Reach::Merging),
            Fate::Becomes("%s")
        );
        assert_eq!(
            fate("branch", Some("main"), "mergeoptions", Reach::Merging),
            Fate::Becomes("")
        );
        assert_eq!(
            fate("remote", Some("origin"), "uploadpack", Reach::Network),
            Fate::Becomes("git-upload-pack")
        );
    }
}
