"""The code interpreter: contexts, results of every kind, errors, languages."""

import base64
import os

import e2b
from checks import CodeSandbox, a_sandbox, holds, raises, run, same, settle

# Where the test has put matplotlib and pandas; the server shows it to every sandbox.
PACKAGES = os.environ["SANDBOX_PACKAGES"]


async def main():
    async with a_sandbox(CodeSandbox, envs={"PYTHONPATH": PACKAGES, "GIVEN": "yes"}) as sandbox:
        await texts(sandbox)
        await state(sandbox)
        await failures(sandbox)
        await callbacks(sandbox)
        await contexts(sandbox)
        await kinds(sandbox)
        await tables_and_charts(sandbox)
        await languages(sandbox)
        await time_limit(sandbox)


async def texts(sandbox):
    execution = await settle(sandbox.run_code("1 + 1"))
    same("the value of the last line", (execution.text, execution.error), ("2", None))
    same("is the main result", execution.results[0].is_main_result, True)
    execution = await settle(sandbox.run_code("import sys\nprint('out')\nprint('err', file=sys.stderr)\nx = 5"))
    same("what it prints", ("".join(execution.logs.stdout), "".join(execution.logs.stderr)), ("out\n", "err\n"))
    same("and no value", (execution.text, execution.results), (None, []))
    execution = await settle(sandbox.run_code("'grüße 😀'"))
    same("text of every kind", execution.text, "grüße 😀")
    execution = await settle(sandbox.run_code("import subprocess; subprocess.run(['echo', 'from a process']); None"))
    same("what its processes print", "".join(execution.logs.stdout), "from a process\n")
    execution = await settle(sandbox.run_code("await __import__('asyncio').sleep(0, 'awaited')"))
    same("it may await", execution.text, "awaited")


async def state(sandbox):
    await settle(sandbox.run_code("def double(n):\n    return 2 * n\nkept = 20"))
    execution = await settle(sandbox.run_code("double(kept) + 2"))
    same("what was defined stays", execution.text, "42")
    count = (await settle(sandbox.run_code("0"))).execution_count
    same("executions are counted", (await settle(sandbox.run_code("0"))).execution_count, count + 1)
    await settle(sandbox.files.write("data.csv", "a,b\n1,2\n"))
    execution = await settle(sandbox.run_code("open('data.csv').read().split()"))
    same("it sees the same files", execution.text, "['a,b', '1,2']")
    execution = await settle(sandbox.run_code("import os; os.environ['GIVEN'], os.environ.get('OWN')", envs={"OWN": "mine"}))
    same("and variables", execution.text, "('yes', 'mine')")
    execution = await settle(sandbox.run_code("os.environ.get('OWN')"))
    same("for this execution only", execution.text, None)


async def failures(sandbox):
    execution = await settle(sandbox.run_code("print('before')\nnumbers = [1]\nnumbers[7]\nprint('after')"))
    same("an exception", (execution.error.name, execution.error.value), ("IndexError", "list index out of range"))
    holds("with its traceback", "numbers[7]" in execution.error.traceback and "IndexError" in execution.error.traceback, execution.error)
    same("after what was printed", "".join(execution.logs.stdout), "before\n")
    execution = await settle(sandbox.run_code("if True print(1)"))
    same("a mistake in writing", execution.error.name, "SyntaxError")
    execution = await settle(sandbox.run_code("kept"))
    same("nothing is lost", execution.text, "20")
    execution = await settle(sandbox.run_code("import nothing_like_this"))
    same("a missing module", execution.error.name, "ModuleNotFoundError")


async def callbacks(sandbox):
    told = {"stdout": [], "stderr": [], "results": [], "errors": []}
    await settle(
        sandbox.run_code(
            "import sys\nprint('a')\nprint('b', file=sys.stderr)\ndisplay('shown')\n1/0",
            on_stdout=told["stdout"].append,
            on_stderr=told["stderr"].append,
            on_result=told["results"].append,
            on_error=told["errors"].append,
        )
    )
    same("callbacks: output", ["".join(message.line for message in told[name]) for name in ("stdout", "stderr")], ["a\n", "b\n"])
    same("results", [result.text for result in told["results"]], ["shown"])
    same("errors", [error.name for error in told["errors"]], ["ZeroDivisionError"])
    holds("with times", told["stdout"][0].timestamp > 1_700_000_000, told["stdout"][0])


