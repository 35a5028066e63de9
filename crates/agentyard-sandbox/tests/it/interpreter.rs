//! Python code in interpreters that have started already: it runs as Python runs it, and shares nothing with other code.

use std::path::PathBuf;
use std::time::Duration;

use agentyard_sandbox::{
    Code, ColdCall, Command, EndCause, Exit, Frame, Interpreted, Interpreters, Limits, NotWarm, Report,
    Running, Script,
};

use crate::support::{Place, bubblewrap, finish, host, lives, run_in, until};

const PYTHON: &str = "/usr/bin/python3";

/// A tree, and an interpreter for it.
struct Yard {
    place: Place,
    interpreters: Interpreters,
}

/// What came of code.
#[derive(Debug)]
struct Ran {
    stdout: String,
    stderr: String,
    exit: Exit,
    report: Option<Report>,
    context_ended: bool,
}

impl Ran {
    /// What went wrong, in two words.
    fn exception(&self) -> (&str, &str) {
        let exception = self.report.as_ref().and_then(|report| report.exception.as_ref());
        exception.map_or(("", ""), |exception| (&exception.kind, &exception.message))
    }
}

impl Yard {
    fn new() -> Self {
        Self {
            place: Place::new(),
            interpreters: Interpreters::new(bubblewrap()),
        }
    }

    fn script(&self, code: &str) -> Script {
        Script {
            command: Command {
                hidden: vec![PathBuf::from("/workspace/.git")],
                ..self.place.command(&[PYTHON])
            },
            code: Code::Text(code.to_owned()),
            arguments: Vec::new(),
            interpreter: PathBuf::from(PYTHON),
            prefix: None,
            key: "yard".to_owned(),
            generation: 1,
            context: None,
        }
    }

    async fn start(&self, script: Script) -> Interpreted {
        self.interpreters.run(script).await.unwrap()
    }

    async fn run(&self, script: Script) -> Ran {
        ran(self.start(script).await).await
    }

    async fn code(&self, code: &str) -> Ran {
        self.run(self.script(code)).await
    }

    /// What code says, when nothing goes wrong.
    async fn said(&self, code: &str) -> String {
        let ran = self.code(code).await;
        assert_eq!((ran.exit.code, ran.stderr.as_str()), (Some(0), ""), "{ran:?}");
        ran.stdout
    }

    async fn in_context(&self, name: &str, code: &str) -> Ran {
        let script = Script {
            context: Some(name.to_owned()),
            ..self.script(code)
        };
        self.run(script).await
    }
}

async fn ran(mut interpreted: Interpreted) -> Ran {
    let said = finish(&mut interpreted.running).await.unwrap();
    let outcome = interpreted.outcome.await.unwrap();
    Ran {
        exit: said.exit(),
        stdout: String::from_utf8_lossy(&said.stdout).into_owned(),
        stderr: String::from_utf8_lossy(&said.stderr).into_owned(),
        report: outcome.report,
        context_ended: outcome.context_ended,
    }
}

#[tokio::test]
async fn code_runs_as_python_runs_it() {
    let yard = Yard::new();
    let mut script = yard.script(
        "import sys, os\nprint(__name__, sys.argv, sys.stdin.read(), os.environ['GIVEN'], os.getcwd())\n\
         print('oh', file=sys.stderr)\nsys.exit(3)",
    );
    script.arguments = vec!["a b".to_owned()];
    script.command.input = b"read me".to_vec();
    script
        .command
        .environment
        .push(("GIVEN".to_owned(), "x".to_owned()));
    let ran = yard.run(script).await;
    assert_eq!(ran.stdout, "__main__ ['-c', 'a b'] read me x /workspace\n");
    assert_eq!((ran.stderr.as_str(), ran.exit.code), ("oh\n", Some(3)));
    assert_eq!(ran.report, Some(Report::default()));
    assert!(ran.exit.usage.peak_memory_bytes.is_some_and(|bytes| bytes > 0));

    // What only a dying interpreter does: threads are waited for, files written out, handlers called.
    let ran = yard
        .code(
            "import threading, atexit\nkept = open('kept.txt', 'w')\nkept.write('to the end')\n\
             atexit.register(print, 'bye')\nthreading.Timer(0.05, print, ['late']).start()",
        )
        .await;
    assert_eq!((ran.stdout.as_str(), ran.exit.code), ("late\nbye\n", Some(0)));
    assert_eq!(
        std::fs::read_to_string(yard.place.path().join("kept.txt")).unwrap(),
        "to the end"
    );
    assert_eq!(ran.report.unwrap().files, ["kept.txt"]);

    let ran = yard
        .code("import os, signal\nos.kill(os.getpid(), signal.SIGTERM)")
        .await;
    assert_eq!((ran.exit.code, ran.exit.signal), (None, Some(15)));
    let ran = yard.code("raise SystemExit('no')").await;
    assert_eq!((ran.stderr.as_str(), ran.exit.code), ("no\n", Some(1)));
}

