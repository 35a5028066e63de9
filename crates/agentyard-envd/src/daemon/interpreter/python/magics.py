# Lines that only notebooks understand: `!command`, `%magic`, and `%%magic` for a whole cell.

import builtins
import os
import re
import subprocess
import sys

MARKED = re.compile(r"^(\s*)((?:[A-Za-z_][\w.\[\]'\", ]*=\s*)?)(!!?|%)(?!%)\s*(.*)$")


def line(text):
    """A line in Python, or nothing if it is no line of ours."""
    found = MARKED.match(text)
    if not found:
        return None
    indent, target, mark, rest = found.groups()
    if mark == "%":
        name, _, argument = rest.partition(" ")
        call = f"__magic__({name!r}, {argument.strip()!r})"
    elif target or mark == "!!":
        call = f"__captured__({rest!r})"
    else:
        call = f"__shell__({rest!r})"
    return f"{indent}{target}{call}"


def cell(source):
    """A cell in Python whose first line says what the rest is."""
    first, _, body = source.lstrip().partition("\n")
    name, _, argument = first[2:].strip().partition(" ")
    if name not in CELL_MAGICS:
        raise unknown("%%" + name, CELL_MAGICS, "%%")
    return f"__cell_magic__({name!r}, {argument.strip()!r}, {body!r})"


def unknown(name, known, mark):
    return NameError(f"there is no magic {name} here; there are {', '.join(mark + each for each in sorted(known))}")


def magic(name, argument):
    if name not in LINE_MAGICS:
        raise unknown("%" + name, LINE_MAGICS, "%")
    return LINE_MAGICS[name](argument)


def cell_magic(name, argument, body):
    return CELL_MAGICS[name](argument, body)


# ---- programs


def expanded(command):
    """The command with the values of variables of the cell where it names them. Others are the shell's."""

    def value(found):
        name = found.group(1) or found.group(2)
        return str(kernel.namespace[name]) if name in kernel.namespace else found.group(0)

    return re.sub(r"(?<![\\$])\$([A-Za-z_]\w*)|(?<!\$)\{([A-Za-z_]\w*)\}", value, command)


def start(command, **options):
    kernel.flush()
    shell = "/bin/bash" if os.path.exists("/bin/bash") else "/bin/sh"
    return subprocess.Popen([shell, "-c", command], **options)


def shell(command):
    kernel.namespace["_exit_code"] = start(expanded(command)).wait()
    find_installed()


def captured(command):
    process = start(expanded(command), stdout=subprocess.PIPE)
    output, _ = process.communicate()
    kernel.namespace["_exit_code"] = process.returncode
    return output.decode("utf-8", "replace").splitlines()


def pip(argument):
    kernel.flush()
    status = subprocess.Popen([sys.executable, "-m", "pip", *split(expanded(argument))]).wait()
    find_installed()
    if status:
        raise RuntimeError(f"pip ended with exit status {status}; what it said is in the output")


def find_installed():
    """Lets packages be imported that a program has installed. The user's directory for them may be new."""
    import importlib
    import site

    importlib.invalidate_caches()
    packages = site.getusersitepackages()
    if site.ENABLE_USER_SITE and packages not in sys.path and os.path.isdir(packages):
        site.addsitedir(packages)


def split(argument):
    import shlex

    return shlex.split(argument)


def shell_cell(argument, body):
    status = start(body).wait()
    if status:
        raise subprocess.CalledProcessError(status, "the cell's script")


# ---- the rest


def cd(argument):
    places = split(expanded(argument))
    os.chdir(os.path.expanduser(places[0] if places else "~"))
    print(os.getcwd())


def env(argument):
    name, equals, value = argument.partition("=")
    if not argument:
        return dict(os.environ)
    if not equals and " " in argument:
        name, _, value = argument.partition(" ")
    elif not equals:
        return os.environ.get(name.strip())
    os.environ[name.strip()] = expanded(value.strip())
    print(f"env: {name.strip()}={os.environ[name.strip()]}")


def timed(argument, body=None):
    import time

    wall, processor = time.perf_counter(), time.process_time()
    try:
        return evaluated(argument if body is None else body)
    finally:
        print(f"CPU time: {time.process_time() - processor:.3f} s, wall time: {time.perf_counter() - wall:.3f} s")


def evaluated(source):
    try:
        code = compile(source, "<magic>", "eval")
    except SyntaxError:
        code = compile(source, "<magic>", "exec")
    return eval(code, kernel.namespace)


def timeit(argument):
    import timeit as timing

    timer = timing.Timer(argument, globals=kernel.namespace)
    count, _ = timer.autorange()
    best = min(timer.repeat(3, count)) / count
    print(f"{best * 1e6:.3g} us per loop (best of 3, {count} loops each)")


def run_file(argument):
    words = split(argument)
    with open(words[0], encoding="utf-8") as file:
        code = compile(file.read(), words[0], "exec")
    before, sys.argv = sys.argv, words
    try:
        exec(code, kernel.namespace)
    finally:
        sys.argv = before


def write_file(argument, body):
    with open(split(expanded(argument))[0], "w", encoding="utf-8") as file:
        file.write(body)
    print(f"Writing {argument}")


def shown_as(mime):
    return lambda _argument, body: kernel.publish({mime: body})


LINE_MAGICS = {
    "cd": cd,
    "env": env,
    "matplotlib": lambda _argument: None,
    "pip": pip,
    "pwd": lambda _argument: os.getcwd(),
    "run": run_file,
    "set_env": env,
    "sx": captured,
    "system": captured,
    "time": timed,
    "timeit": timeit,
}
CELL_MAGICS = {
    "bash": shell_cell,
    "html": shown_as("text/html"),
    "javascript": shown_as("application/javascript"),
    "js": shown_as("application/javascript"),
    "latex": shown_as("text/latex"),
    "markdown": shown_as("text/markdown"),
    "sh": shell_cell,
    "svg": shown_as("image/svg+xml"),
    "time": timed,
    "writefile": write_file,
}
builtins.__magic__, builtins.__cell_magic__ = magic, cell_magic
builtins.__shell__, builtins.__captured__ = shell, captured
