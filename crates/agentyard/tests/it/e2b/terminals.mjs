// Terminals: made, resized, typed into, left and come back to, killed.

import { becomesTrue, e2b, raises, same, withSandbox } from './checks.mjs'

await withSandbox(async ({ pty }) => {
  let shown = ''
  const onData = (data) => void (shown += new TextDecoder().decode(data))
  const type = (handle, text) => pty.sendInput(handle.pid, new TextEncoder().encode(text))
  const shows = (what, text) => becomesTrue(what, () => shown.includes(text))

  let terminal = await pty.create({ rows: 24, cols: 80, onData, cwd: '/tmp', envs: { MARK: 'me' } })
  await type(terminal, 'stty size\n')
  await shows('it has the size that was asked for', '24 80')
  await pty.resize(terminal.pid, { rows: 40, cols: 100 })
  await type(terminal, 'stty size\n')
  await shows('it is resized', '40 100')
  await type(terminal, 'echo $TERM-$MARK-$(pwd)\n')
  await shows('it has kind, variables and directory', 'xterm-256color-me-/tmp')
  await type(terminal, "(trap \"echo inter''rupted; exit\" INT; echo sta''rted; sleep 1000)\n")
  await shows('a program runs in it', 'started')
  await type(terminal, '\x03')
  await shows('Ctrl-C interrupts', 'interrupted')
  await terminal.disconnect()
  const again = await pty.connect(terminal.pid, { onData })
  await type(again, "echo ag''ain\n")
  await shows('one can come back to it', 'again')
  await type(again, 'exit 5\n')
  const error = await raises('it ends with its shell', e2b.CommandExitError, () => again.wait())
  same('and its exit code', error.exitCode, 5)

  terminal = await pty.create({ rows: 10, cols: 20, onData })
  same('kill', await pty.kill(terminal.pid), true)
  await raises('who waits is told', e2b.CommandExitError, () => terminal.wait())
  await becomesTrue('kill of the dead is false', async () => !(await pty.kill(terminal.pid)))
})