#[tokio::test]
async fn a_file_runs_with_its_own_name_and_neighbours() {
    let yard = Yard::new();
    // Names of modules that were loaded before: those of the tree come first, as everywhere.
    std::fs::write(yard.place.path().join("statistics.py"), "mean = 'mine'").unwrap();
    std::fs::write(
        yard.place.path().join("main.py"),
        "from statistics import mean\nprint(__file__, mean)\n\ndef fail():\n    raise ValueError('x')\n\nfail()\n",
    )
    .unwrap();
    let script = Script {
        code: Code::File(PathBuf::from("/workspace/main.py")),
        ..yard.script("")
    };
    let ran = yard.run(script).await;
    assert_eq!(ran.stdout, "/workspace/main.py mine\n");
    let frame = |line, function: &str, text: &str| Frame {
        file: "/workspace/main.py".to_owned(),
        line,
        function: function.to_owned(),
        text: text.to_owned(),
    };
    let report = ran.report.unwrap();
    assert_eq!(
        report.exception.unwrap().frames,
        [
            frame(7, "<module>", "fail()"),
            frame(5, "fail", "raise ValueError('x')")
        ]
    );
    assert!(
        ran.stderr
            .starts_with("Traceback (most recent call last):\n  File \"/workspace/main.py\", line 7")
    );
    assert!(!ran.stderr.contains("agentyard"), "{}", ran.stderr);
    let absent = Script {
        code: Code::File(PathBuf::from("/workspace/absent.py")),
        ..yard.script("")
    };
    let ran = yard.run(absent).await;
    assert_eq!(ran.exit.code, Some(2));
    assert!(
        ran.stderr.contains("can't open file '/workspace/absent.py'"),
        "{}",
        ran.stderr
    );
}

#[tokio::test]
async fn what_goes_wrong_is_reported() {
    let yard = Yard::new();
    let ran = yard.code("import no_such_module.part").await;
    let exception = ran.report.unwrap().exception.unwrap();
    assert_eq!(exception.missing.as_deref(), Some("no_such_module"));
    assert_eq!(exception.frames[0].file, "<code>");
    let ran = yard.code("x = (").await;
    assert_eq!(ran.exception().0, "SyntaxError");
    assert!(ran.stderr.contains("x = ("), "{}", ran.stderr);
    let ran = yard
        .code("class Odd(Exception): pass\nraise Odd('\\x1b[31m\\udc80')")
        .await;
    assert_eq!(ran.exception(), ("Odd", "[31m?"));
    // Deep, wide and rude: an answer all the same.
    let ran = yard.code("def f(): f()\nf()").await;
    assert_eq!((ran.exception().0, ran.exit.code), ("RecursionError", Some(1)));
    let ran = yard.code("import os\nos.closerange(3, 100)\nos._exit(7)").await;
    assert_eq!((ran.exit.code, ran.report), (Some(7), None));
    let ran = yard
        .code("import os\nfor d in range(3, 50):\n    try: os.write(d, b'{\"exception\": 1' * 9000)\n    except OSError: pass")
        .await;
    assert_eq!((ran.exit.code, ran.report), (Some(0), None));
}

#[tokio::test]
async fn output_may_be_anything() {
    let yard = Yard::new();
    let ran = yard
        .code("import sys\nsys.stdout.buffer.write(bytes(range(256)) * 4096)")
        .await;
    assert_eq!(ran.exit.code, Some(0));
    let mut script = yard.script("while True: print('x' * 1000)");
    script.command.limits.output_bytes = 1 << 20;
    let ran = yard.run(script).await;
    assert_eq!(ran.exit.cause, EndCause::OutputLimit);
    // What was said before its time was up is there.
    let mut script = yard.script("import time\nprint('begun')\ntime.sleep(1000)");
    script.command.limits.duration = Duration::from_millis(500);
    let ran = yard.run(script).await;
    assert_eq!(
        (ran.stdout.as_str(), ran.exit.cause),
        ("begun\n", EndCause::Deadline)
    );
    assert_eq!(yard.said("print(1)").await, "1\n");
}

