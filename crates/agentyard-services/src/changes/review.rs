//! Reviews of a history: what each of them looks for, and what it found.

use std::collections::BTreeMap;

use agentyard_git::{Commit, DecorationKind, TagDetails, Touched};

use super::kinds::{ChangeKind, Described};
use super::mentions::{self, Changelog};

/// What a review looks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReviewKind {
    /// Commits about safety.
    Security,
    /// What is new.
    Features,
    /// How the work went.
    Storyline,
    /// What the changelog does not tell.
    Gaps,
    /// What broke.
    BreakingChanges,
    /// How well commits are made.
    Quality,
}

/// What a review found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Review {
    /// Which.
    pub kind: ReviewKind,
    /// What to make of it, for whoever reads it.
    pub instruction: &'static str,
    /// At most [`MAX_FINDINGS`].
    pub findings: Vec<Finding>,
    /// How many there are.
    pub total: usize,
}

/// Something worth a look.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Finding {
    /// The commit, by its short id; none when it is about something else.
    pub commit: Option<String>,
    /// The commit's subject, or what it is about.
    pub subject: String,
    /// Why it is here.
    pub note: String,
}

/// Commits up to a tag.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Release {
    /// The tag; none for what has none yet.
    pub tag: Option<String>,
    /// When its last commit was made, as a date.
    pub date: String,
    /// How many commits it has.
    pub commits: usize,
    /// How many there are of each kind.
    pub kinds: BTreeMap<&'static str, usize>,
    /// The busiest directories.
    pub areas: Vec<String>,
}

/// What reviews are made from. `described` and `touched` go with `commits`.
pub(crate) struct Material {
    pub(crate) commits: Vec<Commit>,
    pub(crate) described: Vec<Described>,
    pub(crate) touched: Vec<Touched>,
    pub(crate) tags: Vec<TagDetails>,
    /// The changelog's path and text.
    pub(crate) changelog: Option<(String, String)>,
}

/// How many findings a review lists.
pub(crate) const MAX_FINDINGS: usize = 100;

/// How many areas a release names.
const MAX_AREAS: usize = 5;

const LONG_SUBJECT: usize = 72;
const MANY_FILES: usize = 50;

const SECURITY_WORDS: &[&str] = &[
    "security",
    "vulnerab",
    "cve-",
    "ghsa-",
    "exploit",
    "injection",
    "xss",
    "csrf",
    "ssrf",
    "traversal",
    "sandbox",
    "escape",
    "sanitiz",
    "sanitis",
    "credential",
    "secret",
    "password",
    "token",
    "permission",
    "privilege",
    "overflow",
    "untrusted",
    "hostile",
    "denial of service",
];

const REMOVAL_WORDS: &[&str] = &[
    "remove",
    "drop",
    "rename",
    "require",
    "no longer",
    "deprecate",
    "change default",
];

/// The commits by the tag under which they were released, newest first.
pub(crate) fn releases(material: &Material) -> Vec<Release> {
    let mut releases: Vec<(Release, Vec<&String>)> = Vec::new();
    for (number, commit) in material.commits.iter().enumerate() {
        let tag = commit
            .refs
            .iter()
            .find(|reference| reference.kind == DecorationKind::Tag);
        if releases.is_empty() || tag.is_some() {
            let release = Release {
                tag: tag.map(|tag| tag.name.clone()),
                date: date(commit),
                ..Release::default()
            };
            releases.push((release, Vec::new()));
        }
        if let Some((release, files)) = releases.last_mut() {
            release.commits += 1;
            *release
                .kinds
                .entry(material.described[number].kind.as_str())
                .or_default() += 1;
            files.extend(&material.touched[number].files);
        }
    }
    let finish = |(mut release, files): (Release, Vec<&String>)| {
        let areas = super::areas(files).into_iter().take(MAX_AREAS);
        release.areas = areas.map(|(area, count)| format!("{area} ({count})")).collect();
        release
    };
    releases.into_iter().map(finish).collect()
}