async def contexts(sandbox):
    await settle(sandbox.files.make_dir("/workspace/project"))
    context = await settle(sandbox.create_code_context(cwd="/workspace/project"))
    same("a context of its own", (context.cwd, context.language), ("/workspace/project", "python"))
    execution = await settle(sandbox.run_code("import os\nmine = 1\nos.getcwd()", context=context))
    same("with its directory", execution.text, "/workspace/project")
    execution = await settle(sandbox.run_code("mine"))
    same("contexts share nothing", execution.error.name, "NameError")
    execution = await settle(sandbox.run_code("mine", context=context))
    same("and keep their own", execution.text, "1")
    listed = [known.id for known in await settle(sandbox.list_code_contexts())]
    holds("they are listed", context.id in listed, listed)
    await settle(sandbox.restart_code_context(context))
    execution = await settle(sandbox.run_code("mine", context=context))
    same("a restart forgets", execution.error.name, "NameError")
    await settle(sandbox.remove_code_context(context))
    listed = [known.id for known in await settle(sandbox.list_code_contexts())]
    holds("one can be removed", context.id not in listed, listed)
    await raises("and is gone then", e2b.NotFoundException, lambda: sandbox.run_code("1", context=context))


# An object that shows itself in every way there is.
SHOWN = """
class Shown:
    def __repr__(self): return "as text"
    def _repr_html_(self): return "<b>html</b>"
    def _repr_markdown_(self): return "# markdown"
    def _repr_svg_(self): return "<svg/>"
    def _repr_png_(self): return b"\\x89PNG"
    def _repr_jpeg_(self): return b"\\xff\\xd8"
    def _repr_pdf_(self): return b"%PDF"
    def _repr_latex_(self): return "$x$"
    def _repr_json_(self): return {"a": [1, None]}
    def _repr_javascript_(self): return "alert(1)"
Shown()
"""


async def kinds(sandbox):
    result = (await settle(sandbox.run_code(SHOWN))).results[0]
    same("text", result.text, "as text")
    same("HTML, Markdown, SVG, LaTeX, JavaScript", (result.html, result.markdown, result.svg, result.latex, result.javascript),
         ("<b>html</b>", "# markdown", "<svg/>", "$x$", "alert(1)"))
    same("JSON", result.json, {"a": [1, None]})
    pictures = [base64.b64decode(data) for data in (result.png, result.jpeg, result.pdf)]
    same("PNG, JPEG, PDF", pictures, [b"\x89PNG", b"\xff\xd8", b"%PDF"])
    execution = await settle(sandbox.run_code("display({'a': 1})\ndisplay('two')\n3"))
    same("all that is displayed", [result.text for result in execution.results], ["{'a': 1}", "two", "3"])
    same("but one is the main result", [result.is_main_result for result in execution.results], [False, False, True])


async def tables_and_charts(sandbox):
    execution = await settle(sandbox.run_code("import pandas as pd\npd.DataFrame({'a': [1, 2], 'b': ['x', 'y']})"))
    same("no error", execution.error and execution.error.traceback, None)
    result = execution.results[0]
    holds("a table as HTML", "<table" in result.html and "<td>x</td>" in result.html, result.html)
    same("and as data", result.data, {"a": [1, 2], "b": ["x", "y"]})
    execution = await settle(sandbox.run_code(
        "import matplotlib.pyplot as plt\nplt.plot([1, 2, 3], [4, 5, 6], label='line')\nplt.title('Drawn')\nplt.xlabel('x')\nplt.ylabel('y')\nplt.show()"
    ))
    same("no error", execution.error and execution.error.traceback, None)
    result = next(result for result in execution.results if result.png)
    holds("a picture", base64.b64decode(result.png).startswith(b"\x89PNG\r\n\x1a\n"), result.png[:20])
    same("and what it shows", (result.chart.type.value, result.chart.title, result.chart.x_label), ("line", "Drawn", "x"))
    same("point by point", [tuple(point) for point in result.chart.elements[0].points], [(1, 4), (2, 5), (3, 6)])


async def languages(sandbox):
    execution = await settle(sandbox.run_code("echo from bash; echo $((6 * 7))", language="bash"))
    same("bash", "".join(execution.logs.stdout), "from bash\n42\n")
    execution = await settle(sandbox.run_code("const n = 6; console.log('from js'); n * 7", language="javascript"))
    same("JavaScript", ("".join(execution.logs.stdout), execution.text), ("from js\n", "42"))
    await raises("no other", e2b.SandboxException, lambda: sandbox.run_code("1", language="cobol"))


async def time_limit(sandbox):
    await raises("code has its time", e2b.TimeoutException, lambda: sandbox.run_code("import time; time.sleep(1000)", timeout=1))
    execution = await settle(sandbox.run_code("kept"))
    same("and is interrupted, not lost", execution.text, "20")


run(main)