#[tokio::test]
async fn nothing_passes_from_one_call_to_the_next() {
    let yard = Yard::new();
    let leave = "import os, json, builtins\nbuiltins.left = json.left = 1\nos.environ['LEFT'] = '1'\n\
                 for at in ('/tmp', '/dev/shm', '/run', '/home/agent'):\n    \
                 try: open(at + '/left', 'w').close()\n    except OSError: print(at)\n\
                 os.umask(0o777)\nos.nice(5)";
    assert_eq!(yard.said(leave).await, "");
    let look = "import os, json, builtins\nprint(hasattr(builtins, 'left'), hasattr(json, 'left'), 'LEFT' in os.environ)\n\
                print([os.listdir(at) for at in ('/tmp', '/dev/shm', '/run', '/home/agent')])\n\
                print(oct(os.umask(0)), os.nice(0))";
    // It is as important as this test, which somebody may have made less so.
    let own = rustix::process::nice(0).unwrap();
    assert_eq!(
        yard.said(look).await,
        format!("False False False\n[[], [], [], []]\n0o22 {own}\n")
    );
    let numbers = "import random, uuid\nprint(random.random(), uuid.uuid4())";
    assert_ne!(yard.said(numbers).await, yard.said(numbers).await);
}

#[tokio::test]
async fn a_call_sees_and_reaches_nobody_else() {
    let yard = Yard::new();
    let mut other = yard
        .start(yard.script(
            "import socket, time\nabstract = socket.socket(socket.AF_UNIX)\nabstract.bind('\\0here')\nabstract.listen()\n\
             loopback = socket.create_server(('127.0.0.1', 4567))\nprint('ready')\ntime.sleep(1000)",
        ))
        .await;
    other.running.next().await.unwrap();
    let look = "import os, socket\nprint(sorted(name for name in os.listdir('/proc') if name.isdigit()), os.getppid())\n\
                for family, address in ((socket.AF_UNIX, '\\0here'), (socket.AF_INET, ('127.0.0.1', 4567))):\n    \
                print(socket.socket(family).connect_ex(address))\n\
                print(sorted(os.listdir('/sys/class/net')) if os.path.exists('/sys/class/net') else 'no sys')\n\
                print(os.listdir('/dev/pts'))";
    assert_eq!(yard.said(look).await, "['1', '2'] 1\n111\n111\nno sys\n[]\n");
    // A server of its own can be reached: the loopback device is there, and its own.
    let own = "import socket\nserver = socket.create_server(('127.0.0.1', 4567))\n\
               print(socket.create_connection(('127.0.0.1', 4567)).getpeername())";
    assert_eq!(yard.said(own).await, "('127.0.0.1', 4567)\n");
    let first = "for name in ('mem', 'environ', 'maps'):\n    \
                 try: open('/proc/1/' + name, 'rb').read(1); print(name)\n    except PermissionError: pass\n\
                 import os\ntry: os.kill(1, 9)\nexcept PermissionError: pass\nprint('still here')";
    assert_eq!(yard.said(first).await, "still here\n");
}

#[tokio::test]
async fn no_right_is_left_and_none_can_be_got() {
    let yard = Yard::new();
    let status = yard.said("print(open('/proc/self/status').read())").await;
    let field = |name: &str| {
        let line = status.lines().find(|line| line.starts_with(name)).unwrap();
        line.rsplit('\t').next().unwrap().to_owned()
    };
    for set in ["CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"] {
        assert_eq!(field(set), "0000000000000000", "{set}");
    }
    assert_eq!(
        (field("NoNewPrivs"), field("Seccomp:")),
        ("1".to_owned(), "2".to_owned())
    );
    let tries = "import ctypes, os\nlibc = ctypes.CDLL(None, use_errno=True)\n\
                 def failed(result): return result == -1\n\
                 print(failed(libc.unshare(0x10000000)), failed(libc.unshare(0x20000)),\n      \
                 failed(libc.mount(b'tmpfs', b'/tmp', b'tmpfs', 0, None)), failed(libc.umount2(b'/proc', 2)),\n      \
                 failed(libc.ptrace(16, 1, 0, 0)), failed(libc.syscall(250, 0, 0)),\n      \
                 failed(libc.setuid(0)), failed(libc.sethostname(b'x', 1)), failed(libc.chroot(b'/tmp')))";
    assert_eq!(yard.said(tries).await, format!("{}\n", ["True"; 9].join(" ")));
    let writes = "import os\nfor path in ('/usr/x', '/etc/x', '/proc/sys/kernel/hostname', '/proc/sysrq-trigger', '/x'):\n    \
                  try: open(path, 'w').write('x'); print(path)\n    except OSError: pass\n\
                  print(len(os.listdir('/proc/self/fd')))";
    // Beside input, output and error, the directory that it lists and what it reports to.
    assert_eq!(yard.said(writes).await, "5\n");
}

