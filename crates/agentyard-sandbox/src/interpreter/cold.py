

def run_once():
    """One call in an interpreter that was started for it: what it is to do lies beside this file, and so will the
    report."""
    beside = os.path.dirname(os.path.abspath(__file__))
    with open(os.path.join(beside, "call.json"), encoding="utf-8") as file:
        call = json.load(file)
    flags = os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC
    report.begin(os.open(os.path.join(beside, "report.json"), flags, 0o600), call["root"])
    sys.path[0] = os.path.dirname(call["path"]) if call["path"] else ""
    sys.stdout.reconfigure(line_buffering=True)
    sys.addaudithook(report.watch)
    # Registered first, so called last.
    atexit.register(report.end)
    return run(call, new_main(), "<code>")


sys.exit(run_once())
