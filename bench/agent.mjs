// What an agent costs: keeping a step in its black box, writing the box out, and asking it from a cold start.
import { spawn, spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { catalogue } from '../dist/protocols/index.js'
import { BlackBox } from '../dist/service/runtime/index.js'
import { parseScenario, runScenario } from '../dist/workbench/sim/index.js'

const STEPS = 4096
const COLD_STARTS = 20

/** A node of a real protocol, and its steps. */
function someSteps() {
  const file = { protocol: 'local-leader', nodes: ['a', 'b', 'c', 'd', 'e'], untilMs: 60_000 }
  const definition = catalogue.find('local-leader')
  const scenario = parseScenario(file, catalogue)
  const steps = []
  runScenario(definition, scenario, {
    record: ({ type, node, now, input = null, stable = null }) => {
      if (node === 'a' && (type === 'start' || type === 'step')) {
        steps.push({ now, input, stable, outcome: 'done' })
      }
    },
  })
  const protocol = definition.create({ self: 'a', nodes: scenario.nodes }, scenario.options)
  return { protocol, steps }
}

async function printBox() {
  const { protocol, steps } = someSteps()
  const kept = new BlackBox('a', protocol, STEPS)
  const rounds = Math.ceil(500_000 / steps.length)
  const before = performance.now()
  for (let round = 0; round < rounds; round++) for (const step of steps) kept.record(step, null)
  const nanos = ((performance.now() - before) * 1e6) / (rounds * steps.length)
  const box = new BlackBox('a', protocol, STEPS)
  let state = null
  for (const step of steps.slice(0, STEPS)) {
    box.record(step, state)
    const { stable, input, now } = step
    state = (input === null ? protocol.start(stable, now) : protocol.step(state, input, now)).state
  }
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

const MAIN = fileURLToPath(new URL('../bin/conclave', import.meta.url))

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
