//! Other languages, and contexts.

use http::StatusCode;
use serde_json::{Value, json};

use super::{Sandbox, Told};

impl Sandbox {
    async fn javascript(&self, code: &str) -> Told {
        self.execute(&json!({ "code": code, "language": "js" })).await
    }

    async fn bash(&self, code: &str) -> Told {
        self.execute(&json!({ "code": code, "language": "bash" })).await
    }
}

#[tokio::test]
async fn javascript_keeps_its_names() {
    let sandbox = Sandbox::new();
    sandbox
        .javascript("const z = 1; let y = 2; function f() { return y }")
        .await;
    let told = sandbox.javascript("const z = 2\nz + f()").await;
    assert_eq!((told.value(), told.count()), ("4", 2));
    assert_eq!(
        sandbox
            .javascript("await new Promise(done => setTimeout(() => done('s'), 1))")
            .await
            .value(),
        "s"
    );
    assert_eq!(
        sandbox.javascript("{ a: [1, 'x'] }").await.value(),
        "{ a: [ 1, 'x' ] }"
    );
    assert!(sandbox.javascript("undefined").await.of("result").is_empty());
}

#[tokio::test]
async fn javascript_imports_and_prints() {
    let sandbox = Sandbox::new();
    std::fs::write(sandbox.home().join("own.mjs"), "export default 'own'").unwrap();
    let code = "import { join as j, sep } from 'path'; import * as os from 'os'\nimport own from './own.mjs'\n\
                [j('a', 'b'), sep, typeof os.cpus, own, (await import('fs')).existsSync('/'), 'import(x)']";
    assert_eq!(
        sandbox.javascript(code).await.value(),
        "[ 'a/b', '/', 'function', 'own', true, 'import(x)' ]"
    );
    let told = sandbox
        .javascript("console.log('out', 1); console.error('err')")
        .await;
    assert_eq!(
        (told.text("stdout"), told.text("stderr")),
        ("out 1\n".to_owned(), "err\n".to_owned())
    );
    assert_eq!(
        sandbox
            .javascript("require('path').basename('/a/b')")
            .await
            .value(),
        "b"
    );
}

#[tokio::test]
async fn javascript_tells_what_went_wrong() {
    let sandbox = Sandbox::new();
    let told = sandbox.javascript("function f() { null.x }\nf()").await;
    assert_eq!(told.error()["name"], "TypeError");
    let traceback = told.error()["traceback"].as_str().unwrap();
    assert!(
        traceback.contains("cell-1.js:2:1") && !traceback.contains("inspector"),
        "{traceback}"
    );
    let told = sandbox.javascript("let a = ;").await;
    assert_eq!(told.error()["name"], "SyntaxError");
    assert!(
        told.error()["traceback"]
            .as_str()
            .unwrap()
            .contains("cell-2.js:1\nlet a = ;\n        ^")
    );
    let told = sandbox
        .javascript("setTimeout(() => { throw new Error('late') }, 1); await new Promise(r => setTimeout(r, 50)); 'on'")
        .await;
    assert_eq!(told.value(), "on");
    assert!(told.text("stderr").contains("late"));
}

#[tokio::test]
async fn typescript_runs_or_says_what_it_takes() {
    let sandbox = Sandbox::new();
    let code = "function less(x: number, y: number): number { return x - y }\nless(1, 2)";
    let told = sandbox.execute(&json!({ "code": code, "language": "ts" })).await;
    let able = "typeof require('module').stripTypeScriptTypes";
    if sandbox.javascript(able).await.value() == "function" {
        assert_eq!(told.value(), "-1");
    } else {
        assert_eq!(told.error()["name"], "TypeScriptUnavailable");
        assert!(told.error()["value"].as_str().unwrap().contains("22.13"));
    }
}

#[tokio::test]
async fn bash_keeps_directory_variables_and_functions() {
    let sandbox = Sandbox::new();
    sandbox
        .bash("cd /usr; colour=red; export SHADE=dark; greet() { echo \"hello $1\"; }")
        .await;
    let told = sandbox
        .bash("pwd; echo $colour; printenv SHADE; greet you; cat; ls -l /proc/self/fd | grep -c socket")
        .await;
    assert_eq!(told.text("stdout"), "/usr\nred\ndark\nhello you\n0\n", "{told:?}");
    assert_eq!(told.count(), 2);
}

#[tokio::test]
async fn bash_tells_what_went_wrong() {
    let sandbox = Sandbox::new();
    let told = sandbox.bash("echo before; ls /nowhere").await;
    assert_eq!(
        (told.text("stdout").as_str(), &told.error()["value"]),
        ("before\n", &json!("2"))
    );
    assert!(
        sandbox
            .bash("if then")
            .await
            .text("stderr")
            .contains("syntax error")
    );
    assert!(sandbox.bash("kept=1; echo done").await.of("error").is_empty());
    let told = sandbox.bash("exit 3").await;
    assert!(told.error()["value"].as_str().unwrap().contains("exit status 3"));
    assert_eq!(sandbox.bash("echo \"[$kept]\"").await.text("stdout"), "[]\n");
}

