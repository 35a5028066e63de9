"""Snapshots and forks: copies that share what neither has changed."""

import uuid

import e2b
from checks import Sandbox, a_sandbox, all_of, holds, raises, run, same, settle


async def main():
    async with a_sandbox(envs={"GIVEN": "yes"}) as sandbox:
        await settle(sandbox.commands.run("mkdir -p /workspace/deep && echo one > note && echo two > /workspace/deep/file && head -c 3000000 /dev/zero > large"))
        await snapshots(sandbox)
        await forks(sandbox)


async def snapshots(sandbox):
    name = f"kept-{uuid.uuid4().hex[:8]}"
    snapshot = await settle(sandbox.create_snapshot(name))
    holds("a snapshot has its name", any(name in known for known in snapshot.names), snapshot)
    result = await settle(sandbox.commands.run("cat note; echo changed > note; rm -r /workspace/deep; echo new > added"))
    same("the sandbox goes on", result.stdout, "one\n")
    listed = await all_of(sandbox.list_snapshots())
    same("it is listed", [known.snapshot_id for known in listed], [snapshot.snapshot_id])
    listed = await all_of(Sandbox.list_snapshots())
    holds("among all", snapshot.snapshot_id in [known.snapshot_id for known in listed], listed)
    async with a_sandbox(Sandbox, snapshot.snapshot_id) as copy:
        result = await settle(copy.commands.run("cat note /workspace/deep/file; wc -c < large; ls added 2>&1 | wc -l"))
        same("a sandbox starts from it", result.stdout.split("\n")[:3], ["one", "two", "3000000"])
        same("without what came later", await settle(copy.files.exists("added")), False)
        await settle(copy.files.write("note", "of the copy"))
        same("what a copy changes is its own", await settle(sandbox.files.read("note")), "changed\n")
    async with a_sandbox(Sandbox, snapshot.snapshot_id) as copy:
        same("and not the snapshot's", await settle(copy.files.read("note")), "one\n")
        same("a snapshot is removed", await settle(Sandbox.delete_snapshot(snapshot.snapshot_id)), True)
        same("once", await settle(Sandbox.delete_snapshot(snapshot.snapshot_id)), False)
        same("a sandbox of it lives on", await settle(copy.files.read("/workspace/deep/file")), "two\n")
    await raises("but no other comes", e2b.SandboxException, lambda: Sandbox.create(snapshot.snapshot_id))
    same("none is listed", await all_of(sandbox.list_snapshots()), [])


async def forks(sandbox):
    await settle(sandbox.files.write("fork.txt", "before"))
    forked = await settle(sandbox.fork(count=2, timeout=120))
    try:
        holds("two forks", len(forked) == 2 and not any(isinstance(fork, Exception) for fork in forked), forked)
        ids = {fork.sandbox_id for fork in forked} | {sandbox.sandbox_id}
        same("each is another one", len(ids), 3)
        for fork in forked:
            same("with its files", await settle(fork.files.read("fork.txt")), "before")
            result = await settle(fork.commands.run("echo $GIVEN"))
            same("and variables", result.stdout, "yes\n")
        await settle(forked[0].files.write("fork.txt", "after"))
        seen = [await settle(one.files.read("fork.txt")) for one in (forked[0], forked[1], sandbox)]
        same("no fork sees another's changes", seen, ["after", "before", "before"])
    finally:
        for fork in forked:
            if not isinstance(fork, Exception):
                await settle(fork.kill())


run(main)
