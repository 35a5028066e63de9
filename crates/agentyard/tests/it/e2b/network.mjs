// Whom a sandbox may reach, who may reach it, and what it uses. The test answers for `open.example` and `other.example`.

import { becomesTrue, e2b, holds, same, withSandbox } from './checks.mjs'

const reaches = async (sandbox, host) => {
  try {
    const result = await sandbox.commands.run(`curl --silent --show-error --fail --max-time 10 http://${host}/`)
    return result.stdout === `this is ${host}\n`
  } catch (error) {
    if (error instanceof e2b.CommandExitError) return false
    throw error
  }
}

await withSandbox(async (sandbox) => {
  same('it reaches what the operator allows', await reaches(sandbox, 'open.example'), true)
  await sandbox.updateNetwork({ allowOut: ['open.example'], denyOut: [e2b.ALL_TRAFFIC] })
  same('then one only', [await reaches(sandbox, 'open.example'), await reaches(sandbox, 'other.example')], [true, false])
  await sandbox.updateNetwork({ allowInternetAccess: false })
  same('then nobody', await reaches(sandbox, 'open.example'), false)

  await sandbox.files.write('/workspace/page.txt', 'served')
  await sandbox.commands.run('python3 -m http.server 8000 --bind 127.0.0.1', { background: true, cwd: '/workspace', timeoutMs: 0 })
  const ask = async (headers) => {
    const answer = await fetch(`${process.env.E2B_SANDBOX_URL}/page.txt`, {
      headers: { 'E2b-Sandbox-Id': sandbox.sandboxId, 'E2b-Sandbox-Port': '8000', ...headers },
    })
    return answer.status === 200 ? answer.text() : answer.status
  }
  const token = { 'E2b-Traffic-Access-Token': sandbox.trafficAccessToken }
  await becomesTrue('a server in it is reached', async () => (await ask(token)) === 'served')
  holds('not by everybody', [401, 403].includes(await ask({})))
  await becomesTrue('what it uses is measured', async () => (await sandbox.getMetrics()).length > 0)
  const last = (await sandbox.getMetrics()).at(-1)
  holds('memory, processors, disk', last.memUsed > 0 && last.memUsed <= last.memTotal && last.cpuCount >= 1 && last.diskUsed <= last.diskTotal, last)
})

await withSandbox(async (sandbox) => same('it may be made without a network', await reaches(sandbox, 'open.example'), false), {
  allowInternetAccess: false,
})
