"""Two tenants of one server: of what one has, the other is told what it is told of what does not exist."""

import os
import urllib.request
import uuid

import e2b
from checks import Sandbox, a_sandbox, all_of, ask, holds, raises, run, same, settle, with_token

# Each may do whatever can be done in its own tenant.
ONE = {"api_key": os.environ["ADMINISTRATOR_API_KEY"]}
OTHER = {"api_key": os.environ["OTHER_TENANT_API_KEY"]}

# Ids that nobody has.
NO_SANDBOX = "a0b1c2d3e4f5g6h7i8j9"
NO_SNAPSHOT = "no-such-snapshot"


async def main():
    async with a_sandbox(**ONE) as one, a_sandbox(**OTHER) as other:
        for sandbox, owner, stranger, own in [(one, ONE, OTHER, other), (other, OTHER, ONE, one)]:
            await settle(sandbox.files.write("note", sandbox.sandbox_id))
            await settle(sandbox.commands.run("python3 -m http.server 8000 --bind 127.0.0.1", background=True, timeout=0))
            await sandboxes(sandbox, stranger)
            await snapshots(sandbox, owner, stranger)
            await inside(sandbox, own)
            same("it goes on unchanged", await settle(sandbox.files.read("note")), sandbox.sandbox_id)
        await addresses(one, other)
    await keys()


async def same_as(what, call, theirs, nobodys):
    """A call tells of something of another tenant's exactly what it tells of what does not exist."""
    seen, expected = [await told(call, id) for id in (theirs, nobodys)]
    same(what, seen, expected)


async def told(call, id):
    """What a call ends with, without the id that it names."""
    try:
        return repr(await settle(call(id)))
    except e2b.SandboxException as error:
        return type(error).__name__, error.status_code, str(error).replace(id, "ID")


async def sandboxes(sandbox, stranger):
    for what, call in {
        "another tenant does not see it": lambda id: Sandbox.get_info(id, **stranger),
        "nor connect": lambda id: Sandbox.connect(id, **stranger),
        "nor pause": lambda id: Sandbox.pause(id, **stranger),
        "nor prolong": lambda id: Sandbox.set_timeout(id, 9, **stranger),
        "nor measure": lambda id: Sandbox.get_metrics(id, **stranger),
        "nor copy": lambda id: Sandbox.create_snapshot(id, **stranger),
        "nor fork": lambda id: Sandbox.fork(id, **stranger),
        "nor let it out": lambda id: Sandbox.update_network(id, {"allow_internet_access": True}, **stranger),
        "nor kill": lambda id: Sandbox.kill(id, **stranger),
    }.items():
        await same_as(what, call, sandbox.sandbox_id, NO_SANDBOX)
    await raises("which is not found", e2b.SandboxNotFoundException, lambda: Sandbox.get_info(sandbox.sandbox_id, **stranger))
    listed = [info.sandbox_id for info in await all_of(Sandbox.list(**stranger))]
    holds("nor list it", sandbox.sandbox_id not in listed, listed)
    same("it still runs", await settle(sandbox.is_running()), True)


async def snapshots(sandbox, owner, stranger):
    name = f"kept-{uuid.uuid4().hex[:8]}"
    snapshot = await settle(sandbox.create_snapshot(name))
    try:
        for known in (snapshot.snapshot_id, name):
            await same_as("no sandbox begins with its files", lambda id: Sandbox.create(id, **stranger), known, NO_SNAPSHOT)
            await same_as("nor are they removed", lambda id: Sandbox.delete_snapshot(id, **stranger), known, NO_SNAPSHOT)
        listed = [known.snapshot_id for known in await all_of(Sandbox.list_snapshots(**stranger))]
        holds("nor listed", snapshot.snapshot_id not in listed, listed)
    finally:
        same("which its owner may", await settle(Sandbox.delete_snapshot(snapshot.snapshot_id, **owner)), True)


async def inside(sandbox, own):
    """Who has another sandbox's tokens is told what everybody is told who has none."""
    intruder = with_token(sandbox, own._envd_access_token)
    await raises("its tokens run nothing", e2b.AuthenticationException, lambda: intruder.commands.run("id"))
    await raises("read nothing", e2b.AuthenticationException, lambda: intruder.files.read("note"))
    await raises("and write nothing", e2b.AuthenticationException, lambda: intruder.files.write("note", "mine"))
    seen = ask(sandbox, 8000, own.traffic_access_token)
    same("nor do they reach what listens there", seen[0], 403)
    same("which is what nobody in particular is told", ask(sandbox, 8000, None), seen)


async def addresses(one, other):
    """A signed address names no sandbox: whose file it is follows from who signed it."""
    for sandbox in (one, other):
        with urllib.request.urlopen(sandbox.download_url("note"), timeout=30) as answer:
            same("each signs for its own files", answer.read().decode(), sandbox.sandbox_id)


async def keys():
    key = str(uuid.uuid4())
    async with a_sandbox(idempotency_key=key, **ONE) as one, a_sandbox(idempotency_key=key, **OTHER) as other:
        holds("the same key makes one for each", one.sandbox_id != other.sandbox_id, one.sandbox_id)


run(main)
