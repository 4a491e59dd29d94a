// A vitest reporter whose only job is the end of a test run: tests that passed only at the second try, by name, and the last
// line `N passed, N failed, N skipped`.
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
      for (const name of repeated) console.log(`passed at the second try only: ${name}`)
      console.log(`${count.passed} passed, ${count.failed} failed, ${count.skipped} skipped`)
    })
  }
}
