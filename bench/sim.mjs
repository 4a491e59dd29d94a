// Simulator: steps a second with all specifications on, for bully with heartbeats.
import { microsOf, stack } from '../dist/core/index.js'
import { fixedTimeoutDetector } from '../dist/links/index.js'
import { protocolNamed } from '../dist/protocols/index.js'
import { parseScenario, runScenario } from '../dist/sim/index.js'

const bully = protocolNamed('bully')
const HEARTBEAT_MS = 10
const TIMEOUT_MS = 100

const TIMING = { heartbeatEvery: microsOf(HEARTBEAT_MS), suspectAfter: microsOf(TIMEOUT_MS) }

/** The same detector, but it remembers when it heard from whom, as adaptive ones do: every message makes a new state. */
function remembering(identity) {
  const plain = fixedTimeoutDetector(identity, TIMING)
  const carried = (state, now, step) => ({
    state: { watch: step.state, heardAt: now ?? state.heardAt },
    effects: step.effects,
    inputs: step.inputs,
  })
  return {
    ...plain,
    start: (stable, now) => carried({ heardAt: now }, now, plain.start(stable, now)),
    below: (state, input, now) =>
      carried(state, input.type === 'message' ? now : null, plain.below(state.watch, input, now)),
    above: (state, message, now) => carried(state, null, plain.above(state.watch, message, now)),
    notice: (state, event, now) => carried(state, null, plain.notice(state.watch, event, now)),
    shift: (state, by) => ({ ...state, heardAt: state.heardAt + by }),
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
  // The leader's timer and a heartbeat for each of the others, every period.
  const perMs = n / HEARTBEAT_MS
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

const WORKLOADS = {
  'states change': { definition: changing, target: 1_000_000 },
  'nothing changes': { definition: bully, target: 2_500_000 },
}

/** Each in a process of its own: what one makes of the compiler's optimisations does not weigh on the other. */
export const simBenches = Object.keys(WORKLOADS).flatMap((what) =>
  [5, 20, 100].map((n) => ['sim', what, String(n)]),
)

export function benchSim(what, n) {
  const { definition, target } = WORKLOADS[what]
  measure(definition, n, 300_000)
  const best = Math.max(...[1, 2, 3].map(() => measure(definition, n, 3_000_000)))
  const shown = (best / 1e6).toFixed(2).padStart(5)
  const goal = `(target ${target / 1e6} M)`
  console.log(`simulator  ${what.padEnd(15)} n=${String(n).padEnd(3)} ${shown} M steps/s  ${goal}`)
}
