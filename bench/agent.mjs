// What an agent costs: keeping a step in its black box, writing the box out, and asking it from a cold start.
import { spawn, spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { catalogue } from '../dist/protocols/index.js'
import { BlackBox } from '../dist/runtime/index.js'
import { parseScenario, runScenario } from '../dist/sim/index.js'

const STEPS = 8192
const COLD_STARTS = 20

/** The steps of one node of a real protocol. */
function someSteps() {
  const scenario = { protocol: 'local-leader', nodes: ['a', 'b', 'c', 'd', 'e'], untilMs: 20_000 }
  const definition = catalogue.find('local-leader')
  const records = []
  runScenario(definition, parseScenario(scenario, catalogue), {
    record: (record) => {
      if (record.type === 'step' && record.node === 'a') records.push(record)
    },
  })
  return records.map(({ now, input, effects }) => ({ now, input, stable: null, effects, outcome: 'done' }))
}

async function printBox() {
  const steps = someSteps()
  const box = new BlackBox('a', STEPS)
  const state = { some: 'state' }
  const rounds = Math.ceil(2_000_000 / steps.length)
  const before = performance.now()
  for (let round = 0; round < rounds; round++) for (const step of steps) box.record(step, state)
  const nanos = ((performance.now() - before) * 1e6) / (rounds * steps.length)
  let bytes = 0
  let longest = 0
  let last = performance.now()
  const header = { trace: 1, protocol: 'local-leader', nodes: ['a'], options: {}, seed: 0 }
  for await (const piece of box.text(() => header)) {
    bytes += piece.length
    longest = Math.max(longest, performance.now() - last)
    last = performance.now()
  }
  console.log(
    `black box  ${nanos.toFixed(0)} ns a step kept; written out: ${(bytes / 1e6).toFixed(1)} MB of ${STEPS} steps, the loop held for ${longest.toFixed(1)} ms at most`,
  )
}

/** Milliseconds of each start of a process. */
function timed(words) {
  return Array.from({ length: COLD_STARTS }, () => {
    const before = performance.now()
    spawnSync(process.execPath, words, { stdio: 'ignore' })
    return performance.now() - before
  }).sort((a, b) => a - b)
}

const MAIN = fileURLToPath(new URL('../dist/cli/main.js', import.meta.url))

/** An agent, alone in its group; a process of its own, because this one cannot answer while it waits. */
function startApart(folder) {
  const key = join(folder, 'key')
  writeFileSync(key, 'a key that is long enough for this', { mode: 0o600 })
  const node = ['--group', 'g', '--id', 'a', '--listen', '127.0.0.1:0', '--key-file', key]
  const agent = spawn(process.execPath, [MAIN, 'agent', ...node, '--http', '127.0.0.1:0'], {
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  return new Promise((resolve) => {
    let said = ''
    agent.stderr.on('data', (data) => {
      said += data
      const url = /"http":"([^"]*)"/.exec(said)?.[1]
      if (url !== undefined && said.includes('"elected"')) resolve({ agent, url })
    })
  })
}

async function printColdStart() {
  const folder = mkdtempSync(join(tmpdir(), 'conclave-bench-'))
  const { agent, url } = await startApart(folder)
  try {
    const bare = timed(['-e', '0'])
    const asked = timed([MAIN, 'leader', '--agent', url])
    const middle = (times) => times[Math.floor(times.length / 2)]
    console.log(
      `cold start ${middle(asked).toFixed(0)} ms median, ${asked.at(-1).toFixed(0)} ms at most of ${COLD_STARTS} "conclave leader" (target 300 ms); ${(middle(asked) / middle(bare)).toFixed(2)} times "node -e 0" (${middle(bare).toFixed(0)} ms)`,
    )
  } finally {
    agent.kill('SIGKILL')
    rmSync(folder, { recursive: true, force: true })
  }
}

export async function printAgent() {
  await printBox()
  await printColdStart()
}
