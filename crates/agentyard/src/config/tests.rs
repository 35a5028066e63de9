use std::path::PathBuf;

use super::aliases::{ALIASES, Effect, OWN};
use super::*;

#[test]
fn every_alias_sets_a_key_that_exists() {
    let keys = schema::keys::<Config>();
    let known = |key: &str| keys.iter().any(|known| known == key);
    for alias in OWN.iter().chain(ALIASES) {
        match alias.effect {
            Effect::Sets(key) | Effect::Converts(key, _, _) | Effect::SetsOneOf(key, _) => {
                assert!(known(key), "{} sets {key}", alias.name);
            }
            Effect::ListenHost | Effect::ListenPort => assert!(known("http.listen")),
            Effect::Read(_) | Effect::Nothing(_) => {}
        }
    }
}

#[test]
fn no_two_keys_share_a_variable() {
    let mut variables: Vec<_> = schema::keys::<Config>()
        .iter()
        .map(|key| keys::variable_of(key))
        .collect();
    variables.extend(OWN.iter().map(|alias| alias.name.to_owned()));
    let count = variables.len();
    variables.sort_unstable();
    variables.dedup();
    assert_eq!(variables.len(), count);
}

#[test]
fn the_schema_knows_every_key_that_is_written_out() {
    let keys = schema::keys::<Config>();
    for (key, _) in keys::values(&Config::default()).unwrap() {
        assert!(keys.contains(&key), "{key}");
    }
}

#[test]
fn every_key_can_be_set_by_its_variable() {
    for key in schema::keys::<Config>() {
        let environment = Environment::of(&[(&keys::variable_of(&key), "x")]);
        // Whether the value is any good is another matter, as long as it arrives.
        let arrived = match load(&environment, None, &[]) {
            Ok(loaded) => loaded.sources.contains_key(&key),
            Err(error) => error.to_string().contains(&format!("`{key}`")),
        };
        assert!(arrived, "{key}");
    }
}

#[test]
fn nothing_given_is_all_defaults() {
    let loaded = load(&Environment::default(), None, &[]).unwrap();
    assert_eq!(loaded.settings.output, OutputSettings::default());
    assert_eq!(loaded.sources.len(), 0);
    assert_eq!(loaded.warnings, [""; 0]);
}

#[test]
fn the_data_directory_is_asked_for_only_when_it_is_needed() {
    let data_dir = |variables: &[(&str, &str)], overrides: &[Override]| {
        load(&Environment::of(variables), None, overrides)
            .unwrap()
            .data_dir()
            .map(PathBuf::from)
    };
    assert_eq!(
        data_dir(&[("HOME", "/home/ada")], &[]).unwrap(),
        PathBuf::from("/home/ada/.local/share/agentyard")
    );
    assert_eq!(
        data_dir(&[("XDG_DATA_HOME", "/data")], &[]).unwrap(),
        PathBuf::from("/data/agentyard")
    );
    assert_eq!(
        data_dir(&[("AGENTYARD_DATA_DIR", "/srv/yard"), ("HOME", "/home/ada")], &[]).unwrap(),
        PathBuf::from("/srv/yard")
    );
    let flag = Override::new("store.data_dir", "~/yard", "--data-dir");
    assert_eq!(
        data_dir(&[("HOME", "/home/ada")], &[flag]).unwrap(),
        PathBuf::from("/home/ada/yard")
    );
    let error = data_dir(&[], &[]).unwrap_err().to_string();
    assert!(error.contains("--data-dir"), "{error}");
}

#[test]
fn the_aliases_of_other_servers_are_understood() {
    let environment = Environment::of(&[
        ("MCP_HTTP_PORT", "3015"),
        ("MCP_HTTP_HOST", "::1"),
        ("MCP_AUTH_MODE", "jwt"),
        ("MCP_AUTH_SECRET_KEY", " with, commas "),
        ("GIT_BASE_DIR", "~/work"),
        ("GIT_MAX_COMMAND_TIMEOUT_MS", "1000"),
        ("GIT_MAX_BUFFER_SIZE_MB", "2"),
        ("GIT_AUTHOR_NAME", "Ada"),
        ("MCP_LOG_LEVEL", "warning"),
        ("MCP_RESPONSE_VERBOSITY", "full"),
        ("HOME", "/home/ada"),
    ]);
    let loaded = load(&environment, None, &[]).unwrap();
    let text = to_text(&loaded.shown().unwrap());
    for line in [
        "http.listen = \"[::1]:3015\"  # $MCP_HTTP_HOST and $MCP_HTTP_PORT\n",
        "auth.mode = \"jwt\"  # $MCP_AUTH_MODE\n",
        "auth.jwt.secret = \"********\"  # $MCP_AUTH_SECRET_KEY\n",
        "git.roots = [\"/home/ada/work\"]  # $GIT_BASE_DIR\n",
        "git.timeout_ms = 1000  # $GIT_MAX_COMMAND_TIMEOUT_MS\n",
        "log.filter = \"warn\"  # $MCP_LOG_LEVEL\n",
        "output.level = \"full\"  # $MCP_RESPONSE_VERBOSITY\n",
        "# store.url is not set\n",
    ] {
        assert!(text.contains(line), "{line}\n{text}");
    }
    assert_eq!(
        loaded.settings.auth.jwt.secret.unwrap().expose(),
        " with, commas "
    );
    assert_eq!(loaded.warnings, [""; 0]);
}

