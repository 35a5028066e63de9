//! URLs of remotes, fit to be shown.

use crate::text;

/// The URL without user name, password and query, which may hold tokens. The user name of an SSH address
/// stays: it is part of the address (`git@example.org:a/b`), and no secret.
pub(crate) fn without_credentials(url: impl AsRef<str>) -> String {
    strip(&text::one_line(url.as_ref()))
}

fn strip(url: &str) -> String {
    // `helper::address`, for transports that are programs.
    if let Some((helper, address)) = url.split_once("::")
        && helper
            .chars()
            .all(|character| character.is_ascii_alphanumeric() || "+-._".contains(character))
    {
        return format!("{helper}::{}", strip(address));
    }
    let Some((scheme, rest)) = url.split_once("://") else {
        return strip_short(url);
    };
    let (authority, path) = rest.split_at(authority_end(rest));
    let is_ssh = scheme.to_ascii_lowercase().contains("ssh");
    let authority = match authority.rsplit_once('@') {
        None => authority.to_owned(),
        Some((user, host)) if is_ssh => format!("{}@{host}", without_password(user)),
        Some((_, host)) => host.to_owned(),
    };
    let path = path.split(['?', '#']).next().unwrap_or_default();
    format!("{scheme}://{authority}{path}")
}

/// Where the part with the host ends: at the first slash; or, where what is before that cannot be a host, at
/// the first slash after the last `@`. Somebody forgot to escape a slash in a password then.
fn authority_end(rest: &str) -> usize {
    let end_after = |start: usize| {
        rest[start..]
            .find(['/', '?', '#'])
            .map_or(rest.len(), |end| start + end)
    };
    let end = end_after(0);
    let port = rest[..end].rsplit_once(':').map_or("", |(_, port)| port);
    let is_host =
        rest[..end].contains('@') || port.chars().all(|digit| digit.is_ascii_digit() || digit == ']');
    match rest.rfind('@') {
        Some(at) if !is_host => end_after(at),
        _ => end,
    }
}

/// `user@host:path`, or a path on this machine.
fn strip_short(url: &str) -> String {
    let first_part_end = url.find('/').unwrap_or(url.len());
    let (first, rest) = url.split_at(first_part_end);
    match first.rsplit_once('@') {
        Some((user, host)) => format!("{}@{host}{rest}", without_password(user)),
        None => url.to_owned(),
    }
}

fn without_password(user: &str) -> &str {
    user.split(':').next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::without_credentials;

    #[test]
    fn credentials_are_removed() {
        for (url, expected) in [
            ("https://example.org/a/b.git", "https://example.org/a/b.git"),
            ("https://token@example.org/a", "https://example.org/a"),
            (
                "https://user:pass@example.org:8443/a",
                "https://example.org:8443/a",
            ),
            ("https://user:p@ss@example.org/a@b", "https://example.org/a@b"),
            ("https://user:p/w@example.org/a", "https://example.org/a"),
            ("https://example.org:8443/a@b", "https://example.org:8443/a@b"),
            ("http://[::1]:80/a@b", "http://[::1]:80/a@b"),
            ("http://[::1]/a@b", "http://[::1]/a@b"),
            ("HTTP://a:b@example.org", "HTTP://example.org"),
            ("https://example.org/a?private_token=x#y", "https://example.org/a"),
            ("ssh://git:secret@example.org/a", "ssh://git@example.org/a"),
            ("ssh://git@example.org:22/a", "ssh://git@example.org:22/a"),
            ("git@example.org:a/b.git", "git@example.org:a/b.git"),
            ("git:secret@example.org:a/b.git", "git@example.org:a/b.git"),
            ("/srv/git/a@b.git", "/srv/git/a@b.git"),
            ("../other", "../other"),
            (
                "helper::https://token@example.org/a",
                "helper::https://example.org/a",
            ),
            ("https://to\nken@example.org/a", "https://example.org/a"),
        ] {
            assert_eq!(without_credentials(url), expected);
        }
    }
}
