//! What a person's own settings do to calls that go to remotes.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::sync::Mutex;

use agentyard_git::{CloneOptions, Error, PushOptions, RemoteUrl, Trust, Work};

use crate::network_support::{Remotes, everything, program, program_of};
use crate::support::GO_ON;

/// A home with this configuration.
fn home(remotes: &Remotes, config: &str) -> PathBuf {
    let home = remotes.yard.outside().join("home");
    fs::create_dir(&home).unwrap();
    fs::write(home.join(".gitconfig"), config).unwrap();
    home
}

#[test]
fn ssh_is_the_persons_own() {
    let remotes = Remotes::new();
    // It runs what it is told on this machine, in place of another.
    let ssh = remotes.yard.outside().join("ssh");
    let log = remotes.yard.outside().join("log");
    fs::write(
        &ssh,
        format!(
            "#!/bin/sh\necho \"$@\" >> {}\nfor last; do :; done\nexec sh -c \"$last\"\n",
            log.display()
        ),
    )
    .unwrap();
    fs::set_permissions(&ssh, fs::Permissions::from_mode(0o755)).unwrap();
    let home = home(&remotes, &format!("[core]\n sshCommand = {}\n", ssh.display()));
    let server = remotes.path("server.git");
    let url = RemoteUrl::parse(&format!("git@127.0.0.1:{}", server.display())).unwrap();
    let options = CloneOptions::new(url, &remotes.path("clone")).unwrap();
    let nobody = program().clone_repository(&remotes.yard.roots(), &options, &GO_ON, &|_| {});
    assert!(
        matches!(nobody, Err(Error::Refused { .. })),
        "nobody has no keys: {nobody:?}"
    );
    let git = program_of(home);
    git.clone_repository(&remotes.yard.roots(), &options, &GO_ON, &|_| {})
        .unwrap();
    assert_eq!(
        fs::read_to_string(log)
            .unwrap()
            .trim_end()
            .rsplit_once("git@")
            .unwrap()
            .1,
        format!("127.0.0.1 git-upload-pack '{}'", server.display())
    );
    assert_eq!(remotes.tip("clone", "HEAD"), remotes.tip("server.git", "main"));
}

#[test]
fn the_persons_rewriting_rules_count_and_are_checked() {
    let remotes = Remotes::new();
    let server = remotes.path("server.git").display().to_string();
    let home = home(
        &remotes,
        &format!(
            "[url \"{server}\"]\n insteadOf = https://git.example/a\n\
             [url \"ext::sh\"]\n insteadOf = https://git.example/evil\n\
             [url \"https://169.254.169.254/\"]\n insteadOf = https://git.example/inner/\n"
        ),
    );
    let git = program_of(home);
    let fetch = |url: &str| {
        remotes.git("here", &["config", "remote.origin.url", url]);
        let repository = remotes.open("here");
        Work::new(&git, &repository, Trust::Untrusted, &GO_ON, &|_| {}).fetch(&everything())
    };
    remotes.moves("new", "new\n");
    assert_eq!(fetch("https://git.example/a").unwrap().changes.len(), 1);
    assert!(matches!(
        fetch("https://git.example/evil"),
        Err(Error::Invalid { .. })
    ));
    assert!(matches!(
        fetch("https://git.example/inner/x"),
        Err(Error::Refused { .. })
    ));
}

#[test]
fn progress_is_told_in_counts() {
    let remotes = Remotes::new();
    let url = RemoteUrl::parse(&remotes.path("server.git").display().to_string()).unwrap();
    let options = CloneOptions::new(url, &remotes.path("clone")).unwrap();
    let told = Mutex::new(Vec::new());
    program()
        .clone_repository(&remotes.yard.roots(), &options, &GO_ON, &|progress| {
            told.lock().unwrap().push(progress);
        })
        .unwrap();
    let told = told.into_inner().unwrap();
    let received = told
        .iter()
        .rfind(|progress| progress.stage == "Receiving objects");
    assert!(
        received.is_some_and(|progress| progress.total == Some(progress.done)),
        "{told:?}"
    );
}

#[test]
fn a_hook_of_ones_own_repository_that_did_not_run_is_named() {
    let remotes = Remotes::new();
    let hook = remotes.path("here/.git/hooks/pre-push");
    fs::create_dir_all(hook.parent().unwrap()).unwrap();
    fs::write(&hook, "#!/bin/sh\nexit 1\n").unwrap();
    fs::set_permissions(&hook, fs::Permissions::from_mode(0o755)).unwrap();
    remotes.commit("here", "new", "new\n");
    let pushed = remotes
        .work("here", |work| work.push(&PushOptions::default()))
        .unwrap();
    assert_eq!(pushed.left_out.hooks, ["pre-push"]);
}
