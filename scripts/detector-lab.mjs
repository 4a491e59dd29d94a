// A laboratory for failure detectors: one process leads and never steps down, another does nothing but watch it, and
// the simulator crashes and recovers the leader on a network of our choosing. No election, so nothing but the
// detector is measured.
import { define, output, stack } from 'conclave/core'
import { checkDetector, detectorLayer, detectorOptions, HEARTBEAT } from 'conclave/links'
import { parseScenario, runScenario } from 'conclave/sim'
import { addQos, EMPTY_QOS, QosWatch, qosReport } from 'conclave/trace'
import { z } from 'zod'

const LEADER = 2

const SAYS = { elected: { type: 'elected' }, following: { type: 'following', leader: LEADER } }

const watchers = define({
  name: 'watchers',
  title: 'one leads for ever, the others watch it',
  source: 'a laboratory',
  kinds: ['nothing'],
  linkKinds: [HEARTBEAT],
  order: 'fifo',
  options: () => z.strictObject(detectorOptions()).superRefine(checkDetector),
  create(identity, options) {
    const leads = identity.self === LEADER
    const protocol = {
      start: () => ({ state: null, effects: [output(leads ? SAYS.elected : SAYS.following)] }),
      step: (state) => ({ state, effects: [] }),
      view: () => ({
        role: leads ? 'leader' : 'follower',
        leader: LEADER,
        token: null,
        until: null,
        members: null,
        detail: null,
      }),
      shift: (state) => state,
    }
    return stack(detectorLayer(identity, options), protocol)
  },
  settlesWithin: () => 0,
})
const lookup = { names: [watchers.name], find: () => watchers }

/** A run of the laboratory: the scenario's `network` and `events` as they would stand in a file. */
export function watchLeader({ options, network, events, untilMs, seed = 1, driftPpm = 100 }) {
  const scenario = parseScenario(
    {
      protocol: watchers.name,
      nodes: [1, LEADER],
      options,
      network,
      events,
      untilMs,
      seed,
      clocks: { driftPpm },
    },
    lookup,
  )
  const watch = new QosWatch()
  runScenario(watchers, scenario, { observe: (seen) => watch.observe(seen) })
  return watch.finish(untilMs * 1000).reduce((sum, { tally }) => addQos(sum, tally), EMPTY_QOS)
}

/** The same sequence of numbers in [0, 1) from the same seed, on every machine (mulberry32). */
function numbersFrom(seed) {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 0x1_0000_0000
  }
}

const RUN_MS = 60_000
const CRASH_EVERY_MS = 4000
const DOWN_MS = 1500

/** Crashes every four seconds, at a random phase of the heartbeat. */
function crashes(random) {
  return Array.from({ length: RUN_MS / CRASH_EVERY_MS - 1 }, (_, index) => {
    const atMs = Math.round((index + 1) * CRASH_EVERY_MS + random() * 500)
    return [
      { atMs, crash: LEADER },
      { atMs: atMs + DOWN_MS, recover: LEADER },
    ]
  }).flat()
}

/** Now and then, for a moment, every message takes long. */
function spells(random, delayMs) {
  const events = []
  for (let atMs = 300; atMs < RUN_MS - 500; atMs += Math.round(300 + random() * 1400)) {
    events.push({ atMs, slow: [[1, LEADER]], delayMs }, { atMs: atMs + 60, heal: 'all' })
  }
  return events
}

function together(...lists) {
  return lists.flat().sort((a, b) => a.atMs - b.atMs)
}

export const NETWORKS = {
  steady: {
    title: 'delays of 1 to 2 ms, and a hiccup of 30 to 80 ms about once a second',
    network: { delayMs: [1, 2] },
    events: (random) => together(crashes(random), spells(random, [30, 80])),
  },
  rough: {
    title: 'delays of 1 to 20 ms, 1 % loss, and a spell of 100 to 300 ms about once a second',
    network: { delayMs: [1, 20], loss: 0.01 },
    events: (random) => together(crashes(random), spells(random, [100, 300])),
  },
}

/** What was measured over these seeds: the same crashes, spells and delays for whichever detector. */
export function measure(options, { network, events }, seeds) {
  let sum = EMPTY_QOS
  for (let seed = 1; seed <= seeds; seed++) {
    const drawn = events(numbersFrom(seed))
    sum = addQos(sum, watchLeader({ options, network, events: drawn, untilMs: RUN_MS, seed }))
  }
  return qosReport(sum)
}
