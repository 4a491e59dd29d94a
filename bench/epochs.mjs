// The explorer on epochs next to Spin on the same model (bench/epochs.pml): states per second, and whether both find the
// same number. Both searches are exact. CPU time of all threads is compared, because wall-clock time on a loaded machine
// depends on other processes.
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { protocolNamed } from '../dist/protocols/index.js'
import { explore } from '../dist/workbench/explore/index.js'
import { checkedOptions, DEFAULT_LINK_HISTORY } from '../dist/workbench/sim/index.js'

/** Nodes, epochs, ballots. */
const WORLDS = { small: [3, 1, 2], large: [3, 1, 3] }
const MODEL = fileURLToPath(new URL('epochs.pml', import.meta.url))

function search([n, epochs, ballots]) {
  const definition = protocolNamed('epochs')
  const nodes = Array.from({ length: n }, (_, index) => index + 1)
  return explore(
    {
      definition,
      nodes,
      options: checkedOptions(definition, nodes, { ...definition.exploration.options, epochs, ballots }),
      budget: definition.exploration,
      from: 'boot',
      order: 'any',
      timers: 'any',
      history: DEFAULT_LINK_HISTORY,
      depth: Number.MAX_SAFE_INTEGER,
      maxStates: Number.MAX_SAFE_INTEGER,
      memoryMB: 4000,
      progress: false,
    },
    { seconds: () => performance.now() / 1000, shouldContinue: () => true },
  )
}

/** One search in this process, after a small search that warms up the compiler. */
export function measureEpochs() {
  search(WORLDS.small)
  const before = process.cpuUsage()
  const { states, statesPerSecond, bytesPerState, reuse } = search(WORLDS.large)
  const { user, system } = process.cpuUsage(before)
  const [n, epochs, ballots] = WORLDS.large
  const rate = states / ((user + system) / 1e6)
  return {
    rate,
    wall: statesPerSecond,
    states,
    line:
      `explorer   epochs N=${n} E=${epochs} B=${ballots}  ${states} states: ${formatRate(rate, statesPerSecond)}, ` +
      `${bytesPerState.toFixed(1)} bytes a state, reuse ${Math.round(reuse)}`,
  }
}

/**
 * The verifier that Spin makes of the model: write-only variables count as part of a state (-o1 -o2), as they do here; no
 * cycles (SAFETY), no reduction of states (NOREDUCE). Its table has room for all states from the beginning (-w24).
 */
function spinVerifier(folder) {
  const [n, epochs, ballots] = WORLDS.large
  const made = [
    { command: 'spin', words: ['-o1', '-o2', `-DN=${n}`, `-DE=${epochs}`, `-DB=${ballots}`, '-a', MODEL] },
    { command: 'gcc', words: ['-O3', '-DSAFETY', '-DNOREDUCE', '-w', '-o', 'pan', 'pan.c'] },
  ]
  for (const { command, words } of made) {
    const { error, status, stdout, stderr } = spawnSync(command, words, { cwd: folder, encoding: 'utf8' })
    if (error?.code === 'ENOENT') return `${command} is not installed (Debian: apt-get install spin gcc)`
    if (status !== 0) throw new Error(`${command} ended with ${status}: ${stdout}${stderr}`)
  }
  return null
}

function runSpin(folder) {
  const began = performance.now()
  const { stdout } = spawnSync('sh', ['-c', './pan -m1000000 -w24; times'], { cwd: folder, encoding: 'utf8' })
  const seconds = (performance.now() - began) / 1000
  const states = Number(/(\d+) states, stored/.exec(stdout)?.[1])
  if (!/errors: 0/.test(stdout)) throw new Error(`Spin found an error:\n${stdout}`)
  const rate = states / childSeconds(stdout)
  return {
    states,
    rate,
    wall: states / seconds,
    line: `Spin       the same world      ${states} states: ${formatRate(rate, states / seconds)}`,
  }
}

/** The last line of `times`: what the shell's children took as users and in the system, as 0m4.310000s 0m0.260000s. */
function childSeconds(output) {
  const line = output.trimEnd().split('\n').at(-1)
  return [...line.matchAll(/(\d+)m([\d.]+)s/g)].reduce((sum, [, m, s]) => sum + Number(m) * 60 + Number(s), 0)
}

/** Some more than elsewhere: both wait for memory most of the time, which a busy neighbour takes away first. */
const ROUNDS = 5

/** In turns, so that a busy moment falls on both alike; the best of each counts. */
export function printEpochs(runApart) {
  const folder = mkdtempSync(join(tmpdir(), 'conclave-spin-'))
  try {
    const missing = spinVerifier(folder)
    let ours = { rate: 0 }
    let spin = { rate: 0 }
    for (let round = 0; round < ROUNDS; round++) {
      const mine = runApart(['epochs', 'search', '0'])
      if (mine.rate > ours.rate) ours = mine
      if (missing !== null) continue
      const theirs = runSpin(folder)
      if (theirs.rate > spin.rate) spin = theirs
    }
    console.log(`${ours.line}  (target 1 M, 40 bytes)`)
    if (missing !== null) {
      console.log(`Spin       not measured: ${missing}`)
      return
    }
    console.log(spin.line)
    if (spin.states !== ours.states) throw new Error('the two do not find as many states')
    console.log(
      `           as many states; ${(ours.rate / spin.rate).toFixed(2)} times Spin's rate in processor time, ` +
        `${(ours.wall / spin.wall).toFixed(2)} by the wall  (target 2)`,
    )
  } finally {
    rmSync(folder, { recursive: true })
  }
}

function formatRate(rate, byTheWall) {
  return `${millions(rate)} M states/s (${millions(byTheWall)} M by wall clock)`
}

function millions(rate) {
  return (rate / 1e6).toFixed(2)
}
