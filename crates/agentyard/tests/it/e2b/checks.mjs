// What the scripts beside this one have in common. Each thing that holds is printed on a line of its own; the first that
// does not ends the script.

import assert from 'node:assert/strict'
import { createRequire } from 'node:module'

// The packages are where the test installed them, not beside these scripts.
const require = createRequire(process.env.E2B_PACKAGES)
export const e2b = require('e2b')
export const { Sandbox } = e2b
export const { Sandbox: CodeSandbox } = require('@e2b/code-interpreter')

// How long anything may take before it counts as never.
const PATIENCE_MS = 30_000

export function holds(what, condition, seen) {
  assert.ok(condition, `${what}: ${JSON.stringify(seen)}`)
  console.log(`ok ${what}`)
}

export function same(what, seen, expected) {
  assert.deepEqual(seen, expected, `${what}: ${JSON.stringify(seen)} instead of ${JSON.stringify(expected)}`)
  console.log(`ok ${what}`)
}

/** The error of exactly this kind that a call must end with. */
export async function raises(what, kind, call) {
  let answer
  try {
    answer = await call()
  } catch (error) {
    assert.equal(error.constructor.name, kind.name, `${what}: ${error.constructor.name} (${error.message}) instead of ${kind.name}`)
    console.log(`ok ${what}`)
    return error
  }
  assert.fail(`${what}: ${JSON.stringify(answer)} instead of ${kind.name}`)
}

export const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms))

/** Asks again and again until it is so. */
export async function becomesTrue(what, condition) {
  const deadline = Date.now() + PATIENCE_MS
  while (!(await condition())) {
    assert.ok(Date.now() < deadline, `${what}: not within ${PATIENCE_MS} ms`)
    await sleep(20)
  }
  console.log(`ok ${what}`)
}

/** A sandbox that is gone afterwards. */
export async function withSandbox(use, { kind = Sandbox, template, ...options } = {}) {
  const sandbox = template ? await kind.create(template, options) : await kind.create(options)
  try {
    return await use(sandbox)
  } finally {
    await sandbox.kill()
  }
}

/** What all pages have. */
export async function allOf(paginator) {
  const items = []
  while (paginator.hasNext) items.push(...(await paginator.nextItems()))
  return items
}
