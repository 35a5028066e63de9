// Files: written, read, listed, moved, removed, watched, described.

import { becomesTrue, e2b, holds, raises, same, withSandbox } from './checks.mjs'

await withSandbox(async (sandbox) => {
  const { commands, files } = sandbox
  const written = await files.write('notes/today.txt', 'grüße\n')
  same('a file is written below the home directory', [written.path, written.name, written.type], ['/home/user/notes/today.txt', 'today.txt', 'file'])
  same('it is read as text', await files.read('/home/user/notes/today.txt'), 'grüße\n')
  same('as bytes', [...(await files.read('notes/today.txt', { format: 'bytes' }))], [...new TextEncoder().encode('grüße\n')])
  same('as a blob', (await files.read('notes/today.txt', { format: 'blob' })).size, 8)
  await files.write('raw.bin', new Uint8Array([0, 255, 13, 10]).buffer)
  same('bytes are written', [...(await files.read('raw.bin', { format: 'bytes' }))], [0, 255, 13, 10])
  await files.write('/workspace/ä b\'"#?%&.txt', 'odd name')
  same('names may be odd', await files.read('/workspace/ä b\'"#?%&.txt'), 'odd name')
  await files.write('compressed.txt', 'again and '.repeat(10_000), { gzip: true })
  same('a compressed upload is a file', (await commands.run('wc -c < compressed.txt')).stdout.trim(), '100000')
  await files.write('streamed.bin', new Blob([new Uint8Array(5_000_000)]).stream())
  same('5 MB arrive as a stream', (await files.getInfo('streamed.bin')).size, 5_000_000)
  let size = 0
  for await (const part of await files.read('streamed.bin', { format: 'stream' })) size += part.length
  same('and leave as one', size, 5_000_000)
  const many = Array.from({ length: 20 }, (_, number) => ({ path: `/tmp/many/${number}/file.txt`, data: `number ${number}` }))
  same('many files are written at once', (await files.write(many)).map((info) => info.path), many.map((entry) => entry.path))
  same('each with its content', await files.read('/tmp/many/19/file.txt'), 'number 19')

  await commands.run('mkdir -p tree/a/b && touch tree/one tree/a/two tree/a/b/three && chmod 640 tree/one')
  const names = async (depth) => (await files.list('tree', { depth })).map((entry) => entry.path.replace('/home/user/tree/', '')).sort()
  same('a directory', await names(1), ['a', 'one'])
  same('all of it', await names(9), ['a', 'a/b', 'a/b/three', 'a/two', 'one'])
  await raises('a missing one', e2b.FileNotFoundError, () => files.list('tree/missing'))
  const info = await files.getInfo('tree/one')
  same('what a file is', [info.name, info.type, info.size, info.mode & 0o777, info.owner], ['one', 'file', 0, 0o640, 'user'])
  same('what is there exists', [await files.exists('tree/one'), await files.exists('missing')], [true, false])
  same('a directory is made once', [await files.makeDir('new/deep'), await files.makeDir('new/deep')], [true, false])
  same('a file is moved', (await files.rename('tree/one', 'new/after')).path, '/home/user/new/after')
  await files.remove('new')
  same('and removed with its directory', await files.exists('new/after'), false)
  await files.write('tagged.txt', 'x', { metadata: { origin: 'tests' } })
  same('a file keeps words', (await files.getInfo('tagged.txt')).metadata, { origin: 'tests' })

  await files.makeDir('watched/below')
  const seen = []
  let left = 'not yet'
  const handle = await files.watchDir('watched', (event) => void seen.push(event), {
    recursive: true,
    includeEntry: true,
    onExit: (error) => void (left = error),
  })
  const has = (type, name) => () => seen.some((event) => event.type === type && event.name === name)
  const types = e2b.FilesystemEventType
  await files.write('watched/file', 'one')
  await becomesTrue('a new file is seen', has(types.CREATE, 'file'))
  await becomesTrue('and written', has(types.WRITE, 'file'))
  holds('with what it is', seen.some((event) => event.entry?.path === '/home/user/watched/file'), seen)
  await commands.run('chmod 600 watched/file && mv watched/file watched/moved && touch watched/below/deep && rm watched/moved')
  await becomesTrue('a changed mode', has(types.CHMOD, 'file'))
  await becomesTrue('a new name', has(types.RENAME, 'file'))
  await becomesTrue('what happens below', has(types.CREATE, 'below/deep'))
  await becomesTrue('a removed file', has(types.REMOVE, 'moved'))
  await handle.stop()
  await becomesTrue('the watch ends when it is told to', () => left !== 'not yet')
  await raises('a missing file', e2b.FileNotFoundError, () => files.read('missing'))
})
