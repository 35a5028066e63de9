# Reads the program from standard input: it is long for an argument, and nobody wants to see it in a list of processes.
import os
import sys

program = b""
while len(program) < int(sys.argv[1]):
    program += os.read(0, int(sys.argv[1]) - len(program)) or os._exit(0)
exec(compile(program, "<agentyard>", "exec"), {"__name__": "agentyard"})
