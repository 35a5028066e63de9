// Signed addresses of files, which any program can use without a key.

import { holds, same, withSandbox } from './checks.mjs'

const statusOf = async (url, options) => (await fetch(url, options)).status

await withSandbox(async (sandbox) => {
  await sandbox.files.write('report.txt', 'of this one')
  const url = await sandbox.downloadUrl('report.txt')
  same('a file is downloaded', await (await fetch(url)).text(), 'of this one')
  const form = new FormData()
  form.append('file', new Blob(['from outside']))
  same('a file is uploaded', await statusOf(await sandbox.uploadUrl('uploaded.txt'), { method: 'POST', body: form }), 200)
  same('and is there', await sandbox.files.read('uploaded.txt'), 'from outside')
  const fresh = await sandbox.downloadUrl('report.txt', { useSignatureExpiration: 60 })
  same('for a while', await statusOf(fresh), 200)
  const stale = await sandbox.downloadUrl('report.txt', { useSignatureExpiration: -60 })
  holds('and no longer', [401, 403].includes(await statusOf(stale)))
  holds("a signature is for nobody else's path", [401, 403].includes(await statusOf(url.replace('report.txt', 'uploaded.txt'))))
})
