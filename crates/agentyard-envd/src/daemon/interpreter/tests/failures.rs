//! Executions that go wrong, are given up, or wait.

use std::time::Duration;

use serde_json::json;

use super::{Sandbox, appears, finish, until};

#[tokio::test]
async fn an_error_has_a_traceback_without_frames_of_ours() {
    let sandbox = Sandbox::new();
    let told = sandbox
        .python("def f():\n    raise ValueError('bad \u{e4}')\nprint('before')\nf()")
        .await;
    assert_eq!(told.text("stdout"), "before\n");
    let error = told.error();
    assert_eq!(
        (&error["name"], &error["value"]),
        (&json!("ValueError"), &json!("bad \u{e4}"))
    );
    assert_eq!(
        error["traceback"],
        "Traceback (most recent call last):\n  File \"<cell 1>\", line 4, in <module>\n    f()\n  \
         File \"<cell 1>\", line 2, in f\n    raise ValueError('bad \u{e4}')\nValueError: bad \u{e4}\n"
    );
    let told = sandbox.python("x = (").await;
    assert_eq!(told.error()["name"], "SyntaxError");
    assert!(
        told.error()["traceback"]
            .as_str()
            .unwrap()
            .contains("File \"<cell 2>\", line 1\n    x = (")
    );
}

#[tokio::test]
async fn code_that_wants_to_exit_does_not_end_its_context() {
    let sandbox = Sandbox::new();
    sandbox.python("x = 1").await;
    for (code, name) in [
        ("import sys; sys.exit(3)", "SystemExit"),
        ("raise KeyboardInterrupt", "KeyboardInterrupt"),
        ("raise GeneratorExit", "GeneratorExit"),
    ] {
        assert_eq!(sandbox.python(code).await.error()["name"], name);
    }
    let code = "import os\nchild = os.fork()\nif child == 0: raise ValueError\nos.waitpid(child, 0)[1] >> 8";
    assert_eq!(
        sandbox.python(code).await.value(),
        "1",
        "a copy of the kernel ends with the cell"
    );
    assert_eq!(sandbox.python("x").await.value(), "1");
}

#[tokio::test]
async fn a_kernel_that_dies_is_told_and_replaced() {
    let sandbox = Sandbox::new();
    for (code, why) in [
        (
            "print('last words', flush=True)\nimport os\nos._exit(7)",
            "exit status 7",
        ),
        ("import os\nos.kill(os.getpid(), 9)", "killed"),
        ("import os\nos.kill(os.getpid(), 11)", "signal 11"),
        ("import os\nos.closerange(3, 100)", "exit status 1"),
        (
            "import os\nfor fd in range(3, 30):\n    try: os.write(fd, b'\\xff' * 64)\n    except OSError: pass",
            "belongs to",
        ),
    ] {
        sandbox.python("x = 1").await;
        let told = sandbox.python(code).await;
        assert_eq!(told.error()["name"], "UnexpectedEndOfExecution", "{code}");
        let value = told.error()["value"].as_str().unwrap();
        assert!(value.contains(why) && value.contains("afresh"), "{value}");
        if code.contains("words") {
            assert_eq!(told.text("stdout"), "last words\n");
        }
        let told = sandbox.python("'x' in globals()").await;
        assert_eq!((told.value(), told.count()), ("False", 1));
    }
}

#[tokio::test]
async fn a_death_is_noticed_though_a_copy_lives_on() {
    let sandbox = Sandbox::new();
    let file = sandbox.home().join("number");
    let code = format!(
        "import os, time\nif os.fork() == 0:\n    open('part', 'w').write(str(os.getpid()))\n    os.rename('part', {file:?})\n    time.sleep(60)\n\
         else:\n    while not os.path.exists({file:?}): time.sleep(0.01)\n    os._exit(1)"
    );
    let told = sandbox.python(&code).await;
    assert_eq!(told.error()["name"], "UnexpectedEndOfExecution");
    let copy = std::fs::read_to_string(file).unwrap().parse().unwrap();
    rustix::process::kill_process(
        rustix::process::Pid::from_raw(copy).unwrap(),
        rustix::process::Signal::KILL,
    )
    .unwrap();
}

