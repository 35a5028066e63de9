//! Committing: what is made, and what is left when nothing is.

use std::fs;
use std::path::PathBuf;

use agentyard_git::{
    Author, CommitOptions, Committed, Error, GitPerson, GitSettings, Identity, Lines, Message, Operation,
    RepositoryPath, Staged, Trailer, Trust,
};

use crate::support::{GO_ON, Yard, command, message, settings};

fn says(text: &str) -> CommitOptions {
    CommitOptions {
        message: Some(Message::new(text).unwrap()),
        ..CommitOptions::default()
    }
}

fn with_file(file: &str, text: &str) -> CommitOptions {
    CommitOptions {
        files_to_stage: vec![RepositoryPath::new(file).unwrap()],
        ..says(text)
    }
}

fn commit(yard: &Yard, options: &CommitOptions) -> Result<Committed, Error> {
    yard.work(|work| work.commit(options))
}

fn last_message(yard: &Yard) -> String {
    yard.git(&["log", "-1", "--format=%B"])
}

/// The index is as it was, nothing was committed, and nothing lies around.
fn assert_untouched(yard: &Yard, index: &[u8], head: &str) {
    assert_eq!(yard.index(), index);
    assert_eq!(yard.git(&["rev-parse", "HEAD"]), head);
    let names = yard.shell("ls .git");
    assert!(!names.contains("lock") && !names.contains("agentyard"), "{names}");
}

#[test]
fn a_commit_says_what_it_has() {
    let yard = Yard::with_commit();
    yard.write("file", "one\ntwo\n");
    yard.write("new", "new\n");
    yard.git(&["add", "new"]);
    let committed = commit(&yard, &with_file("file", "subject\n\nbody\n")).unwrap();
    assert_eq!(
        committed,
        Committed {
            id: yard.git(&["rev-parse", "HEAD"]).trim().parse().unwrap(),
            branch: Some("main".to_owned()),
            subject: "subject".to_owned(),
            author: committed.author.clone(),
            files: Staged {
                added: vec!["new".to_owned()],
                modified: vec!["file".to_owned()],
                ..Staged::default()
            },
            files_truncated: false,
            lines: Some(Lines {
                insertions: 3,
                deletions: 1,
            }),
            signed: false,
            replaced: None,
            operation: None,
            left_out: Default::default(),
        }
    );
    assert_eq!(committed.author.email, "ada@example.org");
    assert_eq!(
        yard.git(&["show", "-s", "--format=%an %cn", "HEAD"]),
        "Ada Grace\n"
    );
    assert_eq!(last_message(&yard).trim_end(), "subject\n\nbody");
}

