// The git calls of the client, against a host that wants a password.

import { e2b, raises, same, withSandbox } from './checks.mjs'

const url = process.env.GIT_URL
const login = { username: 'token', password: process.env.GIT_PASSWORD }
const path = '/workspace/repository'
const branch = 'from-javascript'

await withSandbox(async ({ files, git }) => {
  await raises('without a password', e2b.GitAuthError, () => git.clone(url, { path }))
  await git.clone(url, { path, ...login })
  same('it is cloned', (await git.status(path)).currentBranch, 'main')
  await git.configureUser('An Agent', 'agent@example.com')
  await git.createBranch(path, branch)
  await files.write(`${path}/new.txt`, 'new\n')
  same('what is changed', (await git.status(path)).fileStatus.map((file) => [file.name, file.status]), [['new.txt', 'untracked']])
  await git.add(path)
  await git.commit(path, 'Change two files')
  await git.push(path, { remote: 'origin', branch, ...login })
  const status = await git.status(path)
  same('it is pushed', [status.upstream, status.ahead, status.behind], [`origin/${branch}`, 0, 0])
})