#[tokio::test]
async fn whoever_leaves_interrupts_the_execution() {
    let sandbox = Sandbox::new();
    let begun = sandbox.home().join("begun");
    let ended = sandbox.home().join("ended");
    let python = format!(
        "x = 5\nimport time\ntry:\n    open({begun:?}, 'w')\n    time.sleep(600)\n\
         except KeyboardInterrupt:\n    open({ended:?}, 'w')\n    raise"
    );
    let body = sandbox.begin(&json!({ "code": python })).await;
    appears(&begun).await;
    drop(body);
    appears(&ended).await;
    assert_eq!(sandbox.python("x").await.value(), "5", "the context is the same");

    std::fs::remove_file(&begun).unwrap();
    let script = format!("kept=7; touch {begun:?}; sleep 600");
    let body = sandbox
        .begin(&json!({ "code": script, "language": "bash" }))
        .await;
    appears(&begun).await;
    drop(body);
    let told = sandbox
        .execute(&json!({ "code": "echo $kept", "language": "bash" }))
        .await;
    assert_eq!(told.text("stdout"), "7\n");
}

#[tokio::test]
async fn what_cannot_be_interrupted_is_ended_and_the_next_is_told() {
    let sandbox = Sandbox::new();
    let begun = sandbox.home().join("begun");
    let python = format!(
        "x = 5\nimport signal, time\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\nopen({begun:?}, 'w')\ntime.sleep(600)"
    );
    let body = sandbox.begin(&json!({ "code": python })).await;
    appears(&begun).await;
    drop(body);
    let told = sandbox.python("'x' in globals()").await;
    assert_eq!(told.value(), "False");
    assert!(told.text("stderr").contains("started afresh"), "{told:?}");
    assert_eq!(sandbox.python("1").await.text("stderr"), "");
}

#[tokio::test]
async fn javascript_is_interrupted_where_it_waits_and_ended_where_it_does_not() {
    let sandbox = Sandbox::new();
    let run = async |code: &str| sandbox.execute(&json!({ "code": code, "language": "js" })).await;
    let leave = async |code: &str| {
        let mut body = sandbox.begin(&json!({ "code": code, "language": "js" })).await;
        until(&mut body, "stdout").await;
    };
    leave("var kept = 5; console.log('on'); await new Promise(done => globalThis.go = done); 'late'").await;
    let told = run("go(); await null; kept").await;
    assert_eq!((told.value(), told.of("result").len()), ("5", 1));
    leave("console.log('on'); for (;;) {}").await;
    let told = run("typeof kept").await;
    assert_eq!(told.value(), "undefined");
    assert!(told.text("stderr").contains("started afresh"));
}

#[tokio::test]
async fn executions_of_a_context_wait_for_each_other_and_those_of_others_do_not() {
    let sandbox = Sandbox::new();
    let (go, begun) = (sandbox.home().join("go"), sandbox.home().join("begun"));
    let waits = format!(
        "import os, time\nopen({begun:?}, 'w')\nwhile not os.path.exists({go:?}): time.sleep(0.01)\norder = ['first']"
    );
    let first = sandbox.begin(&json!({ "code": waits })).await;
    appears(&begun).await;
    let second = sandbox.begin(&json!({ "code": "order.append('second')" })).await;
    let third = sandbox
        .begin(&json!({ "code": "order.append('third'); order" }))
        .await;
    drop(second);
    let other = sandbox.context(&json!({})).await;
    let told = sandbox
        .execute(&json!({ "code": "1 + 1", "context_id": other }))
        .await;
    assert_eq!(told.value(), "2", "another context runs meanwhile");
    std::fs::write(go, "").unwrap();
    assert!(finish(first).await.of("error").is_empty());
    assert_eq!(
        finish(third).await.value(),
        "['first', 'third']",
        "who left the queue is not run"
    );
}

#[tokio::test]
async fn not_any_number_waits() {
    let sandbox = Sandbox::new();
    let mut waiting = Vec::new();
    let mut running = sandbox
        .begin(&json!({ "code": "print('on', flush=True)\nimport time; time.sleep(600)" }))
        .await;
    until(&mut running, "stdout").await;
    for _ in 0..32 {
        waiting.push(sandbox.begin(&json!({ "code": "1" })).await);
    }
    let (status, told) = sandbox.call("POST", "/execute", &json!({ "code": "1" })).await;
    assert_eq!(status, http::StatusCode::TOO_MANY_REQUESTS, "{told}");
}

