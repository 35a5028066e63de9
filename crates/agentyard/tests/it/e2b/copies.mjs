// Snapshots and forks: copies that share what neither has changed.

import { randomUUID } from 'node:crypto'

import { Sandbox, allOf, e2b, holds, raises, same, withSandbox } from './checks.mjs'

await withSandbox(async (sandbox) => {
  await sandbox.commands.run('echo one > note && mkdir -p /workspace/deep && echo two > /workspace/deep/file')
  const snapshot = await sandbox.createSnapshot({ name: `kept-${randomUUID().slice(0, 8)}` })
  await sandbox.commands.run('echo changed > note')
  same('it is listed', (await allOf(sandbox.listSnapshots())).map((one) => one.snapshotId), [snapshot.snapshotId])
  await withSandbox(
    async (copy) => {
      same('a sandbox starts from it', [await copy.files.read('note'), await copy.files.read('/workspace/deep/file')], ['one\n', 'two\n'])
      await copy.files.write('note', 'of the copy')
    },
    { template: snapshot.snapshotId },
  )
  same('what a copy changes is its own', await sandbox.files.read('note'), 'changed\n')
  same('a snapshot is removed once', [await Sandbox.deleteSnapshot(snapshot.snapshotId), await Sandbox.deleteSnapshot(snapshot.snapshotId)], [true, false])
  await raises('then none starts from it', e2b.SandboxError, () => Sandbox.create(snapshot.snapshotId))

  const forks = await sandbox.fork({ count: 2 })
  try {
    holds('two forks', forks.length === 2 && forks.every((fork) => !(fork instanceof Error)), forks.map(String))
    await forks[0].files.write('note', 'of a fork')
    same('no fork sees another', [await forks[1].files.read('note'), await sandbox.files.read('note')], ['changed\n', 'changed\n'])
  } finally {
    for (const fork of forks) if (!(fork instanceof Error)) await fork.kill()
  }
})
