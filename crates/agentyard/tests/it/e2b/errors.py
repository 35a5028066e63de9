"""What goes wrong, as the clients tell it."""

import os

import e2b
from checks import CodeSandbox, Sandbox, a_sandbox, all_of, holds, raises, run, same, settle, with_token

# Of somebody who may run code, but see nothing of others; and of one who may only read.
STRANGER = os.environ["STRANGER_API_KEY"]
READER = os.environ["READER_API_KEY"]


async def main():
    await wrong_keys()
    async with a_sandbox(metadata={"whose": "mine"}) as sandbox:
        await strangers(sandbox)
        await readers(sandbox)
        await wrong_tokens(sandbox)
    await bad_wishes()
    await killed_meanwhile()


async def wrong_keys():
    for key in ["e2b_" + "0" * 40, "ay_" + "0" * 40, "x"]:
        await raises("a wrong key", e2b.AuthenticationException, lambda: Sandbox.create(api_key=key))
    await raises("neither lists", e2b.AuthenticationException, lambda: Sandbox.list(api_key="x").next_items())


async def strangers(sandbox):
    id, key = sandbox.sandbox_id, {"api_key": STRANGER}
    for what, call in {
        "others do not see it": lambda: Sandbox.get_info(id, **key),
        "nor connect": lambda: Sandbox.connect(id, **key),
        "nor pause": lambda: Sandbox.pause(id, **key),
        "nor prolong": lambda: Sandbox.set_timeout(id, 9, **key),
        "nor copy": lambda: Sandbox.create_snapshot(id, **key),
        "nor fork": lambda: Sandbox.fork(id, **key),
        "nor let it out": lambda: Sandbox.update_network(id, {"allow_internet_access": True}, **key),
        "nor kill": lambda: Sandbox.kill(id, **key),
    }.items():
        error = await raises(what, e2b.SandboxException, call)
        same("which is forbidden", error.status_code, 403)
    listed = [info.sandbox_id for info in await all_of(Sandbox.list(**key))]
    holds("nor list it", id not in listed, listed)
    same("it still runs", await settle(sandbox.is_running()), True)


async def readers(sandbox):
    error = await raises("who may not run code makes none", e2b.SandboxException, lambda: Sandbox.create(api_key=READER))
    same("which is forbidden", error.status_code, 403)


async def wrong_tokens(sandbox):
    intruder = with_token(sandbox, "0" * 64)
    await raises("a wrong token runs nothing", e2b.AuthenticationException, lambda: intruder.commands.run("id"))
    await raises("and reads nothing", e2b.AuthenticationException, lambda: intruder.files.read("/etc/hostname"))


async def bad_wishes():
    error = await raises("no negative time", e2b.SandboxException, lambda: Sandbox.create(timeout=-5))
    same("is a bad request", error.status_code, 400)
    error = await raises("no endless time", e2b.SandboxException, lambda: Sandbox.create(timeout=10**9))
    same("is one, too", error.status_code, 400)
    await raises("an unknown id", e2b.SandboxNotFoundException, lambda: Sandbox.get_info("i" * 20))
    await raises("no id at all", e2b.SandboxNotFoundException, lambda: Sandbox.get_info("no-such-id"))


async def killed_meanwhile():
    sandbox = await settle(CodeSandbox.create())
    handle = await settle(sandbox.commands.run("sleep 1000", background=True, timeout=0))
    await settle(sandbox.kill())
    await raises("who waits is told that it was killed", e2b.SandboxNotRunningException, handle.wait)
    await raises("code does not run either", e2b.TimeoutException, lambda: sandbox.run_code("1"))


run(main)
