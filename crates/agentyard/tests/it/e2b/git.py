"""The git calls of the clients, against a host that wants a password."""

import os
import warnings

import e2b
from checks import IS_ASYNC, a_sandbox, raises, run, same, settle

URL = os.environ["GIT_URL"]
LOGIN = {"username": "token", "password": os.environ["GIT_PASSWORD"]}
REPOSITORY = "/workspace/repository"

# Both clients push a branch of their own.
BRANCH = f"from-{'async' if IS_ASYNC else 'sync'}-python"


async def main():
    # The clients say at each call that these will go.
    warnings.simplefilter("ignore")
    async with a_sandbox() as sandbox:
        git = sandbox.git
        await cloning(git)
        await committing(sandbox, git)
        await pushing(git)
        await the_rest(sandbox, git)


async def cloning(git):
    await raises("without a password", e2b.GitAuthException, lambda: git.clone(URL, path=REPOSITORY))
    await settle(git.clone(URL, path=REPOSITORY, **LOGIN))
    status = await settle(git.status(REPOSITORY))
    same("it is cloned", (status.current_branch, status.upstream, status.is_clean), ("main", "origin/main", True))
    same("without keeping the password", await settle(git.remote_get(REPOSITORY, "origin")), URL)


async def committing(sandbox, git):
    await settle(git.configure_user("An Agent", "agent@example.com"))
    same("a setting", await settle(git.get_config("user.name")), "An Agent")
    await settle(git.create_branch(REPOSITORY, BRANCH))
    await settle(sandbox.files.write(f"{REPOSITORY}/new.txt", "new\n"))
    await settle(sandbox.files.write(f"{REPOSITORY}/README.md", "changed\n"))
    status = await settle(git.status(REPOSITORY))
    seen = {file.name: file.status for file in status.file_status}
    same("what is changed", seen, {"README.md": "modified", "new.txt": "untracked"})
    await settle(git.add(REPOSITORY))
    status = await settle(git.status(REPOSITORY))
    same("is staged", (status.staged_count, status.untracked_count), (2, 0))
    await settle(git.commit(REPOSITORY, "Change two files"))
    same("and committed", (await settle(git.status(REPOSITORY))).is_clean, True)
    result = await settle(sandbox.commands.run("git log -1 --format='%an <%ae> %s'", cwd=REPOSITORY))
    same("by whom it should", result.stdout, "An Agent <agent@example.com> Change two files\n")


async def pushing(git):
    await raises("without a password", e2b.GitAuthException, lambda: git.push(REPOSITORY, remote="origin", branch=BRANCH))
    await settle(git.push(REPOSITORY, remote="origin", branch=BRANCH, **LOGIN))
    status = await settle(git.status(REPOSITORY))
    same("it is pushed", (status.upstream, status.ahead, status.behind), (f"origin/{BRANCH}", 0, 0))
    await settle(git.pull(REPOSITORY, remote="origin", branch=BRANCH, **LOGIN))
    same("and pulled", (await settle(git.status(REPOSITORY))).is_clean, True)


async def the_rest(sandbox, git):
    branches = await settle(git.branches(REPOSITORY))
    same("branches", (branches.current_branch, sorted(branches.branches)), (BRANCH, sorted([BRANCH, "main"])))
    await settle(git.checkout_branch(REPOSITORY, "main"))
    await settle(git.delete_branch(REPOSITORY, BRANCH, force=True))
    same("one is deleted", (await settle(git.branches(REPOSITORY))).branches, ["main"])
    await settle(sandbox.files.write(f"{REPOSITORY}/README.md", "spoilt\n"))
    await settle(git.restore(REPOSITORY, ["README.md"]))
    same("a file is restored", (await settle(git.status(REPOSITORY))).is_clean, True)
    await settle(sandbox.files.write(f"{REPOSITORY}/README.md", "spoilt\n"))
    await settle(git.reset(REPOSITORY, mode="hard", target="HEAD"))
    same("all is reset", (await settle(git.status(REPOSITORY))).is_clean, True)
    await settle(git.init("/workspace/fresh", initial_branch="trunk"))
    await settle(git.remote_add("/workspace/fresh", "origin", URL))
    same("a new one", (await settle(git.status("/workspace/fresh"))).current_branch, "trunk")


run(main)
