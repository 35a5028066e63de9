"""Five git tools for agents, on sandboxes of E2B: clone, pull, push, status, diff.

This is a program as people write it against the hosted service; nothing in it knows of Agentyard. A sandbox holds one
clone, on a branch of its agent's own, and is found again by its id. The token for the git host is in the environment of
the sandbox, where git's credential helper reads it, and nowhere else.

    git_tools.py < requests > answers

Requests and answers are lines of JSON: `{"tool": "git_status", "arguments": {"sandbox_id": "…"}}`.
"""

import asyncio
import json
import os
import shlex
import sys

from e2b import AsyncSandbox, CommandExitException, SandboxException

GITHUB_TOKEN = os.environ["GITHUB_TOKEN"]
SANDBOX_TIMEOUT = int(os.environ.get("GIT_SANDBOX_TIMEOUT", "300"))
MAX_RETRIES = int(os.environ.get("GIT_SANDBOX_MAX_RETRIES", "3"))

REPOSITORY = "/workspace/repo"
CREDENTIAL_HELPER = '!f() { echo "username=token"; echo "password=$GITHUB_TOKEN"; }; f'


class GitFailed(Exception):
    """What git said."""


class GitTools:
    def __init__(self):
        self.sandboxes = {}

    async def git_clone(self, repo_url, agent_id, task_id, base="main"):
        """Clones a repository into a sandbox of its own, on a branch for the agent's task."""
        sandbox = await AsyncSandbox.create(
            timeout=SANDBOX_TIMEOUT,
            envs={"GITHUB_TOKEN": GITHUB_TOKEN},
            metadata={"agent": agent_id, "task": task_id},
        )
        branch = f"agent-{agent_id}-{task_id}"
        try:
            await sandbox.commands.run(f"git config --global credential.helper {shlex.quote(CREDENTIAL_HELPER)}")
            await sandbox.commands.run(f"git config --global user.name {shlex.quote(f'Agent {agent_id}')}")
            await sandbox.commands.run(f"git config --global user.email {shlex.quote(f'{agent_id}@agents.example')}")
            await self.git(sandbox, "clone", "--branch", base, repo_url, REPOSITORY, directory="/")
            await self.git(sandbox, "checkout", "-b", branch)
        except BaseException:
            await sandbox.kill()
            raise
        self.sandboxes[sandbox.sandbox_id] = sandbox
        return {"sandbox_id": sandbox.sandbox_id, "agent_branch": branch}

    async def git_status(self, sandbox_id):
        sandbox = await self.sandbox(sandbox_id)
        lines = (await self.git(sandbox, "status", "--porcelain", "--branch")).splitlines()
        files = [{"status": line[:2].strip(), "path": line[3:]} for line in lines[1:]]
        branch = lines[0].removeprefix("## ").split("...")[0]
        return {"branch": branch, "files": files, "is_clean": not files}

    async def git_diff(self, sandbox_id, staged=False):
        sandbox = await self.sandbox(sandbox_id)
        return {"diff": await self.git(sandbox, "diff", *(["--staged"] if staged else []))}

    async def git_pull(self, sandbox_id, base="main"):
        sandbox = await self.sandbox(sandbox_id)
        try:
            await self.git(sandbox, "pull", "--rebase", "origin", base)
        except GitFailed:
            conflicts = (await self.git(sandbox, "diff", "--name-only", "--diff-filter=U")).split()
            await self.git(sandbox, "rebase", "--abort", may_fail=True)
            if not conflicts:
                raise
            return {"conflicts": conflicts}
        return {"conflicts": []}

    async def git_push(self, sandbox_id, message, files=None, base="main"):
        """Commits, brings the branch up to date and pushes it; another attempt each time somebody was faster."""
        sandbox = await self.sandbox(sandbox_id)
        await self.git(sandbox, "add", *(files or ["--all"]))
        await self.git(sandbox, "commit", "--message", message)
        for attempt in range(MAX_RETRIES):
            pulled = await self.git_pull(sandbox_id, base)
            if pulled["conflicts"]:
                return pulled
            try:
                await self.git(sandbox, "push", "--set-upstream", "origin", "HEAD")
                break
            except GitFailed:
                if attempt + 1 == MAX_RETRIES:
                    raise
                await asyncio.sleep(2**attempt)
        commit = (await self.git(sandbox, "rev-parse", "HEAD")).strip()
        return {"commit": commit, "branch": (await self.git_status(sandbox_id))["branch"]}

    async def run(self, sandbox_id, command):
        """What an agent does between two calls of the tools."""
        result = await (await self.sandbox(sandbox_id)).commands.run(command, cwd=REPOSITORY)
        return {"stdout": result.stdout}

    async def cleanup(self, sandbox_id):
        sandbox = await self.sandbox(sandbox_id)
        del self.sandboxes[sandbox_id]
        return {"killed": await sandbox.kill()}

    async def sandbox(self, sandbox_id):
        """The sandbox of an earlier call; one of another run of this program is connected to."""
        if sandbox_id not in self.sandboxes:
            self.sandboxes[sandbox_id] = await AsyncSandbox.connect(sandbox_id)
        sandbox = self.sandboxes[sandbox_id]
        await sandbox.set_timeout(SANDBOX_TIMEOUT)
        return sandbox

    async def git(self, sandbox, *arguments, directory=REPOSITORY, may_fail=False):
        try:
            result = await sandbox.commands.run(shlex.join(["git", *arguments]), cwd=directory, timeout=30)
            return result.stdout
        except CommandExitException as error:
            if may_fail:
                return error.stdout
            raise GitFailed(error.stderr or error.stdout) from error


async def main():
    tools = GitTools()
    for line in sys.stdin:
        request = json.loads(line)
        try:
            answer = await getattr(tools, request["tool"])(**request["arguments"])
        except (GitFailed, SandboxException) as error:
            answer = {"error": str(error).replace(GITHUB_TOKEN, "***")}
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    asyncio.run(main())
