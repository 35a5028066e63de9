//! New repositories, and what is in their way.

use std::fs;

use agentyard_git::{BranchName, Error, Git, GitPerson, GitSettings, InitOptions, Initialized, ObjectFormat};

use crate::support::{GO_ON, Yard, message};

fn init(yard: &Yard, path: &str, options: &InitOptions) -> Result<Initialized, Error> {
    yard.program()
        .init(&yard.roots(), &yard.path(path), options, &GO_ON)
}

fn made(yard: &Yard, path: &str) -> Initialized {
    Initialized {
        path: yard.path(path),
        branch: Some("main".to_owned()),
        bare: false,
        object_format: ObjectFormat::Sha1,
        existing: false,
    }
}

#[test]
fn a_repository_is_made_with_its_directories() {
    let yard = Yard::empty();
    assert_eq!(
        init(&yard, "a b/-c/*", &InitOptions::default()).unwrap(),
        made(&yard, "a b/-c/*")
    );
    assert_eq!(
        yard.git_in(&yard.path("a b/-c/*"), &["symbolic-ref", "HEAD"]),
        "refs/heads/main\n"
    );
    assert!(
        !yard.path("a b/-c/*/.git/hooks").exists(),
        "no template is copied"
    );
}

#[test]
fn its_form_is_chosen() {
    let yard = Yard::empty();
    let options = InitOptions {
        initial_branch: Some(BranchName::new("trunk/x").unwrap()),
        bare: true,
        object_format: ObjectFormat::Sha256,
    };
    let expected = Initialized {
        branch: Some("trunk/x".to_owned()),
        bare: true,
        object_format: ObjectFormat::Sha256,
        ..made(&yard, "bare.git")
    };
    assert_eq!(init(&yard, "bare.git", &options).unwrap(), expected);
    assert_eq!(
        yard.git_in(&yard.path("bare.git"), &["rev-parse", "--show-object-format"]),
        "sha256\n"
    );
}

#[test]
fn files_that_are_there_stay() {
    let yard = Yard::empty();
    yard.write("project/file", "content");
    assert_eq!(
        init(&yard, "project", &InitOptions::default()).unwrap(),
        made(&yard, "project")
    );
    assert_eq!(yard.status_of("project").untracked, ["file"]);
}

#[test]
fn a_repository_that_is_there_is_left_as_it_is() {
    let yard = Yard::with_commit();
    yard.git(&["checkout", "--quiet", "-b", "topic"]);
    let before = fs::read(yard.path(".git/config")).unwrap();
    let options = InitOptions {
        initial_branch: Some(BranchName::new("other").unwrap()),
        bare: true,
        object_format: ObjectFormat::Sha256,
    };
    let expected = Initialized {
        branch: Some("topic".to_owned()),
        existing: true,
        ..made(&yard, "")
    };
    assert_eq!(init(&yard, ".", &options).unwrap(), expected);
    assert_eq!(fs::read(yard.path(".git/config")).unwrap(), before);

    yard.git(&["init", "--quiet", "--bare", "--initial-branch=main", "bare"]);
    let expected = Initialized {
        bare: true,
        existing: true,
        ..made(&yard, "bare")
    };
    assert_eq!(init(&yard, "bare", &InitOptions::default()).unwrap(), expected);
}

#[test]
fn the_person_chooses_the_first_branch() {
    let yard = Yard::empty();
    let home = yard.outside().join("home");
    fs::create_dir(&home).unwrap();
    fs::write(
        home.join(".gitconfig"),
        "[init]\n defaultBranch = trunk\n templateDir = /etc\n",
    )
    .unwrap();
    let git = Git::find(GitSettings {
        person: Some(GitPerson {
            home,
            environment: Vec::new(),
        }),
        ..GitSettings::default()
    });
    let made = git.init(&yard.roots(), &yard.path("new"), &InitOptions::default(), &GO_ON);
    assert_eq!(made.unwrap().branch.as_deref(), Some("trunk"));
    assert!(!yard.path("new/.git/passwd").exists());
}

#[test]
fn nothing_is_made_outside_the_roots() {
    let yard = Yard::empty();
    yard.link(yard.outside(), "out");
    yard.link(yard.outside().join("missing"), "dangling");
    yard.link("nothing", "inside");
    for path in [
        "../outside/new",
        "out",
        "out/new",
        "dangling",
        "dangling/new",
        "inside/new",
        "new/../../outside/x",
    ] {
        let result = init(&yard, path, &InitOptions::default());
        assert!(result.is_err(), "{path}: {result:?}");
    }
    assert_eq!(fs::read_dir(yard.outside()).unwrap().count(), 0);
    assert!(!yard.path("new").exists() && !yard.path("nothing").exists());
}

#[test]
fn nothing_is_made_in_a_git_directory() {
    let yard = Yard::with_commit();
    yard.git(&["init", "--quiet", "--bare", "bare"]);
    yard.link(".git", "link");
    for path in [
        ".git/new",
        "new/.GIT",
        "bare/hooks/new",
        "bare/hooks",
        "link/new",
        "a\u{1b}b",
        "a\nb",
    ] {
        let result = init(&yard, path, &InitOptions::default());
        assert!(
            matches!(result, Err(Error::InvalidPath { .. })),
            "{path}: {result:?}"
        );
    }
}

#[test]
fn what_is_in_the_way_is_named() {
    let yard = Yard::empty();
    yard.write("planted/.git/config", "[core]\n worktree = /etc\n");
    let refusal = message(init(&yard, "planted", &InitOptions::default()));
    assert!(refusal.contains("`.git` that is no repository"), "{refusal}");
    yard.write("full/file", "content");
    let bare = InitOptions {
        bare: true,
        ..InitOptions::default()
    };
    assert!(message(init(&yard, "full", &bare)).contains("not empty"));
    let refusal = message(init(&yard, "full/file/x", &InitOptions::default()));
    assert!(refusal.contains("not a directory"), "{refusal}");
}
