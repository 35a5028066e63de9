//! The git program: what it may do in a repository that nobody vouches for, and how it ends.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::sync::atomic::{AtomicBool, Ordering};

use agentyard_git::{AddOptions, Enforcement, Error, RepositoryPath, Trust};

use crate::support::{Yard, message};

fn paths(names: &[&str]) -> AddOptions {
    AddOptions {
        paths: names
            .iter()
            .map(|name| RepositoryPath::new(name).unwrap())
            .collect(),
        ..AddOptions::default()
    }
}

/// A script outside the repository that leaves a mark.
fn script(yard: &Yard) -> String {
    let path = yard.outside().join("script");
    fs::write(
        &path,
        format!("#!/bin/sh\ntouch {}/pwned\ncat\n", yard.outside().display()),
    )
    .unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    path.display().to_string()
}

fn pwned(yard: &Yard) -> bool {
    yard.outside().join("pwned").exists()
}

#[test]
fn files_are_staged() {
    let yard = Yard::with_commit();
    yard.write("a b\n", "new\n");
    yard.write("-rf", "new\n");
    yard.write("*", "new\n");
    yard.write("other", "new\n");
    yard.work(|work| work.add(&paths(&["\"a b\\n\"", "-rf", "*"])))
        .unwrap();
    assert_eq!(
        yard.git(&["diff", "--cached", "--name-only", "-z"]),
        "*\0-rf\0a b\n\0"
    );
}

#[test]
fn the_kernel_confines_git_on_this_machine() {
    let yard = Yard::with_commit();
    assert_eq!(yard.program().enforcement(), Enforcement::Whole);
}

#[test]
fn filters_of_an_untrusted_repository_do_not_run_and_are_named() {
    let yard = Yard::with_commit();
    let script = script(&yard);
    yard.configure(&format!(
        "[filter \"evil\"]\n clean = {script}\n process = {script}\n required = true"
    ));
    yard.write(".gitattributes", "* filter=evil\n");
    yard.write("file", "changed\n");
    let added = yard.work(|work| work.add(&paths(&["file"]))).unwrap();
    assert_eq!(added.left_out.filters, ["evil"]);
    assert!(!pwned(&yard));

    yard.write("file", "changed again\n");
    let added = yard.trusted_work(|work| work.add(&paths(&["file"])));
    assert!(pwned(&yard), "a trusted repository runs its filters: {added:?}");
}

#[test]
fn hooks_of_an_untrusted_repository_do_not_run() {
    let yard = Yard::with_commit();
    let script = script(&yard);
    fs::create_dir_all(yard.path(".git/hooks")).unwrap();
    fs::copy(&script, yard.path(".git/hooks/post-index-change")).unwrap();
    yard.configure(&format!(
        "[core]\n fsmonitor = {script}\n sshCommand = {script}\n pager = {script}\n editor = {script}"
    ));
    yard.write("file", "changed\n");
    yard.work(|work| work.add(&paths(&["file"]))).unwrap();
    assert!(!pwned(&yard));
    yard.write("file", "changed again\n");
    yard.trusted_work(|work| work.add(&paths(&["file"]))).unwrap();
    assert!(pwned(&yard), "a trusted repository runs its hooks");
}

#[test]
fn the_kernel_refuses_programs_that_settings_do_not_stop() {
    // As if the repository's configuration had changed after it was looked at: git is told of the filter by
    // another way than the one that is switched off.
    let yard = Yard::with_commit();
    let script = script(&yard);
    yard.write(".gitattributes", "* filter=evil\n");
    yard.write("file", "changed\n");
    let result = yard.work_with_setting("filter.evil.clean", &script, |work| work.add(&paths(&["file"])));
    assert!(!pwned(&yard), "{result:?}");
}

#[test]
fn the_kernel_refuses_reads_outside_the_repository() {
    // As if a directory of the repository had been swapped for a link after it was looked at: git is led to a file
    // outside by a setting of whoever runs the server, which nothing but the kernel stops.
    let yard = Yard::with_commit();
    let attributes = yard.outside().join("attributes");
    fs::write(&attributes, "file text eol=lf\n").unwrap();
    yard.write("file", "changed\r\n");
    let attributes = attributes.display().to_string();
    yard.work_with_setting("core.attributesFile", &attributes, |work| {
        work.add(&paths(&["file"]))
    })
    .unwrap();
    assert_eq!(
        yard.git(&["cat-file", "-p", ":file"]),
        "changed\r\n",
        "it was read"
    );
}

#[test]
fn the_kernel_refuses_writes_outside_the_repository() {
    let yard = Yard::with_commit();
    yard.write("file", "changed\n");
    let trace = yard.outside().join("trace").display().to_string();
    let written = || yard.outside().join("trace").exists();
    let result = yard.work_with_setting("trace2.eventTarget", &trace, |work| work.add(&paths(&["file"])));
    assert!(!written(), "{result:?}");
}

#[test]
fn an_include_in_an_untrusted_repository_is_refused() {
    let yard = Yard::with_commit();
    yard.configure("[include]\n path = /etc/passwd");
    let refusal = message(yard.work(|work| work.add(&paths(&["file"]))));
    assert!(
        refusal.contains("sets `include.path`") && refusal.contains("agentyard trust"),
        "{refusal}"
    );
}

#[test]
fn a_cancelled_call_kills_git_and_all_it_started() {
    let yard = Yard::with_commit();
    let pipe = yard.outside().join("pipe");
    yard.shell(&format!("mkfifo {}", pipe.display()));
    let hook = yard.path(".git/hooks/post-index-change");
    fs::create_dir_all(hook.parent().unwrap()).unwrap();
    // It says that it runs, and then never ends.
    let started = yard.outside().join("started");
    fs::write(
        &hook,
        format!(
            "#!/bin/sh\necho $$ > {}.tmp && mv {0}.tmp {0}; read x < {}\n",
            started.display(),
            pipe.display()
        ),
    )
    .unwrap();
    fs::set_permissions(&hook, fs::Permissions::from_mode(0o755)).unwrap();
    yard.write("file", "changed\n");

    let cancel = AtomicBool::new(false);
    let result = std::thread::scope(|scope| {
        let running =
            scope.spawn(|| yard.work_until(&cancel, Trust::Trusted, |work| work.add(&paths(&["file"]))));
        while !started.exists() && !running.is_finished() {
            std::thread::yield_now();
        }
        cancel.store(true, Ordering::Relaxed);
        running.join().unwrap()
    });
    assert!(matches!(result, Err(Error::Cancelled)), "{result:?}");
    let hook_process = fs::read_to_string(&started).unwrap();
    let is_alive = || {
        fs::read_to_string(format!("/proc/{}/stat", hook_process.trim()))
            .is_ok_and(|stat| !stat.contains(") Z "))
    };
    // It was killed before the call came back; the kernel takes a moment to end it.
    while is_alive() {
        std::thread::yield_now();
    }
}

#[test]
fn a_lock_that_is_in_the_way_is_named() {
    let yard = Yard::with_commit();
    yard.write(".git/index.lock", "");
    yard.write("file", "changed\n");
    let error = yard.work(|work| work.add(&paths(&["file"]))).unwrap_err();
    let lock = yard.path(".git/index.lock").display().to_string();
    assert!(matches!(error, Error::Locked { lock: found, .. } if found == lock));
}
