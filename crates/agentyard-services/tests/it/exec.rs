//! Python code: what an agent is told of it.

use std::fs;
use std::time::Duration;

use agentyard_model::{
    Caller, ExecutionFilter, ExecutionOutcome, PageRequest, Permission, Permissions, Secret,
};
use agentyard_services::{
    CodeFileRequest, CodeRequest, ErrorKind, ExecAnswer, ExecDetails, ExecOptions, FileChangeKind,
    MissingPackage, Network, OutputStream, Place, Progress, Result, RunSettings, Waiting,
};
use agentyard_testkit::{TestPlatform, run_settings, sandboxed_run_settings};

use crate::yard::{self, failure, kind, local};

struct Yard {
    platform: TestPlatform,
    place: Place,
}

impl Yard {
    /// In a real sandbox, with interpreters that are kept warm.
    async fn warm() -> Self {
        Self::with(sandboxed_run_settings()).await
    }

    /// Without either.
    async fn cold() -> Self {
        Self::with(run_settings()).await
    }

    async fn with(settings: RunSettings) -> Self {
        let platform = TestPlatform::with_runs(settings).await;
        let place = Place {
            workspace: Some(platform.repository.path().display().to_string()),
            ..Place::default()
        };
        Self { platform, place }
    }

    async fn execute(&self, request: CodeRequest) -> Result<ExecAnswer> {
        self.execute_as(&local(), request).await
    }

    async fn execute_as(&self, caller: &Caller, request: CodeRequest) -> Result<ExecAnswer> {
        let (waiting, progress) = (Waiting::default(), Progress::ignored());
        let exec = &self.platform.services.exec;
        exec.execute_code(caller, request, waiting, &progress).await
    }

    fn request(&self, code: &str) -> CodeRequest {
        CodeRequest {
            place: self.place.clone(),
            code: code.to_owned(),
            ..CodeRequest::default()
        }
    }

    async fn code(&self, code: &str) -> ExecAnswer {
        self.execute(self.request(code)).await.unwrap()
    }

    async fn with_options(&self, code: &str, options: ExecOptions) -> Result<ExecAnswer> {
        let request = CodeRequest {
            options,
            ..self.request(code)
        };
        self.execute(request).await
    }

    async fn file(&self, path: &str) -> Result<ExecAnswer> {
        let request = CodeFileRequest {
            place: self.place.clone(),
            path: path.to_owned(),
            ..CodeFileRequest::default()
        };
        let (waiting, progress) = (Waiting::default(), Progress::ignored());
        let exec = &self.platform.services.exec;
        exec.execute_code_file(&local(), request, waiting, &progress)
            .await
    }
}

fn details(answer: &ExecAnswer) -> &ExecDetails {
    answer.details.as_ref().unwrap()
}

fn exit_code(answer: &ExecAnswer) -> Option<i32> {
    answer.run.end.unwrap().exit_code
}

fn changed(answer: &ExecAnswer) -> Vec<(&str, FileChangeKind)> {
    let files = details(answer).files.iter();
    files.map(|file| (file.path.as_str(), file.change)).collect()
}

