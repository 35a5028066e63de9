"""A sandbox from its beginning to its end: made, found, prolonged, killed, expired."""

import datetime
import uuid

import e2b
from checks import CodeSandbox, IS_ASYNC, Sandbox, a_sandbox, all_of, becomes_true, holds, raises, run, same, settle


async def main():
    mark = f"{'async' if IS_ASYNC else 'sync'} é&= {uuid.uuid4()}"
    await one(mark)
    await several(mark)
    await templates()
    await expiry(mark)
    await asked_twice()


async def one(mark):
    sandbox = await settle(Sandbox.create(timeout=120, metadata={"mark": mark, "task": "42"}, envs={"GIVEN": "yes"}))
    same("it runs", await settle(sandbox.is_running()), True)
    info = await settle(sandbox.get_info())
    same("its id and state", (info.sandbox_id, info.state), (sandbox.sandbox_id, e2b.SandboxState.RUNNING))
    same("its metadata", info.metadata, {"mark": mark, "task": "42"})
    left = info.end_at - datetime.datetime.now(datetime.timezone.utc)
    holds("its end", datetime.timedelta(seconds=60) < left <= datetime.timedelta(seconds=121), left)
    holds("its size", info.cpu_count >= 1 and info.memory_mb >= 128, info)
    await settle(sandbox.set_timeout(600))
    left = (await settle(sandbox.get_info())).end_at - datetime.datetime.now(datetime.timezone.utc)
    holds("a later end", datetime.timedelta(seconds=540) < left <= datetime.timedelta(seconds=601), left)
    await settle(sandbox.commands.run("echo remembered > note"))
    again = await settle(Sandbox.connect(sandbox.sandbox_id))
    same("others connect to the same one", await settle(again.files.read("note")), "remembered\n")
    result = await settle(again.commands.run("echo $GIVEN"))
    same("with its variables", result.stdout, "yes\n")
    same("kill", await settle(sandbox.kill()), True)
    same("once", await settle(sandbox.kill()), False)
    same("by its id, too", await settle(Sandbox.kill(sandbox.sandbox_id)), False)
    same("then it does not run", await settle(sandbox.is_running()), False)
    await raises("nothing is known of it", e2b.SandboxNotFoundException, sandbox.get_info)
    await raises("nobody connects", e2b.SandboxNotFoundException, lambda: Sandbox.connect(sandbox.sandbox_id))
    await raises("nothing prolongs it", e2b.SandboxNotFoundException, lambda: sandbox.set_timeout(60))
    await raises("no command runs", e2b.SandboxNotRunningException, lambda: sandbox.commands.run("true"))
    await raises("no file is read", e2b.SandboxNotRunningException, lambda: sandbox.files.read("note"))


async def several(mark):
    made = []
    try:
        for number in range(3):
            made.append(await settle(Sandbox.create(metadata={"mark": mark, "number": str(number)})))
        ids = [sandbox.sandbox_id for sandbox in made]
        query = e2b.SandboxQuery(metadata={"mark": mark})
        listed = await all_of(Sandbox.list(query=query))
        same("they are listed", {info.sandbox_id for info in listed}, set(ids))
        pages = Sandbox.list(query=query, limit=2)
        first = await settle(pages.next_items())
        same("page by page", (len(first), pages.has_next), (2, True))
        rest = await settle(pages.next_items())
        same("to the last", ({info.sandbox_id for info in first + rest}, pages.has_next), (set(ids), False))
        same("oldest first", [info.sandbox_id for info in await all_of(Sandbox.list(query=query, order="asc"))], ids)
        same("newest first", [info.sandbox_id for info in await all_of(Sandbox.list(query=query, order="desc"))], ids[::-1])
        query = e2b.SandboxQuery(metadata={"mark": mark, "number": "1"})
        same("by metadata", [info.sandbox_id for info in await all_of(Sandbox.list(query=query))], [ids[1]])
        await settle(made[2].pause())
        for state, expected in [(e2b.SandboxState.PAUSED, [ids[2]]), (e2b.SandboxState.RUNNING, ids[:2])]:
            query = e2b.SandboxQuery(metadata={"mark": mark}, state=[state])
            listed = await all_of(Sandbox.list(query=query, order="asc"))
            same(f"by state: {state.value}", [info.sandbox_id for info in listed], expected)
    finally:
        for sandbox in made:
            await settle(sandbox.kill())
    same("and then no more", await all_of(Sandbox.list(query=e2b.SandboxQuery(metadata={"mark": mark}))), [])


async def templates():
    async with a_sandbox(Sandbox, "base") as sandbox:
        same("the template that all know", (await settle(sandbox.get_info())).template_id, "base")
    async with a_sandbox(CodeSandbox) as sandbox:
        same("and that of the code interpreter", await settle(sandbox.is_running()), True)
    error = await raises("no other", e2b.SandboxException, lambda: Sandbox.create("no-such-template"))
    holds("which is said", "no-such-template" in str(error), str(error))


async def expiry(mark):
    sandbox = await settle(Sandbox.create(timeout=2, metadata={"mark": mark}))
    same("it lives until its end", await settle(sandbox.is_running()), True)

    async def is_gone():
        return not await settle(sandbox.is_running())

    await becomes_true("and not longer", is_gone)
    same("it is not listed", await all_of(Sandbox.list(query=e2b.SandboxQuery(metadata={"mark": mark}))), [])
    sandbox = await settle(Sandbox.create(timeout=60))
    await settle(sandbox.set_timeout(0))
    await becomes_true("an end may be now", lambda: is_over(sandbox))


async def is_over(sandbox):
    return not await settle(sandbox.is_running())


async def asked_twice():
    key = str(uuid.uuid4())
    wish = {"idempotency_key": key, "timeout": 120, "metadata": {"task": "1"}, "envs": {"GIVEN": "yes"}}
    first = await settle(Sandbox.create(**wish))
    try:
        second = await settle(Sandbox.create(**wish))
        same("who asks twice with one key gets one", second.sandbox_id, first.sandbox_id)
        for other in ({"timeout": 121}, {"metadata": {}}, {"envs": {"GIVEN": "no"}}, {"template": "code-interpreter-v1"}):
            error = await raises("who asks for something else gets none", e2b.SandboxException, lambda: Sandbox.create(**(wish | other)))
            same("which is a conflict", error.status_code, 409)
    finally:
        await settle(first.kill())


run(main)
