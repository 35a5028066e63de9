//! What of this machine's own files a sandbox shows: the system, and the tools that are on the search path.
//!
//! Everything is named here that is shown. What is not named is not there: home directories, credentials, sockets,
//! the data of this server.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

/// Where programs and libraries are. On most machines all but the first are links into it.
const ROOTS: &[&str] = &[
    "/usr",
    "/bin",
    "/sbin",
    "/lib",
    "/lib32",
    "/lib64",
    "/libx32",
    "/nix/store",
    "/gnu/store",
];

/// Files of `/etc` that programs read, and that say nothing about anybody.
const SETTINGS: &[&str] = &[
    "debian_version",
    "gai.conf",
    "host.conf",
    "inputrc",
    "ld.so.cache",
    "ld.so.conf",
    "localtime",
    "magic",
    "mime.types",
    "nsswitch.conf",
    "os-release",
    "protocols",
    "rpc",
    "services",
    "timezone",
    "ssl/openssl.cnf",
    "pki/tls/cert.pem",
    "pki/tls/openssl.cnf",
];

/// Directories of `/etc` of the same kind. A star stands for the rest of a name.
const SETTING_DIRECTORIES: &[&str] = &[
    "alternatives",
    "ca-certificates/extracted",
    "crypto-policies",
    "fonts",
    "java-*",
    "ld.so.conf.d",
    "pki/ca-trust",
    "pki/tls/certs",
    "ssl/certs",
    "static",
    "terminfo",
];

/// Something of the host that is shown inside.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Shown {
    /// A directory or file, at its own path, that everybody can reach.
    Open(String),
    /// One that perhaps not everybody can reach.
    Closed(String),
    /// A small file, of which a copy is shown.
    Copy(String),
    /// A link.
    Link { at: String, to: String },
}

/// What a sandbox shows of this machine. The order is that in which it is put together.
pub(crate) fn shown(search_path: &OsStr, home: Option<&Path>, read_only: &[PathBuf]) -> Vec<Shown> {
    let mut shown = Vec::new();
    for root in ROOTS {
        shown.extend(entry(Path::new(root), Shown::Open));
    }
    for name in SETTINGS {
        shown.extend(entry(&Path::new("/etc").join(name), Shown::Copy));
    }
    for pattern in SETTING_DIRECTORIES {
        for path in matching(Path::new("/etc"), pattern) {
            shown.extend(entry(&path, Shown::Open));
        }
    }
    let mut tools: BTreeSet<PathBuf> = std::env::split_paths(search_path)
        .flat_map(|directory| tool_directories(&directory, home))
        .collect();
    tools.extend(read_only.iter().cloned());
    let outermost = outermost(tools);
    shown.extend(
        outermost
            .iter()
            .filter(|path| path.exists())
            .filter_map(|path| text(path))
            .map(Shown::Closed),
    );
    shown
}

/// What is at a path: a link as such, everything else in this way, nothing when it is not there.
fn entry(path: &Path, show: fn(String) -> Shown) -> Option<Shown> {
    let kind = fs::symlink_metadata(path).ok()?.file_type();
    if !kind.is_symlink() {
        return text(path).map(show);
    }
    let to = text(&fs::read_link(path).ok()?)?;
    Some(Shown::Link { at: text(path)?, to })
}

fn text(path: &Path) -> Option<String> {
    path.to_str().map(str::to_owned)
}

fn matching(directory: &Path, pattern: &str) -> Vec<PathBuf> {
    let Some(prefix) = pattern.strip_suffix('*') else {
        return vec![directory.join(pattern)];
    };
    let names = fs::read_dir(directory).into_iter().flatten().flatten();
    names
        .map(|entry| entry.path())
        .filter(|path| {
            let name = path.file_name().and_then(OsStr::to_str);
            name.is_some_and(|name| name.starts_with(prefix))
        })
        .collect()
}

/// What is needed to use the programs of a directory of the search path: itself, and what its programs are made of,
/// which for many is next to it. Nothing that could hold a credential: of `~/.cargo` only the programs, for example.
fn tool_directories(directory: &Path, home: Option<&Path>) -> Vec<PathBuf> {
    if !directory.is_absolute() || is_of_the_system(directory) {
        return Vec::new();
    }
    let own_home = home.filter(|home| *home != Path::new("/"));
    let Some((home, below)) = own_home.and_then(|home| Some((home, directory.strip_prefix(home).ok()?)))
    else {
        return elsewhere(directory);
    };
    let mut names = below.iter().filter_map(OsStr::to_str);
    let (first, second, third) = (names.next(), names.next(), names.next());
    match (first, second, third) {
        // A home directory on the search path is somebody's mistake.
        (None, ..) => Vec::new(),
        (Some(".cargo"), Some("bin"), None) => vec![directory.to_owned(), home.join(".rustup")],
        (Some(".pyenv" | ".rbenv" | ".nodenv" | ".goenv"), ..) => vec![home.join(first.unwrap_or_default())],
        (Some(".nvm"), Some("versions"), _) => vec![home.join(".nvm/versions")],
        (Some(".volta"), Some("bin"), None) => vec![directory.to_owned(), home.join(".volta/tools")],
        (Some(".local"), Some("bin"), None) => vec![
            directory.to_owned(),
            home.join(".local/share/uv/python"),
            home.join(".local/share/uv/tools"),
            home.join(".local/share/pipx/venvs"),
        ],
        (Some(".local"), Some("share"), Some("fnm" | "mise" | "rtx")) => {
            vec![home.join(".local/share").join(third.unwrap_or_default())]
        }
        (Some(".asdf"), ..) => vec![home.join(".asdf")],
        (Some(".sdkman"), Some("candidates"), _) => vec![home.join(".sdkman/candidates")],
        (Some(".bun" | ".deno" | "go"), Some("bin"), None) => vec![directory.to_owned()],
        (Some("miniconda3" | "anaconda3" | "miniforge3" | "mambaforge" | "micromamba"), ..) => {
            vec![home.join(first.unwrap_or_default())]
        }
        // A directory of programs, but not what is next to it: it could be anything.
        _ => vec![directory.to_owned()],
    }
}

