//! A remote, and a data directory with a mirror of it.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use agentyard_git::{
    BranchName, Error, Git, MirrorFetch, MirrorState, NewView, ObjectId, RemoteUrl, Repository, Roots,
    StatusOptions, TreeOwner, TreeSettings, Trees, View, Way,
};

use crate::network_support::program;
use crate::support::{GO_ON, Yard, command};

/// The repository's name in the data directory.
pub(crate) const KEY: &str = "rep_1";

/// `source` is the remote, a repository with a working tree; `data` the data directory. Nothing stays mounted when
/// this goes.
pub(crate) struct Orchard {
    pub(crate) yard: Yard,
    pub(crate) trees: Trees,
    pub(crate) git: Git,
}

impl Orchard {
    /// With a remote that has nothing yet.
    pub(crate) fn empty() -> Self {
        Self::of(
            Way::Overlay,
            &["init", "--quiet", "--initial-branch=main", "source"],
        )
    }

    pub(crate) fn of(way: Way, init: &[&str]) -> Self {
        Self::owned(way, None, init)
    }

    fn owned(way: Way, owner: Option<TreeOwner>, init: &[&str]) -> Self {
        let yard = Yard::empty();
        yard.git(init);
        Self {
            trees: Trees::new(TreeSettings {
                directory: yard.path("data"),
                way: Some(way),
                obstacle: None,
                owner,
            }),
            yard,
            git: program(),
        }
    }

    /// With a remote that has a few files on `main`, and a mirror of it.
    pub(crate) fn new() -> Self {
        Self::made_by(Way::Overlay)
    }

    pub(crate) fn made_by(way: Way) -> Self {
        Self::made_for(None, way)
    }

    /// One whose files are given to somebody.
    pub(crate) fn made_for(owner: Option<TreeOwner>, way: Way) -> Self {
        let orchard = Self::owned(
            way,
            owner,
            &["init", "--quiet", "--initial-branch=main", "source"],
        );
        for (file, content) in [
            ("README", "read me\n"),
            ("src/main.rs", "fn main() {}\n"),
            ("src/deep/er/file", "deep\n"),
            ("docs/one", "1\n"),
            ("docs/two", "2\n"),
            (".gitignore", "target/\n"),
            ("name with 'blanks' and ünïcode", "odd\n"),
        ] {
            orchard.write(file, content);
        }
        orchard.yard.link("src/main.rs", "source/link");
        orchard.yard.script(&orchard.yard.path("source/run.sh"), "true");
        orchard.commit("first");
        orchard.create_mirror().unwrap();
        orchard
    }

    pub(crate) fn write(&self, file: &str, content: &str) {
        self.yard.write(Path::new("source").join(file), content);
    }

    /// Commits everything in the remote.
    pub(crate) fn commit(&self, message: &str) -> ObjectId {
        self.source(&["add", "--all"]);
        self.source(&["commit", "--quiet", "--allow-empty", "--message", message]);
        self.tip()
    }

    pub(crate) fn source(&self, arguments: &[&str]) -> String {
        self.yard.git_in(&self.yard.path("source"), arguments)
    }

    /// The commit that the remote has checked out.
    pub(crate) fn tip(&self) -> ObjectId {
        self.source(&["rev-parse", "HEAD"]).trim().parse().unwrap()
    }

    pub(crate) fn mirror(&self, arguments: &[&str]) -> String {
        self.yard.git_in(&self.trees.mirror_path(KEY), arguments)
    }

    pub(crate) fn url(&self) -> RemoteUrl {
        RemoteUrl::parse(&self.yard.path("source").display().to_string()).unwrap()
    }

    pub(crate) fn source_roots(&self) -> Roots {
        Roots::new([self.yard.path("source")]).unwrap()
    }

    pub(crate) fn create_mirror(&self) -> Result<MirrorState, Error> {
        let (url, roots) = (self.url(), self.source_roots());
        self.trees
            .create_mirror(&self.git, KEY, &url, &roots, &GO_ON, &|_| {})
    }

    pub(crate) fn fetch(&self) -> Result<MirrorFetch, Error> {
        let (url, roots) = (self.url(), self.source_roots());
        self.trees
            .fetch_mirror(&self.git, KEY, &url, &roots, &GO_ON, &|_| {})
    }

