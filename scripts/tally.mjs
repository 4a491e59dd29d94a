// A vitest reporter for the end of a test run: the tests that failed or passed only when they were repeated, each with
// the place and the first lines of its error, and then the last line, `N passed, N failed, N skipped`. With TALLY_FILE it
// writes all of this there instead: scripts/test.mjs adds up its two runs.
import { writeFileSync } from 'node:fs'

const ERROR_LINES = 6

export default class Tally {
  onTestRunEnd(modules, unhandledErrors) {
    const count = { passed: 0, failed: unhandledErrors.length, skipped: 0 }
    const notes = unhandledErrors.map((error) => describe('failed', 'an error outside all tests', error))
    for (const module of modules) {
      count.failed += module.errors().length
      for (const error of module.errors()) notes.push(describe('failed', module.relativeModuleId, error))
      for (const test of module.children.allTests()) {
        const { state, errors } = test.result()
        count[state] += 1
        const name = `${module.relativeModuleId}: ${test.fullName}`
        if (state === 'failed') notes.push(describe('failed', name, errors[0]))
        else if (test.diagnostic()?.flaky === true)
          notes.push(describe('passed when repeated', name, errors?.[0]))
      }
    }
    const file = process.env.TALLY_FILE
    if (file === undefined) process.on('exit', () => printTally({ count, notes }))
    else writeFileSync(file, JSON.stringify({ count, notes }))
  }
}

function describe(outcome, name, error) {
  const [place] = error?.stacks ?? []
  const lines = error?.message.split('\n').slice(0, ERROR_LINES) ?? []
  if (place !== undefined) lines.push(`at ${place.file}:${place.line}`)
  return [`${outcome}: ${name}`, ...lines.map((line) => `    ${line}`)].join('\n')
}

export function printTally({ count, notes }) {
  for (const note of notes) console.log(note)
  console.log(`${count.passed} passed, ${count.failed} failed, ${count.skipped} skipped`)
}
