"""What code that means harm tries. `attempts.py PART NAME` makes one attempt, in the sandbox.

`attempts.py --list PART` names those of a part.

An attempt returns what it got hold of, and then it has got through; it returns nothing, or fails, where the walls
hold. It is told in ATTEMPT_* what the host has that it must not reach. Those of `abuse.py` do not try to get out but
to do harm where they are.
"""

import os
import sys

import abuse
import kernel
import network
import secrets_
import writing

GOT_THROUGH = 66

PARTS = {"secrets": secrets_, "writing": writing, "kernel": kernel, "network": network, "abuse": abuse}


def attempts(part):
    """The attempts of a part by their names: its functions that do not begin with an underscore."""
    module = PARTS[part]
    return {
        name: function
        for name, function in vars(module).items()
        if getattr(function, "__module__", None) == module.__name__ and not name.startswith("_")
    }


def main(part, name):
    if part == "--list":
        print("\n".join(attempts(name)))
        return 0
    try:
        got = attempts(part)[name]()
    except (OSError, ValueError, MemoryError, RuntimeError) as error:
        print(f"contained: {type(error).__name__}: {error}")
        return 0
    if not got:
        print("contained")
        return 0
    print(f"GOT THROUGH: {got!r}"[:500])
    return GOT_THROUGH


if __name__ == "__main__":
    status = main(*sys.argv[1:])
    sys.stdout.flush()
    os._exit(status)