/// Outside of the home directory, programs come with what they need in a directory of their own: `/opt/go/bin`.
fn elsewhere(directory: &Path) -> Vec<PathBuf> {
    let names: Vec<&OsStr> = directory.iter().skip(1).collect();
    match names.as_slice() {
        [] => Vec::new(),
        [first, second, ..] if *first == "opt" => vec![Path::new("/opt").join(second)],
        [first, second, third, ..] if *first == "home" && *second == "linuxbrew" => {
            vec![Path::new("/home/linuxbrew").join(third)]
        }
        _ => vec![directory.to_owned()],
    }
}

fn is_of_the_system(path: &Path) -> bool {
    ROOTS.iter().any(|root| path.starts_with(root))
}

/// Those that are not below another.
fn outermost(paths: BTreeSet<PathBuf>) -> Vec<PathBuf> {
    let mut kept: Vec<PathBuf> = Vec::new();
    // A directory comes before all that is below it.
    for path in paths {
        let is_safe = path.is_absolute() && path.parent().is_some() && !covers_ours(&path);
        if is_safe && !is_of_the_system(&path) && !kept.iter().any(|outer| path.starts_with(outer)) {
            kept.push(path);
        }
    }
    kept
}

/// Places where a sandbox has something of its own.
fn covers_ours(path: &Path) -> bool {
    [
        "/proc",
        "/dev",
        "/sys",
        "/tmp",
        "/run",
        "/workspace",
        "/env",
        "/etc",
        "/home/agent",
        "/home",
    ]
    .iter()
    .any(|ours| path == Path::new(ours))
        || path.starts_with("/proc")
        || path.starts_with("/sys")
        || path.starts_with("/dev")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tools(directory: &str) -> Vec<String> {
        let found = tool_directories(Path::new(directory), Some(Path::new("/home/ada")));
        found.iter().filter_map(|path| text(path)).collect()
    }

    #[test]
    fn tools_come_with_what_they_need_and_without_credentials() {
        assert_eq!(
            tools("/home/ada/.cargo/bin"),
            ["/home/ada/.cargo/bin", "/home/ada/.rustup"]
        );
        assert_eq!(tools("/home/ada/.pyenv/shims"), ["/home/ada/.pyenv"]);
        assert_eq!(
            tools("/home/ada/.nvm/versions/node/v20.1.0/bin"),
            ["/home/ada/.nvm/versions"]
        );
        assert_eq!(tools("/opt/go/bin"), ["/opt/go"]);
        assert_eq!(tools("/home/ada/bin"), ["/home/ada/bin"]);
        for nothing in ["/usr/bin", "/bin", "/home/ada", "bin", "/"] {
            assert_eq!(tools(nothing), [""; 0], "{nothing}");
        }
    }

    #[test]
    fn what_is_below_another_is_shown_once_and_what_is_ours_never() {
        let paths = [
            "/opt/a/b", "/opt/a", "/opt/ab", "/usr/lib", "/", "/tmp", "relative", "/proc/1",
        ];
        let kept = outermost(paths.iter().map(PathBuf::from).collect());
        assert_eq!(kept, [PathBuf::from("/opt/a"), PathBuf::from("/opt/ab")]);
    }

    #[test]
    fn of_etc_only_what_is_named_is_shown() {
        let shown = shown(OsStr::new(""), None, &[]);
        let names = |path: &str| {
            shown.iter().any(|shown| match shown {
                Shown::Open(at) | Shown::Closed(at) | Shown::Copy(at) | Shown::Link { at, .. } => at == path,
            })
        };
        assert!(names("/usr") && names("/etc/ld.so.cache") && names("/bin"));
        for secret in [
            "/etc",
            "/etc/shadow",
            "/etc/passwd",
            "/etc/ssl",
            "/root",
            "/home",
            "/var",
        ] {
            assert!(!names(secret), "{secret}");
        }
    }
}
