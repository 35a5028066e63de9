// Pausing: processes stand still and go on, files stay, traffic wakes.

import { Sandbox, becomesTrue, holds, same, sleep, withSandbox } from './checks.mjs'

const PAUSE_MS = 1000

await withSandbox(async (sandbox) => {
  await sandbox.files.write('kept.txt', 'kept')
  const ticking = await sandbox.commands.run('while true; do date +%s%3N >> ticks; sleep 0.05; done', { background: true, timeoutMs: 0 })
  await becomesTrue('a process works', () => sandbox.files.exists('ticks'))
  same('pause, once', [await sandbox.pause(), await sandbox.pause()], [true, false])
  same('it is paused', [(await sandbox.getInfo()).state, await sandbox.isRunning()], ['paused', false])
  await sleep(PAUSE_MS)
  const again = await Sandbox.connect(sandbox.sandboxId, { timeoutMs: 120_000 })
  const ticks = async () => (await again.files.read('ticks')).split('\n').slice(0, -1).map(Number)
  const before = (await ticks()).length
  await becomesTrue('the process goes on', async () => (await ticks()).length > before + 2)
  const times = await ticks()
  const gap = Math.max(...times.slice(1).map((time, index) => time - times[index]))
  holds('and had stood still meanwhile', gap >= PAUSE_MS * 0.9, gap)
  same('files are kept', await again.files.read('kept.txt'), 'kept')
  same('it can be killed', await again.commands.kill(ticking.pid), true)
})

await withSandbox(
  async (sandbox) => {
    await becomesTrue('its end may be a pause', async () => (await sandbox.getInfo()).state === 'paused')
    same('traffic wakes it', (await sandbox.commands.run('echo awake')).stdout, 'awake\n')
  },
  { timeoutMs: 1000, lifecycle: { onTimeout: 'pause', autoResume: true } },
)
