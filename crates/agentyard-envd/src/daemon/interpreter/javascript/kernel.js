// One context of JavaScript or TypeScript: runs cells one after the other in one global scope.
//
// The daemon talks over descriptor 3, in messages of length-prefixed fields. Cells are evaluated as V8's own console
// does it, so that they can await, and declare names again that an earlier cell has declared.

const fs = require("node:fs");
const inspector = require("node:inspector");
const modules = require("node:module");
const net = require("node:net");
const path = require("node:path");
const util = require("node:util");
const vm = require("node:vm");

const SOCKET = 3;
// A message that is longer than the daemon reads would end the context.
const MAX_CHARACTERS = 4 << 20;
const session = new inspector.Session();
session.connect();

let count = 0;
let interrupt = null;
let kept;

// ---- messages

function send(...fields) {
  const parts = fields.flatMap((field) => {
    const bytes = Buffer.from(field.slice(0, MAX_CHARACTERS));
    return [number(bytes.length), bytes];
  });
  const body = Buffer.concat(parts);
  const message = Buffer.concat([number(body.length), body]);
  for (let sent = 0; sent < message.length; ) {
    try {
      sent += fs.writeSync(SOCKET, message, sent, message.length - sent);
    } catch (error) {
      if (error.code !== "EAGAIN") throw error;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1);
    }
  }
}

function number(value) {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
}

function fieldsOf(message) {
  const fields = [];
  for (let at = 0; at < message.length; ) {
    const end = at + 4 + message.readUInt32BE(at);
    fields.push(message.toString("utf8", at + 4, end));
    at = end;
  }
  return fields;
}

// ---- what V8's console does not understand

const IMPORT_CALL =
  /\/\/.*|\/\*[\s\S]*?\*\/|'(?:\\.|[^'\\\n])*'|"(?:\\.|[^"\\\n])*"|`(?:\\[\s\S]|[^`\\])*`|(?<![\w$.])import(?=\s*\()/g;
const IMPORT = /(?<=^|;)[ \t]*import\s+(?:([\w$*{}\s,]+?)\s*from\s*)?(['"][^'"\n]+['"])/gm;

function imported(_line, names, from) {
  if (!names) return `await __import(${from});`;
  const [, first, rest] = /^([\w$]+)?\s*,?\s*([\s\S]*)$/.exec(names.trim());
  const all = /^\*\s*as\s+([\w$]+)$/.exec(rest.trim());
  const parts = [];
  if (first) parts.push(`{ default: ${first} } = await __import(${from})`);
  if (all) parts.push(`${all[1]} = await __import(${from})`);
  else if (rest.trim()) parts.push(`${rest.replace(/\bas\b/g, ":").trim()} = await __import(${from})`);
  return `const ${parts.join(", ")};`;
}

function parses(source) {
  try {
    new vm.Script(source);
    return true;
  } catch {
    return false;
  }
}

