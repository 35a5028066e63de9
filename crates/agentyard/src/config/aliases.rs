//! The variables that Agentyard accepts beside `AGENTYARD_<SECTION>_<KEY>`, each with what
//! becomes of it. This table is the only place that knows them; the reference is made from it.

/// A variable by another name.
#[derive(Debug)]
pub(crate) struct Alias {
    pub(crate) name: &'static str,
    pub(crate) effect: Effect,
}

/// What becomes of a variable.
#[derive(Debug)]
pub(crate) enum Effect {
    /// It is the value of this key.
    Sets(&'static str),
    /// It becomes the value of this key by a conversion, which is told in words.
    Converts(&'static str, fn(&str) -> Result<String, String>, &'static str),
    /// It is the value of this key when it is one of these; any other is somebody else's variable of this name.
    SetsOneOf(&'static str, &'static [&'static str]),
    /// It is the host of `http.listen`.
    ListenHost,
    /// It is the port of `http.listen`.
    ListenPort,
    /// It is no setting; something else reads it, for this.
    Read(&'static str),
    /// It is accepted, so that an environment made for another server works, and does nothing: for this reason.
    Nothing(&'static str),
}

/// Variables of our own that are no settings, or settings under a shorter name. These are
/// stronger than [`ALIASES`] and weaker than the variable that spells out the key.
pub(crate) const OWN: &[Alias] = &[
    alias(
        "AGENTYARD_CONFIG",
        Effect::Read("the configuration file to read, in place of the usual ones"),
    ),
    alias(
        "AGENTYARD_URL",
        Effect::Read("the server that commands and `agentyard mcp --server` talk to"),
    ),
    alias("AGENTYARD_TOKEN", Effect::Read("the token for that server")),
    alias(
        "AGENTYARD_GIT_CREDENTIALS",
        Effect::Read("tokens for git hosts: `host=token` or `host=user:token`, separated by commas or lines"),
    ),
    alias("AGENTYARD_DATABASE_URL", Effect::Sets("store.url")),
    alias("AGENTYARD_DATA_DIR", Effect::Sets("store.data_dir")),
    alias("AGENTYARD_SECRET_KEY", Effect::Sets("store.secret_key")),
];

/// How the variables of our tests begin.
const TEST_PREFIX: &str = "AGENTYARD_TEST_";

/// Whether a variable with our prefix is one of [`OWN`], or of our tests.
pub(crate) fn is_own(name: &str) -> bool {
    name.starts_with(TEST_PREFIX) || OWN.iter().any(|alias| alias.name == name)
}

/// Variables of other servers and of OpenTelemetry. A later one is stronger.
pub(crate) const ALIASES: &[Alias] = &[
    // Transport.
    alias(
        "MCP_TRANSPORT_TYPE",
        Effect::Read("`http` or `stdio`: what `agentyard` does without a command, `serve` or `mcp`"),
    ),
    alias("MCP_HTTP_HOST", Effect::ListenHost),
    alias("MCP_HTTP_PORT", Effect::ListenPort),
    alias(
        "MCP_HTTP_PATH",
        Effect::Nothing("MCP is served at `/mcp`, and each toolset at `/mcp/<toolset>`"),
    ),
    alias(
        "MCP_HTTP_ENDPOINT_PATH",
        Effect::Nothing("MCP is served at `/mcp`, and each toolset at `/mcp/<toolset>`"),
    ),
    alias("MCP_ALLOWED_ORIGINS", Effect::Sets("http.allowed_origins")),
    alias("MCP_RESPONSE_VERBOSITY", Effect::Sets("output.level")),
    // Authorization.
    alias("MCP_AUTH_MODE", Effect::Sets("auth.mode")),
    alias("MCP_AUTH_SECRET_KEY", Effect::Sets("auth.jwt.secret")),
    alias("OAUTH_ISSUER_URL", Effect::Sets("auth.oauth.issuer")),
    alias("OAUTH_AUDIENCE", Effect::Sets("auth.oauth.audience")),
    alias("OAUTH_JWKS_URI", Effect::Sets("auth.oauth.jwks_uri")),
    // Storage.
    alias(
        "STORAGE_PROVIDER_TYPE",
        Effect::Nothing("state is kept in SQLite, or in PostgreSQL when `store.url` says so"),
    ),
    alias("STORAGE_FILESYSTEM_PATH", Effect::Sets("store.data_dir")),
    // Git.
    alias("GIT_BASE_DIR", Effect::Sets("git.roots")),
    alias("GIT_MAX_COMMAND_TIMEOUT_MS", Effect::Sets("git.timeout_ms")),
    alias(
        "GIT_MAX_BUFFER_SIZE_MB",
        Effect::Nothing("answers are bounded by `output.max_tokens`"),
    ),
    alias(
        "GIT_PROVIDER",
        Effect::Nothing(
            "there is one provider: repositories are read in process and changed by the git program",
        ),
    ),
    alias("GIT_SIGN_COMMITS", Effect::Sets("git.sign_commits")),
    alias("GIT_AUTHOR_NAME", Effect::Sets("git.author_name")),
    alias("GIT_AUTHOR_EMAIL", Effect::Sets("git.author_email")),
    alias("GIT_COMMITTER_NAME", Effect::Sets("git.committer_name")),
    alias("GIT_COMMITTER_EMAIL", Effect::Sets("git.committer_email")),
    alias(
        "GIT_WRAPUP_INSTRUCTIONS_PATH",
        Effect::Sets("git.wrapup_instructions_path"),
    ),
    alias("GIT_SANDBOX_TIMEOUT", Effect::Sets("git.sandbox_timeout_seconds")),
    alias("GIT_SANDBOX_MAX_RETRIES", Effect::Sets("git.sandbox_max_retries")),
    // E2B.
    alias("E2B_API_KEY", Effect::Sets("e2b.api_key")),
    alias("E2B_API_URL", Effect::Sets("e2b.api_url")),
    alias("E2B_SANDBOX_URL", Effect::Sets("e2b.sandbox_url")),
    alias("E2B_DOMAIN", Effect::Sets("e2b.domain")),
    // Code.
    alias("CODE_STORAGE_DIR", Effect::Sets("exec.code_storage_dir")),
    alias(
        "ENV_TYPE",
        Effect::SetsOneOf("exec.environment", &["venv", "venv-uv", "conda"]),
    ),
    alias("CONDA_ENV_NAME", Effect::Sets("exec.conda_env_name")),
    alias("VENV_PATH", Effect::Sets("exec.venv_path")),
    alias("UV_VENV_PATH", Effect::Sets("exec.uv_venv_path")),
    // Tokens of git hosts.
    alias(
        "GITHUB_TOKEN",
        Effect::Read("the token for github.com and `GH_HOST`"),
    ),
    alias("GH_TOKEN", Effect::Read("the same; stronger than `GITHUB_TOKEN`")),
    alias("GH_HOST", Effect::Read("a GitHub Enterprise host for that token")),
    alias(
        "GITLAB_TOKEN",
        Effect::Read("the token for gitlab.com and `GITLAB_HOST`"),
    ),
    alias("GITLAB_HOST", Effect::Read("a GitLab host for that token")),
    alias("BITBUCKET_TOKEN", Effect::Read("the token for bitbucket.org")),
    alias("GITEA_TOKEN", Effect::Read("the token for `GITEA_HOST`")),
    alias("GITEA_HOST", Effect::Read("a Gitea or Forgejo host")),
    // Python packages.
    alias("SSL_CERT_FILE", Effect::Sets("exec.certificates")),
    alias("PIP_CERT", Effect::Sets("exec.certificates")),
    alias("PIP_INDEX_URL", Effect::Sets("exec.index_url")),
    // Logs.
    alias(
        "MCP_LOG_LEVEL",
        Effect::Converts("log.filter", log_level, "from the level names of syslog and Node"),
    ),
    alias("NO_COLOR", Effect::Read("when set, no colours on a terminal")),
    // Telemetry.
    alias(
        "OTEL_ENABLED",
        Effect::Read("`false` switches the export of telemetry off, like `OTEL_SDK_DISABLED=true`"),
    ),
    alias(
        "OTEL_SDK_DISABLED",
        Effect::Read("`true` switches the export of telemetry off"),
    ),
    alias(
        "OTEL_SERVICE_NAME",
        Effect::Read("the name in exported telemetry, in place of `agentyard`"),
    ),
    alias(
        "OTEL_SERVICE_VERSION",
        Effect::Read("the version in exported telemetry, in place of our own"),
    ),
    alias(
        "OTEL_RESOURCE_ATTRIBUTES",
        Effect::Read("further attributes of exported telemetry"),
    ),
    alias(
        "OTEL_EXPORTER_OTLP_ENDPOINT",
        Effect::Read("where to send traces and metrics; nothing is sent when no endpoint is set"),
    ),
    alias(
        "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT",
        Effect::Read("where to send traces"),
    ),
    alias(
        "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT",
        Effect::Read("where to send metrics"),
    ),
    alias(
        "OTEL_EXPORTER_OTLP_HEADERS",
        Effect::Read("headers to send with them, such as a key"),
    ),
    alias(
        "OTEL_EXPORTER_OTLP_TIMEOUT",
        Effect::Read("how long one export may take, in milliseconds"),
    ),
    alias(
        "OTEL_EXPORTER_OTLP_PROTOCOL",
        Effect::Nothing("it is always `http/protobuf`"),
    ),
    alias("OTEL_TRACES_EXPORTER", Effect::Read("`none` sends no traces")),
    alias("OTEL_METRICS_EXPORTER", Effect::Read("`none` sends no metrics")),
    alias("OTEL_TRACES_SAMPLER", Effect::Read("which traces are sent")),
    alias(
        "OTEL_TRACES_SAMPLER_ARG",
        Effect::Read("the sampler's argument, such as a ratio"),
    ),
    alias(
        "OTEL_METRIC_EXPORT_INTERVAL",
        Effect::Read("how often metrics are sent, in milliseconds"),
    ),
];

const fn alias(name: &'static str, effect: Effect) -> Alias {
    Alias { name, effect }
}

fn log_level(text: &str) -> Result<String, String> {
    let level = match text.trim().to_ascii_lowercase().as_str() {
        "trace" | "verbose" => "trace",
        "debug" => "debug",
        "info" | "information" | "notice" => "info",
        "warn" | "warning" => "warn",
        "error" | "err" | "fatal" | "crit" | "alert" | "emerg" => "error",
        "silent" | "off" => "off",
        _ => return Err("expected `trace`, `debug`, `info`, `warn`, `error` or `silent`".to_owned()),
    };
    Ok(level.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::keys::VARIABLE_PREFIX;

    #[test]
    fn no_name_stands_twice() {
        let mut names: Vec<_> = OWN.iter().chain(ALIASES).map(|alias| alias.name).collect();
        let count = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), count);
    }

    #[test]
    fn only_our_own_names_have_our_prefix() {
        assert!(OWN.iter().all(|alias| alias.name.starts_with(VARIABLE_PREFIX)));
        assert!(
            !ALIASES
                .iter()
                .any(|alias| alias.name.starts_with(VARIABLE_PREFIX))
        );
    }

    #[test]
    fn conversions_refuse_what_they_do_not_know() {
        assert_eq!(log_level("WARNING").unwrap(), "warn");
        assert!(log_level("loud").is_err());
    }
}