/// Makes one review.
pub(crate) fn review(kind: ReviewKind, material: &Material) -> Review {
    let (instruction, mut findings) = match kind {
        ReviewKind::Security => (
            "Check each: is it a fix that users must hear of, and is it in the changelog under Security?",
            each(material, security),
        ),
        ReviewKind::Features => (
            "Group these by what users gain; look at unclear ones with git_show.",
            each(material, feature),
        ),
        ReviewKind::Storyline => (
            "Tell how the work went: themes by release, what was tried and taken back, what was mended later.",
            storyline(material),
        ),
        ReviewKind::Gaps => (
            "Write the missing entries, or say why a change needs none.",
            gaps(material),
        ),
        ReviewKind::BreakingChanges => (
            "Confirm each with git_show, and tell users how to move; guesses are marked.",
            each(material, breaking),
        ),
        ReviewKind::Quality => (
            "Name the habits to change; single commits matter less than patterns.",
            each(material, quality),
        ),
    };
    let total = findings.len();
    findings.truncate(MAX_FINDINGS);
    Review {
        kind,
        instruction,
        findings,
        total,
    }
}

type Judge = fn(&Commit, &Described, &Touched) -> Option<String>;

fn each(material: &Material, judge: Judge) -> Vec<Finding> {
    let parts = material
        .commits
        .iter()
        .zip(&material.described)
        .zip(&material.touched);
    parts
        .filter_map(|((commit, described), touched)| Some(about(commit, judge(commit, described, touched)?)))
        .collect()
}

fn about(commit: &Commit, note: String) -> Finding {
    Finding {
        commit: Some(commit.short_id.clone()),
        subject: commit.subject.clone(),
        note,
    }
}

fn security(commit: &Commit, _: &Described, _: &Touched) -> Option<String> {
    let text = format!("{}\n{}", commit.subject, commit.body).to_lowercase();
    let found: Vec<&str> = SECURITY_WORDS
        .iter()
        .copied()
        .filter(|word| text.contains(word))
        .collect();
    (!found.is_empty()).then(|| format!("says: {}", found.join(", ")))
}

fn feature(_: &Commit, described: &Described, touched: &Touched) -> Option<String> {
    (described.kind == ChangeKind::Feature).then(|| where_it_is(described, touched))
}

fn where_it_is(described: &Described, touched: &Touched) -> String {
    let areas: Vec<String> = super::areas(&touched.files)
        .into_iter()
        .take(3)
        .map(|(area, _)| area)
        .collect();
    match &described.scope {
        Some(scope) => format!("{scope}; in {}", areas.join(", ")),
        None => format!("in {}", areas.join(", ")),
    }
}

fn breaking(commit: &Commit, described: &Described, _: &Touched) -> Option<String> {
    if described.breaking {
        return Some("declared".to_owned());
    }
    let subject = commit.subject.to_lowercase();
    let word = REMOVAL_WORDS.iter().find(|word| subject.contains(*word))?;
    let concerns_users = !matches!(
        described.kind,
        ChangeKind::Docs | ChangeKind::Test | ChangeKind::Build | ChangeKind::Merge | ChangeKind::Refactor
    );
    concerns_users.then(|| format!("a guess: says `{word}`"))
}

fn quality(commit: &Commit, described: &Described, touched: &Touched) -> Option<String> {
    let mut notes = Vec::new();
    let length = commit.subject.chars().count();
    if length == 0 {
        notes.push("no subject".to_owned());
    } else if commit.subject.split_whitespace().count() == 1 {
        notes.push("one word for a subject".to_owned());
    }
    if length > LONG_SUBJECT {
        notes.push(format!("a subject of {length} characters"));
    }
    let lower = commit.subject.to_lowercase();
    if ["wip", "fixup!", "squash!", "tmp", "temp "]
        .iter()
        .any(|start| lower.starts_with(start))
    {
        notes.push("unfinished by its own words".to_owned());
    }
    if touched.count > MANY_FILES && described.kind != ChangeKind::Merge {
        notes.push(format!("{} files", touched.count));
        if commit.body.is_empty() {
            notes.push("no reason given".to_owned());
        }
    }
    (!notes.is_empty()).then(|| notes.join("; "))
}

