// Simulator: steps a second with all specifications on.
import { protocolNamed } from '../dist/protocols/index.js'
import { parseScenario, runScenario } from '../dist/workbench/sim/index.js'

const HEARTBEATS = { heartbeatMs: 10, suspectAfterMs: 100 }

/** What runs, what it is measured against (M steps/s), and about how many steps it takes in a millisecond. */
const WORKLOADS = {
  // NFD-E remembers when each heartbeat came; the fixed timeout only moves a timer on.
  'bully, states change': {
    protocol: 'bully',
    options: { ...HEARTBEATS, detector: 'nfd-e' },
    initial: true,
    perMs: (n) => n / 10,
    target: 1,
  },
  'bully, nothing changes': {
    protocol: 'bully',
    options: { ...HEARTBEATS, detector: 'fixed' },
    initial: true,
    perMs: (n) => n / 10,
    target: 2.5,
  },
  'ring, tolerant': {
    protocol: 'ring',
    options: { faultTolerant: true, probeMs: 10, hopTimeoutMs: 10 },
    initial: true,
    perMs: (n) => (4 * n) / 10,
  },
  'bully-gm': {
    protocol: 'bully-gm',
    options: { timeoutMs: 5, periodMs: 10 },
    initial: true,
    perMs: (n) => (5 * n) / 10,
  },
  invitation: {
    protocol: 'invitation',
    options: {
      checkPeriodMs: 40,
      timeoutPeriodMs: 10,
      queryTimeoutMs: 5,
      acceptWindowMs: 8,
      acceptTimeoutMs: 5,
      readyTimeoutMs: 5,
    },
    initial: false,
    perMs: (n) => (4 * n) / 10,
  },
  'omega, datagrams': {
    protocol: 'omega',
    options: { pingMs: 10, alphaMs: 20, timeoutMs: 50 },
    initial: true,
    perMs: (n) => (n * n) / 10,
  },
  'local-leader, majority': {
    protocol: 'local-leader',
    options: { mode: 'majority' },
    initial: false,
    perMs: (n) => (n < 100 ? (n * n) / 25 : n / 2),
    target: 0.7,
  },
  'local-leader, local': {
    protocol: 'local-leader',
    options: { mode: 'local' },
    initial: false,
    perMs: (n) => (n < 100 ? (n * n) / 60 : n / 4),
  },
}

/** Several worlds one after the other, as in a campaign. */
const RUNS = 8

function measure(workload, n, steps) {
  const began = performance.now()
  let taken = 0
  for (let seed = 1; seed <= RUNS; seed++) taken += run(workload, n, seed, steps / RUNS)
  return taken / ((performance.now() - began) / 1000)
}

function run({ protocol, options, initial, perMs }, n, seed, steps) {
  const definition = protocolNamed(protocol)
  const scenario = parseScenario(
    {
      protocol,
      seed,
      nodes: Array.from({ length: n }, (_, index) => index + 1),
      options,
      ...(initial ? { initial: { leader: n } } : {}),
      clocks: { driftPpm: 100 },
      untilMs: Math.ceil(steps / perMs(n)),
    },
    { names: [protocol], find: () => definition },
  )
  const report = runScenario(definition, scenario)
  if (report.specs.some(({ verdict }) => verdict === 'violated'))
    throw new Error('a specification is violated')
  return report.steps
}

/** Worlds of one size, with bully's first. */
export const simGroups = [5, 20, 100].map((n) =>
  Object.keys(WORKLOADS).map((what) => ['sim', what, String(n)]),
)

export function measureSim(what, n) {
  const workload = WORKLOADS[what]
  measure(workload, n, 1_000_000)
  const rate = measure(workload, n, 2_000_000)
  const shown = (rate / 1e6).toFixed(2).padStart(5)
  return {
    rate,
    line: `simulator  ${what.padEnd(23)} n=${String(n).padEnd(3)} ${shown} M steps/s`,
    target: workload.target === undefined ? null : `${workload.target} M`,
  }
}
