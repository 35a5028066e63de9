//! What is particular to one client or another.

use std::fs;

use expect_test::expect;

use super::*;

#[test]
fn codex_is_given_no_key_that_it_refuses_beside_an_address() {
    let person = Person::new();
    let path = person.directory.path().join("home/.codex");
    fs::create_dir_all(&path).unwrap();
    let local = "[mcp_servers.agentyard]\ncommand = \"agentyard\"\nargs = [\"mcp\"]\nenv = { A = \"1\" }\ncwd = \"/\"\ntool_timeout_sec = 9\n";
    fs::write(path.join("config.toml"), local).unwrap();
    person.check(
        Client::Codex,
        None,
        SERVER,
        &expect![[r#"
            home/.codex/config.toml:
            [mcp_servers.agentyard]
            tool_timeout_sec = 9
            url = "https://yard.example/mcp"
            bearer_token_env_var = "AGENTYARD_TOKEN"
        "#]],
    );
}

#[test]
fn clients_that_keep_their_files_elsewhere_are_followed() {
    let environment = Environment::of(&[
        ("HOME", "/home/ada"),
        ("CLAUDE_CONFIG_DIR", "/claude"),
        ("CODEX_HOME", "/codex"),
        ("XDG_CONFIG_HOME", "/config"),
    ]);
    let places = Places::new(&environment, Path::new("/project"));
    let file = |client| places.file(client, Scope::User).unwrap().display().to_string();
    assert_eq!(file(Client::ClaudeCode), "/claude/.claude.json");
    assert_eq!(file(Client::Codex), "/codex/config.toml");
    #[cfg(target_os = "linux")]
    assert_eq!(file(Client::Vscode), "/config/Code/User/mcp.json");
    let nowhere = Places::new(&Environment::default(), Path::new("/project"));
    assert!(matches!(
        nowhere.file(Client::Gemini, Scope::User),
        Err(ClientError::NoHome)
    ));
    assert!(nowhere.file(Client::Gemini, Scope::Project).is_ok());
}
