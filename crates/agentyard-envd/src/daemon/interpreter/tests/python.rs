//! Cells of Python.

use serde_json::json;

use super::Sandbox;

#[tokio::test]
async fn what_a_cell_leaves_is_there_for_the_next() {
    let sandbox = Sandbox::new();
    let told = sandbox.python("x = 20\nx + 1").await;
    assert_eq!((told.value(), told.count()), ("21", 1));
    let told = sandbox.python("x + 2").await;
    assert_eq!((told.value(), told.count()), ("22", 2));
    assert_eq!(
        sandbox.python("[_, __, Out[1], In[1]]").await.value(),
        "[22, 21, 21, 'x = 20\\nx + 1']"
    );
}

#[tokio::test]
async fn a_cell_may_be_indented_silent_or_empty() {
    let sandbox = Sandbox::new();
    let indented = "\n        def f():\n            return 'text'\n\n        f()\n        ";
    assert_eq!(sandbox.python(indented).await.value(), "text");
    for silent in ["5;", "None", "x = 1", "", "# nothing"] {
        assert_eq!(sandbox.python(silent).await.of("result").len(), 0, "{silent}");
    }
}

#[tokio::test]
async fn what_is_printed_comes_in_order() {
    let sandbox = Sandbox::new();
    let code = "import os, sys, subprocess\n\
                for i in range(100): print(i)\n\
                subprocess.run(['echo', 'program'])\n\
                os.write(1, b'descriptor\\n')\n\
                print('last', end='')\n\
                print('complaint', file=sys.stderr)";
    let told = sandbox.python(code).await;
    let numbers: String = (0..100).map(|number| format!("{number}\n")).collect();
    assert_eq!(told.text("stdout"), format!("{numbers}program\ndescriptor\nlast"));
    assert_eq!(told.text("stderr"), "complaint\n");
    assert!(told.of("stdout")[0]["timestamp"].as_u64().unwrap() > 1_700_000_000_000_000_000);
}

#[tokio::test]
async fn what_is_shown_comes_between_what_is_printed() {
    let sandbox = Sandbox::new();
    let code = "for i in range(20):\n    print('before', i)\n    display(i)\nprint('after')\n'end'";
    let told = sandbox.python(code).await;
    let mut order = Vec::new();
    for event in &told.0[1..] {
        let text = event["text"].as_str().unwrap();
        order.extend(text.lines().map(str::to_owned));
    }
    let mut expected: Vec<String> = (0..20)
        .flat_map(|i| [format!("before {i}"), i.to_string()])
        .collect();
    expected.extend(["after".to_owned(), "end".to_owned()]);
    assert_eq!(order, expected);
}

#[tokio::test]
async fn a_value_shows_itself_in_all_its_ways() {
    let sandbox = Sandbox::new();
    let code = r#"
class Rich:
    def __repr__(self): return "rich"
    def _repr_html_(self): return "<b>ä</b>"
    def _repr_markdown_(self): return "**m**", {"with": "metadata"}
    def _repr_svg_(self): return "<svg/>"
    def _repr_png_(self): return b"\x89PNG"
    def _repr_jpeg_(self): return "anBlZw=="
    def _repr_pdf_(self): return b"%PDF"
    def _repr_latex_(self): return "$x$"
    def _repr_json_(self): return {"a": [1, float("nan")]}
    def _repr_javascript_(self): return "alert(1)"
    def _repr_mimebundle_(self, include=None, exclude=None):
        return {"e2b/data": {"column": [1]}, "application/x-own": "own", "text/plain": "rich"}
Rich()
"#;
    let told = sandbox.python(code).await;
    let expected = json!({
        "type": "result", "text": "rich", "html": "<b>ä</b>", "markdown": "**m**", "svg": "<svg/>",
        "png": "iVBORw==", "jpeg": "anBlZw==", "pdf": "JVBERg==", "latex": "$x$", "json": { "a": [1, null] },
        "javascript": "alert(1)", "data": { "column": [1] }, "extra": { "application/x-own": "own" },
        "is_main_result": true,
    });
    assert_eq!(told.of("result"), [&expected]);
    assert_eq!(sandbox.python("Rich").await.value(), "<class '__main__.Rich'>");
}

#[tokio::test]
async fn a_value_that_cannot_show_itself_is_shown_otherwise() {
    let sandbox = Sandbox::new();
    let code =
        "class Bad:\n    def __repr__(self): return 'bad'\n    def _repr_html_(self): return 1 / 0\nBad()";
    let told = sandbox.python(code).await;
    assert_eq!(told.value(), "bad");
    assert!(
        told.text("stderr")
            .contains("Bad._repr_html_() failed: ZeroDivisionError")
    );
}

