// Reads the program from the socket: it is long for an argument, and nobody wants to see it in a list of processes.
const program = Buffer.alloc(Number(process.argv[1]));
for (let read = 0; read < program.length; ) {
  read += require("node:fs").readSync(3, program, read, program.length - read) || process.exit(0);
}
// Only code that came this way can import modules.
require("node:vm").compileFunction(program.toString(), ["require", "load", "language"], { filename: "<agentyard>" })(
  require,
  (name) => import(name),
  process.argv[2],
);
