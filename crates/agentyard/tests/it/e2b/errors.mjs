// What goes wrong, as the clients tell it.

import { Sandbox, allOf, e2b, holds, raises, same, withSandbox } from './checks.mjs'

await raises('a wrong key', e2b.AuthenticationError, () => Sandbox.create({ apiKey: `e2b_${'0'.repeat(40)}` }))
await raises('neither lists', e2b.AuthenticationError, () => Sandbox.list({ apiKey: 'x' }).nextItems())

await withSandbox(async (sandbox) => {
  const id = sandbox.sandboxId
  const stranger = { apiKey: process.env.STRANGER_API_KEY }
  await raises('others do not see it', e2b.SandboxError, () => Sandbox.getInfo(id, stranger))
  await raises('nor connect', e2b.SandboxError, () => Sandbox.connect(id, stranger))
  await raises('nor kill', e2b.SandboxError, () => Sandbox.kill(id, stranger))
  const listed = (await allOf(Sandbox.list(stranger))).map((one) => one.sandboxId)
  holds('nor list it', !listed.includes(id), listed)
  same('it still runs', await sandbox.isRunning(), true)
})

await raises('who may not run code makes none', e2b.SandboxError, () => Sandbox.create({ apiKey: process.env.READER_API_KEY }))
await raises('no template of that name', e2b.SandboxError, () => Sandbox.create('no-such-template'))
await raises('no endless time', e2b.SandboxError, () => Sandbox.create({ timeoutMs: 10 ** 12 }))

const killed = await Sandbox.create()
const handle = await killed.commands.run('sleep 1000', { background: true, timeoutMs: 0 })
await killed.kill()
let error
try {
  await handle.wait()
} catch (failure) {
  error = failure
}
holds('who waits is told that it was killed', error instanceof e2b.TimeoutError, String(error))