#[tokio::test]
async fn helpers_of_notebooks_are_there() {
    let sandbox = Sandbox::new();
    let code = "from IPython.display import display, HTML, Image, JSON\n\
                display(HTML('<i>'))\ndisplay(JSON({'a': 1}))\ndisplay(Image(b'\\xff\\xd8jpeg'))\n\
                display({'text/markdown': '#'}, raw=True)";
    let told = sandbox.python(code).await;
    let results = told.of("result");
    assert_eq!(results.len(), 4, "{told:?}");
    assert_eq!(results[0]["html"], "<i>");
    assert_eq!(results[1]["json"], json!({ "a": 1 }));
    assert_eq!(results[2]["jpeg"], "/9hqcGVn");
    assert_eq!(results[3]["markdown"], "#");
    assert_eq!(results[0]["is_main_result"], false);
}

#[tokio::test]
async fn lines_of_notebooks_are_understood() {
    let sandbox = Sandbox::new();
    let home = sandbox.home();
    let code = "name = 'world'\ntext = '''\n!not this\n'''\n!echo hello $name {name}\nif True:\n    !echo it's \"quoted\n\
                lines = !printf 'a\\nb'\nprint(lines, repr(text))";
    let told = sandbox.python(code).await;
    assert!(
        told.text("stderr").contains("unexpected EOF"),
        "the shell's complaint: {told:?}"
    );
    assert_eq!(
        told.text("stdout"),
        "hello world world\n['a', 'b'] '\\n!not this\\n'\n"
    );

    let told = sandbox
        .python("%cd /\n%env COLOUR=red\nimport os\nos.getcwd(), os.environ['COLOUR']")
        .await;
    assert_eq!(told.value(), "('/', 'red')");
    assert_eq!(sandbox.python("%time 3 + 4").await.value(), "7");
    let file = home.join("written.txt");
    sandbox
        .python(&format!("%%writefile {}\nline\n", file.display()))
        .await;
    assert_eq!(std::fs::read_to_string(file).unwrap(), "line\n");
    assert_eq!(
        sandbox.python("%%bash\necho $((6 * 7))").await.text("stdout"),
        "42\n"
    );
    assert!(
        sandbox
            .python("%pip --version")
            .await
            .text("stdout")
            .starts_with("pip ")
    );

    let told = sandbox.python("%nonsense").await;
    let value = told.error()["value"].as_str().unwrap();
    assert!(value.contains("%nonsense") && value.contains("%pip"), "{value}");
}

#[tokio::test]
async fn cells_can_await() {
    let sandbox = Sandbox::new();
    let code =
        "import asyncio\nasync def later():\n    await asyncio.sleep(0)\n    return 'waited'\nawait later()";
    assert_eq!(sandbox.python(code).await.value(), "waited");
    assert_eq!(sandbox.python("asyncio.run(later())").await.value(), "waited");
    let told = sandbox.python("async for i in 5: pass").await;
    let traceback = told.error()["traceback"].as_str().unwrap();
    assert!(
        !traceback.contains("asyncio"),
        "frames before the cell: {traceback}"
    );
}

#[tokio::test]
async fn variables_of_an_execution_are_its_own() {
    let sandbox = Sandbox::new();
    sandbox.python("import os\nos.environ['KEPT'] = 'before'").await;
    let code = "[os.environ.get(name) for name in ('KEPT', 'NEW')]";
    let told = sandbox
        .execute(&json!({ "code": code, "env_vars": { "KEPT": "during", "NEW": "it's" } }))
        .await;
    assert_eq!(told.value(), "['during', \"it's\"]");
    assert_eq!(sandbox.python(code).await.value(), "['before', None]");
}

#[tokio::test]
async fn programs_cannot_be_answered() {
    let sandbox = Sandbox::new();
    let told = sandbox.python("input('name? ')").await;
    assert_eq!(told.error()["name"], "RuntimeError");
    assert!(
        told.error()["value"]
            .as_str()
            .unwrap()
            .contains("input() does not work here")
    );
    let code = "import subprocess\nsubprocess.run(['cat'], capture_output=True).stdout";
    assert_eq!(sandbox.python(code).await.value(), "b''");
}

#[tokio::test]
async fn the_text_of_cells_can_be_found() {
    let sandbox = Sandbox::new();
    let code = "import inspect, pickle\ndef doubled(n):\n    return 2 * n\nclass Point: pass\n";
    sandbox.python(code).await;
    assert_eq!(
        sandbox.python("inspect.getsource(doubled)").await.value(),
        "def doubled(n):\\n    return 2 * n\\n"
    );
    assert_eq!(
        sandbox
            .python("type(pickle.loads(pickle.dumps(Point()))) is Point")
            .await
            .value(),
        "True"
    );
}
