//! What a server might leave behind: processes, control groups, files of sandboxes.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::support::{PATIENCE, text};

/// Fails if anything is left of a server that kept its data below this home. What it leaves to the kernel may take a moment.
pub(super) fn assert_none(server: u32, home: &Path) {
    let began = Instant::now();
    loop {
        let left = [groups(server), processes(home), grounds(home)].concat();
        if left.is_empty() {
            return;
        }
        assert!(began.elapsed() < PATIENCE, "left behind: {left:#?}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn groups(server: u32) -> Vec<String> {
    let name = format!("agentyard-{server}-");
    below(Path::new("/sys/fs/cgroup"), &|path| {
        path.file_name()
            .is_some_and(|own| own.to_string_lossy().starts_with(&name))
    })
}

/// Programs that still have something to do with a directory.
fn processes(home: &Path) -> Vec<String> {
    let home = home.display().to_string();
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    let of = |process: PathBuf| {
        let read = |name: &str| text(&std::fs::read(process.join(name)).unwrap_or_default());
        let arguments = read("cmdline");
        (arguments.contains(&home) || read("mountinfo").contains(&home)).then_some(arguments)
    };
    let own = PathBuf::from(format!("/proc/{}", std::process::id()));
    let numbered = processes.map(|entry| entry.path()).filter(|path| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        name.bytes().all(|byte| byte.is_ascii_digit()) && *path != own
    });
    numbered.filter_map(of).collect()
}

/// What sandboxes have left of their files.
fn grounds(home: &Path) -> Vec<String> {
    below(home, &|path| {
        let above = |levels: usize| path.ancestors().nth(levels).and_then(Path::file_name);
        let kept = ["sandboxes", "layers", "aside"];
        above(3).is_some_and(|name| name == "sandboxes")
            && above(1).is_some_and(|name| kept.iter().any(|kept| name == *kept))
    })
}

/// The directories below one that are such.
fn below(directory: &Path, is_such: &dyn Fn(&Path) -> bool) -> Vec<String> {
    let entries = std::fs::read_dir(directory).into_iter().flatten().flatten();
    let directories = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
    directories
        .flat_map(|entry| {
            let path = entry.path();
            if is_such(&path) {
                vec![path.display().to_string()]
            } else {
                below(&path, is_such)
            }
        })
        .collect()
}