fn storyline(material: &Material) -> Vec<Finding> {
    let mut findings: Vec<Finding> = releases(material)
        .into_iter()
        .map(|release| {
            let kinds: Vec<String> = release
                .kinds
                .iter()
                .map(|(kind, count)| format!("{count} {kind}"))
                .collect();
            Finding {
                commit: None,
                subject: format!(
                    "{}, {}",
                    release.tag.as_deref().unwrap_or("not released"),
                    release.date
                ),
                note: format!(
                    "{} commits: {}; in {}",
                    release.commits,
                    kinds.join(", "),
                    release.areas.join(", ")
                ),
            }
        })
        .collect();
    for (commit, described) in material.commits.iter().zip(&material.described) {
        if described.kind == ChangeKind::Revert {
            findings.push(about(commit, "takes something back".to_owned()));
        } else if let Some(earlier) = mended(commit, &material.commits) {
            findings.push(about(
                commit,
                format!("mends {} ({})", earlier.short_id, earlier.subject),
            ));
        }
    }
    findings
}

/// The earlier commit that a commit says it mends.
fn mended<'a>(commit: &Commit, commits: &'a [Commit]) -> Option<&'a Commit> {
    let named = |line: &str| {
        let id = line.strip_prefix("Fixes: ")?.split_whitespace().next()?;
        let valid = id.len() >= 7 && id.bytes().all(|byte| byte.is_ascii_hexdigit());
        valid.then(|| id.to_owned())
    };
    if let Some(id) = commit.body.lines().find_map(named) {
        return commits.iter().find(|other| other.id.to_string().starts_with(&id));
    }
    let target = commit
        .subject
        .strip_prefix("fixup! ")
        .or(commit.subject.strip_prefix("squash! "))?;
    commits.iter().find(|other| other.subject == target)
}

fn gaps(material: &Material) -> Vec<Finding> {
    let Some((path, text)) = &material.changelog else {
        return vec![Finding {
            commit: None,
            subject: "no changelog".to_owned(),
            note: "neither CHANGELOG nor HISTORY nor NEWS is at the top of the repository".to_owned(),
        }];
    };
    let changelog = Changelog::new(text);
    let mut findings = Vec::new();
    for (commit, described) in material.commits.iter().zip(&material.described) {
        let told = commit
            .subject
            .split_once(": ")
            .map_or(commit.subject.as_str(), |(_, told)| told);
        let wanted = described.breaking || described.kind.concerns_users();
        if wanted && !changelog.mentions(&commit.id.to_string(), told) {
            findings.push(about(
                commit,
                format!("{}, not in {path}", described.kind.as_str()),
            ));
        }
    }
    let is_version = |tag: &&TagDetails| mentions::bare(&tag.name).contains('.');
    for tag in material.tags.iter().filter(is_version) {
        if !changelog.has_version(&tag.name) {
            findings.push(Finding {
                commit: None,
                subject: tag.name.clone(),
                note: format!("a tag without an entry in {path}"),
            });
        }
    }
    for version in &changelog.versions {
        if !material
            .tags
            .iter()
            .any(|tag| mentions::bare(&tag.name) == version)
        {
            findings.push(Finding {
                commit: None,
                subject: version.clone(),
                note: format!("an entry in {path} without a tag"),
            });
        }
    }
    findings
}

fn date(commit: &Commit) -> String {
    let at = commit.committer.at.to_string();
    at.get(..10).unwrap_or(&at).to_owned()
}

#[cfg(test)]
pub(super) mod tests {
    use agentyard_git::{Decoration, Person};

    use super::*;

