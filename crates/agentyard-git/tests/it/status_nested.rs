//! Repositories inside a working tree. git is the judge, except on what is in a submodule.

use std::fs;

use crate::porcelain::{check, check_in};
use crate::support::Yard;

#[test]
fn nested_repositories_appear_as_one_directory() {
    let yard = Yard::with_commit();
    yard.write("empty-repository/x", "");
    yard.remove("empty-repository/x");
    yard.git(&["init", "--quiet", "empty-repository"]);
    yard.git(&["init", "--quiet", "deep/er/repository"]);
    yard.write("deep/er/repository/file", "");
    yard.git(&["init", "--quiet", "--bare", "bare"]);
    yard.write("not-a-repository/.git", "gitdir: nowhere\n");
    yard.write("fake/.git/config", "");
    yard.write(".gitignore", "ignored-repository\n");
    yard.git(&["init", "--quiet", "ignored-repository"]);
    let status = check(&yard);
    assert_eq!(
        status.untracked,
        [".gitignore", "bare/", "deep/", "empty-repository/"]
    );
    assert_eq!(status.ignored, ["ignored-repository/"]);
}

#[test]
fn submodules_are_compared_by_their_commit() {
    let yard = Yard::with_commit();
    let elsewhere = yard.path("source");
    yard.git(&["init", "--quiet", "source"]);
    yard.git_in(
        &elsewhere,
        &["commit", "--quiet", "--allow-empty", "--message", "one"],
    );
    yard.git(&["submodule", "--quiet", "add", "./source", "sub"]);
    yard.write(".git/info/exclude", "source\n");
    yard.commit("with a submodule");
    assert!(check(&yard).is_clean());
    let sub = yard.path("sub");
    yard.git_in(&sub, &["commit", "--quiet", "--allow-empty", "--message", "two"]);
    assert_eq!(check(&yard).unstaged.modified, ["sub"]);
    yard.git(&["add", "sub"]);
    assert_eq!(check(&yard).staged.modified, ["sub"]);
    // Its files are not looked at.
    yard.write("sub/dirt", "");
    assert_eq!(yard.status().unstaged.modified, [""; 0]);
    // Not checked out is not changed; gone is gone.
    yard.git(&["commit", "--quiet", "--message", "bump"]);
    yard.git(&["submodule", "--quiet", "deinit", "--force", "sub"]);
    assert!(check(&yard).is_clean());
    fs::remove_dir(yard.path("sub")).unwrap();
    assert_eq!(check(&yard).unstaged.deleted, ["sub"]);
    yard.write("sub", "a file now");
    assert_eq!(check(&yard).unstaged.type_changed, ["sub"]);
    // From inside, the submodule is a repository like any other.
    yard.remove("sub");
    yard.git(&["submodule", "--quiet", "update", "--init"]);
    yard.write("sub/dirt", "");
    assert_eq!(check_in(&yard, "sub").untracked, ["dirt"]);
}