/// What is the same, however code is run.
async fn answers_say_what_to_do_next(yard: &Yard) {
    let answer = yard
        .code("import sys\nprint('out')\nprint('err', file=sys.stderr)\nsys.exit(3)")
        .await;
    assert_eq!(
        (answer.run.stdout.head.as_str(), answer.run.stderr.head.as_str()),
        ("out\n", "err\n")
    );
    assert_eq!(exit_code(&answer), Some(3));
    assert_eq!(details(&answer).exception, None);

    let answer = yard
        .code("def fail(n):\n    raise ValueError(f'no {n}')\n\nfail(7)")
        .await;
    let exception = details(&answer).exception.clone().unwrap();
    assert_eq!(
        (exception.kind.as_str(), exception.message.as_str()),
        ("ValueError", "no 7")
    );
    let lines: Vec<(&str, u32)> = exception
        .frames
        .iter()
        .map(|frame| (frame.file.as_str(), frame.line))
        .collect();
    assert_eq!(lines, [("<code>", 4), ("<code>", 2)]);
    assert!(answer.run.stderr.head.ends_with("ValueError: no 7\n"));

    let answer = yard.code("import yaml").await;
    let missing = MissingPackage {
        import: "yaml".to_owned(),
        package: "PyYAML".to_owned(),
    };
    assert_eq!(details(&answer).missing_package, Some(missing));

    let answer = yard.code("print('oh'").await;
    assert_eq!(details(&answer).exception.as_ref().unwrap().kind, "SyntaxError");

    let image = "open('plot.svg', 'w').write('<svg xmlns=\"http://www.w3.org/2000/svg\"/>')\n\
                 open('README.md', 'a').write('more')\nopen('fake.png', 'w').write('no image')\nopen('README.md').read()";
    let answer = yard.code(image).await;
    let mut files = changed(&answer);
    files.sort_by_key(|(path, _)| *path);
    let expected = [
        ("README.md", FileChangeKind::Changed),
        ("fake.png", FileChangeKind::Created),
        ("plot.svg", FileChangeKind::Created),
    ];
    assert_eq!(files, expected);
    let images: Vec<_> = details(&answer)
        .images
        .iter()
        .map(|image| (image.path.as_str(), image.media_type))
        .collect();
    assert_eq!(images, [("plot.svg", "image/svg+xml")]);
}

#[tokio::test]
async fn warm_code_is_answered() {
    let yard = Yard::warm().await;
    answers_say_what_to_do_next(&yard).await;
    let answer = yard.code("print(1)").await;
    assert!(details(&answer).warm);
    assert!(answer.run.end.unwrap().usage.peak_memory_bytes.is_some());
    // Inside, the environment is what it is called.
    let answer = yard
        .code("import sys, os\nprint(sys.prefix, sys.executable, os.environ['VIRTUAL_ENV'])")
        .await;
    assert_eq!(answer.run.stdout.head, "/env /env/bin/python /env\n");
}

#[tokio::test]
async fn cold_code_is_answered_alike() {
    let yard = Yard::cold().await;
    answers_say_what_to_do_next(&yard).await;
    assert!(!details(&yard.code("print(1)").await).warm);
    let options = ExecOptions {
        context: Some("kept".to_owned()),
        ..ExecOptions::default()
    };
    let refused = yard.with_options("x = 1", options).await;
    assert_eq!(kind(refused), ErrorKind::Unavailable);
    let calls = fs::read_dir(yard.platform.data().join("calls")).unwrap();
    assert_eq!(calls.count(), 0, "something of a call was left");
}

#[tokio::test]
async fn a_context_is_kept_until_its_code_is_killed() {
    let yard = Yard::warm().await;
    let in_context = |timeout: Option<u64>| ExecOptions {
        context: Some("kept".to_owned()),
        timeout: timeout.map(Duration::from_millis),
        ..ExecOptions::default()
    };
    let first = yard.with_options("x = 1", in_context(None)).await.unwrap();
    let second = yard.with_options("print(x)", in_context(None)).await.unwrap();
    assert_eq!(second.run.stdout.head, "1\n");
    let states = [&first, &second].map(|answer| {
        let context = details(answer).context.as_ref().unwrap();
        (context.name.as_str(), context.is_new, context.ended)
    });
    assert_eq!(states, [("kept", true, false), ("kept", false, false)]);
    // Somebody else's is another one.
    let request = CodeRequest {
        options: in_context(None),
        ..yard.request("print(x)")
    };
    let others = yard.execute_as(&yard::ann(), request).await.unwrap();
    assert_eq!(exit_code(&others), Some(1));
    let killed = yard
        .with_options("import time\ntime.sleep(100)", in_context(Some(300)))
        .await
        .unwrap();
    assert!(killed.run.end.unwrap().timed_out);
    assert!(details(&killed).context.as_ref().unwrap().ended);
    let options = ExecOptions {
        context: Some("not a name!".to_owned()),
        ..ExecOptions::default()
    };
    assert_eq!(
        kind(yard.with_options("", options).await),
        ErrorKind::InvalidInput
    );
}

