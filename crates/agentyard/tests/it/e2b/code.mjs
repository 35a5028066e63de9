// The code interpreter: contexts, results of every kind, errors, languages.

import { CodeSandbox, e2b, holds, raises, same, withSandbox } from './checks.mjs'

await withSandbox(
  async (sandbox) => {
    let execution = await sandbox.runCode('import sys\nprint("out")\nprint("err", file=sys.stderr)\nkept = 20\nkept + 1')
    same('value and output', [execution.text, execution.logs.stdout.join(''), execution.logs.stderr.join('')], ['21', 'out\n', 'err\n'])
    same('what was defined stays', (await sandbox.runCode('kept * 2 + 2')).text, '42')
    execution = await sandbox.runCode('[1][7]')
    same('an exception', [execution.error.name, execution.error.value], ['IndexError', 'list index out of range'])
    holds('with its traceback', execution.error.traceback.includes('IndexError'), execution.error)
    same('variables', (await sandbox.runCode('import os; os.environ["OWN"]', { envs: { OWN: 'mine' } })).text, 'mine')

    const told = []
    await sandbox.runCode('print("a")\ndisplay("shown")\n1/0', {
      onStdout: (message) => void told.push(message.line),
      onResult: (result) => void told.push(result.text),
      onError: (error) => void told.push(error.name),
    })
    same('callbacks', told, ['a\n', 'shown', 'ZeroDivisionError'])

    await sandbox.files.makeDir('/workspace/project')
    const context = await sandbox.createCodeContext({ cwd: '/workspace/project' })
    same('a context of its own', (await sandbox.runCode('import os\nmine = 1\nos.getcwd()', { context })).text, '/workspace/project')
    same('contexts share nothing', (await sandbox.runCode('mine')).error.name, 'NameError')
    holds('they are listed', (await sandbox.listCodeContexts()).some((one) => one.id === context.id))
    await sandbox.restartCodeContext(context)
    same('a restart forgets', (await sandbox.runCode('mine', { context })).error.name, 'NameError')
    await sandbox.removeCodeContext(context)
    holds('one can be removed', !(await sandbox.listCodeContexts()).some((one) => one.id === context.id))

    execution = await sandbox.runCode("import pandas as pd\npd.DataFrame({'a': [1, 2]})")
    holds('a table', execution.results[0].html?.includes('<table'), execution.error ?? execution.results[0])
    execution = await sandbox.runCode("import matplotlib.pyplot as plt\nplt.bar(['a', 'b'], [1, 2])\nplt.title('Drawn')\nplt.show()")
    const drawn = execution.results.find((result) => result.png)
    same('a picture', Buffer.from(drawn.png, 'base64').subarray(1, 4).toString(), 'PNG')
    same('and what it shows', [drawn.chart.type, drawn.chart.title, drawn.chart.elements.map((bar) => bar.label)], ['bar', 'Drawn', ['a', 'b']])
    same('bash', (await sandbox.runCode('echo $((6 * 7))', { language: 'bash' })).logs.stdout.join(''), '42\n')
    same('JavaScript', (await sandbox.runCode('const n = 6; n * 7', { language: 'javascript' })).text, '42')
    await raises('code has its time', e2b.TimeoutError, () => sandbox.runCode('import time; time.sleep(1000)', { timeoutMs: 1000 }))
    same('and is interrupted, not lost', (await sandbox.runCode('kept')).text, '20')
  },
  { kind: CodeSandbox, envs: { PYTHONPATH: process.env.SANDBOX_PACKAGES } },
)