#[tokio::test]
async fn a_call_ends_with_all_that_it_has_started() {
    let yard = Yard::new();
    let daemon = "import subprocess\nsubprocess.Popen(['sh', '-c', 'trap \"\" TERM; echo here > /workspace/daemon; exec sleep 4711'], start_new_session=True)\n\
                  import os, time\nwhile not os.path.exists('daemon'): time.sleep(0.01)\nprint('done')";
    assert_eq!(yard.said(daemon).await, "done\n");
    assert!(sleepers().is_empty());
    let deaf = "import signal, subprocess, time\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\n\
                subprocess.Popen(['sleep', '4711'])\nprint('ready')\nwhile True: time.sleep(10)";
    let mut running = yard.start(yard.script(deaf)).await.running;
    running.next().await.unwrap();
    running.stop();
    assert_eq!(
        finish(&mut running).await.unwrap().exit().cause,
        EndCause::Stopped
    );
    assert!(sleepers().is_empty());
    let mut dropped: Running = yard.start(yard.script(deaf)).await.running;
    dropped.next().await.unwrap();
    drop(dropped);
    until(|| sleepers().is_empty().then_some(()));
}

/// The processes of these tests that would sleep for long.
fn sleepers() -> Vec<u32> {
    let numbers = std::fs::read_dir("/proc").unwrap();
    let numbers = numbers.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    numbers
        .filter(|number: &u32| {
            let line = std::fs::read(format!("/proc/{number}/cmdline")).unwrap_or_default();
            line == b"sleep\x004711\x00" && lives(*number)
        })
        .collect()
}

#[tokio::test]
async fn limits_hold_for_a_call_and_spare_the_next() {
    let yard = Yard::new();
    let limited = |code: &str| {
        let mut script = yard.script(code);
        script.command.limits = Limits {
            memory_bytes: 128 << 20,
            processes: 40,
            duration: Duration::from_secs(20),
            ..script.command.limits
        };
        script
    };
    let ran = yard.run(limited("x = bytearray(1 << 30)\nprint(len(x))")).await;
    assert_ne!(ran.exit.code, Some(0), "{ran:?}");
    let bomb = "import os\ncount = 0\ntry:\n    while True:\n        if os.fork() == 0:\n            import time; time.sleep(1000)\n        count += 1\n\
                except OSError: print(count < 45)";
    let ran = yard.run(limited(bomb)).await;
    assert_eq!(ran.stdout, "True\n", "{ran:?}");
    let ran = yard.run(limited("print('fine')")).await;
    assert_eq!(ran.stdout, "fine\n");
}

#[tokio::test]
async fn a_context_keeps_what_code_leaves() {
    let yard = Yard::new();
    assert_eq!(
        yard.in_context("one", "x = 41\ndef f(): return x + 1")
            .await
            .exit
            .code,
        Some(0)
    );
    let ran = yard.in_context("one", "print(f())").await;
    assert_eq!((ran.stdout.as_str(), ran.context_ended), ("42\n", false));
    // What goes wrong is shown and costs nothing.
    let ran = yard.in_context("one", "import sys\nsys.exit(f() - 40)").await;
    assert_eq!((ran.exit.code, ran.context_ended), (Some(2), false));
    let ran = yard.in_context("one", "f(1)").await;
    assert_eq!((ran.exception().0, ran.exit.code), ("TypeError", Some(1)));
    let frame = &ran.report.unwrap().exception.unwrap().frames[0];
    assert_eq!((frame.file.as_str(), frame.text.as_str()), ("<code 4>", "f(1)"));
    assert_eq!(yard.in_context("two", "x").await.exception().0, "NameError");
    assert_eq!(yard.code("x").await.exception().0, "NameError");
    // Nobody's output is mixed up with anybody else's, and between calls nothing goes on.
    let busy = "import threading, time\nn = 0\ndef count():\n    global n\n    while True: n += 1; print(n); time.sleep(0.001)\n\
                threading.Thread(target=count, daemon=True).start()\nprint('started')";
    yard.in_context("one", busy).await;
    let ran = yard.in_context("one", "y = n\nprint(y >= 0, end='')").await;
    assert!(ran.stdout.contains("True"), "{ran:?}");
    // One that is killed is gone.
    let mut script = Script {
        context: Some("one".to_owned()),
        ..yard.script("import time\ntime.sleep(1000)")
    };
    script.command.limits.duration = Duration::from_millis(300);
    let ran = yard.run(script).await;
    assert_eq!((ran.exit.cause, ran.context_ended), (EndCause::Deadline, true));
    let ran = yard.in_context("one", "x").await;
    assert_eq!(ran.exception().0, "NameError");
    // And so is one that leaves by itself.
    assert!(
        yard.in_context("one", "import os\nos._exit(0)")
            .await
            .context_ended
    );
}

