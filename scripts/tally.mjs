// A vitest reporter whose only job is the last line of a test run: `N passed, N failed, N skipped`.
export default class Tally {
  onTestRunEnd(modules, unhandledErrors) {
    const count = { passed: 0, failed: unhandledErrors.length, skipped: 0 }
    for (const module of modules) {
      count.failed += module.errors().length
      for (const test of module.children.allTests()) count[test.result().state] += 1
    }
    process.on('exit', () => {
      console.log(`${count.passed} passed, ${count.failed} failed, ${count.skipped} skipped`)
    })
  }
}
