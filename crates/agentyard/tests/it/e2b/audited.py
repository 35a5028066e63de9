"""Leaves one sandbox behind, after steps that the audit log must tell of."""

from checks import CodeSandbox, run, same, settle


async def main():
    gone = await settle(CodeSandbox.create())
    await settle(gone.kill())
    sandbox = await settle(CodeSandbox.create(metadata={"kept": "for the test"}))
    await settle(sandbox.pause())
    sandbox = await settle(CodeSandbox.connect(sandbox.sandbox_id))
    result = await settle(sandbox.commands.run("echo started"))
    same("it runs a command", result.stdout, "started\n")
    await settle(sandbox.files.write("note", "written"))
    await settle(sandbox.files.make_dir("below"))
    same("and code", (await settle(sandbox.run_code("1 + 1"))).text, "2")


run(main)
