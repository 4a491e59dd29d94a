// npm test, after the static checks: all tests, in two runs at once. Tests of real processes mostly wait, and the others
// compute. So the computing tests run with a lower priority, in the time that the real ones leave: no core is idle, and
// the real tests are not disturbed. The output of the computing tests follows that of the real ones.
//
// npm test -- WORDS gives the words to vitest, in one run: for example a file, or --project pure.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { availableParallelism, tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { printTally } from './tally.mjs'

const VITEST = [process.execPath, resolve(import.meta.dirname, '../node_modules/vitest/vitest.mjs'), 'run']
/** Half the share of a core that another process gets, and not less: the machine may have other work. */
const LOWER_PRIORITY = ['nice', '-n', '3']
const COMPUTING_WORKERS = Math.min(5, Math.max(2, availableParallelism()))

const children = []

function start([program, ...words], output, env = {}) {
  const stdio = ['ignore', output, output]
  const child = spawn(program, words, { stdio, env: { ...process.env, ...env } })
  children.push(child)
  return child
}

/** Resolves to true if the run ended with exit code 0. */
async function hasPassed(child) {
  const [code] = await once(child, 'close')
  return code === 0
}

/** Returns a function that prints what the child has written so far, and from then on what it writes. */
function holdOutput({ stdout, stderr }) {
  const held = []
  let print = (chunk) => held.push(chunk)
  for (const stream of [stdout, stderr]) stream.on('data', (chunk) => print(chunk))
  return () => {
    print = (chunk) => process.stdout.write(chunk)
    for (const chunk of held) print(chunk)
  }
}

function addTallies(files) {
  // A run that left no tally has failed before its end.
  const tallies = files.map((file) =>
    existsSync(file)
      ? JSON.parse(readFileSync(file, 'utf8'))
      : {
          count: { passed: 0, failed: 1, skipped: 0 },
          notes: ['failed: a test run that ended before its tests'],
        },
  )
  const sum = (name) => tallies.reduce((total, { count }) => total + count[name], 0)
  return {
    count: { passed: sum('passed'), failed: sum('failed'), skipped: sum('skipped') },
    notes: tallies.flatMap(({ notes }) => notes),
  }
}

async function runAll() {
  const folder = mkdtempSync(join(tmpdir(), 'conclave-test-'))
  try {
    const [realTally, computingTally] = ['real', 'computing'].map((name) => join(folder, name))
    const real = start([...VITEST, '--project', 'real'], 'inherit', { TALLY_FILE: realTally })
    const chosen = ['--project', 'pure', '--project', 'alone', '--maxWorkers', String(COMPUTING_WORKERS)]
    const computing = start([...LOWER_PRIORITY, ...VITEST, ...chosen], 'pipe', { TALLY_FILE: computingTally })
    const printOutput = holdOutput(computing)
    const computed = hasPassed(computing)
    const results = [await hasPassed(real)]
    printOutput()
    results.push(await computed)
    printTally(addTallies([realTally, computingTally]))
    return results.every(Boolean)
  } finally {
    rmSync(folder, { recursive: true })
  }
}

// A terminal sends SIGINT to the children too: this process waits until they have cleaned up.
process.on('SIGINT', () => {})
process.on('SIGTERM', () => {
  for (const child of children) child.kill('SIGTERM')
})
const words = process.argv.slice(2)
const passed = words.length === 0 ? await runAll() : await hasPassed(start([...VITEST, ...words], 'inherit'))
process.exitCode = passed ? 0 : 1