function prepared(source) {
  if (language === "typescript") source = withoutTypes(source);
  source = source.replace(IMPORT_CALL, (found) => (found === "import" ? "__import" : found));
  // A cell that is an object is not meant as a block.
  return /^\s*\{/.test(source) && parses(`(${source})`) ? `(${source})` : source;
}

function withoutTypes(source) {
  if (!modules.stripTypeScriptTypes) {
    const error = new Error(
      `the node of this sandbox, ${process.version}, cannot run TypeScript, which takes 22.13 or later; use javascript`,
    );
    error.name = "TypeScriptUnavailable";
    error.stack = "";
    throw error;
  }
  // It says with every process that it is new.
  const warn = process.emitWarning;
  process.emitWarning = () => {};
  try {
    return modules.stripTypeScriptTypes(source);
  } catch (error) {
    if (error.code !== "ERR_UNSUPPORTED_TYPESCRIPT_SYNTAX") throw error;
    // Enumerations and the like are more than types.
    return modules.stripTypeScriptTypes(source, { mode: "transform" });
  } finally {
    process.emitWarning = warn;
  }
}

// ---- cells

function post(method, parameters) {
  return new Promise((resolve, reject) => {
    session.post(method, parameters, (error, reply) => (error ? reject(error) : resolve(reply)));
  });
}

async function evaluated(source) {
  const expression = `${source}\n//# sourceURL=cell-${count}.js`;
  const reply = await post("Runtime.evaluate", { expression, replMode: true, awaitPromise: true });
  const details = reply.exceptionDetails;
  return { details, value: await valueOf(details?.exception ?? reply.result) };
}

/** The value itself of what the inspector tells about it. */
async function valueOf(told) {
  if (!told.objectId) {
    return told.unserializableValue ? vm.runInThisContext(told.unserializableValue) : told.value;
  }
  await post("Runtime.callFunctionOn", {
    objectId: told.objectId,
    functionDeclaration: "function (value) { globalThis[Symbol.for('agentyard.keep')](value); }",
    arguments: [{ objectId: told.objectId }],
  });
  await post("Runtime.releaseObject", { objectId: told.objectId });
  const value = kept;
  kept = undefined;
  return value;
}

async function run(source, turn) {
  let text = prepared(source);
  let { details, value } = await evaluated(text);
  if (value instanceof SyntaxError && /import statement/.test(value.message)) {
    text = text.replace(IMPORT, imported);
    ({ details, value } = await evaluated(text));
  }
  if (turn.over) return;
  if (details) {
    report(value, details, text);
  } else if (value !== undefined) {
    const shown = typeof value === "string" ? value : util.inspect(value, { depth: 6, maxStringLength: 1 << 20 });
    send("shown", "main", "text", shown);
  }
}

function report(error, details, source) {
  if (!util.types.isNativeError(error) && !(error instanceof Error)) {
    send("error", "Error", util.inspect(error), `Uncaught ${util.inspect(error)}`);
    return;
  }
  const name = String(error.name ?? "Error");
  const value = String(error.message ?? "");
  const lines = String(error.stack ?? "").split("\n");
  const ours = lines.findIndex((line) => line.includes("(node:inspector") || line.includes("<agentyard>"));
  let traceback = (ours < 0 ? lines : lines.slice(0, ours)).join("\n");
  if (name === "SyntaxError" && details && !traceback.includes("cell-")) {
    const line = source.split("\n")[details.lineNumber] ?? "";
    const mark = `${" ".repeat(details.columnNumber)}^`;
    traceback = `cell-${count}.js:${details.lineNumber + 1}\n${line}\n${mark}\n${traceback}`;
  }
  send("error", name, value, traceback);
}

async function execute([source, ...pairs]) {
  const before = [];
  for (let at = 0; at < pairs.length; at += 2) {
    before.push([pairs[at], process.env[pairs[at]]]);
    process.env[pairs[at]] = pairs[at + 1];
  }
  const interrupted = new Promise((_resolve, reject) => {
    interrupt = reject;
  });
  interrupted.catch(() => {});
  // What goes on after it was interrupted has nothing to say any more.
  const turn = { over: false };
  count += 1;
  try {
    await Promise.race([run(source, turn), interrupted]);
  } catch (error) {
    report(error, null, source);
  }
  turn.over = true;
  interrupt = null;
  for (const [name, value] of before) {
    if (value === undefined) delete process.env[name];
    else process.env[name] = value;
  }
  send("done");
}

// ---- start

globalThis[Symbol.for("agentyard.keep")] = (value) => {
  kept = value;
};
Object.defineProperties(globalThis, {
  __import: { value: (name) => load(String(name).replace(/^npm:/, "").replace(/^\.{1,2}\//, `${process.cwd()}/$&`)) },
  require: { value: modules.createRequire(path.join(process.cwd(), "cell.js")), writable: true },
});
process.argv.length = 1;
process.on("SIGINT", () => {
  interrupt?.(Object.assign(new Error("the execution was interrupted"), { name: "Interrupted" }));
});
process.on("uncaughtException", (error) => console.error("Uncaught", error));
process.on("unhandledRejection", (error) => console.error("Uncaught (in promise)", error));

let buffer = Buffer.alloc(0);
let queue = Promise.resolve();
const socket = new net.Socket({ fd: SOCKET });
socket.on("data", (bytes) => {
  buffer = Buffer.concat([buffer, bytes]);
  while (buffer.length >= 4 && buffer.length >= 4 + buffer.readUInt32BE(0)) {
    const end = 4 + buffer.readUInt32BE(0);
    const fields = fieldsOf(buffer.subarray(4, end));
    buffer = buffer.subarray(end);
    queue = queue.then(() => execute(fields));
  }
});
socket.on("close", () => process.exit(0));
socket.on("error", () => process.exit(0));