#[tokio::test]
async fn files_are_run_and_none_outside_the_tree() {
    let yard = Yard::cold().await;
    let request = CodeRequest {
        filename: Some("hello".to_owned()),
        ..yard.request("import sys\nprint('hello', len(sys.argv))")
    };
    let answer = yard.execute(request).await.unwrap();
    assert_eq!(answer.run.stdout.head, "hello 1\n");
    assert!(yard.platform.repository.path().join("hello.py").exists());
    assert_eq!(yard.file("hello.py").await.unwrap().run.stdout.head, "hello 1\n");
    assert_eq!(kind(yard.file("absent.py").await), ErrorKind::NotFound);
    for path in ["../x.py", "/etc/passwd", ".git/config", "."] {
        assert!(yard.file(path).await.is_err(), "{path}");
    }
    std::os::unix::fs::symlink("/etc/passwd", yard.platform.repository.path().join("link.py")).unwrap();
    assert!(yard.file("link.py").await.is_err());
    let large = yard.execute(yard.request(&"#".repeat(50 << 20))).await;
    let large = failure(large);
    assert_eq!(large.kind(), ErrorKind::InvalidInput);
    assert!(
        large
            .hints()
            .iter()
            .any(|hint| hint.contains("execute_code_file"))
    );
    assert_eq!(exit_code(&yard.code("print(1)").await), Some(0));
}

#[tokio::test]
async fn much_output_is_cut_and_can_be_read_whole() {
    let yard = Yard::cold().await;
    let answer = yard.code("for n in range(400_000): print(f'line {n}')\nimport sys\nsys.stdout.buffer.write(b'\\xff\\x00end')").await;
    let said = &answer.run.stdout;
    assert!(
        said.head.starts_with("line 0\n") && said.tail.ends_with("\u{fffd}end"),
        "{said:?}"
    );
    let runs = &yard.platform.services.runs;
    let whole = runs
        .output(&local(), answer.run.run, OutputStream::Stdout, 0, usize::MAX)
        .unwrap();
    assert!(whole.is_complete);
    assert_eq!(whole.bytes.len() as u64, whole.total);
    assert!(whole.bytes.starts_with(b"line 0\nline 1\n"));
    let middle = runs
        .output(&local(), answer.run.run, OutputStream::Stdout, 7, 6)
        .unwrap();
    assert_eq!(middle.bytes, b"line 1");
    let stranger = yard::of_tenant(yard.platform.add_tenant("elsewhere").await);
    let hidden = runs.output(&stranger, answer.run.run, OutputStream::Stdout, 0, 1);
    assert_eq!(kind(hidden), ErrorKind::NotFound);
}

#[tokio::test]
async fn secrets_reach_the_code_and_nobody_else() {
    let yard = Yard::cold().await;
    let services = &yard.platform.services;
    let name = "TOKEN".parse().unwrap();
    services
        .secrets
        .set(&local(), &name, &Secret::new("hunter2hunter2"))
        .await
        .unwrap();
    let options = ExecOptions {
        secrets: vec![name],
        ..ExecOptions::default()
    };
    let code = "import os\ntoken = os.environ['TOKEN']\nprint(len(token), token)\nraise ValueError(token)";
    let answer = yard.with_options(code, options.clone()).await.unwrap();
    assert!(answer.run.stdout.head.starts_with("14 "), "{answer:?}");
    assert!(!format!("{answer:?}").contains("hunter2"), "{answer:?}");
    let whole = services
        .runs
        .output(&local(), answer.run.run, OutputStream::Stderr, 0, 1 << 20)
        .unwrap();
    assert!(!String::from_utf8(whole.bytes).unwrap().contains("hunter2"));
    let without = yard.code("import os\nprint('TOKEN' in os.environ)").await;
    assert_eq!(without.run.stdout.head, "False\n");
    let unallowed = Caller {
        permissions: Permissions::ALL.without([Permission::SecretRead].into_iter().collect()),
        ..local()
    };
    let request = CodeRequest {
        options,
        ..yard.request(code)
    };
    assert_eq!(
        kind(yard.execute_as(&unallowed, request).await),
        ErrorKind::Forbidden
    );
    services.end().await;
    let page = services
        .executions
        .list(
            &local(),
            ExecutionFilter::default(),
            &PageRequest::new(None, None),
        )
        .await
        .unwrap();
    let record = page.items.iter().find(|record| record.code == code).unwrap();
    assert_eq!(
        (record.operation.as_str(), record.outcome),
        ("execute_code", ExecutionOutcome::Failed)
    );
    assert_eq!(record.exception.as_ref().unwrap().kind, "ValueError");
    assert!(!format!("{record:?}").contains("hunter2"));
}