    pub(in crate::changes) fn commit(subject: &str, body: &str) -> Commit {
        let person = Person {
            name: "Ada".to_owned(),
            email: "ada@example.org".to_owned(),
            at: "2026-11-01T00:00:00Z".parse().unwrap(),
        };
        let id = format!(
            "{:0>40x}",
            subject
                .bytes()
                .fold(7_u64, |sum, byte| sum * 31 % 999_983 + u64::from(byte))
        );
        Commit {
            id: id.parse().unwrap(),
            short_id: id[33..].to_owned(),
            parents: Vec::new(),
            author: person.clone(),
            committer: person,
            subject: subject.to_owned(),
            body: body.to_owned(),
            refs: Vec::new(),
            stat: None,
        }
    }

    fn material(commits: Vec<Commit>, changelog: Option<&str>) -> Material {
        Material {
            described: commits.iter().map(Described::of).collect(),
            touched: commits
                .iter()
                .map(|_| Touched {
                    files: vec!["src/a.rs".to_owned()],
                    count: 1,
                })
                .collect(),
            commits,
            tags: Vec::new(),
            changelog: changelog.map(|text| ("CHANGELOG.md".to_owned(), text.to_owned())),
        }
    }

    fn notes(kind: ReviewKind, material: &Material) -> Vec<String> {
        let findings = review(kind, material).findings;
        findings
            .into_iter()
            .map(|finding| format!("{}: {}", finding.subject, finding.note))
            .collect()
    }

    #[test]
    fn each_review_finds_its_own() {
        let mut released = commit("fix: CVE-2026-1 path traversal", "");
        released.refs.push(Decoration {
            kind: DecorationKind::Tag,
            name: "v1.0.0".to_owned(),
        });
        let material = material(
            vec![
                commit("feat!: new protocol", ""),
                commit("Remove the old flag", ""),
                commit("fixup! feat: parser", ""),
                commit("wip", ""),
                released,
                commit("feat: parser", ""),
                commit("Revert \"x\"", ""),
            ],
            Some("# Changelog\n## 0.9.0\n- new protocol\n"),
        );
        assert_eq!(
            notes(ReviewKind::Security, &material),
            ["fix: CVE-2026-1 path traversal: says: cve-, traversal"]
        );
        assert_eq!(
            notes(ReviewKind::Features, &material),
            ["feat!: new protocol: in src", "feat: parser: in src"]
        );
        assert_eq!(
            notes(ReviewKind::BreakingChanges, &material),
            [
                "feat!: new protocol: declared",
                "Remove the old flag: a guess: says `remove`"
            ]
        );
        assert_eq!(
            notes(ReviewKind::Quality, &material),
            [
                "fixup! feat: parser: unfinished by its own words",
                "wip: one word for a subject; unfinished by its own words"
            ]
        );
        let gaps = notes(ReviewKind::Gaps, &material);
        assert!(!gaps.iter().any(|gap| gap.contains("new protocol")), "{gaps:?}");
        assert!(
            gaps.contains(&"0.9.0: an entry in CHANGELOG.md without a tag".to_owned()),
            "{gaps:?}"
        );
        assert!(
            gaps.contains(&"feat: parser: feature, not in CHANGELOG.md".to_owned()),
            "{gaps:?}"
        );
        let story = notes(ReviewKind::Storyline, &material);
        assert_eq!(
            story[0],
            "not released, 2026-11-01: 4 commits: 1 feature, 1 fix, 2 other; in src (4)"
        );
        assert!(story[1].starts_with("v1.0.0, 2026-11-01: 3 commits"), "{story:?}");
        assert!(
            story
                .iter()
                .any(|line| line.starts_with("fixup! feat: parser: mends ")),
            "{story:?}"
        );
    }

    #[test]
    fn a_missing_changelog_is_a_gap() {
        let material = material(vec![commit("feat: x", "")], None);
        assert_eq!(notes(ReviewKind::Gaps, &material).len(), 1);
    }
}
