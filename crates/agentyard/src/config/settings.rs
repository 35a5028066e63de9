//! The settings that belong to the binary itself. Each other component owns its own.

use std::path::PathBuf;

use agentyard_operations::Level;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Repositories.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct GitSettings {
    /// The directories in which callers of `agentyard serve` may work; none by default.
    /// `agentyard mcp` works in the directory where it was started.
    pub(crate) roots: Vec<PathBuf>,
    /// How long one call may read or change a repository, in milliseconds, before it is given up.
    pub(crate) timeout_ms: u64,
    /// How long one call may talk to another machine (clone, fetch, pull, push), in milliseconds. A remote that stops
    /// answering is given up earlier, after about 40 seconds.
    pub(crate) network_timeout_ms: u64,
    /// How often a call to another machine is tried when it fails by what may pass, with growing waits between.
    pub(crate) retries: u32,
    /// Hosts that git may reach although their addresses are not public, or only over plain HTTP: `git.example.org`,
    /// `*.example.org`, `10.0.0.7:8080`. Public hosts may be reached over HTTPS and SSH without being named.
    pub(crate) allowed_hosts: Vec<String>,
    /// Who writes commits, when a call does not say; stronger than git's own settings.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) author_name: Option<String>,
    /// The address of who writes commits.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) author_email: Option<String>,
    /// Who makes commits, when that is not who writes them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) committer_name: Option<String>,
    /// The address of who makes commits.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) committer_email: Option<String>,
    /// Whether commits and annotated tags are signed when a call does not say. Where the key is missing they
    /// fail: nothing is left unsigned in silence.
    pub(crate) sign_commits: bool,
    /// Branches that are never deleted, force-pushed or reset to lose commits; `*` stands for any text.
    pub(crate) protected_branches: Vec<String>,
    /// How long a sandbox stays after its last use into which `sandbox_clone` cloned a repository, and how long one call of
    /// git in it may take, in seconds; an hour at most.
    pub(crate) sandbox_timeout_seconds: u64,
    /// How often `sandbox_push` tries, with growing waits between.
    pub(crate) sandbox_max_retries: u32,
    /// Whether git in sandboxes uses the server's own tokens (`GITHUB_TOKEN` …) for callers who keep none. Whoever runs
    /// code in a sandbox can get at what git uses there.
    pub(crate) sandbox_credentials: bool,
    /// A text file that `git_wrapup_instructions` passes on: what is to be heeded before work is called done.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) wrapup_instructions_path: Option<PathBuf>,
}

impl Default for GitSettings {
    fn default() -> Self {
        Self {
            roots: Vec::new(),
            timeout_ms: 30_000,
            network_timeout_ms: 600_000,
            retries: 3,
            allowed_hosts: Vec::new(),
            author_name: None,
            author_email: None,
            committer_name: None,
            committer_email: None,
            sign_commits: false,
            protected_branches: ["main", "master", "release/*"].map(ToOwned::to_owned).to_vec(),
            sandbox_timeout_seconds: 300,
            sandbox_max_retries: 3,
            sandbox_credentials: false,
            wrapup_instructions_path: None,
        }
    }
}

/// What answers look like.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct OutputSettings {
    /// The most tokens that one answer may cost its reader; a longer one is cut at a whole item, and says so.
    pub(crate) max_tokens: u32,
    /// How much an answer says when the caller does not ask for a level.
    pub(crate) level: Level,
}

impl Default for OutputSettings {
    fn default() -> Self {
        Self {
            max_tokens: 20_000,
            level: Level::Standard,
        }
    }
}

/// Logs. They go to standard error, always: standard output belongs to answers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct LogSettings {
    /// Which events are logged: a level (`off`, `error`, `warn`, `info`, `debug`, `trace`), and levels for single
    /// parts, as in `info,agentyard_git=debug`. Libraries that log what passes through them stay at
    /// `warn` or `error` unless they are named here.
    pub(crate) filter: String,
    /// How events are written.
    pub(crate) format: LogFormat,
}

impl Default for LogSettings {
    fn default() -> Self {
        Self {
            filter: "info".to_owned(),
            format: LogFormat::Auto,
        }
    }
}

/// How events are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub(crate) enum LogFormat {
    /// For people on a terminal, as JSON lines elsewhere.
    #[default]
    Auto,
    /// For people.
    Human,
    /// One JSON object a line.
    Json,
}

/// Which operations are offered over MCP.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct McpSettings {
    /// Only these toolsets; all when left out.
    pub(crate) toolsets: Vec<String>,
    /// Only operations that change nothing. This is stronger than every other choice.
    pub(crate) read_only: bool,
    /// These operations beside the toolsets; alone, when no toolsets are named.
    pub(crate) tools: Vec<String>,
    /// Never these operations.
    pub(crate) exclude_tools: Vec<String>,
}
