//! Whatever two branches did, the forecast names the files that `git merge-tree` leaves in conflict.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::io::Write as _;
use std::process::Stdio;

use agentyard_git::{Contender, Forecasts, ObjectId};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::test_runner::FileFailurePersistence;

use crate::support::{GO_ON, Yard, command};

/// What two branches did to the same files.
#[derive(Clone, Debug)]
struct History {
    ours: Vec<Edit>,
    theirs: Vec<Edit>,
}

/// Something done to the files. Paths are numbers into [`PATHS`], directories into [`DIRECTORIES`].
#[derive(Clone, Debug)]
enum Edit {
    Line { path: usize, line: usize, tag: u8 },
    Append { path: usize, tag: u8 },
    Add { path: usize, variant: u8 },
    Binary { path: usize, tag: u8 },
    Delete { path: usize },
    Rename { from: usize, to: usize },
    RenameDirectory { from: usize, to: usize },
    MakeExecutable { path: usize },
    Link { path: usize, target: u8 },
    Submodule { path: usize, commit: u8 },
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct File {
    mode: &'static str,
    content: String,
}

type Files = BTreeMap<String, File>;

const PATHS: &[&str] = &[
    "a",
    "b",
    "c.txt",
    "d/one",
    "d/two",
    "d/three",
    "d/sub/four",
    "e/five",
    "lines.union",
    "whole.bin",
    "a/nested",
    "n/new",
    "d/new",
    "e/new",
    "d/sub/new",
];

/// These are there from the beginning.
const FIRST: usize = 10;

const DIRECTORIES: &[&str] = &["d", "e", "d/sub", "m", "e/d", "m/sub"];

const ATTRIBUTES: &str = "*.union merge=union\n*.bin -merge\n*.txt merge=unknown\n";

fn edit() -> impl Strategy<Value = Edit> {
    let path = 0..PATHS.len();
    let directory = 0..DIRECTORIES.len();
    prop_oneof![
        5 => (path.clone(), 0..LINES, 0..3u8).prop_map(|(path, line, tag)| Edit::Line { path, line, tag }),
        1 => (path.clone(), 0..3u8).prop_map(|(path, tag)| Edit::Append { path, tag }),
        3 => (path.clone(), 0..3u8).prop_map(|(path, variant)| Edit::Add { path, variant }),
        1 => (path.clone(), 0..3u8).prop_map(|(path, tag)| Edit::Binary { path, tag }),
        2 => path.clone().prop_map(|path| Edit::Delete { path }),
        3 => (path.clone(), path.clone()).prop_map(|(from, to)| Edit::Rename { from, to }),
        2 => (directory.clone(), directory).prop_map(|(from, to)| Edit::RenameDirectory { from, to }),
        1 => path.clone().prop_map(|path| Edit::MakeExecutable { path }),
        1 => (path.clone(), 0..2u8).prop_map(|(path, target)| Edit::Link { path, target }),
        1 => (path, 0..3u8).prop_map(|(path, commit)| Edit::Submodule { path, commit }),
    ]
}

fn history() -> impl Strategy<Value = History> {
    (vec(edit(), 1..6), vec(edit(), 1..6)).prop_map(|(ours, theirs)| History { ours, theirs })
}

/// Whether a merge is clean, and the files in conflict.
type Answer = (bool, BTreeSet<String>);

const LINES: usize = 12;

fn first_files() -> Files {
    let text = |path: &&str| File {
        mode: "100644",
        content: (0..LINES).fold(String::new(), |text, line| format!("{text}{path} line {line}\n")),
    };
    let mut files: Files = PATHS[..FIRST]
        .iter()
        .map(|path| ((*path).to_owned(), text(path)))
        .collect();
    let attributes = File {
        mode: "100644",
        content: ATTRIBUTES.to_owned(),
    };
    files.insert(".gitattributes".to_owned(), attributes);
    files
}

/// Puts a file where perhaps a directory is, or below where a file is.
fn put(files: &mut Files, path: &str, file: File) {
    let is_in_the_way = |other: &String| {
        other.strip_prefix(path).is_some_and(|rest| rest.starts_with('/'))
            || path
                .strip_prefix(other.as_str())
                .is_some_and(|rest| rest.starts_with('/'))
    };
    files.retain(|other, _| !is_in_the_way(other));
    files.insert(path.to_owned(), file);
}

fn perform(files: &mut Files, edit: &Edit) {
    let change = |files: &mut Files, path: usize, change: &dyn Fn(&mut File)| {
        if let Some(file) = files.get_mut(PATHS[path])
            && file.mode != "160000"
        {
            change(file);
        }
    };
    match *edit {
        Edit::Line { path, line, tag } => change(files, path, &|file| {
            let lines: Vec<String> = file.content.lines().map(str::to_owned).collect();
            let changed = lines.into_iter().enumerate().map(|(at, text)| match at == line {
                true => format!("{text} {tag}\n"),
                false => format!("{text}\n"),
            });
            file.content = changed.collect();
        }),
        Edit::Append { path, tag } => {
            change(files, path, &|file| writeln!(file.content, "end {tag}").unwrap());
        }
        Edit::Add { path, variant } => {
            let content = (0..LINES).fold(String::new(), |text, line| {
                format!("{text}new {variant} {line}\n")
            });
            put(
                files,
                PATHS[path],
                File {
                    mode: "100644",
                    content,
                },
            );
        }
        Edit::Binary { path, tag } => change(files, path, &|file| write!(file.content, "\0{tag}").unwrap()),
        Edit::Delete { path } => _ = files.remove(PATHS[path]),
        Edit::Rename { from, to } => {
            if let Some(file) = files.remove(PATHS[from]) {
                put(files, PATHS[to], file);
            }
        }
        Edit::RenameDirectory { from, to } => {
            let (from, to) = (format!("{}/", DIRECTORIES[from]), format!("{}/", DIRECTORIES[to]));
            let moved: Vec<String> = files
                .keys()
                .filter(|path| path.starts_with(&from))
                .cloned()
                .collect();
            for path in moved {
                if let Some(file) = files.remove(&path) {
                    put(files, &path.replacen(&from, &to, 1), file);
                }
            }
        }
        Edit::MakeExecutable { path } => change(files, path, &|file| {
            if file.mode == "100644" {
                file.mode = "100755";
            }
        }),
        Edit::Link { path, target } => {
            let content = format!("target-{target}");
            put(
                files,
                PATHS[path],
                File {
                    mode: "120000",
                    content,
                },
            );
        }
        Edit::Submodule { path, commit } => {
            let content = format!("{commit:040x}").replace('0', "a");
            put(
                files,
                PATHS[path],
                File {
                    mode: "160000",
                    content,
                },
            );
        }
    }
}

/// A commit with these files, as `git fast-import` reads it.
fn commit(branch: &str, from: Option<&str>, files: &Files) -> String {
    let mut text =
        format!("commit refs/heads/{branch}\ncommitter A <a@example.org> 1600000000 +0000\ndata 0\n");
    if let Some(from) = from {
        writeln!(text, "from refs/heads/{from}").unwrap();
    }
    text.push_str("deleteall\n");
    for (path, file) in files {
        match file.mode {
            "160000" => writeln!(text, "M 160000 {} {path}", file.content).unwrap(),
            mode => {
                let size = file.content.len();
                writeln!(text, "M {mode} inline {path}\ndata {size}\n{}", file.content).unwrap();
            }
        }
    }
    text
}

/// Runs git with something to read.
fn git_reading(yard: &Yard, arguments: &[&str], input: &str) -> String {
    let mut child = command("git")
        .env_clear()
        .env("PATH", "/usr/local/bin:/usr/bin:/bin")
        .env("HOME", "/nonexistent")
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .args(arguments)
        .current_dir(yard.root())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::inherit())
        .spawn()
        .unwrap();
    let mut standard_input = child.stdin.take().unwrap();
    let input = input.to_owned();
    let writing = std::thread::spawn(move || standard_input.write_all(input.as_bytes()).unwrap());
    let output = child.wait_with_output().unwrap();
    writing.join().unwrap();
    assert!(output.status.success(), "git {arguments:?}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// For each pair of branches, whether git would merge them cleanly, and the files in conflict.
fn merge_trees(yard: &Yard, pairs: &[(String, String)]) -> Vec<Answer> {
    let lines = pairs.iter().fold(String::new(), |text, (ours, theirs)| {
        format!("{text}{ours} {theirs}\n")
    });
    let arguments = [
        "merge-tree",
        "--stdin",
        "--name-only",
        "--no-messages",
        "--allow-unrelated-histories",
    ];
    let output = git_reading(yard, &arguments, &lines);
    let mut parts = output.split('\0');
    let mut answers = Vec::new();
    for pair in pairs {
        let is_clean = match parts.next() {
            Some("1") => true,
            Some("0") => false,
            other => panic!("{pair:?}: {other:?}"),
        };
        let _tree = parts.next();
        // A file in the way of a directory is put aside as `path~branch`.
        let path = |name: &str| name.split('~').next().unwrap_or_default().to_owned();
        let files = parts
            .by_ref()
            .take_while(|name| !name.is_empty())
            .map(path)
            .collect();
        answers.push((is_clean, files));
    }
    answers
}

fn heads(yard: &Yard) -> BTreeMap<String, ObjectId> {
    let listed = yard.git(&[
        "for-each-ref",
        "--format=%(refname:short) %(objectname)",
        "refs/heads",
    ]);
    let lines = listed.lines().filter_map(|line| line.split_once(' '));
    lines
        .map(|(name, id)| (name.to_owned(), id.parse().unwrap()))
        .collect()
}

/// What the forecast says about each pair.
fn forecasts(yard: &Yard, pairs: &[(String, String)]) -> Vec<Answer> {
    let (repository, cache, heads) = (yard.open(), Forecasts::default(), heads(yard));
    let answer = |(ours, theirs): &(String, String)| {
        let contender = |name: &String| Contender {
            name: name.clone(),
            head: heads[name],
            work: None,
            target: None,
        };
        let contenders = [contender(ours), contender(theirs)];
        let forecast = repository.forecast(&cache, &contenders, None, &GO_ON).unwrap();
        let files = forecast.pairs.iter().flat_map(|collision| collision.files.iter());
        (
            forecast.pairs.is_empty(),
            files.map(|file| file.path.clone()).collect(),
        )
    };
    pairs.iter().map(answer).collect()
}

/// Whether the forecast says what git says, but for two things.
fn agree(expected: &Answer, actual: &Answer, [ours, theirs]: &[Files; 2], base: &Files) -> bool {
    // Where git cannot say to which path a conflict belongs, it names none.
    let names_none = (expected.0, actual.0) == (false, false) && expected.1.is_empty();
    // Where one side moved a file to a path at which the other added another, and put something else into its old
    // place, git takes one of the two and loses the other without a word. We say so.
    let is_lost = |path: &String| {
        !base.contains_key(path)
            && ours.contains_key(path)
            && theirs.contains_key(path)
            && ours.get(path) != theirs.get(path)
    };
    expected == actual
        || names_none
        || expected.1.is_subset(&actual.1) && actual.1.difference(&expected.1).all(is_lost)
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 6,
        // A failure is reproduced from its edits, which are printed; tests leave no files behind.
        failure_persistence: Some(Box::new(FileFailurePersistence::Off)),
        // The edits of one history are few enough to read.
        max_shrink_iters: 0,
        ..ProptestConfig::default()
    })]

    #[test]
    fn forecast_is_what_git_would_do(histories in vec(history(), 40)) {
        let yard = Yard::new();
        let base = first_files();
        let mut stream = commit("base", None, &base);
        let mut pairs = Vec::new();
        let mut outcomes = Vec::new();
        for (number, history) in histories.iter().enumerate() {
            let names = (format!("ours-{number}"), format!("theirs-{number}"));
            let outcome = [(&names.0, &history.ours), (&names.1, &history.theirs)].map(|(name, edits)| {
                let mut files = base.clone();
                edits.iter().for_each(|edit| perform(&mut files, edit));
                stream += &commit(name, Some("base"), &files);
                files
            });
            pairs.push(names);
            outcomes.push(outcome);
        }
        git_reading(&yard, &["fast-import", "--quiet"], &stream);
        // Without a checkout, git reads attributes where the work is.
        yard.write(".gitattributes", ATTRIBUTES);
        let expected = merge_trees(&yard, &pairs);
        let actual = forecasts(&yard, &pairs);
        let told: Vec<_> = histories.iter().zip(expected.iter().zip(&actual)).collect();
        let wrong: Vec<_> = told
            .iter()
            .zip(&outcomes)
            .filter(|((_, (expected, actual)), outcome)| !agree(expected, actual, outcome, &base))
            .map(|(told, _)| told)
            .collect();
        prop_assert!(wrong.is_empty(), "history, git, forecast: {:#?}", wrong);
    }
}
