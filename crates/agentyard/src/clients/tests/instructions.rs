//! What people are told.

use expect_test::expect;

use super::*;

#[test]
fn instructions_show_the_entry_and_the_clients_own_command() {
    let person = Person::new();
    let shown = |client, scope, server| {
        let text = person.installation(client, scope, server).instructions();
        text.replace(person.directory.path().to_str().unwrap(), "")
    };
    expect![[r#"
        Claude Code reads /home/.claude.json. Add this to it, or run the same command with --write:

        {
          "mcpServers": {
            "agentyard": {
              "type": "http",
              "url": "https://yard.example/mcp",
              "headers": {
                "Authorization": "Bearer ${AGENTYARD_TOKEN}"
              }
            }
          }
        }

        Claude Code can do it itself:

        claude mcp add --scope user --transport http agentyard https://yard.example/mcp --header 'Authorization: Bearer ${AGENTYARD_TOKEN}'

        The token is read from the environment variable AGENTYARD_TOKEN when the client connects; it is in no file.
    "#]]
    .assert_eq(&shown(Client::ClaudeCode, None, SERVER));
    let commands = [
        (Client::ClaudeCode, None, None),
        (Client::Codex, None, None),
        (Client::Codex, None, SERVER),
        (Client::Codex, Some(Scope::Project), None),
        (Client::Gemini, None, None),
        (Client::Gemini, Some(Scope::Project), SERVER),
        (Client::Vscode, Some(Scope::User), SERVER),
        (Client::Cursor, None, None),
    ]
    .map(|(client, scope, server)| {
        let text = shown(client, scope, server);
        let command = text
            .split("itself:\n\n")
            .nth(1)
            .and_then(|rest| rest.lines().next());
        command.unwrap_or("(none)").to_owned()
    });
    expect![[r#"
        claude mcp add --scope user agentyard -- /opt/agentyard mcp
        codex mcp add agentyard -- /opt/agentyard mcp
        codex mcp add agentyard --url https://yard.example/mcp --bearer-token-env-var AGENTYARD_TOKEN
        (none)
        gemini mcp add --scope user agentyard /opt/agentyard mcp
        gemini mcp add --scope project --transport http agentyard https://yard.example/mcp --header 'Authorization: Bearer ${AGENTYARD_TOKEN}'
        code --add-mcp '{"name":"agentyard","command":"/opt/agentyard","args":["mcp","--server","https://yard.example"],"env":{"AGENTYARD_TOKEN":"${env:AGENTYARD_TOKEN}"}}'
        (none)
    "#]]
    .assert_eq(&(commands.join("\n") + "\n"));
}

#[test]
fn a_token_on_an_open_road_is_told() {
    let person = Person::new();
    let notes = |url| person.installation(Client::Codex, None, Some(url)).instructions();
    assert!(notes("http://yard.example").contains("is not https"));
    assert!(!notes("http://127.0.0.1:7420").contains("is not https"));
}