#[tokio::test]
async fn a_context_has_one_call_at_a_time() {
    let yard = Yard::new();
    let script = |code: &str| Script {
        context: Some("shared".to_owned()),
        ..yard.script(code)
    };
    let mut first = yard
        .start(script("print('ready')\nimport time\ntime.sleep(1000)"))
        .await;
    first.running.next().await.unwrap();
    let second = yard.interpreters.run(script("print(1)")).await;
    assert!(matches!(second, Err(NotWarm::Busy)), "{second:?}");
    drop(first);
    assert_eq!(yard.run(script("print(1)")).await.stdout, "1\n");
}

#[tokio::test]
async fn without_an_interpreter_nothing_of_the_code_has_run() {
    let yard = Yard::new();
    let script = Script {
        interpreter: PathBuf::from("/usr/bin/no-python"),
        ..yard.script("open('ran', 'w')")
    };
    let Err(NotWarm::Unavailable { script, reason }) = yard.interpreters.run(script).await else {
        panic!("it ran");
    };
    assert!(reason.contains("no-python"), "{reason}");
    assert!(!yard.place.path().join("ran").exists());
    let own = Script {
        interpreter: PathBuf::from("/workspace/bin/python3"),
        ..yard.script("")
    };
    let refused = yard.interpreters.run(own).await;
    assert!(matches!(refused, Err(NotWarm::Unavailable { .. })), "{refused:?}");
    // The same code, in an interpreter of its own.
    let sandbox = bubblewrap();
    let calls = tempfile::tempdir().unwrap();
    let (call, command) = ColdCall::prepare(*script, calls.path(), &sandbox).unwrap();
    let outcome = run_in(&sandbox, command).await.unwrap();
    assert_eq!(
        (outcome.exit().code, outcome.stderr.as_slice()),
        (Some(0), b"".as_slice())
    );
    assert_eq!(call.report().unwrap().files, ["ran"]);
}

#[tokio::test]
async fn cold_code_says_the_same() {
    let yard = Yard::new();
    let script = Script {
        arguments: vec!["a".to_owned()],
        ..yard.script("import sys\nprint(sys.argv, __name__)\nimport no_such_module")
    };
    let calls = tempfile::tempdir().unwrap();
    let (call, command) = ColdCall::prepare(script, calls.path(), &host()).unwrap();
    let outcome = run_in(&host(), command).await.unwrap();
    assert_eq!(
        (outcome.stdout(), outcome.exit().code),
        ("['-c', 'a'] __main__\n", Some(1))
    );
    let stderr = String::from_utf8(outcome.stderr.clone()).unwrap();
    assert!(
        stderr.starts_with("Traceback (most recent call last):\n  File \"<code>\", line 3"),
        "{stderr}"
    );
    let exception = call.report().unwrap().exception.unwrap();
    assert_eq!(
        (exception.missing.as_deref(), exception.frames.len()),
        (Some("no_such_module"), 1)
    );
}

#[tokio::test]
async fn an_interpreter_that_was_killed_is_replaced() {
    let yard = Yard::new();
    assert_eq!(yard.said("print(1)").await, "1\n");
    for number in keepers(&yard) {
        // Some end with others, before their turn has come.
        let pid = rustix::process::Pid::from_raw(number).unwrap();
        let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
    }
    // The first may find that out; it is told so and can be run otherwise.
    let _ = yard.interpreters.run(yard.script("print(2)")).await;
    assert_eq!(yard.said("print(3)").await, "3\n");
}

/// The interpreters that see this yard's tree.
fn keepers(yard: &Yard) -> Vec<i32> {
    let tree = yard
        .place
        .path()
        .file_name()
        .unwrap()
        .to_str()
        .unwrap()
        .to_owned();
    let numbers = std::fs::read_dir("/proc").unwrap();
    let numbers = numbers.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    numbers
        .filter(|number: &i32| {
            let line = std::fs::read_to_string(format!("/proc/{number}/cmdline")).unwrap_or_default();
            let mounts = std::fs::read_to_string(format!("/proc/{number}/mountinfo")).unwrap_or_default();
            line.starts_with(PYTHON) && mounts.contains(&tree)
        })
        .collect()
}