#[test]
fn half_an_address_takes_the_other_half_from_the_default() {
    let listen = |name, value| {
        let loaded = load(&Environment::of(&[(name, value)]), None, &[]).unwrap();
        loaded.settings.http.listen.to_string()
    };
    assert_eq!(listen("MCP_HTTP_PORT", "9000"), "127.0.0.1:9000");
    assert_eq!(listen("MCP_HTTP_HOST", "localhost"), "127.0.0.1:7420");
}

#[test]
fn a_variable_that_spells_out_its_key_is_strongest() {
    let environment = Environment::of(&[
        ("STORAGE_FILESYSTEM_PATH", "/a"),
        ("AGENTYARD_DATA_DIR", "/b"),
        ("AGENTYARD_STORE_DATA_DIR", "/c"),
    ]);
    let loaded = load(&environment, None, &[]).unwrap();
    assert_eq!(loaded.data_dir().unwrap(), Path::new("/c"));
    let environment = Environment::of(&[("STORAGE_FILESYSTEM_PATH", "/a"), ("AGENTYARD_DATA_DIR", "/b")]);
    let loaded = load(&environment, None, &[]).unwrap();
    assert_eq!(loaded.data_dir().unwrap(), Path::new("/b"));
}

#[test]
fn the_reference_names_every_key_and_variable() {
    let reference = reference_markdown().unwrap();
    for key in schema::keys::<Config>() {
        assert!(reference.contains(&format!("| `{key}` |")), "{key}");
        assert!(
            reference.contains(&format!("`{}`", keys::variable_of(&key))),
            "{key}"
        );
    }
    for alias in OWN.iter().chain(ALIASES) {
        assert!(
            reference.contains(&format!("| `{}` |", alias.name)),
            "{}",
            alias.name
        );
    }
    for row in [
        "| `store.url` | secret | not set | `AGENTYARD_STORE_URL` |",
        "| `store.data_dir` | text | `$XDG_DATA_HOME/agentyard`, else `~/.local/share/agentyard` |",
        "| `git.roots` | list of text | none | `AGENTYARD_GIT_ROOTS` |",
        "| `output.level` | `minimal`, `standard`, `full` | `standard` | `AGENTYARD_OUTPUT_LEVEL` |",
        "| `output.max_tokens` | whole number | `20000` | `AGENTYARD_OUTPUT_MAX_TOKENS` |",
        "| `GIT_SIGN_COMMITS` | sets `git.sign_commits`",
    ] {
        assert!(reference.contains(row), "{row}\n{reference}");
    }
}

#[test]
fn the_variables_of_the_code_executor_set_where_code_runs() {
    let exec = |variables: &[(&str, &str)]| {
        load(&Environment::of(variables), None, &[])
            .unwrap()
            .settings
            .exec
    };
    let set = exec(&[
        ("CODE_STORAGE_DIR", "/srv/code"),
        ("ENV_TYPE", "venv-uv"),
        ("CONDA_ENV_NAME", "science"),
        ("VENV_PATH", "/srv/venv"),
        ("UV_VENV_PATH", "/srv/uv"),
    ]);
    assert_eq!(set.code_storage_dir, Some(PathBuf::from("/srv/code")));
    assert_eq!(set.environment, EnvironmentType::VenvUv);
    assert_eq!(set.conda_env_name.as_deref(), Some("science"));
    assert_eq!(set.venv_path, Some(PathBuf::from("/srv/venv")));
    assert_eq!(set.uv_venv_path, Some(PathBuf::from("/srv/uv")));
    // Somebody else's variable of that name is no reason not to start.
    assert_eq!(exec(&[("ENV_TYPE", "production")]), ExecSettings::default());
}

#[test]
fn the_sandbox_is_on_and_narrow_unless_somebody_says_otherwise() {
    let settings = SandboxSettings::default();
    assert_eq!(settings.backend, SandboxBackend::Auto);
    assert!(!settings.allow_host && !settings.allow_weaker);
    assert_eq!(settings.limits(), agentyard_sandbox::Limits::default());
}
