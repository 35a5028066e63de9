//! Runs: started, watched, left, and come back to.

use std::fs;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use agentyard_model::{Caller, Permission, Permissions, RunId, TenantId};
use agentyard_sandbox::Limits;
use agentyard_services::{
    CommandRequest, Error, ErrorKind, Followed, Following, MakeRequest, OutputStream, Place, Progress,
    Result, RunAnswer, RunEnd, RunHappening, RunSettings, Step, Waiting,
};
use agentyard_testkit::{TestPlatform, run_settings};
use tokio::sync::watch;

/// How long anything here may take before the test fails.
const PATIENCE: Duration = Duration::from_secs(30);

/// Waits for a file called `go`.
const WAIT_FOR_GO: &str = "until test -e go; do sleep 0.01; done";

struct Yard {
    platform: TestPlatform,
    caller: Caller,
}

impl Yard {
    async fn new() -> Self {
        Self::with(run_settings()).await
    }

    async fn with(settings: RunSettings) -> Self {
        Self {
            platform: TestPlatform::with_runs(settings).await,
            caller: Caller::local(),
        }
    }

    fn place(&self) -> Place {
        Place {
            workspace: Some(self.platform.repository.path().display().to_string()),
            ..Place::default()
        }
    }

    fn shell(&self, script: &str) -> CommandRequest {
        CommandRequest {
            place: self.place(),
            command: ["sh", "-c", script].map(ToOwned::to_owned).to_vec(),
            ..CommandRequest::default()
        }
    }

    async fn run(&self, request: CommandRequest) -> Result<RunAnswer> {
        self.attend(request, Waiting::default()).await
    }

    async fn attend(&self, request: CommandRequest, waiting: Waiting) -> Result<RunAnswer> {
        let progress = Progress::ignored();
        self.platform
            .services
            .runs
            .run_command(&self.caller, request, waiting, &progress)
            .await
    }

    /// Starts a script and does not wait for its end.
    async fn begin(&self, script: &str) -> RunId {
        let waiting = Waiting {
            wait: Some(Duration::ZERO),
            ..Waiting::default()
        };
        let answer = self.attend(self.shell(script), waiting).await.unwrap();
        assert_eq!(answer.end, None);
        answer.run
    }

    /// Waits for the end of a run.
    async fn rest(&self, run: RunId, after: u64) -> Result<RunAnswer> {
        let waiting = Waiting {
            run: Some(run),
            after: Some(after),
            wait: None,
        };
        self.attend(CommandRequest::default(), waiting).await
    }

    fn follow(&self, run: RunId, after: Option<u64>) -> Following {
        self.platform
            .services
            .runs
            .follow(&self.caller, run, after)
            .unwrap()
    }

    fn file(&self, name: &str) -> PathBuf {
        self.platform.repository.path().join(name)
    }

    fn go(&self) {
        fs::write(self.file("go"), "").unwrap();
    }

    /// Waits until a script has written its number here.
    async fn number(&self, name: &str) -> u32 {
        let path = self.file(name);
        until(|| fs::read_to_string(&path).ok()?.trim().parse().ok()).await
    }
}

