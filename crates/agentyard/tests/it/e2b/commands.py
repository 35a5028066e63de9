"""Commands: streams, exit codes, input, signals, time limits, coming back to one that runs."""

import e2b
from checks import IS_ASYNC, a_sandbox, becomes_true, holds, raises, run, same, settle


async def main():
    async with a_sandbox(envs={"GIVEN": "at the start", "BOTH": "sandbox"}) as sandbox:
        await foreground(sandbox.commands)
        await environment(sandbox.commands)
        await callbacks(sandbox.commands)
        await much_output(sandbox.commands)
        await background(sandbox.commands)
        await standard_input(sandbox.commands)
        await coming_back(sandbox.commands)
        await killing(sandbox.commands)
        await time_limit(sandbox.commands)
        await refusals(sandbox.commands)


async def foreground(commands):
    result = await settle(commands.run("echo out; echo err >&2"))
    same("both streams and the exit code", (result.stdout, result.stderr, result.exit_code), ("out\n", "err\n", 0))
    error = await raises(
        "a failure is an exception", e2b.CommandExitException, lambda: commands.run("echo before; echo why >&2; exit 42")
    )
    same("with all that it said", (error.exit_code, error.stdout, error.stderr), (42, "before\n", "why\n"))
    error = await raises("an unknown program", e2b.CommandExitException, lambda: commands.run("no-such-program"))
    same("is the shell's 127", error.exit_code, 127)
    result = await settle(commands.run("echo a | tr a b && true || false; for i in 1 2; do printf $i; done"))
    same("it is a shell", result.stdout, "b\n12")
    result = await settle(commands.run("echo unkept", retain_output=False))
    same("output need not be kept", (result.stdout, result.exit_code), (None, 0))


async def environment(commands):
    result = await settle(commands.run("id -un; pwd; echo $HOME; echo $GIVEN"))
    same("user, directory, home, variables", result.stdout.split("\n"), ["user", "/home/user", "/home/user", "at the start", ""])
    result = await settle(commands.run("echo $BOTH $OWN; pwd", envs={"BOTH": "command", "OWN": "é ' \" $x"}, cwd="/tmp"))
    same("those of the command win", result.stdout, "command é ' \" $x\n/tmp\n")
    result = await settle(commands.run("echo ${OWN:-nothing}"))
    same("and are gone after it", result.stdout, "nothing\n")
    result = await settle(commands.run("id -u"))
    holds("nobody is root", result.stdout != "0\n", result.stdout)
    await settle(commands.run("echo kept > kept.txt"))
    result = await settle(commands.run("cat /home/user/kept.txt"))
    same("files stay between commands", result.stdout, "kept\n")


async def callbacks(commands):
    told = []
    told_of_errors = []
    result = await settle(
        commands.run(
            "echo one; echo wrong >&2; echo two",
            on_stdout=told.append,
            on_stderr=told_of_errors.append,
        )
    )
    same("callbacks are told everything", ("".join(told), "".join(told_of_errors)), (result.stdout, "wrong\n"))


async def much_output(commands):
    result = await settle(commands.run("head -c 4000000 /dev/zero | tr '\\0' x"))
    same("4 MB come whole", (len(result.stdout), set(result.stdout)), (4_000_000, {"x"}))
    result = await settle(commands.run("for i in $(seq 5000); do printf 'äß€😀'; done"))
    same("no character is torn", result.stdout, "äß€😀" * 5000)
    result = await settle(commands.run("printf 'a\\xffb'"))
    same("what is no text is replaced", result.stdout, "a\ufffdb")


async def background(commands):
    handle = await settle(commands.run("echo started; exit 7", background=True))
    error = await raises("a background command is waited for", e2b.CommandExitException, handle.wait)
    same("with its exit code and output", (error.exit_code, error.stdout), (7, "started\n"))
    handle = await settle(commands.run("read line", background=True, stdin=True, envs={"MARK": "me"}, cwd="/tmp"))
    listed = {process.pid: process for process in await settle(commands.list())}
    process = listed.get(handle.pid)
    holds("what runs is listed", process is not None, listed)
    same("as it was started", (process.cmd, process.args, process.cwd), ("/bin/bash", ["-l", "-c", "read line"], "/tmp"))
    same("with its variables", process.envs.get("MARK"), "me")
    same("it is killed by its handle", await settle(handle.kill()), True)

    async def is_gone():
        return handle.pid not in [process.pid for process in await settle(commands.list())]

    await becomes_true("and then no more listed", is_gone)


async def standard_input(commands):
    handle = await settle(commands.run("cat", background=True, stdin=True))
    await settle(commands.send_stdin(handle.pid, "text\n"))
    await settle(handle.send_stdin(b"bytes\n"))
    await settle(commands.close_stdin(handle.pid))
    result = await settle(handle.wait())
    same("input arrives, and its end", (result.stdout, result.exit_code), ("text\nbytes\n", 0))
    handle = await settle(commands.run("cat", background=True, stdin=True))
    if IS_ASYNC:
        async with commands.stream_input(handle.pid) as stream:
            await stream.send("first ")
            await stream.send(b"second")
    else:
        commands.stream_input(handle.pid, ["first ", b"second"])
    await settle(handle.close_stdin())
    result = await settle(handle.wait())
    same("input arrives as a stream", result.stdout, "first second")
    result = await settle(commands.run("cat; echo end"))
    same("without input there is none", result.stdout, "end\n")


async def coming_back(commands):
    handle = await settle(commands.run("read line; echo got $line; exit 3", background=True, stdin=True))
    await settle(handle.disconnect())
    again = await settle(commands.connect(handle.pid))
    same("one can come back to a command", again.pid, handle.pid)
    await settle(commands.send_stdin(handle.pid, "hello\n"))
    error = await raises("and see how it ends", e2b.CommandExitException, again.wait)
    same("with what it says", (error.stdout, error.exit_code), ("got hello\n", 3))
    first = await settle(commands.run("read line; echo both", background=True, stdin=True))
    second = await settle(commands.connect(first.pid))
    await settle(commands.send_stdin(first.pid, "\n"))
    same("two may follow one", [(await settle(one.wait())).stdout for one in (first, second)], ["both\n", "both\n"])
    await raises("nobody comes back to what never was", e2b.NotFoundException, lambda: commands.connect(999_999))


async def killing(commands):
    handle = await settle(commands.run("sleep 1000", background=True))
    same("kill", await settle(commands.kill(handle.pid)), True)
    error = await raises("who waits is told", e2b.CommandExitException, handle.wait)
    holds("that it did not end well", error.exit_code != 0, error.exit_code)

    async def is_unknown():
        return await settle(commands.kill(handle.pid)) is False

    await becomes_true("kill of the dead is false", is_unknown)


async def time_limit(commands):
    await raises("a command has its time", e2b.TimeoutException, lambda: commands.run("sleep 1000", timeout=1))
    result = await settle(commands.run("sleep 1.2; echo done", timeout=0))
    same("or none", result.stdout, "done\n")


async def refusals(commands):
    await raises("input for nobody", e2b.NotFoundException, lambda: commands.send_stdin(999_999, "x"))
    error = await raises("root does not exist", e2b.SandboxException, lambda: commands.run("id", user="root"))
    holds("which is said", "root" in str(error), str(error))
    error = await raises("no such directory", e2b.InvalidArgumentException, lambda: commands.run("pwd", cwd="/nowhere"))
    holds("which is said, too", "/nowhere" in str(error), str(error))


run(main)
