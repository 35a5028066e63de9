"""Leaves one sandbox behind, after steps that the audit log must tell of."""

from checks import Sandbox, run, same, settle


async def main():
    gone = await settle(Sandbox.create())
    await settle(gone.kill())
    sandbox = await settle(Sandbox.create(metadata={"kept": "for the test"}))
    await settle(sandbox.pause())
    sandbox = await settle(Sandbox.connect(sandbox.sandbox_id))
    same("it runs", await settle(sandbox.is_running()), True)


run(main)
