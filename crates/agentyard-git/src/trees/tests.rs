//! A mirror with one commit, for tests of what is not reached from outside.

use std::path::Path;
use std::process::Command;
use std::sync::atomic::AtomicBool;

use super::base::Base;
use super::base_name::BaseName;
use super::layout::make_root;
use super::{TreeSettings, Trees};
use crate::{Confined, Git, GitSettings, ObjectId, RemoteUrl, Roots};

const KEY: &str = "rep_1";

pub(super) struct Fixture {
    directory: tempfile::TempDir,
    trees: Trees,
    commit: ObjectId,
}

impl Fixture {
    pub(super) fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let source = directory.path().join("source");
        std::fs::create_dir_all(source.join("directory/deep")).unwrap();
        std::fs::write(source.join("file"), "content\n").unwrap();
        std::fs::write(source.join("directory/deep/file"), "deep\n").unwrap();
        std::fs::write(source.join("program"), "#!/bin/sh\n").unwrap();
        rustix::fs::chmod(source.join("program"), 0o755.into()).unwrap();
        rustix::fs::symlink("nowhere", source.join("link")).unwrap();
        git(&source, &["init", "--quiet", "--initial-branch=main"]);
        git(&source, &["add", "--all"]);
        git(&source, &["commit", "--quiet", "--message", "first"]);
        let submodule = format!("160000,{},sub/module", "1".repeat(40));
        git(&source, &["update-index", "--add", "--cacheinfo", &submodule]);
        git(&source, &["commit", "--quiet", "--message", "second"]);
        let trees = Trees::new(TreeSettings {
            directory: directory.path().join("data"),
            way: Some(super::Way::Overlay),
            obstacle: None,
            owner: None,
        });
        let commit = git(&source, &["rev-parse", "HEAD"]).trim().parse().unwrap();
        let url = RemoteUrl::parse(&source.display().to_string()).unwrap();
        let roots = Roots::new([source]).unwrap();
        let program = Git::find(GitSettings::default());
        let go_on = AtomicBool::new(false);
        trees
            .create_mirror(&program, KEY, &url, &roots, &go_on, &|_| {})
            .unwrap();
        trees
            .refresh_base(&program, KEY, &commit, &go_on, &|_| {})
            .unwrap();
        Self {
            directory,
            trees,
            commit,
        }
    }

    pub(super) fn base(&self) -> Base {
        let name = BaseName {
            commit: self.commit,
            owner: None,
        };
        self.trees.base(KEY, &name).unwrap()
    }

    /// A new directory beside the data directory.
    pub(super) fn directory(&self, name: &str) -> Confined {
        make_root(&self.directory.path().join(name)).unwrap()
    }

    /// What git says has changed in a tree with this index, and how many files it hashed for that.
    pub(super) fn hashed_by_status(&self, tree: &Path, index: &Path) -> (String, usize) {
        let trace = self.directory.path().join("trace");
        let _ = std::fs::remove_file(&trace);
        git(
            &self.trees.mirror_path(KEY),
            &[
                "update-ref",
                "refs/heads/agentyard/none",
                &self.commit.to_string(),
            ],
        );
        let output = command(tree)
            .env("GIT_DIR", self.trees.mirror_path(KEY))
            .env("GIT_WORK_TREE", tree)
            .env("GIT_INDEX_FILE", index)
            .env("GIT_TRACE2_PERF", &trace)
            .args(["--no-optional-locks", "status", "--porcelain"])
            .output()
            .unwrap();
        assert!(output.status.success(), "{output:?}");
        let trace = std::fs::read_to_string(trace).unwrap();
        let (_, count) = trace.split_once("refresh/sum_scan:").unwrap();
        let count = count.lines().next().unwrap().parse().unwrap();
        (String::from_utf8(output.stdout).unwrap(), count)
    }
}

fn git(directory: &Path, arguments: &[&str]) -> String {
    let output = command(directory).args(arguments).output().unwrap();
    assert!(output.status.success(), "git {arguments:?}: {output:?}");
    String::from_utf8(output.stdout).unwrap()
}

#[expect(clippy::disallowed_methods, reason = "tests compare with git")]
fn command(directory: &Path) -> Command {
    let mut command = Command::new("git");
    command
        .env_clear()
        .env("PATH", "/usr/local/bin:/usr/bin:/bin")
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .args(["-c", "user.name=Ada", "-c", "user.email=ada@example.org"])
        .current_dir(directory);
    command
}
