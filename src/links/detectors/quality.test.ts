/** The failure detectors in the simulator: what docs/explanation/detectors.md says of them, and bully on top of each. */
import { spawnSync } from 'node:child_process'
import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { sized } from '../../../test/support/sizes.ts'
import { msOf, type PlainObject } from '../../core/index.ts'
import { bullyDefinition } from '../../protocols/bully/index.ts'
import {
  addTallies,
  type CampaignTally,
  EMPTY_TALLY,
  parseScenario,
  runScenario,
  runSeed,
  scenarioDrawer,
} from '../../workbench/sim/index.ts'
import {
  type Observation,
  type QosReport,
  type QosTally,
  qosOfTrace,
  qosReport,
  type TraceRecord,
} from '../../workbench/trace/index.ts'
import { checkDetector, detectorOptions, reliableTimes, synchronousBounds } from '../index.ts'

const ROOT = resolve(import.meta.dirname, '../../..')
const DETECTORS = ['fixed', 'nfd-e', 'bertier', 'phi', 'reliable'] as const
const EVERY_MS = 50

type Watched = {
  readonly options: PlainObject
  readonly network: PlainObject
  readonly events: readonly PlainObject[]
  readonly untilMs: number
  readonly seed?: number
}
type Lab = { watchLeader(run: Watched): QosTally }
const lab = (await import(pathToFileURL(resolve(ROOT, 'scripts/detector-lab.mjs')).href)) as Lab

function watching(run: Watched): QosReport {
  return qosReport(lab.watchLeader(run))
}

/** The delay of the last heartbeat before the crash. */
function lateBeforeCrash(options: PlainObject, lateMs: number): QosReport {
  const events = [
    { atMs: 1990, slow: [[1, 2]], delayMs: lateMs },
    { atMs: 2010, crash: 2 },
  ]
  return watching({ options, network: { delayMs: 5 }, events, untilMs: 6000 })
}

describe('a late heartbeat before the crash', () => {
  it('postpones the detection by a fixed timeout as long as it pleases', () => {
    const detector = { detector: 'fixed', suspectAfterMs: 200 }
    const times = [150, 1000, 3000].map((lateMs) => lateBeforeCrash(detector, lateMs).detection.maxMs)
    expect(times.map((ms) => Math.round(ms ?? 0))).toEqual([340, 1190, 3190])
  })

  it('leaves that of NFD-E where it was: eta + E(D) + alpha', () => {
    const detector = { detector: 'nfd-e', alphaMs: 150 }
    for (const lateMs of [150, 1000, 3000]) {
      const { detection, mistakes } = lateBeforeCrash(detector, lateMs)
      expect(mistakes).toBe(0)
      expect(detection.samples).toBe(1)
      expect(detection.maxMs).toBeLessThanOrEqual(EVERY_MS + 5 + 150 + lateMs / 30)
    }
  })
})

describe('phi-accrual on a steady network with hiccups', () => {
  // One heartbeat in forty is late, seldom enough to be forgotten by the next.
  const hiccups = Array.from({ length: 30 }, (_, index) => [
    { atMs: 1980 + index * 2000, slow: [[1, 2]], delayMs: 40 },
    { atMs: 2020 + index * 2000, heal: 'all' },
  ]).flat()
  const mistakes = (sigmaFloorMs: number): number =>
    watching({
      options: { detector: 'phi', sigmaFloorMs },
      network: { delayMs: [1, 2] },
      events: hiccups,
      untilMs: 62_000,
    }).mistakes

  it('makes many mistakes without a floor under sigma, and none with one', () => {
    expect(mistakes(0)).toBeGreaterThan(10)
    expect(mistakes(25)).toBe(0)
  })
})