async fn until<T>(mut found: impl FnMut() -> Option<T>) -> T {
    let started = Instant::now();
    loop {
        if let Some(found) = found() {
            return found;
        }
        assert!(started.elapsed() < PATIENCE, "it never came");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

fn lives(number: u32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{number}/stat"));
    stat.is_ok_and(|stat| {
        !stat
            .rsplit(')')
            .next()
            .unwrap()
            .trim_start()
            .starts_with(['Z', 'X'])
    })
}

/// All that is left to see: output, the numbers of its events, and the end.
async fn seen(following: &mut Following) -> (String, Vec<u64>, Option<RunEnd>) {
    let (mut text, mut ids, mut end) = (String::new(), Vec::new(), None);
    while let Some(followed) = following.next().await {
        let Followed::Event(event) = followed else {
            continue;
        };
        ids.push(event.id);
        match &event.happening {
            RunHappening::Output { text: said, .. } => text.push_str(said),
            RunHappening::Complete(how) => end = Some(*how),
            RunHappening::Progress { .. } => {}
            RunHappening::Failed(error) => panic!("{error}"),
        }
    }
    (text, ids, end)
}

/// The next piece of output.
async fn output(following: &mut Following) -> (u64, String) {
    loop {
        match following.next().await.unwrap() {
            Followed::Event(event) => {
                if let RunHappening::Output { text, .. } = &event.happening {
                    return (event.id, text.clone());
                }
            }
            Followed::Missed(count) => panic!("{count} events missed"),
        }
    }
}

fn kind<T: std::fmt::Debug>(result: Result<T, Error>) -> ErrorKind {
    result.unwrap_err().kind()
}

#[tokio::test]
async fn a_command_runs_in_its_tree_and_its_end_is_told() {
    let yard = Yard::new().await;
    fs::create_dir(yard.file("below")).unwrap();
    let mut request = yard.shell("pwd; cat; echo $GIVEN $PATH; echo oh >&2; exit 3");
    request.directory = Some("below".into());
    request.stdin = Some("read\n".to_owned());
    request.environment = vec![("GIVEN".to_owned(), "yes".to_owned())];
    let answer = yard.run(request).await.unwrap();
    let below = yard.file("below").canonicalize().unwrap();
    assert_eq!(
        answer.stdout.head,
        format!("{}\nread\nyes /usr/bin:/bin\n", below.display())
    );
    assert_eq!(answer.stderr.head, "oh\n");
    let end = answer.end.unwrap();
    assert_eq!((end.exit_code, end.signal), (Some(3), None));
    assert!(!end.timed_out && !end.cancelled && !end.output_limit);
}

#[tokio::test]
async fn a_directory_outside_the_tree_is_refused() {
    let yard = Yard::new().await;
    std::os::unix::fs::symlink("/", yard.file("out")).unwrap();
    for (directory, expected) in [
        ("..", ErrorKind::InvalidInput),
        ("/", ErrorKind::InvalidInput),
        ("a/../..", ErrorKind::InvalidInput),
        ("out", ErrorKind::Forbidden),
        ("out/tmp", ErrorKind::Forbidden),
        ("absent", ErrorKind::NotFound),
        ("README.md", ErrorKind::NotFound),
    ] {
        let mut request = yard.shell("true");
        request.directory = Some(directory.into());
        assert_eq!(kind(yard.run(request).await), expected, "{directory}");
    }
}

#[tokio::test]
async fn commands_are_refused_where_nothing_runs_them() {
    let settings = RunSettings {
        sandbox: None,
        ..run_settings()
    };
    let yard = Yard::with(settings).await;
    let error = yard.run(yard.shell("true")).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Forbidden);
    assert!(error.hints()[0].contains("sandbox.allow_host"), "{error:?}");
}

#[tokio::test]
async fn words_that_are_no_command_are_refused() {
    let yard = Yard::new().await;
    for (command, expected) in [
        (vec![], ErrorKind::InvalidInput),
        (vec![""], ErrorKind::InvalidInput),
        (vec!["echo hello"], ErrorKind::InvalidInput),
        (vec!["echo", "a\0b"], ErrorKind::InvalidInput),
        (vec!["no-such-program"], ErrorKind::NotFound),
        (vec!["./README.md"], ErrorKind::InvalidInput),
    ] {
        let request = CommandRequest {
            command: command.iter().map(|word| (*word).to_owned()).collect(),
            ..yard.shell("")
        };
        assert_eq!(kind(yard.run(request).await), expected, "{command:?}");
    }
    let environment = vec![("A=B".to_owned(), "x".to_owned())];
    let request = CommandRequest {
        environment,
        ..yard.shell("true")
    };
    assert_eq!(kind(yard.run(request).await), ErrorKind::InvalidInput);
    let request = CommandRequest {
        timeout: Some(Duration::from_secs(61)),
        ..yard.shell("true")
    };
    assert_eq!(kind(yard.run(request).await), ErrorKind::InvalidInput);
}

#[tokio::test]
async fn make_makes_targets_with_variables_and_nothing_else() {
    let yard = Yard::new().await;
    let makefile = "all: ; @echo first\nx: ; @echo $(WHO) $(MAKEFLAGS)\n";
    fs::write(yard.file("Makefile"), makefile).unwrap();
    let make = async |request: MakeRequest| {
        let request = MakeRequest {
            place: yard.place(),
            ..request
        };
        let runs = &yard.platform.services.runs;
        runs.make(&yard.caller, request, Waiting::default(), &Progress::ignored())
            .await
    };
    let answer = make(MakeRequest::default()).await.unwrap();
    assert_eq!(answer.stdout.head, "first\n");
    let answer = make(MakeRequest {
        targets: vec!["x".to_owned()],
        variables: vec![("WHO".to_owned(), "a b".to_owned())],
        keep_going: true,
        ..MakeRequest::default()
    })
    .await
    .unwrap();
    assert!(answer.stdout.head.starts_with("a b k"), "{answer:?}");
    let answer = make(MakeRequest {
        targets: vec!["absent".to_owned()],
        ..MakeRequest::default()
    })
    .await
    .unwrap();
    assert_eq!(answer.end.unwrap().exit_code, Some(2));
    let refused = MakeRequest {
        targets: vec!["--eval=x:".to_owned()],
        ..MakeRequest::default()
    };
    assert_eq!(kind(make(refused).await), ErrorKind::InvalidInput);
}

#[tokio::test]
async fn who_stops_waiting_can_come_back_for_the_rest() {
    let yard = Yard::new().await;
    let run = yard
        .begin(&format!("echo one; {WAIT_FOR_GO}; echo two; exit 5"))
        .await;
    let (seen_until, text) = output(&mut yard.follow(run, None)).await;
    assert_eq!(text, "one\n");
    let waiting = Waiting {
        run: Some(run),
        wait: Some(Duration::ZERO),
        after: None,
    };
    let so_far = yard.attend(CommandRequest::default(), waiting).await.unwrap();
    assert_eq!((so_far.end, so_far.stdout.head.as_str()), (None, "one\n"));
    assert_eq!(so_far.last_event, seen_until);
    yard.go();
    let rest = yard.rest(run, so_far.last_event).await.unwrap();
    assert_eq!(rest.stdout.head, "two\n");
    assert_eq!(rest.end.unwrap().exit_code, Some(5));
    // And once more, from the beginning: it is kept.
    assert_eq!(yard.rest(run, 0).await.unwrap().stdout.head, "one\ntwo\n");
}

#[tokio::test]
async fn two_follow_one_run_and_one_resumes_where_it_was() {
    let settings = RunSettings {
        linger: PATIENCE,
        ..run_settings()
    };
    let yard = Yard::with(settings).await;
    let run = yard
        .begin(&format!("echo one; {WAIT_FOR_GO}; echo two >&2"))
        .await;
    let (mut first, mut second) = (yard.follow(run, None), yard.follow(run, None));
    let (last, text) = output(&mut first).await;
    assert_eq!(text, "one\n");
    drop(first);
    yard.go();
    let (text, ids, end) = seen(&mut second).await;
    assert_eq!(text, "one\ntwo\n");
    assert_eq!(end.unwrap().exit_code, Some(0));
    assert_eq!(ids, (1..=ids.len() as u64).collect::<Vec<_>>());
    let (rest, later, _) = seen(&mut yard.follow(run, Some(last))).await;
    assert_eq!(rest, "two\n");
    assert_eq!(later, ids[last as usize..]);
    // Who has seen the end sees nothing more.
    let mut done = yard.follow(run, ids.last().copied());
    assert!(done.next().await.is_none());
}

#[tokio::test]
async fn when_the_last_one_leaves_the_run_ends() {
    let yard = Yard::new().await;
    let script = "setsid sh -c 'echo $$ > daemon; exec sleep 1000' & echo $$ > shell; exec sleep 1000";
    let (progress, steps) = Progress::watched();
    let call = yard.platform.services.runs.run_command(
        &yard.caller,
        yard.shell(script),
        Waiting::default(),
        &progress,
    );
    let numbers = async { [yard.number("daemon").await, yard.number("shell").await] };
    let numbers = tokio::select! {
        answer = call => panic!("{answer:?}"),
        numbers = numbers => numbers,
    };
    // The call is dropped by now.
    until(|| numbers.iter().all(|number| !lives(*number)).then_some(())).await;
    let run = steps.borrow().run.expect("it was named");
    let (_, _, end) = seen(&mut yard.follow(run, None)).await;
    assert!(end.unwrap().cancelled);
}

#[tokio::test]
async fn a_run_goes_on_while_one_is_left() {
    let yard = Yard::new().await;
    let run = yard.begin(&format!("echo one; {WAIT_FOR_GO}; echo two")).await;
    let (mut first, mut second) = (yard.follow(run, None), yard.follow(run, None));
    output(&mut first).await;
    output(&mut second).await;
    drop(first);
    yard.go();
    let (text, _, end) = seen(&mut second).await;
    assert_eq!((text.as_str(), end.unwrap().exit_code), ("two\n", Some(0)));
}

#[tokio::test]
async fn the_deadline_ends_a_run() {
    let yard = Yard::new().await;
    let request = CommandRequest {
        timeout: Some(Duration::from_millis(100)),
        ..yard.shell("exec sleep 1000")
    };
    let end = yard.run(request).await.unwrap().end.unwrap();
    assert!(end.timed_out && !end.cancelled);
    assert_eq!(end.signal, Some(15));
}

#[tokio::test]
async fn a_hundred_megabytes_are_kept_in_bounds() {
    let yard = Yard::new().await;
    let answer = yard
        .run(yard.shell("echo first; head -c 100000000 /dev/zero | tr '\\0' x; echo; echo last"))
        .await
        .unwrap();
    assert!(answer.stdout.head.starts_with("first\n"));
    assert!(answer.stdout.tail.ends_with("x\nlast\n"));
    assert_eq!(
        answer.stdout.len() as u64 + answer.stdout.left_out_bytes,
        100_000_000 + 12
    );
    assert!(answer.stdout.len() <= 32 * 1024);
    // Who follows is told what is missing, and gets not much more than is kept.
    let mut following = yard.follow(answer.run, None);
    let (mut bytes, mut missed) = (0, 0);
    while let Some(followed) = following.next().await {
        match followed {
            Followed::Missed(count) => missed += count,
            Followed::Event(event) => {
                if let RunHappening::Output { text, .. } = &event.happening {
                    bytes += text.len();
                }
            }
        }
    }
    assert!(missed > 0);
    assert!(bytes < 5_000_000, "{bytes}");
}

#[tokio::test]
async fn too_much_output_ends_a_run() {
    let settings = RunSettings {
        limits: Limits {
            output_bytes: 100_000,
            ..Limits::default()
        },
        ..run_settings()
    };
    let yard = Yard::with(settings).await;
    let end = yard.run(yard.shell("exec yes")).await.unwrap().end.unwrap();
    assert!(end.output_limit);
}

#[tokio::test]
async fn runs_in_one_tree_take_turns_and_say_for_whom_they_wait() {
    let yard = Yard::new().await;
    let first = yard.begin(&format!("echo one; {WAIT_FOR_GO}")).await;
    output(&mut yard.follow(first, None)).await;
    let second = yard.begin("echo two").await;
    let mut following = yard.follow(second, None);
    loop {
        let Some(Followed::Event(event)) = following.next().await else {
            panic!("it waits")
        };
        match &event.happening {
            RunHappening::Progress { message, .. } if message.contains("waiting for run_command") => break,
            RunHappening::Progress { .. } => {}
            other => panic!("{other:?}"),
        }
    }
    yard.go();
    assert_eq!(seen(&mut following).await.0, "two\n");
}

#[tokio::test]
async fn a_run_that_waits_for_its_turn_can_be_left() {
    let yard = Yard::new().await;
    let first = yard.begin(&format!("echo one; {WAIT_FOR_GO}")).await;
    let mut following = yard.follow(first, None);
    output(&mut following).await;
    let waiting = yard.shell("echo two > two");
    assert!(
        tokio::time::timeout(Duration::from_millis(1), yard.run(waiting))
            .await
            .is_err()
    );
    yard.go();
    seen(&mut following).await;
    // The next one in the queue is this, not the one that was left.
    yard.run(yard.shell("test ! -e two")).await.unwrap();
    assert!(!yard.file("two").exists());
}

#[tokio::test]
async fn waiting_shows_the_newest_line() {
    let yard = Yard::new().await;
    let (progress, mut steps): (_, watch::Receiver<Step>) = Progress::watched();
    let script = format!("printf 'a\\n\\033[31mnewest\\033[0m\\n'; {WAIT_FOR_GO}");
    let call = yard.platform.services.runs.run_command(
        &yard.caller,
        yard.shell(&script),
        Waiting::default(),
        &progress,
    );
    let shown = async {
        let step = steps
            .wait_for(|step| step.message == "newest")
            .await
            .unwrap()
            .clone();
        yard.go();
        step
    };
    let (answer, step) = tokio::join!(call, shown);
    assert_eq!(step.run, Some(answer.unwrap().run));
}

#[tokio::test]
async fn runs_are_seen_by_their_tenant_and_who_may_read() {
    let yard = Yard::new().await;
    let run = yard.run(yard.shell("true")).await.unwrap().run;
    let runs = &yard.platform.services.runs;
    let stranger = Caller {
        tenant: TenantId::fixed(7),
        ..Caller::local()
    };
    assert_eq!(
        runs.follow(&stranger, run, None).err().unwrap().kind(),
        ErrorKind::NotFound
    );
    let mut other = Caller {
        permissions: Permissions::NONE,
        ..Caller::anonymous()
    };
    assert!(runs.follow(&other, run, None).is_err());
    other.subject = agentyard_model::Subject::External {
        issuer: "i".to_owned(),
        subject: "s".to_owned(),
    };
    other.tenant = TenantId::LOCAL;
    assert_eq!(
        runs.follow(&other, run, None).err().unwrap().kind(),
        ErrorKind::Forbidden
    );
    other.permissions = [Permission::ProjectRead].into_iter().collect();
    assert!(runs.follow(&other, run, None).is_ok());
    assert_eq!(
        runs.follow(&yard.caller, RunId::new(), None)
            .err()
            .unwrap()
            .kind(),
        ErrorKind::NotFound
    );
    let rest = Waiting {
        run: Some(run),
        ..Waiting::default()
    };
    let waited = runs
        .run_command(&other, CommandRequest::default(), rest, &Progress::ignored())
        .await;
    assert_eq!(kind(waited), ErrorKind::Forbidden);
}

#[tokio::test]
async fn old_runs_are_forgotten() {
    let yard = Yard::new().await;
    let first = yard.run(yard.shell("true")).await.unwrap().run;
    for _ in 0..33 {
        yard.run(yard.shell("true")).await.unwrap();
    }
    assert_eq!(kind(yard.rest(first, 0).await), ErrorKind::NotFound);
}

#[tokio::test]
async fn all_runs_end_with_the_server() {
    let yard = Yard::new().await;
    let run = yard.begin("echo $$ > shell; exec sleep 1000").await;
    let shell = yard.number("shell").await;
    let mut following = yard.follow(run, None);
    yard.platform.services.end().await;
    assert!(!lives(shell));
    assert!(seen(&mut following).await.2.unwrap().cancelled);
}

#[tokio::test]
async fn streams_are_told_apart() {
    let yard = Yard::new().await;
    let run = yard.run(yard.shell("echo a; echo b >&2")).await.unwrap().run;
    let mut following = yard.follow(run, None);
    let mut said = Vec::new();
    while let Some(Followed::Event(event)) = following.next().await {
        if let RunHappening::Output { stream, text, .. } = &event.happening {
            said.push((*stream, text.clone()));
        }
    }
    said.sort_unstable_by_key(|(_, text)| text.clone());
    assert_eq!(
        said,
        [
            (OutputStream::Stdout, "a\n".to_owned()),
            (OutputStream::Stderr, "b\n".to_owned())
        ]
    );
}
