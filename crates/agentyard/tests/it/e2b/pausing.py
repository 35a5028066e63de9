"""Pausing: processes stand still and go on, files stay, traffic wakes."""

import asyncio

import e2b
from checks import Sandbox, a_sandbox, becomes_true, holds, raises, run, same, settle

# Notes the time, in nanoseconds, again and again.
TICKING = "while true; do date +%s%N >> ticks; sleep 0.05; done"

# How long it stands still.
PAUSE = 1.0


async def main():
    await processes_stand_still()
    await only_files()
    await at_its_end()


async def ticks(sandbox):
    """The times that were noted, the last perhaps only in part."""
    return [int(line) for line in (await settle(sandbox.files.read("ticks"))).split("\n")[:-1]]


async def processes_stand_still():
    async with a_sandbox() as sandbox:
        await settle(sandbox.files.write("kept.txt", "kept"))
        ticking = await settle(sandbox.commands.run(TICKING, background=True, timeout=0))
        await becomes_true("a process works", lambda: sandbox.files.exists("ticks"))
        same("pause", await settle(sandbox.pause()), True)
        same("once", await settle(sandbox.pause()), False)
        info = await settle(sandbox.get_info())
        same("it is paused", info.state, e2b.SandboxState.PAUSED)
        same("it does not run", await settle(sandbox.is_running()), False)
        await raises("no command runs", e2b.SandboxNotRunningException, lambda: sandbox.commands.run("true"))
        await asyncio.sleep(PAUSE)
        again = await settle(Sandbox.connect(sandbox.sandbox_id, timeout=120))
        same("it goes on", await settle(again.is_running()), True)
        before = len(await ticks(again))

        async def has_gone_on():
            return len(await ticks(again)) > before + 2

        await becomes_true("the process goes on", has_gone_on)
        times = await ticks(again)
        gap = max(later - earlier for earlier, later in zip(times, times[1:]))
        holds("and had stood still meanwhile", gap >= PAUSE * 0.9 * 1e9, gap)
        running = [process.pid for process in await settle(again.commands.list())]
        holds("it is the same one", ticking.pid in running, running)
        same("files are kept", await settle(again.files.read("kept.txt")), "kept")
        same("it can be killed", await settle(again.commands.kill(ticking.pid)), True)
        same("pause again", await settle(again.pause()), True)
        same("a paused one can be killed", await settle(again.kill()), True)
        await raises("and is gone", e2b.SandboxNotFoundException, lambda: Sandbox.connect(sandbox.sandbox_id))


async def only_files():
    async with a_sandbox() as sandbox:
        await settle(sandbox.files.write("/workspace/kept.txt", "kept"))
        await settle(sandbox.commands.run("sleep 1000", background=True, timeout=0))
        same("pause without memory", await settle(sandbox.pause(mode="filesystem")), True)
        again = await settle(Sandbox.connect(sandbox.sandbox_id))
        same("files are there", await settle(again.files.read("/workspace/kept.txt")), "kept")
        same("processes are not", await settle(again.commands.list()), [])


async def at_its_end():
    async with a_sandbox(lifecycle={"on_timeout": "pause"}) as sandbox:
        await settle(sandbox.files.write("kept.txt", "kept"))
        await settle(sandbox.set_timeout(1))

        async def is_paused():
            return (await settle(sandbox.get_info())).state == e2b.SandboxState.PAUSED

        await becomes_true("its end may be a pause", is_paused)
        again = await settle(Sandbox.connect(sandbox.sandbox_id, timeout=60))
        same("from which it comes back", await settle(again.files.read("kept.txt")), "kept")
    async with a_sandbox(timeout=1, lifecycle={"on_timeout": "pause", "auto_resume": True}) as sandbox:

        async def is_paused():
            return (await settle(sandbox.get_info())).state == e2b.SandboxState.PAUSED

        await becomes_true("it pauses", is_paused)
        result = await settle(sandbox.commands.run("echo awake"))
        same("traffic wakes it", result.stdout, "awake\n")


run(main)
