//! `cargo xtask`: set-up, the gate, measurements and tidiness checks, from a fresh checkout.
//!
//! One file per verb. It may touch the source tree, run any program and read the
//! environment, since it is a developer's tool and is not shipped.

#![expect(
    clippy::disallowed_methods,
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a developer's tool: it runs programs, reads the environment and prints"
)]

mod args;
mod failure;
mod process;
mod workspace;

mod installed;
mod nextest;
mod npm;
mod postgres;
mod python;
mod served;
mod supervised;

mod bench;
mod clients;
mod conformance;
mod deny;
mod e2b;
mod fmt;
mod generate;
mod lint;
mod serve;
mod setup;
mod start_order;
mod test;
mod test_real;
mod tidy;

use std::process::ExitCode;

use args::Args;
use failure::{Failure, Result};

struct Verb {
    name: &'static str,
    usage: &'static str,
    summary: &'static str,
    run: fn(Args) -> Result,
}

const VERBS: &[Verb] = &[
    Verb {
        name: "serve",
        usage: "[ARGUMENT]…",
        summary: "build the product and run `agentyard serve`",
        run: serve::verb,
    },
    Verb {
        name: "test",
        usage: "[--only STEP,…] [-- ARGUMENT…]",
        summary: "the whole gate: everything below up to conformance, and the tests",
        run: test::verb,
    },
    Verb {
        name: "setup",
        usage: "",
        summary: "find or install what the machine needs",
        run: setup::verb,
    },
    Verb {
        name: "fmt",
        usage: "[--fix]",
        summary: "check the formatting, or fix it",
        run: fmt::verb,
    },
    Verb {
        name: "tidy",
        usage: "",
        summary: "check the rules that no compiler knows",
        run: tidy::verb,
    },
    Verb {
        name: "lint",
        usage: "",
        summary: "clippy, where a warning is an error",
        run: lint::verb,
    },
    Verb {
        name: "deny",
        usage: "",
        summary: "licences, banned crates, sources, yanked crates, advisories",
        run: deny::verb,
    },
    Verb {
        name: "conformance",
        usage: "[--requirements REVISION]",
        summary: "the MCP conformance suite against a server of ours",
        run: conformance::verb,
    },
    Verb {
        name: "clients",
        usage: "",
        summary: "Claude Code, Codex and the Python clients against the product",
        run: clients::verb,
    },
    Verb {
        name: "test-real",
        usage: "",
        summary: "what is tested against servers that take minutes to build: SurrealDB",
        run: test_real::verb,
    },
    Verb {
        name: "bench",
        usage: "[--install-peers] [--peer COMMAND]… [ARGUMENT]…",
        summary: "measure the release build beside bare git and other servers",
        run: bench::verb,
    },
    Verb {
        name: "generate",
        usage: "",
        summary: "write the files that are made from the code",
        run: generate::verb,
    },
    Verb {
        name: "start-order",
        usage: "",
        summary: "find out what a start of the binary runs, so that it is linked next to each other",
        run: start_order::verb,
    },
];

fn main() -> ExitCode {
    let mut words = std::env::args().skip(1);
    let done = match words.next() {
        None => {
            list_verbs();
            Ok(())
        }
        Some(name) => run_verb(&name, Args::new(words)),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("error: {failure}");
            ExitCode::FAILURE
        }
    }
}

fn run_verb(name: &str, args: Args) -> Result {
    match VERBS.iter().find(|verb| verb.name == name) {
        Some(verb) => (verb.run)(args),
        None if matches!(name, "help" | "-h" | "--help") => {
            list_verbs();
            Ok(())
        }
        None => Err(Failure::new(format!("there is no verb `{name}`")).next("`cargo xtask` lists the verbs")),
    }
}

fn list_verbs() {
    println!("cargo xtask VERB\n");
    for verb in VERBS {
        println!("  {:<12} {}  {}", verb.name, verb.summary, verb.usage);
    }
}
