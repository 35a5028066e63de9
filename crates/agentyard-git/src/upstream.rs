//! The branches that branches follow.

use gix::bstr::{BString, ByteSlice as _};
use gix::refs::{FullName, FullNameRef};

/// Replaces `@{upstream}` and `@{u}` in a revision by the name of that branch; none when there is no such
/// branch.
///
/// gix does this itself, but not for repositories whose configuration it is told not to trust.
pub(crate) fn expand_upstreams(local: &gix::Repository, revision: &str) -> Option<String> {
    expand(revision, |branch| {
        let name = if matches!(branch, "" | "HEAD") {
            local.head_name().ok()??
        } else {
            local.find_reference(branch).ok()?.name().to_owned()
        };
        Some(tracking_branch(local, name.as_ref())?.as_bstr().to_string())
    })
}

/// The local name of the branch that `branch` is configured to follow.
///
/// gix would not answer this either, for the same reason.
pub(crate) fn tracking_branch(local: &gix::Repository, branch: &FullNameRef) -> Option<FullName> {
    let config = local.config_snapshot();
    let name = branch.shorten();
    let remote = config.string_by("branch", Some(name), "remote")?;
    let merge = config.string_by("branch", Some(name), "merge")?;
    if remote == "." {
        return FullName::try_from(merge).ok();
    }
    config
        .strings_by("remote", Some(remote.as_bstr()), "fetch")?
        .iter()
        .find_map(|specification| mapped(specification, &merge))
        .and_then(|name| FullName::try_from(name).ok())
}

/// Where a fetch with `specification` (`+refs/heads/*:refs/remotes/origin/*`) puts the branch `name`.
fn mapped(specification: &BString, name: &BString) -> Option<BString> {
    let specification = specification.strip_prefix(b"+").unwrap_or(specification);
    let (source, destination) = specification.split_once_str(b":")?;
    let Some((before, after)) = source.split_once_str(b"*") else {
        return (source == name.as_bytes()).then(|| destination.into());
    };
    let star = name.strip_prefix(before)?.strip_suffix(after)?;
    let (before, after) = destination.split_once_str(b"*")?;
    Some([before, star, after].concat().into())
}

/// Replaces every upstream by what `known` says of its branch.
fn expand(revision: &str, known: impl Fn(&str) -> Option<String>) -> Option<String> {
    let mut expanded = String::new();
    let mut rest = revision;
    while let Some((at, length)) = first_upstream(rest) {
        let before = &rest[..at];
        let branch_start = before.rfind("..").map_or(0, |dots| dots + 2);
        let branch_start = branch_start + usize::from(before[branch_start..].starts_with('.'));
        expanded.push_str(&before[..branch_start]);
        expanded.push_str(&known(&before[branch_start..])?);
        rest = &rest[at + length..];
    }
    expanded.push_str(rest);
    Some(expanded)
}

/// Where the first upstream is, and how long its suffix.
fn first_upstream(text: &str) -> Option<(usize, usize)> {
    text.match_indices("@{").find_map(|(at, _)| {
        ["@{u}", "@{upstream}"].into_iter().find_map(|suffix| {
            let found = text.get(at..at + suffix.len())?;
            found.eq_ignore_ascii_case(suffix).then_some((at, suffix.len()))
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fetch_specifications_are_applied() {
        let check = |specification: &str, name: &str, expected: Option<&str>| {
            assert_eq!(
                mapped(&specification.into(), &name.into()),
                expected.map(Into::into)
            );
        };
        check(
            "+refs/heads/*:refs/remotes/origin/*",
            "refs/heads/a/b",
            Some("refs/remotes/origin/a/b"),
        );
        check(
            "refs/heads/main:refs/remotes/o/main",
            "refs/heads/main",
            Some("refs/remotes/o/main"),
        );
        check("refs/heads/main:refs/remotes/o/main", "refs/heads/other", None);
        check("refs/heads/x-*-y:refs/r/*", "refs/heads/x-y", None);
        check("refs/heads/main", "refs/heads/main", None);
    }

    #[test]
    fn upstreams_are_expanded_where_a_branch_is_named() {
        let check = |text: &str, expected: Option<&str>| {
            let known = |branch: &str| Some(format!("<{branch}>"));
            assert_eq!(expand(text, known).as_deref(), expected);
        };
        check("main", Some("main"));
        check("@{u}", Some("<>"));
        check("main@{upstream}~2", Some("<main>~2"));
        check("@{U}..HEAD", Some("<>..HEAD"));
        check("a@{u}...b@{UpStream}", Some("<a>...<b>"));
        check("HEAD@{1}", Some("HEAD@{1}"));
        assert_eq!(expand("main@{u}", |_| None), None);
    }
}
