"""Other MCP servers for git, and how each is asked for a status."""

import json
import shlex
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Peer:
    name: str
    command: list
    tool: str = "git_status"
    # `${REPO}` stands for the repository.
    arguments: dict = field(default_factory=lambda: {"path": "${REPO}"})
    environment: dict = field(default_factory=dict)
    # How its tools are called; see questions.py.
    family: str = "unknown"

    def question(self, repository):
        filled = json.dumps(self.arguments).replace("${REPO}", repository)
        return self.tool, json.loads(filled)


# Recognised by a part of their command.
KNOWN = {
    "git-mcp-server": {
        "name": "cyanheads/git-mcp-server",
        "family": "cyanheads",
        "environment": {"MCP_TRANSPORT_TYPE": "stdio", "MCP_LOG_LEVEL": "info", "GIT_SIGN_COMMITS": "false"},
    },
    "mcp-server-git": {
        "name": "mcp-server-git",
        "family": "reference",
        "arguments": {"repo_path": "${REPO}"},
    },
}


def parse(text):
    """`COMMAND`, or `COMMAND :: TOOL {"argument": "${REPO}"}` for a server that is not known."""
    command, _, question = text.partition(" :: ")
    words = shlex.split(command)
    details = next((known for part, known in KNOWN.items() if part in command), {"name": words[-1].rpartition("/")[2]})
    if question:
        tool, _, arguments = question.partition(" ")
        details = {**details, "tool": tool, "arguments": json.loads(arguments or "{}")}
    return Peer(command=words, **details)
