"""Terminals: made, resized, typed into, left and come back to, killed."""

import asyncio
import time

import e2b
from checks import IS_ASYNC, PATIENCE, a_sandbox, becomes_true, holds, raises, run, same, settle


class Terminal:
    """A terminal with what it has shown so far; one of the clients calls back, the other is iterated over."""

    def __init__(self, pty):
        self.pty, self.handle, self.shown = pty, None, b""

    async def create(self, **options):
        if IS_ASYNC:
            self.handle = await self.pty.create(on_data=self.show, **options)
        else:
            self.handle = self.pty.create(**options)
        return self

    async def connect(self, pid):
        if IS_ASYNC:
            self.handle = await self.pty.connect(pid, on_data=self.show)
        else:
            self.handle = self.pty.connect(pid)
        return self

    def show(self, data):
        self.shown += data

    async def type(self, text):
        await settle(self.pty.send_stdin(self.handle.pid, text.encode()))

    async def shows(self, what, text):
        deadline = time.monotonic() + PATIENCE
        events = None if IS_ASYNC else iter(self.handle)
        while text not in self.shown:
            if time.monotonic() > deadline:
                raise AssertionError(f"{what}: {self.shown!r}")
            if events is None:
                await asyncio.sleep(0.02)
            else:
                self.show(next(events)[2])
        print(f"ok {what}", flush=True)

    async def wait(self):
        return await self.handle.wait() if IS_ASYNC else self.handle.wait(on_pty=self.show)


async def main():
    async with a_sandbox() as sandbox:
        await sizes(sandbox.pty)
        await coming_back(sandbox.pty)
        await killing(sandbox.pty)


async def sizes(pty):
    terminal = await Terminal(pty).create(size=e2b.PtySize(rows=24, cols=80), cwd="/tmp", envs={"MARK": "me"})
    await terminal.type("stty size\n")
    await terminal.shows("it has the size that was asked for", b"24 80")
    await settle(pty.resize(terminal.handle.pid, e2b.PtySize(rows=40, cols=100)))
    await terminal.type("stty size\n")
    await terminal.shows("it is resized", b"40 100")
    await terminal.type("echo $TERM-$MARK-$(pwd); test -t 0 && echo is a term''inal\n")
    await terminal.shows("it has kind, variables and directory", b"xterm-256color-me-/tmp")
    await terminal.shows("it is one", b"is a terminal")
    await terminal.type("(trap \"echo inter''rupted; exit\" INT; echo sta''rted; sleep 1000)\n")
    await terminal.shows("a program runs in it", b"started")
    await terminal.type("\x03")
    await terminal.shows("Ctrl-C interrupts", b"interrupted")
    if IS_ASYNC:
        async with pty.stream_input(terminal.handle.pid) as stream:
            await stream.send("echo stre")
            await stream.send("''amed\n")
    else:
        pty.stream_input(terminal.handle.pid, ["echo stre", "''amed\n"])
    await terminal.shows("input streams", b"streamed")
    await terminal.type("exit 5\n")
    error = await raises("it ends with its shell", e2b.CommandExitException, terminal.wait)
    same("and its exit code", error.exit_code, 5)


async def coming_back(pty):
    terminal = await Terminal(pty).create(size=e2b.PtySize(rows=10, cols=20))
    await terminal.type("WORD=remembered\n")
    await settle(terminal.handle.disconnect())
    again = await Terminal(pty).connect(terminal.handle.pid)
    await again.type("echo $WORD\n")
    await again.shows("one can come back to a terminal", b"remembered")
    await again.type("exit\n")
    result = await again.wait()
    same("and end it", result.exit_code, 0)


async def killing(pty):
    terminal = await Terminal(pty).create(size=e2b.PtySize(rows=10, cols=20))
    same("kill", await settle(pty.kill(terminal.handle.pid)), True)
    error = await raises("who waits is told", e2b.CommandExitException, terminal.wait)
    holds("that it did not end well", error.exit_code != 0, error.exit_code)

    async def is_unknown():
        return await settle(pty.kill(terminal.handle.pid)) is False

    await becomes_true("kill of the dead is false", is_unknown)


run(main)