#[tokio::test]
async fn variables_of_an_execution_are_its_own_in_every_language() {
    let sandbox = Sandbox::new();
    for (language, code) in [
        ("bash", "printenv NEW || echo none"),
        ("javascript", "console.log(process.env.NEW ?? 'none')"),
    ] {
        let run = async |variables: Value| {
            let wanted = json!({ "code": code, "language": language, "env_vars": variables });
            sandbox.execute(&wanted).await.text("stdout")
        };
        assert_eq!(run(json!({ "NEW": "it's $HOME" })).await, "it's $HOME\n");
        assert_eq!(run(json!({})).await, "none\n");
    }
    let wanted = json!({ "code": "", "language": "bash", "env_vars": { "a;id": "" } });
    let (status, told) = sandbox.call("POST", "/execute", &wanted).await;
    assert_eq!(status, StatusCode::BAD_REQUEST, "{told}");
}

#[tokio::test]
async fn a_language_that_there_is_not_is_refused_with_those_that_there_are() {
    let sandbox = Sandbox::new();
    for (path, name) in [("/execute", "r"), ("/contexts", "java"), ("/execute", "x\n")] {
        let (status, told) = sandbox
            .call("POST", path, &json!({ "code": "1", "language": name }))
            .await;
        assert_eq!(status, StatusCode::BAD_REQUEST);
        let message = told["message"].as_str().unwrap();
        assert!(
            message.contains("not available") && message.contains("python, javascript"),
            "{message}"
        );
        assert!(!message.contains('\n'));
    }
}

#[tokio::test]
async fn contexts_are_apart() {
    let sandbox = Sandbox::new();
    let (_, listed) = sandbox.call("GET", "/contexts", &json!({})).await;
    let home = sandbox.home();
    let home = home.to_str().unwrap();
    let default = |language: &str| json!({ "id": language, "language": language, "cwd": home });
    assert_eq!(listed, json!([default("python"), default("javascript")]));

    let one = sandbox.context(&json!({})).await;
    let other = sandbox
        .context(&json!({ "language": "python", "cwd": "below/it" }))
        .await;
    let run = async |id: &str, code: &str| sandbox.execute(&json!({ "code": code, "context_id": id })).await;
    run(&one, "x = 'one'").await;
    run(&other, "x = 'other'").await;
    sandbox.python("x = 'default'").await;
    assert_eq!(run(&one, "x").await.value(), "one");
    assert_eq!(run(&other, "x").await.value(), "other");
    assert_eq!(run("python", "x").await.value(), "default");
    assert_eq!(
        run(&other, "import os; os.getcwd()").await.value(),
        format!("{home}/below/it")
    );

    let (status, _) = sandbox
        .call("DELETE", &format!("/contexts/{one}"), &json!({}))
        .await;
    assert_eq!(status, StatusCode::NO_CONTENT);
    let (_, listed) = sandbox.call("GET", "/contexts", &json!({})).await;
    let last = json!({ "id": other, "language": "python", "cwd": format!("{home}/below/it") });
    assert_eq!(listed, json!([default("python"), default("javascript"), last]));
}

#[tokio::test]
async fn a_context_that_there_is_not_is_not_found() {
    let sandbox = Sandbox::new();
    for (method, path) in [
        ("POST", "/execute"),
        ("DELETE", "/contexts/python-9"),
        ("POST", "/contexts/python-9/restart"),
    ] {
        let wanted = json!({ "code": "1", "context_id": "python-9" });
        let (status, told) = sandbox.call(method, path, &wanted).await;
        assert_eq!(status, StatusCode::NOT_FOUND);
        assert!(told["message"].as_str().unwrap().contains("python-9"));
    }
}

#[tokio::test]
async fn a_context_has_its_language_already() {
    let sandbox = Sandbox::new();
    let wanted = json!({ "code": "1", "context_id": "python", "language": "python" });
    let (status, _) = sandbox.call("POST", "/execute", &wanted).await;
    assert_eq!(status, StatusCode::BAD_REQUEST);
}

#[tokio::test]
async fn there_are_not_any_number_of_contexts() {
    let sandbox = Sandbox::new();
    for _ in 0..64 {
        sandbox.context(&json!({ "language": "bash" })).await;
    }
    let (status, told) = sandbox.call("POST", "/contexts", &json!({})).await;
    assert_eq!(status, StatusCode::TOO_MANY_REQUESTS, "{told}");
}

#[tokio::test]
async fn a_context_cannot_begin_in_a_file() {
    let sandbox = Sandbox::new();
    std::fs::write(sandbox.home().join("file"), "").unwrap();
    let (status, told) = sandbox.call("POST", "/contexts", &json!({ "cwd": "file" })).await;
    assert_eq!(status, StatusCode::BAD_REQUEST);
    assert!(told["message"].as_str().unwrap().contains("file"));
}