#[tokio::test]
async fn in_a_workspace_every_change_is_known() {
    let yard = Yard::warm().await;
    let opened = yard::open(&yard.platform, "feature").await;
    let request = |code: &str| CodeRequest {
        place: yard::place(&opened),
        ..yard.request(code)
    };
    let first = yard
        .execute(request("open('a.txt', 'w').write('a')"))
        .await
        .unwrap();
    assert_eq!(changed(&first), [("a.txt", FileChangeKind::Created)]);
    // Also what Python does not see.
    let code =
        "import subprocess\nsubprocess.run('rm a.txt; echo more >> README.md', shell=True, check=True)";
    let second = yard.execute(request(code)).await.unwrap();
    let mut files = changed(&second);
    files.sort_by_key(|(path, _)| *path);
    assert_eq!(
        files,
        [
            ("README.md", FileChangeKind::Changed),
            ("a.txt", FileChangeKind::Deleted)
        ]
    );
    assert!(details(&second).warm);
    let third = yard
        .execute(request("print(open('README.md').read())"))
        .await
        .unwrap();
    assert_eq!(changed(&third), []);
}

#[tokio::test]
async fn what_works_in_a_workspace_ends_with_it() {
    let yard = Yard::warm().await;
    let opened = yard::open(&yard.platform, "feature").await;
    let options = ExecOptions {
        context: Some("notebook".to_owned()),
        ..ExecOptions::default()
    };
    let request = CodeRequest {
        place: yard::place(&opened),
        options,
        ..yard.request("kept = 1")
    };
    assert!(details(&yard.execute(request).await.unwrap()).warm);
    let tree = yard::tree(&opened);
    let (trees, name) = (tree.parent().unwrap(), tree.file_name().unwrap());
    let upper = trees.join("views").join(name).display().to_string();
    assert!(is_mounted_anywhere(&upper));
    yard::close(&yard.platform, &opened).await;
    for _ in 0..3000 {
        if !is_mounted_anywhere(&upper) {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("somebody still works in {upper}");
}

/// Whether any process sees a mount that this directory is part of.
fn is_mounted_anywhere(directory: &str) -> bool {
    let processes = fs::read_dir("/proc").unwrap().flatten();
    let mut mounts =
        processes.filter_map(|process| fs::read_to_string(process.path().join("mountinfo")).ok());
    mounts.any(|mounts| mounts.contains(directory))
}

#[tokio::test]
async fn a_package_that_cannot_be_installed_is_told_with_the_code() {
    let settings = RunSettings {
        network: Network::None,
        ..run_settings()
    };
    let yard = Yard::with(settings).await;
    let options = ExecOptions {
        auto_install: true,
        ..ExecOptions::default()
    };
    let answer = yard
        .with_options("import no_such_module_at_all", options)
        .await
        .unwrap();
    let installed = details(&answer).installed.as_ref().unwrap();
    assert_eq!(
        (installed.packages.as_slice(), installed.succeeded),
        (&["no_such_module_at_all".to_owned()][..], false)
    );
    assert!(details(&answer).missing_package.is_some());
    assert_eq!(exit_code(&answer), Some(1));
}

#[tokio::test]
async fn who_may_not_run_code_does_not() {
    let yard = Yard::cold().await;
    let reader = Caller {
        permissions: Permissions::ALL.without([Permission::AgentRun].into_iter().collect()),
        ..local()
    };
    let refused = yard.execute_as(&reader, yard.request("print(1)")).await;
    assert_eq!(kind(refused), ErrorKind::Forbidden);
}
