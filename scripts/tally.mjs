// A vitest reporter for the end of a test run: the tests that passed only when they were repeated, by name, and then
// the last line, `N passed, N failed, N skipped`.
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
    process.on('exit', () => {
      for (const name of repeated) console.log(`passed when repeated: ${name}`)
      console.log(`${count.passed} passed, ${count.failed} failed, ${count.skipped} skipped`)
    })
  }
}
