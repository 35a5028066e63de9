// Commands: streams, exit codes, input, signals, time limits, coming back to one that runs.

import { becomesTrue, e2b, holds, raises, same, withSandbox } from './checks.mjs'

await withSandbox(
  async ({ commands }) => {
    let result = await commands.run('echo out; echo err >&2')
    same('both streams and the exit code', [result.stdout, result.stderr, result.exitCode], ['out\n', 'err\n', 0])
    let error = await raises('a failure is an exception', e2b.CommandExitError, () =>
      commands.run('echo before; echo why >&2; exit 42'),
    )
    same('with all that it said', [error.exitCode, error.stdout, error.stderr], [42, 'before\n', 'why\n'])
    result = await commands.run('id -un; pwd; echo $HOME; echo $GIVEN')
    same('user, directory, home, variables', result.stdout, 'user\n/home/user\n/home/user\nat the start\n')
    result = await commands.run('echo $BOTH $OWN; pwd', { envs: { BOTH: 'command', OWN: 'é $x' }, cwd: '/tmp' })
    same('those of the command win', result.stdout, 'command é $x\n/tmp\n')

    const told = { stdout: '', stderr: '' }
    await commands.run('echo one; echo wrong >&2; echo two', {
      onStdout: (data) => void (told.stdout += data),
      onStderr: (data) => void (told.stderr += data),
    })
    same('callbacks are told everything', told, { stdout: 'one\ntwo\n', stderr: 'wrong\n' })
    result = await commands.run("head -c 4000000 /dev/zero | tr '\\0' x")
    same('4 MB come whole', result.stdout.length, 4_000_000)
    result = await commands.run("for i in $(seq 5000); do printf 'äß€😀'; done")
    same('no character is torn', result.stdout, 'äß€😀'.repeat(5000))

    let handle = await commands.run('echo started; exit 7', { background: true })
    error = await raises('a background command is waited for', e2b.CommandExitError, () => handle.wait())
    same('with its exit code and output', [error.exitCode, error.stdout], [7, 'started\n'])

    handle = await commands.run('cat', { background: true, stdin: true, envs: { MARK: 'me' }, cwd: '/tmp' })
    const process = (await commands.list()).find((one) => one.pid === handle.pid)
    same('what runs is listed', [process.cmd, process.args, process.cwd, process.envs.MARK], ['/bin/bash', ['-l', '-c', 'cat'], '/tmp', 'me'])
    await commands.sendStdin(handle.pid, 'text\n')
    await handle.sendStdin(new TextEncoder().encode('bytes\n'))
    await commands.closeStdin(handle.pid)
    result = await handle.wait()
    same('input arrives, and its end', [result.stdout, result.exitCode], ['text\nbytes\n', 0])

    handle = await commands.run('read line; echo got $line; exit 3', { background: true, stdin: true })
    await handle.disconnect()
    const again = await commands.connect(handle.pid)
    await commands.sendStdin(handle.pid, 'hello\n')
    error = await raises('one can come back to a command', e2b.CommandExitError, () => again.wait())
    same('and see how it ends', [error.stdout, error.exitCode], ['got hello\n', 3])

    handle = await commands.run('sleep 1000', { background: true })
    same('kill', await commands.kill(handle.pid), true)
    error = await raises('who waits is told', e2b.CommandExitError, () => handle.wait())
    holds('that it did not end well', error.exitCode !== 0, error.exitCode)
    await becomesTrue('kill of the dead is false', async () => !(await commands.kill(handle.pid)))
    await raises('a command has its time', e2b.TimeoutError, () => commands.run('sleep 1000', { timeoutMs: 1000 }))
    await raises('input for nobody', e2b.NotFoundError, () => commands.sendStdin(999_999, 'x'))
    error = await raises('root does not exist', e2b.SandboxError, () => commands.run('id', { user: 'root' }))
    holds('which is said', error.message.includes('root'), error.message)
    await raises('no such directory', e2b.InvalidArgumentError, () => commands.run('pwd', { cwd: '/nowhere' }))
  },
  { envs: { GIVEN: 'at the start', BOTH: 'sandbox' } },
)
