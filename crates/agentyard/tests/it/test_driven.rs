//! The loop of docs/test-driven-loop.md: the test first, then the code, then the commit, over MCP.

use agentyard_testkit::TestRepository;
use serde_json::{Value, json};

use crate::support::{Place, StdioClient, content};

const TEST: &str = "import unittest\n\nfrom fib import fib\n\n\nclass Fibonacci(unittest.TestCase):\n    def test_first_ten(self):\n        self.assertEqual([fib(n) for n in range(10)], [0, 1, 1, 2, 3, 5, 8, 13, 21, 34])\n\n\nif __name__ == \"__main__\":\n    unittest.main()\n";

const NOTHING_YET: &str = "def fib(n):\n    pass\n";

const SOLUTION: &str =
    "def fib(n):\n    a, b = 0, 1\n    for _ in range(n):\n        a, b = b, a + b\n    return a\n";

/// An agent that numbers its calls.
struct Agent {
    client: StdioClient,
    calls: u64,
}

impl Agent {
    fn call(&mut self, tool: &str, arguments: Value) -> Value {
        self.calls += 1;
        let answer = self.client.call(self.calls, tool, arguments);
        assert_ne!(answer["result"]["isError"], true, "{tool}: {answer}");
        content(&answer)
    }
}

#[test]
fn a_test_fails_the_code_is_written_the_test_passes_and_is_committed() {
    let (place, repository) = (Place::new(), TestRepository::with_commit("README.md", "hello\n"));
    repository.git(&["config", "user.name", "Ada"]);
    repository.git(&["config", "user.email", "ada@example.org"]);
    let mut agent = Agent {
        client: StdioClient::initialized(&place, repository.path(), &[]),
        calls: 1,
    };
    agent.call(
        "initialize_code_file",
        json!({ "filename": "test_fib.py", "content": TEST }),
    );
    agent.call(
        "initialize_code_file",
        json!({ "filename": "fib.py", "content": NOTHING_YET }),
    );
    let failed = agent.call("execute_code_file", json!({ "file_path": "test_fib.py" }));
    assert_eq!(failed["exit_code"], 1, "{failed}");
    let said = failed["stderr"].as_str().unwrap();
    assert!(
        said.contains("test_first_ten") && said.contains("FAILED (failures=1)"),
        "{said}"
    );

    agent.call(
        "overwrite_code_file",
        json!({ "file_path": "fib.py", "content": SOLUTION }),
    );
    let passed = agent.call("execute_code_file", json!({ "file_path": "test_fib.py" }));
    assert_eq!(passed["exit_code"], 0, "{passed}");
    assert!(passed["stderr"].as_str().unwrap().contains("OK"), "{passed}");

    agent.call("git_add", json!({ "paths": ["fib.py", "test_fib.py"] }));
    let committed = agent.call(
        "git_commit",
        json!({ "message": "fib: Calculate Fibonacci numbers" }),
    );
    assert!(committed["commit"].is_string(), "{committed}");
    let shown = agent.call("git_status", json!({}));
    // What running left behind is not among what was asked for.
    for list in ["staged", "unstaged"] {
        assert!(
            shown
                .get(list)
                .is_none_or(|list| list.as_array().is_none_or(Vec::is_empty)),
            "{shown}"
        );
    }
    assert_eq!(
        repository
            .git(&["show", "--stat", "--format=%s", "HEAD"])
            .lines()
            .next(),
        Some("fib: Calculate Fibonacci numbers")
    );
}
