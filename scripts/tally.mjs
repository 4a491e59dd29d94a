// A vitest reporter for the end of a test run: the tests that passed only when they were repeated, by name, and then
// the last line, `N passed, N failed, N skipped`. With TALLY_FILE it writes both there instead: scripts/test.mjs adds up
// the counts of its two runs.
import { writeFileSync } from 'node:fs'

export default class Tally {
  onTestRunEnd(modules, unhandledErrors) {
    const count = { passed: 0, failed: unhandledErrors.length, skipped: 0 }
    const repeated = []
    for (const module of modules) {
      count.failed += module.errors().length
      for (const test of module.children.allTests()) {
        count[test.result().state] += 1
        if (test.diagnostic()?.flaky === true) repeated.push(`${module.relativeModuleId}: ${test.fullName}`)
      }
    }
    const file = process.env.TALLY_FILE
    if (file === undefined) process.on('exit', () => printTally({ count, repeated }))
    else writeFileSync(file, JSON.stringify({ count, repeated }))
  }
}

export function printTally({ count, repeated }) {
  for (const name of repeated) console.log(`passed when repeated: ${name}`)
  console.log(`${count.passed} passed, ${count.failed} failed, ${count.skipped} skipped`)
}
