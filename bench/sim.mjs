// Simulator: steps a second with all specifications on, for bully with heartbeats.
import { microsOf, NOTHING, send, setTimer, stack } from '../dist/core/index.js'
import { protocolNamed } from '../dist/protocols/index.js'
import { parseScenario, runScenario } from '../dist/sim/index.js'

const bully = protocolNamed('bully')
const HEARTBEAT_MS = 10
const TIMEOUT_MS = 100

/** A detector that remembers when it heard from whom, as adaptive ones do: every heartbeat makes a new state. */
function remembering({ self, nodes }) {
  const peers = nodes.filter((id) => id !== self)
  const indexOf = new Map(peers.map((peer, index) => [peer, index]))
  const beat = (now) => [
    ...peers.map((peer) => send(peer, { kind: 'heartbeat' })),
    setTimer('detector/tick', now + microsOf(HEARTBEAT_MS)),
  ]
  return {
    name: 'detector',
    start: (_stable, now) => ({ state: peers.map(() => now), effects: beat(now), inputs: NOTHING }),
    below(state, input, now) {
      if (input.type === 'timer') {
        const late = peers.filter((_, index) => now - state[index] > microsOf(TIMEOUT_MS))
        return { state, effects: beat(now), inputs: late.map((peer) => ({ type: 'link', peer, up: false })) }
      }
      if (input.type !== 'message') return { state, effects: NOTHING, inputs: [input] }
      const heard = state.slice()
      heard[indexOf.get(input.from)] = now
      return { state: heard, effects: NOTHING, inputs: input.body.kind === 'heartbeat' ? NOTHING : [input] }
    },
    above: (state, message) => ({ state, effects: [message], inputs: NOTHING }),
    shift: (state, by) => state.map((at) => at + by),
  }
}

const changing = {
  ...bully,
  create: (identity, options) =>
    stack(remembering(identity), bully.create(identity, { ...options, detector: 'none' })),
  stimuli: () => [],
}

function measure(definition, n, steps) {
  const nodes = Array.from({ length: n }, (_, index) => index + 1)
  const perMs = (n * (n - 1) + n) / HEARTBEAT_MS
  const scenario = parseScenario(
    {
      protocol: 'bully',
      nodes,
      options: { heartbeatMs: HEARTBEAT_MS, suspectAfterMs: TIMEOUT_MS },
      initial: { leader: n },
      clocks: { driftPpm: 100 },
      untilMs: Math.ceil(steps / perMs),
    },
    { names: ['bully'], find: () => definition },
  )
  const began = performance.now()
  const report = runScenario(definition, scenario)
  const seconds = (performance.now() - began) / 1000
  if (report.specs.some(({ verdict }) => verdict === 'violated'))
    throw new Error('a specification is violated')
  return report.steps / seconds
}

export function benchSim() {
  for (const [what, definition, target] of [
    ['states change', changing, 1_000_000],
    ['nothing changes', bully, 2_500_000],
  ]) {
    for (const n of [5, 20, 100]) {
      measure(definition, n, 300_000)
      const rates = [1, 2, 3].map(() => measure(definition, n, 3_000_000))
      const best = Math.max(...rates)
      const shown = (best / 1e6).toFixed(2).padStart(5)
      console.log(
        `simulator  ${what.padEnd(15)} n=${String(n).padEnd(3)} ${shown} M steps/s  (target ${target / 1e6} M)`,
      )
    }
  }
}