    pub(crate) fn try_view(&self, name: &str, branch: &str, start: ObjectId) -> Result<View, Error> {
        let new = NewView {
            name,
            branch: &BranchName::new(branch).unwrap(),
            start,
        };
        self.trees.open_view(&self.git, KEY, &new, &GO_ON, &|_| {})
    }

    /// A view of a new branch at the remote's tip, called like it.
    pub(crate) fn view(&self, name: &str) -> View {
        self.try_view(name, name, self.tip()).unwrap()
    }

    pub(crate) fn close(&self, name: &str) {
        self.trees.close_view(KEY, name, &GO_ON).unwrap();
    }

    pub(crate) fn git(&self, view: &View, arguments: &[&str]) -> String {
        self.yard.git_in(&view.path, arguments)
    }

    /// What git and our own status say differs in a view.
    pub(crate) fn changes(&self, view: &View) -> String {
        let repository = open(view);
        let status = repository.status(&StatusOptions::default(), &GO_ON).unwrap();
        let porcelain = self.git(view, &["status", "--porcelain"]);
        let is_clean = status.staged.is_empty()
            && status.unstaged.modified.is_empty()
            && status.unstaged.deleted.is_empty()
            && status.untracked.is_empty();
        assert_eq!(is_clean, porcelain.is_empty(), "{porcelain} {status:?}");
        porcelain
    }

    pub(crate) fn data(&self, path: &str) -> PathBuf {
        self.yard.path("data").join(path)
    }

    /// What is left in the data directory, but for locks.
    pub(crate) fn leftovers(&self) -> Vec<String> {
        let trees = self.data("trees").join(KEY);
        let mut found = Vec::new();
        for directory in [
            trees.clone(),
            trees.join("views"),
            self.trees.mirror_path(KEY).join("worktrees"),
            self.data("repos"),
        ] {
            let Ok(entries) = fs::read_dir(directory) else {
                continue;
            };
            found.extend(entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()));
        }
        found.retain(|name| !["bases", "views", &*format!("{KEY}.git")].contains(&&**name));
        found.sort();
        found
    }
}

impl Drop for Orchard {
    fn drop(&mut self) {
        let _ = self.trees.remove_mirror(KEY, &GO_ON);
        let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
        let left = mounts.contains(&self.yard.root().display().to_string());
        assert!(!left || std::thread::panicking(), "something is still mounted");
    }
}

/// How many files git hashed to answer a status.
fn hashed_by_status(orchard: &Orchard, view: &View) -> usize {
    let trace = orchard.yard.path("trace");
    let _ = fs::remove_file(&trace);
    let output = command("git")
        .args(["--no-optional-locks", "status", "--porcelain"])
        .env("GIT_TRACE2_PERF", &trace)
        .current_dir(&view.path)
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    let trace = fs::read_to_string(trace).unwrap();
    let (_, count) = trace.split_once("refresh/sum_scan:").unwrap();
    count.lines().next().unwrap().parse().unwrap()
}

/// With more files than are hashed in no time.
pub(crate) fn first_status_hashes_none(orchard: &Orchard) {
    for file in 0..600 {
        orchard.write(&format!("many/{file}"), "content\n");
    }
    orchard.commit("many");
    orchard.fetch().unwrap();
    let view = orchard.view("topic");
    assert_eq!(hashed_by_status(orchard, &view), 0);
    // git also hashes, without counting them, files that are as young as the index, in seconds.
    let index = orchard.trees.mirror_path(KEY).join("worktrees/topic/index");
    let index = fs::metadata(index).unwrap().mtime();
    let listed = orchard.git(&view, &["ls-files", "--debug"]);
    let times = listed
        .lines()
        .filter_map(|line| line.trim().strip_prefix("mtime: "));
    let newest = times
        .map(|time| time.split(':').next().unwrap().parse::<i64>().unwrap())
        .max();
    assert!(newest.unwrap() < index);
    // A file that was only touched is hashed: the count can be other than nothing.
    let file = fs::File::options()
        .write(true)
        .open(view.path.join("README"))
        .unwrap();
    file.set_modified(std::time::UNIX_EPOCH).unwrap();
    assert_eq!(hashed_by_status(orchard, &view), 1);
}

pub(crate) fn open(view: &View) -> Repository {
    Repository::open(&view.roots.resolve(&view.path).unwrap()).unwrap()
}
