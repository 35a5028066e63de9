// A sandbox from its beginning to its end: made, found, prolonged, killed, expired.

import { randomUUID } from 'node:crypto'

import { CodeSandbox, Sandbox, allOf, becomesTrue, e2b, holds, raises, same, withSandbox } from './checks.mjs'

const mark = `javascript é&= ${randomUUID()}`
const secondsLeft = async (sandbox) => ((await sandbox.getInfo()).endAt - Date.now()) / 1000

const sandbox = await Sandbox.create({ timeoutMs: 120_000, metadata: { mark, task: '42' }, envs: { GIVEN: 'yes' } })
same('it runs', await sandbox.isRunning(), true)
const info = await sandbox.getInfo()
same('its id and state', [info.sandboxId, info.state], [sandbox.sandboxId, 'running'])
same('its metadata', info.metadata, { mark, task: '42' })
let left = await secondsLeft(sandbox)
holds('its end', left > 60 && left <= 121, left)
await sandbox.setTimeout(600_000)
left = await secondsLeft(sandbox)
holds('a later end', left > 540 && left <= 601, left)
await sandbox.commands.run('echo remembered > note')
const again = await Sandbox.connect(sandbox.sandboxId)
same('others connect to the same one', await again.files.read('note'), 'remembered\n')
same('kill, once', [await sandbox.kill(), await sandbox.kill(), await Sandbox.kill(sandbox.sandboxId)], [true, false, false])
same('then it does not run', await sandbox.isRunning(), false)
await raises('nothing is known of it', e2b.SandboxNotFoundError, () => sandbox.getInfo())
await raises('nobody connects', e2b.SandboxNotFoundError, () => Sandbox.connect(sandbox.sandboxId))
await raises('no command runs', e2b.SandboxNotFoundError, () => sandbox.commands.run('true'))

const made = []
try {
  for (const number of ['0', '1', '2']) made.push(await Sandbox.create({ metadata: { mark, number } }))
  const ids = made.map((one) => one.sandboxId)
  const listed = async (options) => (await allOf(Sandbox.list(options))).map((one) => one.sandboxId)
  same('they are listed', (await listed({ query: { metadata: { mark } }, order: 'asc' })), ids)
  const pages = Sandbox.list({ query: { metadata: { mark } }, limit: 2 })
  same('page by page', [(await pages.nextItems()).length, pages.hasNext, (await pages.nextItems()).length, pages.hasNext], [2, true, 1, false])
  same('by metadata', await listed({ query: { metadata: { mark, number: '1' } } }), [ids[1]])
  await made[2].pause()
  same('by state', await listed({ query: { metadata: { mark }, state: ['paused'] } }), [ids[2]])
} finally {
  for (const one of made) await one.kill()
}

await withSandbox(async (one) => same('the code interpreter has its template', await one.isRunning(), true), { kind: CodeSandbox })
const brief = await Sandbox.create({ timeoutMs: 2000 })
await becomesTrue('it lives no longer than its time', async () => !(await brief.isRunning()))