describe('the reliable detector', () => {
  const bounds = { detector: 'reliable', minDelayMs: 2, maxDelayMs: 30, stepMs: 0, driftPpm: 200 }
  const options = z.strictObject(detectorOptions()).superRefine(checkDetector).parse(bounds)
  const { detection } = reliableTimes(synchronousBounds(options))

  it('is never wrong within its bounds, and detects within the time that it computes', () => {
    for (let seed = 1; seed <= 20; seed++) {
      const atMs = 3000 + seed * 3
      const events = [
        { atMs, crash: 2 },
        { atMs: atMs + 1000, recover: 2 },
        { atMs: atMs + 3000, crash: 2 },
      ]
      const qos = watching({ options: bounds, network: { delayMs: [2, 30] }, events, untilMs: 9000, seed })
      expect(qos.mistakes).toBe(0)
      expect(qos.detection.samples).toBe(2)
      expect(qos.detection.maxMs).toBeLessThanOrEqual(msOf(detection))
    }
  })

  it('does not take back a verdict that a broken bound made wrong', () => {
    const events = [
      { atMs: 1000, cut: [[1, 2]] },
      { atMs: 1500, heal: 'all' },
    ]
    const qos = watching({ options: bounds, network: { delayMs: 5 }, events, untilMs: 5000 })
    expect(qos).toMatchObject({ mistakes: 1, mistakeDuration: { samples: 0, censored: 1 } })
  })
})

describe.each(DETECTORS)('bully on %s', (detector) => {
  const draw = scenarioDrawer(bullyDefinition, {
    nodes: [2, 6],
    options: { detector },
    faults: bullyDefinition.swarm.faults,
  })

  it('keeps its promises over many seeds of faults, and crashes are detected', () => {
    let tally: CampaignTally = EMPTY_TALLY
    const seeds = sized(60, 120)
    for (let seed = 1; seed <= seeds; seed++) tally = addTallies(tally, runSeed(bullyDefinition, draw, seed))
    expect(tally.violations).toEqual([])
    expect(tally.qos?.detection.count).toBeGreaterThan(seeds / 6)
    expect(tally.qos?.mistakes).toBeGreaterThan(seeds / 6)
  })

  it('keeps the contract at every step', () => {
    for (let seed = 1; seed <= 6; seed++) runScenario(bullyDefinition, draw(seed), { strict: true })
    expect(bullyDefinition.create({ self: 1, nodes: [1, 2] }, draw(1).options).settled).toBeDefined()
  })

  it('shows suspicion and trust in its trace, and the trace and the run agree on its quality', () => {
    const scenario = draw(8)
    const records: TraceRecord[] = []
    const seen: Observation[] = []
    runScenario(bullyDefinition, scenario, {
      record: (record) => records.push(record),
      observe: (each) => seen.push(each),
    })
    const said = seen.flatMap((each) => (each.type === 'output' ? [each.event.type] : []))
    expect(said).toContain('trust')
    const last = { type: 'world', at: scenario.untilMs * 1000, event: {} } as const
    const header = { trace: 1, protocol: 'bully', nodes: scenario.nodes, options: {}, seed: 8 } as const
    const ofTrace = qosOfTrace({ header, records: [...records, last] })?.all
    const ofRun = runSeed(bullyDefinition, draw, 8).qos
    expect(ofRun).not.toBeNull()
    expect(ofTrace).toEqual(ofRun === null ? null : qosReport(ofRun))
  })
})

it('a protocol without a detector has no quality of service', () => {
  const draw = (seed: number) =>
    parseScenario(
      { protocol: 'bully', nodes: [1, 2], options: { detector: 'none' }, seed, untilMs: 1000 },
      { names: ['bully'], find: () => bullyDefinition },
    )
  expect(runSeed(bullyDefinition, draw, 1).qos).toBeNull()
})

it('the table of docs/explanation/detectors.md is what is measured now: one detector, and in soak all and the plot', () => {
  const words = sized(['--check', '--only', 'phi 8, floor 25 ms'], ['--check'])
  const { status, stderr } = spawnSync('node', ['scripts/detectors.mjs', ...words], {
    cwd: ROOT,
    encoding: 'utf8',
  })
  expect([status, stderr]).toEqual([0, ''])
})