#[tokio::test]
async fn a_restart_ends_what_runs_and_what_waits() {
    let sandbox = Sandbox::new();
    sandbox.python("x = 1").await;
    let mut running = sandbox
        .begin(&json!({ "code": "print('on', flush=True)\nimport time; time.sleep(600)" }))
        .await;
    until(&mut running, "stdout").await;
    let waiting = sandbox.begin(&json!({ "code": "x" })).await;
    let (status, _) = sandbox.call("POST", "/contexts/python/restart", &json!({})).await;
    assert_eq!(status, http::StatusCode::NO_CONTENT);
    assert_eq!(finish(running).await.error()["name"], "ContextRestarting");
    assert_eq!(finish(waiting).await.error()["name"], "ContextRestarting");
    let told = sandbox.python("'x' in globals()").await;
    assert_eq!(
        (told.value(), told.count(), told.text("stderr").as_str()),
        ("False", 1, "")
    );
}

#[tokio::test]
async fn what_runs_in_a_context_ends_when_it_is_removed() {
    let sandbox = Sandbox::new();
    let id = sandbox.context(&json!({})).await;
    let code = "import os\nprint(os.getpid(), flush=True)\nimport time; time.sleep(600)";
    let mut running = sandbox.begin(&json!({ "code": code, "context_id": id })).await;
    let printed = until(&mut running, "stdout").await;
    let waiting = sandbox.begin(&json!({ "code": "1", "context_id": id })).await;
    sandbox
        .call("DELETE", &format!("/contexts/{id}"), &json!({}))
        .await;
    assert_eq!(finish(running).await.error()["name"], "ContextRemoved");
    assert_eq!(finish(waiting).await.error()["name"], "ContextRemoved");
    let process = printed["text"].as_str().unwrap().trim();
    assert!(
        !std::path::Path::new("/proc").join(process).exists(),
        "nothing is left of it"
    );
}

#[tokio::test]
async fn a_flood_is_bounded_and_the_context_lives() {
    let sandbox = Sandbox::new();
    let told = sandbox
        .python("x = 1\nfor _ in range(10):\n    print('x' * (1 << 20))")
        .await;
    assert_eq!(told.text("stdout").len(), 8 << 20);
    assert!(told.text("stderr").contains("left out"));
    let code = "class Long:\n    def __repr__(self): return '\\U0001f600' * (3 << 20)\n    \
                def _repr_html_(self): return repr(self)\ndisplay(Long())\nx";
    let told = sandbox.python(code).await;
    assert_eq!(told.value(), "1");
    assert!(told.of("result")[0]["text"].is_string() && told.of("result")[0]["html"].is_null());
    assert!(
        told.text("stderr").contains("left out"),
        "a result is bounded too"
    );
}

#[tokio::test]
async fn who_prints_in_the_background_is_not_held_up() {
    let sandbox = Sandbox::new();
    let ended = sandbox.home().join("ended");
    let code = format!(
        "import subprocess\nsubprocess.Popen(['sh', '-c', 'sleep 0.1; head -c 1000000 /dev/zero; touch {}']) and None",
        ended.display()
    );
    sandbox.python(&code).await;
    tokio::time::timeout(Duration::from_secs(60), appears(&ended))
        .await
        .unwrap();
    assert_eq!(sandbox.python("1").await.text("stdout"), "");
}

#[tokio::test]
async fn a_kernel_that_ends_while_nothing_runs_is_replaced() {
    let sandbox = Sandbox::new();
    let go = sandbox.home().join("go");
    let code = format!(
        "import os, threading, time\ndef leave():\n    while not os.path.exists({go:?}): time.sleep(0.01)\n    os._exit(0)\n\
         threading.Thread(target=leave).start()\nos.getpid()"
    );
    let told = sandbox.python(&code).await;
    std::fs::write(go, "").unwrap();
    let process = std::path::Path::new("/proc").join(told.value());
    while process.exists() {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    assert_eq!(sandbox.python("1 + 1").await.value(), "2");
}

#[tokio::test]
async fn threads_that_show_something_late_are_not_held_up() {
    let sandbox = Sandbox::new();
    let shown = sandbox.home().join("shown");
    let code = format!(
        "import threading\ndef late():\n    display('late')\n    open({shown:?}, 'w')\nthreading.Timer(0.1, late).start()"
    );
    sandbox.python(&code).await;
    appears(&shown).await;
    assert_eq!(sandbox.python("2").await.value(), "2");
}