#[test]
fn the_first_commit_and_sha256() {
    for format in ["sha1", "sha256"] {
        let yard = Yard::empty();
        yard.git(&[
            "init",
            "--quiet",
            "--initial-branch=main",
            "--object-format",
            format,
        ]);
        yard.write("a\nb", "content\n");
        let committed = commit(&yard, &with_file(r#""a\nb""#, "first")).unwrap();
        assert_eq!(committed.files.added, [r#""a\nb""#]);
        assert!(yard.status().is_clean());
    }
}

#[test]
fn messages_are_taken_as_they_are() {
    let yard = Yard::with_commit();
    let text = "--amend\n\n# not a comment\n-F /etc/passwd";
    let options = CommitOptions {
        allow_empty: true,
        ..says(text)
    };
    assert_eq!(commit(&yard, &options).unwrap().subject, "--amend");
    assert_eq!(last_message(&yard).trim_end(), text);
    assert_eq!(yard.git(&["rev-list", "--count", "HEAD"]), "2\n");
}

#[test]
fn author_trailers_and_signoff() {
    let yard = Yard::with_commit();
    let options = CommitOptions {
        author: Some(Author::new("Jürgen <j@example.org>").unwrap()),
        trailers: vec![Trailer::new("Fixes: #1").unwrap()],
        signoff: true,
        allow_empty: true,
        ..says("subject")
    };
    let committed = commit(&yard, &options).unwrap();
    assert_eq!(committed.author.name, "Jürgen");
    assert_eq!(committed.files, Staged::default());
    assert_eq!(
        last_message(&yard).trim_end(),
        "subject\n\nFixes: #1\nSigned-off-by: Grace <grace@example.org>"
    );
}

#[test]
fn amending_replaces_the_last_commit_and_keeps_its_message() {
    let yard = Yard::with_commit();
    let before = yard.git(&["rev-parse", "HEAD"]);
    yard.write("file", "changed\n");
    let options = CommitOptions {
        message: None,
        amend: true,
        ..with_file("file", "unused")
    };
    let committed = commit(&yard, &options).unwrap();
    assert_eq!(committed.replaced.unwrap().to_string(), before.trim());
    assert_eq!(
        (committed.subject.as_str(), committed.files.added),
        ("first", vec!["file".to_owned()])
    );
    assert_eq!(yard.git(&["rev-list", "--count", "HEAD"]), "1\n");
    let reworded = CommitOptions {
        amend: true,
        ..says("other words")
    };
    assert_eq!(commit(&yard, &reworded).unwrap().subject, "other words");
}

#[test]
fn a_detached_head_has_no_branch() {
    let yard = Yard::with_commit();
    yard.git(&["checkout", "--quiet", "--detach"]);
    yard.write("file", "changed\n");
    assert_eq!(
        commit(&yard, &with_file("file", "detached")).unwrap().branch,
        None
    );
}

#[test]
fn nothing_to_commit_is_said_and_leaves_the_index() {
    let yard = Yard::with_commit();
    yard.write("untracked", "x\n");
    let (index, head) = (yard.index(), yard.git(&["rev-parse", "HEAD"]));
    let error = commit(&yard, &says("nothing")).unwrap_err();
    assert!(
        matches!(&error, Error::State { what, remedy }
        if what.contains("nothing is staged") && remedy.contains("allow_empty")),
        "{error:?}"
    );
    assert_untouched(&yard, &index, &head);
}

#[test]
fn a_file_that_is_not_there_leaves_the_index() {
    let yard = Yard::with_commit();
    yard.write("file", "changed\n");
    let (index, head) = (yard.index(), yard.git(&["rev-parse", "HEAD"]));
    let options = CommitOptions {
        files_to_stage: RepositoryPath::list(&["file".to_owned(), "--all".to_owned()]).unwrap(),
        ..says("x")
    };
    assert!(message(commit(&yard, &options)).contains("--all"));
    assert_untouched(&yard, &index, &head);
}

#[test]
fn without_an_identity_there_is_a_remedy_and_the_index_is_left() {
    let yard = Yard::with_commit();
    yard.write("file", "changed\n");
    let (index, head) = (yard.index(), yard.git(&["rev-parse", "HEAD"]));
    for identity in [
        Identity::default(),
        Identity {
            author_name: Some("Ada".to_owned()),
            author_email: Some("ada@example.org".to_owned()),
            ..Identity::default()
        },
    ] {
        let nobody = GitSettings {
            identity,
            ..GitSettings::default()
        };
        let error = yard
            .work_as(nobody, |work| work.commit(&with_file("file", "x")))
            .unwrap_err();
        assert!(
            matches!(&error, Error::State { remedy, .. } if remedy.contains("user.email")),
            "{error:?}"
        );
        assert_untouched(&yard, &index, &head);
    }
}

#[test]
fn hooks_run_in_trusted_repositories_alone_and_are_named_elsewhere() {
    let yard = Yard::with_commit();
    yard.script(&yard.path(".git/hooks/pre-commit"), "echo no, thanks >&2; exit 1");
    yard.script(&yard.path(".git/hooks/post-commit"), "exit 0");
    yard.write("file", "changed\n");
    let (index, head) = (yard.index(), yard.git(&["rev-parse", "HEAD"]));
    let refused = yard.trusted_work(|work| work.commit(&with_file("file", "x")));
    assert!(message(refused).contains("no, thanks"));
    assert_untouched(&yard, &index, &head);

    let committed = commit(&yard, &with_file("file", "x")).unwrap();
    assert_eq!(committed.left_out.hooks, ["pre-commit", "post-commit"]);
    yard.write("file", "changed again\n");
    let options = CommitOptions {
        no_verify: true,
        ..with_file("file", "y")
    };
    let committed = yard.trusted_work(|work| work.commit(&options)).unwrap();
    assert_eq!(committed.left_out.hooks, [""; 0]);
}

#[test]
fn a_hook_that_says_nothing_is_told_from_nothing_to_commit() {
    let yard = Yard::with_commit();
    yard.script(&yard.path(".git/hooks/pre-commit"), "exit 1");
    yard.write("file", "changed\n");
    let error = yard
        .work_until(&GO_ON, Trust::Trusted, |work| {
            work.commit(&with_file("file", "x"))
        })
        .unwrap_err();
    assert!(error.to_string().contains("hook"), "{error}");
}

#[test]
fn conflicts_are_listed_and_then_the_merge_is_concluded() {
    let yard = Yard::with_commit();
    yard.conflict();
    yard.write("new", "new\n");
    let (index, head) = (yard.index(), yard.git(&["rev-parse", "HEAD"]));
    let refusal = message(commit(&yard, &with_file("new", "x")));
    assert!(refusal.contains("unresolved conflicts in file"), "{refusal}");
    assert_untouched(&yard, &index, &head);

    yard.write("file", "both\n");
    let options = CommitOptions {
        message: None,
        ..with_file("file", "unused")
    };
    let committed = commit(&yard, &options).unwrap();
    assert_eq!(committed.subject, "Merge branch 'other'");
    assert_eq!(committed.operation, None);
    assert_eq!(
        yard.git(&["show", "-s", "--format=%P", "HEAD"])
            .split(' ')
            .count(),
        2
    );
    assert!(!last_message(&yard).contains('#'));
}

#[test]
fn a_commit_in_the_middle_of_a_rebase_says_so() {
    let yard = Yard::with_commit();
    yard.conflict();
    yard.git(&["merge", "--abort"]);
    yard.try_git_in(&yard.root(), &["rebase", "--quiet", "other"]);
    assert!(message(commit(&yard, &says("x"))).contains("file"));
    yard.write("file", "both\n");
    let committed = commit(&yard, &with_file("file", "resolved")).unwrap();
    assert_eq!(
        (committed.branch, committed.operation),
        (None, Some(Operation::Rebase))
    );
}

#[test]
fn a_message_is_needed_where_there_is_none() {
    let yard = Yard::with_commit();
    let options = CommitOptions {
        allow_empty: true,
        ..CommitOptions::default()
    };
    assert!(message(commit(&yard, &options)).contains("pass `message`"));
}

#[test]
fn a_bare_repository_has_nothing_to_commit_from() {
    let yard = Yard::empty();
    yard.git(&["init", "--quiet", "--bare"]);
    assert!(message(commit(&yard, &says("x"))).contains("is bare"));
}

/// A person whose own settings are these.
fn person(yard: &Yard, config: &str) -> GitSettings {
    let home = yard.outside().join("home");
    fs::create_dir_all(&home).unwrap();
    fs::write(home.join(".gitconfig"), config).unwrap();
    GitSettings {
        person: Some(GitPerson {
            home,
            environment: vec![("PATH".to_owned(), "/usr/local/bin:/usr/bin:/bin".into())],
        }),
        ..settings()
    }
}

/// A program that signs like gpg does, as far as git looks.
fn gpg(yard: &Yard) -> PathBuf {
    let path = yard.outside().join("gpg");
    yard.script(
        &path,
        "cat > /dev/null; echo '[GNUPG:] SIG_CREATED ' >&2; echo '-----BEGIN PGP SIGNATURE-----'; echo x; echo '-----END PGP SIGNATURE-----'",
    );
    path
}

fn signed() -> CommitOptions {
    CommitOptions {
        sign: Some(true),
        ..with_file("file", "signed")
    }
}

#[test]
fn commits_are_signed_with_the_persons_own_program() {
    let yard = Yard::with_commit();
    let person = person(
        &yard,
        &format!(
            "[gpg]\nprogram = {}\n[commit]\ngpgsign = true",
            gpg(&yard).display()
        ),
    );
    // A repository does not choose another format.
    yard.configure("[gpg]\nformat = ssh\n[commit]\ngpgsign = false");
    yard.write("file", "changed\n");
    assert!(
        yard.work_as(person.clone(), |work| work.commit(&signed()))
            .unwrap()
            .signed
    );
    yard.write("file", "changed again\n");
    let by_default = yard.work_as(person.clone(), |work| work.commit(&with_file("file", "x")));
    assert!(by_default.unwrap().signed, "the person signs all commits");
    yard.write("file", "and again\n");
    let unsigned = CommitOptions {
        sign: Some(false),
        ..signed()
    };
    assert!(
        !yard
            .work_as(person, |work| work.commit(&unsigned))
            .unwrap()
            .signed
    );
}

#[test]
fn commits_are_signed_with_ssh_keys() {
    let yard = Yard::with_commit();
    let key = yard.outside().join("key");
    let output = command("ssh-keygen")
        .args(["-q", "-t", "ed25519", "-N", "", "-f"])
        .arg(&key)
        .output()
        .unwrap();
    assert!(output.status.success());
    let person = person(
        &yard,
        &format!("[gpg]\nformat = ssh\n[user]\nsigningkey = {}.pub", key.display()),
    );
    yard.write("file", "changed\n");
    assert!(
        yard.work_as(person, |work| work.commit(&signed()))
            .unwrap()
            .signed
    );
    assert!(
        yard.git(&["cat-file", "commit", "HEAD"])
            .contains("BEGIN SSH SIGNATURE")
    );
}

#[test]
fn who_signs_all_commits_signs_merges_and_rebased_commits_too() {
    let yard = crate::support::diverged("content\n", "side\n");
    let key = yard.outside().join("key");
    let output = command("ssh-keygen")
        .args(["-q", "-t", "ed25519", "-N", "", "-f"])
        .arg(&key)
        .output()
        .unwrap();
    assert!(output.status.success());
    let config = format!(
        "[commit]\ngpgSign = true\n[gpg]\nformat = ssh\n[user]\nsigningkey = {}.pub",
        key.display()
    );
    let is_signed = || {
        yard.git(&["cat-file", "commit", "HEAD"])
            .contains("BEGIN SSH SIGNATURE")
    };
    let merge = agentyard_git::MergeOptions {
        heads: vec![agentyard_git::Revision::new("side").unwrap()],
        ..Default::default()
    };
    yard.work_as(person(&yard, &config), |work| work.merge(&merge))
        .unwrap();
    assert!(is_signed());
    yard.git(&["reset", "--quiet", "--hard", "HEAD^"]);
    assert!(!is_signed());
    let rebase = agentyard_git::RebaseOptions {
        upstream: Some(agentyard_git::Revision::new("side").unwrap()),
        ..Default::default()
    };
    yard.work_as(person(&yard, &config), |work| work.rebase(&rebase))
        .unwrap();
    assert!(is_signed());

    yard.git(&["reset", "--quiet", "--hard", "ORIG_HEAD"]);
    let broken = config.replace("key.pub", "gone.pub");
    let head = yard.git(&["rev-parse", "HEAD"]);
    assert!(
        yard.work_as(person(&yard, &broken), |work| work.merge(&merge))
            .is_err()
    );
    assert_eq!(yard.git(&["rev-parse", "HEAD"]), head, "nothing unsigned is left");
}

#[test]
fn without_key_or_program_nothing_is_committed() {
    let yard = Yard::with_commit();
    yard.write("file", "changed\n");
    let (index, head) = (yard.index(), yard.git(&["rev-parse", "HEAD"]));
    for config in [
        "[gpg]\nprogram = /nonexistent/gpg",
        "[gpg]\nformat = ssh",
        "[gpg]\nformat = ssh\n[user]\nsigningkey = /nonexistent/key.pub",
        "[gpg]\nformat = ssh\n[gpg \"ssh\"]\nprogram = /nonexistent/ssh-keygen\n[user]\nsigningkey = key::ssh-ed25519 AAAA",
        "[gpg]\nformat = nonsense",
    ] {
        let error = yard
            .work_as(person(&yard, config), |work| work.commit(&signed()))
            .unwrap_err();
        assert!(
            matches!(&error, Error::State { remedy, .. } if remedy.contains("user.signingKey")),
            "{config}: {error:?}"
        );
        assert_untouched(&yard, &index, &head);
    }
}

#[test]
fn a_repository_cannot_name_the_program_that_signs() {
    let yard = Yard::with_commit();
    let marker = yard.outside().join("pwned");
    let evil = yard.outside().join("evil");
    yard.script(&evil, &format!("touch {}", marker.display()));
    yard.configure(&format!("[gpg]\nprogram = {}", evil.display()));
    yard.write("file", "changed\n");
    let error = yard
        .work_as(person(&yard, ""), |work| work.commit(&signed()))
        .unwrap_err();
    assert!(matches!(error, Error::UntrustedSetting { .. }), "{error:?}");
    assert!(!marker.exists());
}

#[test]
fn a_linked_worktree_has_an_index_of_its_own() {
    let yard = Yard::with_commit();
    yard.git(&["worktree", "add", "--quiet", "-b", "topic", "linked"]);
    yard.write("linked/file", "changed\n");
    let (index, linked) = (yard.index(), yard.path(".git/worktrees/linked/index"));
    let linked_index = fs::read(&linked).unwrap();
    let in_linked = |options: &CommitOptions| {
        let repository = yard.try_open("linked").unwrap();
        let git = yard.program();
        agentyard_git::Work::new(&git, &repository, Trust::Untrusted, &GO_ON, &|_| {}).commit(options)
    };
    let nowhere = CommitOptions {
        files_to_stage: RepositoryPath::list(&["file".to_owned(), "nowhere".to_owned()]).unwrap(),
        ..says("x")
    };
    in_linked(&nowhere).unwrap_err();
    assert_eq!(fs::read(&linked).unwrap(), linked_index);
    let committed = in_linked(&with_file("file", "x")).unwrap();
    assert_eq!(
        (committed.branch.as_deref(), committed.files.modified),
        (Some("topic"), vec!["file".to_owned()])
    );
    assert_eq!(yard.index(), index);
}

#[test]
fn a_cancelled_commit_leaves_no_lock_and_the_index_as_it_was() {
    let yard = Yard::with_commit();
    let (pipe, started) = (yard.outside().join("pipe"), yard.outside().join("started"));
    yard.shell(&format!("mkfifo {}", pipe.display()));
    yard.script(
        &yard.path(".git/hooks/pre-commit"),
        &format!("touch {}; read x < {}", started.display(), pipe.display()),
    );
    yard.write("file", "changed\n");
    let (index, head) = (yard.index(), yard.git(&["rev-parse", "HEAD"]));
    let cancel = std::sync::atomic::AtomicBool::new(false);
    let result = std::thread::scope(|scope| {
        let running = scope.spawn(|| {
            yard.work_until(&cancel, Trust::Trusted, |work| {
                work.commit(&with_file("file", "x"))
            })
        });
        while !started.exists() && !running.is_finished() {
            std::thread::yield_now();
        }
        cancel.store(true, std::sync::atomic::Ordering::Relaxed);
        running.join().unwrap()
    });
    assert!(matches!(result, Err(Error::Cancelled)), "{result:?}");
    assert_untouched(&yard, &index, &head);
}
