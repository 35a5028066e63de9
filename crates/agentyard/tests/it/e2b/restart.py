"""A server that stops and starts again. The first run of this leaves a note of what it made for the second."""

import json
import os

import e2b
from checks import Sandbox, all_of, raises, run, same, settle

NOTE = os.environ["NOTE"]


async def before():
    running = await settle(Sandbox.create(timeout=600))
    paused = await settle(Sandbox.create(timeout=600, metadata={"paused": "yes"}))
    await settle(paused.files.write("/workspace/kept.txt", "kept"))
    await settle(paused.commands.run("mkdir -p deep; echo deep > deep/file; echo temporary > /tmp/file"))
    await settle(paused.commands.run("sleep 1000", background=True, timeout=0))
    await settle(paused.pause())
    with open(NOTE, "w", encoding="utf-8") as note:
        json.dump({"running": running.sandbox_id, "paused": paused.sandbox_id}, note)


async def after():
    with open(NOTE, encoding="utf-8") as note:
        ids = json.load(note)
    listed = await all_of(Sandbox.list())
    same("the paused one is there", [(info.sandbox_id, info.state) for info in listed], [(ids["paused"], e2b.SandboxState.PAUSED)])
    same("with its metadata", listed[0].metadata, {"paused": "yes"})
    await raises("the running one has ended", e2b.SandboxNotFoundException, lambda: Sandbox.connect(ids["running"]))
    sandbox = await settle(Sandbox.connect(ids["paused"], timeout=600))
    same("files are kept", await settle(sandbox.files.read("/workspace/kept.txt")), "kept")
    same("all of them", await settle(sandbox.files.read("deep/file")), "deep\n")
    same("processes are not", await settle(sandbox.commands.list()), [])
    result = await settle(sandbox.commands.run("echo works"))
    same("it works", result.stdout, "works\n")
    same("kill", await settle(sandbox.kill()), True)


run(after if os.path.exists(NOTE) else before)
