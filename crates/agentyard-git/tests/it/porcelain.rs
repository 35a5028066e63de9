//! What git says, as a [`Status`].

use std::path::Path;

use agentyard_git::{Conflict, Conflicted, Distance, Moved, Status, StatusOptions, Upstream, display_path};

use crate::support::{GO_ON, Yard};

/// Compares with git, with and without ignored files, and gives the status with them.
pub(crate) fn check(yard: &Yard) -> Status {
    check_in(yard, "")
}

pub(crate) fn check_in(yard: &Yard, directory: impl AsRef<Path>) -> Status {
    let repository = yard.try_open(&directory).unwrap();
    let status = |ignored| {
        let options = StatusOptions {
            ignored,
            ..StatusOptions::default()
        };
        let ours = repository.status(&options, &GO_ON).unwrap();
        let mut theirs = git_status_in(yard, &yard.path(&directory), ignored);
        theirs.operation = ours.operation;
        theirs.rebase.clone_from(&ours.rebase);
        assert_eq!(sorted(ours.clone()), theirs);
        ours
    };
    status(false);
    status(true)
}

/// Runs `git status` and reads its answer.
pub(crate) fn git_status(yard: &Yard, with_ignored: bool) -> Status {
    git_status_in(yard, &yard.root(), with_ignored)
}

fn git_status_in(yard: &Yard, directory: &Path, with_ignored: bool) -> Status {
    let mut arguments = vec![
        "--no-optional-locks",
        "status",
        "--porcelain=v2",
        "--branch",
        "-z",
    ];
    arguments.push(if with_ignored {
        "--ignored=traditional"
    } else {
        "--ignored=no"
    });
    let output = yard.try_git_in(directory, &arguments);
    assert!(output.status.success(), "{output:?}");
    parse(&output.stdout)
}

fn parse(output: &[u8]) -> Status {
    let mut status = Status::default();
    let mut ahead_behind = None;
    let mut upstream = None;
    let mut records = output.split(|&byte| byte == 0);
    while let Some(record) = records.next() {
        let text = String::from_utf8_lossy(record).into_owned();
        let fields: Vec<&str> = text.split(' ').collect();
        // The path is the rest of the record, whatever it contains.
        let path = |fields_before: usize| {
            let skipped: usize = record
                .split(|&byte| byte == b' ')
                .take(fields_before)
                .map(|field| field.len() + 1)
                .sum();
            display_path(record[skipped..].into())
        };
        match fields[..] {
            [""] => {}
            ["#", "branch.oid", "(initial)"] => {}
            ["#", "branch.oid", oid] => status.head.commit = Some(oid.parse().unwrap()),
            ["#", "branch.head", "(detached)"] => {}
            ["#", "branch.head", name] => status.head.branch = Some(name.to_owned()),
            ["#", "branch.upstream", name] => upstream = Some(name.to_owned()),
            ["#", "branch.ab", ahead, behind] => {
                ahead_behind = Some(Distance {
                    ahead: ahead[1..].parse().unwrap(),
                    behind: behind[1..].parse().unwrap(),
                });
            }
            ["1", code, ..] => changed(&mut status, code, path(8), None),
            ["2", code, ..] => {
                let from = display_path(records.next().unwrap().into());
                changed(&mut status, code, path(9), Some(from));
            }
            ["u", code, ..] => status.conflicted.push(Conflicted {
                path: path(10),
                conflict: conflict(code),
            }),
            ["?", ..] => status.untracked.push(path(1)),
            ["!", ..] => status.ignored.push(path(1)),
            _ => panic!("unexpected record {text:?}"),
        }
    }
    status.upstream = upstream.map(|name| Upstream {
        name,
        distance: ahead_behind,
    });
    sorted(status)
}

fn changed(status: &mut Status, code: &str, path: String, from: Option<String>) {
    let moved = || Moved {
        to: path.clone(),
        from: from.clone().unwrap(),
    };
    let (staged, unstaged) = code.split_at(1);
    match staged {
        "." => {}
        "A" => status.staged.added.push(path.clone()),
        "M" => status.staged.modified.push(path.clone()),
        "D" => status.staged.deleted.push(path.clone()),
        "T" => status.staged.type_changed.push(path.clone()),
        "R" => status.staged.renamed.push(moved()),
        "C" => status.staged.copied.push(moved()),
        other => panic!("unexpected code {other:?}"),
    }
    match unstaged {
        "." => {}
        "M" => status.unstaged.modified.push(path),
        "D" => status.unstaged.deleted.push(path),
        "A" => status.unstaged.added.push(path),
        "T" => status.unstaged.type_changed.push(path),
        // git also looks for renames among announced files; that is said here as what it is made of.
        "R" => {
            status.unstaged.added.push(path);
            status.unstaged.deleted.push(from.unwrap());
        }
        other => panic!("unexpected code {other:?}"),
    }
}

fn conflict(code: &str) -> Conflict {
    match code {
        "DD" => Conflict::BothDeleted,
        "AU" => Conflict::AddedByUs,
        "UD" => Conflict::DeletedByThem,
        "UA" => Conflict::AddedByThem,
        "DU" => Conflict::DeletedByUs,
        "AA" => Conflict::BothAdded,
        "UU" => Conflict::BothModified,
        other => panic!("unexpected code {other:?}"),
    }
}

/// Lists in the order of what is shown; git sorts by bytes, which differs for quoted paths.
pub(crate) fn sorted(mut status: Status) -> Status {
    for list in [
        &mut status.staged.added,
        &mut status.staged.modified,
        &mut status.staged.deleted,
        &mut status.staged.type_changed,
        &mut status.unstaged.modified,
        &mut status.unstaged.deleted,
        &mut status.unstaged.added,
        &mut status.unstaged.type_changed,
        &mut status.untracked,
        &mut status.ignored,
    ] {
        list.sort();
    }
    status.staged.renamed.sort();
    status.staged.copied.sort();
    status.conflicted.sort();
    status
}
