/**
 * The past does not depend on the future: a run with one more event at an instant is, before that instant, the same run.
 * So a reader of a run can act at any instant of it.
 */
import { describe, expect, it } from 'vitest'
import { sized } from '../../../test/support/sizes.ts'
import { FAULT_KINDS, microsOf } from '../../core/index.ts'
import { protocols } from '../../protocols/index.ts'
import { Random } from '../scenario/random.ts'
import type { Scenario, ScenarioEvent } from '../scenario/scenario.ts'
import { type TraceRecord, traceLine } from '../trace/index.ts'
import { parseScenario, runScenario, scenarioDrawer, traceHeader } from './index.ts'

type Undated<E> = E extends unknown ? Omit<E, 'atMs'> : never

/** One of each kind that a reader can choose, on random nodes and messages. */
function eventsFor({ nodes }: Scenario, messages: number, random: Random): readonly Undated<ScenarioEvent>[] {
  const node = () => nodes[random.integer(0, nodes.length - 1)] as number
  const message = () => random.integer(0, messages)
  const [a, b] = [nodes[0] as number, nodes.at(-1) as number]
  return [
    { crash: node() },
    { pause: node(), forMs: 30 },
    { suspend: node(), forMs: 30 },
    { drift: node(), ppm: random.integer(-500_000, 1_000_000) },
    { skew: node(), byMs: random.integer(-200, 200) },
    { drop: message() },
    { delay: message(), forMs: 20 },
    { copy: message() },
    { copy: message(), afterMs: 20 },
    { load: [node()], lateMs: [0, 40], delayMs: [1, 10], overMs: random.integer(0, 50), forMs: 200 },
    { partition: [[a]] },
    ...(a === b ? [] : [{ cut: [[a, b]] as const }, { cutOneWay: [[a, b]] as const }]),
    { loss: 0.3 },
  ]
}

function runOf(definition: (typeof protocols)[number], scenario: Scenario): readonly TraceRecord[] {
  const records: TraceRecord[] = []
  runScenario(definition, scenario, { record: (record) => void records.push(record) })
  return records
}

const before = (records: readonly TraceRecord[], at: number): readonly string[] =>
  records.filter((record) => record.at < at).map(traceLine)

/** The time before the event that a run must cover to say anything. */
const LONG = 60

describe.each(protocols.map((definition) => [definition.name, definition] as const))(
  'a run of %s',
  (_, definition) => {
    it('is the same up to the instant of one more event of any kind', () => {
      const settings = { nodes: [3, 4] as const, options: {}, faults: FAULT_KINDS }
      const draw = scenarioDrawer(definition, settings)
      for (let seed = 1; seed <= sized(1, 3); seed++) {
        const scenario = { ...draw(seed), untilMs: Math.min(draw(seed).untilMs, 3000) }
        const events = scenario.events.filter(({ atMs }) => atMs <= scenario.untilMs)
        const random = new Random(seed)
        const plain = runOf(definition, { ...scenario, events })
        const messages = plain.reduce((sum, record) => sum + ('sent' in record ? record.sent.length : 0), 0)
        for (const event of eventsFor(scenario, messages, random)) {
          const atMs = random.integer(Math.min(LONG, scenario.untilMs), scenario.untilMs)
          const more = { ...event, atMs } as ScenarioEvent
          // As after acting: later events are gone.
          const kept = events.filter((each) => each.atMs <= atMs)
          const at = microsOf(atMs)
          for (const tried of [
            [...events, more],
            [...kept, more],
          ]) {
            const acted = runOf(definition, { ...scenario, events: tried })
            expect(before(acted, at)).toEqual(before(plain, at))
          }
        }
      }
    }, 120_000)
  },
)

describe.each(protocols.map((definition) => [definition.name, definition] as const))(
  'with clocks and messages that events change, %s',
  (_name, definition) => {
    it('keeps its contract at every step', () => {
      const draw = scenarioDrawer(definition, { nodes: [3, 4], options: {}, faults: [] })
      for (let seed = 1; seed <= sized(1, 2); seed++) {
        const scenario = { ...draw(seed), untilMs: 1500 }
        const random = new Random(seed)
        const events = Array.from({ length: 40 }, (_, index): ScenarioEvent => {
          const all = eventsFor(scenario, index * 10, random)
          const event = all[random.integer(3, 9)] as Undated<ScenarioEvent>
          return { ...event, atMs: 30 * (index + 1) }
        })
        expect(() => runScenario(definition, { ...scenario, events }, { strict: true })).not.toThrow()
      }
    }, 120_000)
  },
)

it('is the same trace after a round trip of its scenario through a file', () => {
  const definition = protocols.find(({ name }) => name === 'local-leader') as (typeof protocols)[number]
  const file = {
    protocol: 'local-leader',
    nodes: [1, 2, 3],
    untilMs: 1500,
    events: [
      { atMs: 300, drift: 1, ppm: -300_000 },
      { atMs: 400, skew: 2, byMs: 120 },
      { atMs: 500, drop: 40 },
      { atMs: 600, delay: 60, forMs: 10 },
      { atMs: 700, copy: 80 },
      { atMs: 800, load: 'all', lateMs: [0, 60], overMs: 100, forMs: 400 },
    ],
  }
  const lookup = { names: ['local-leader'], find: () => definition }
  const scenario = parseScenario(file, lookup)
  const again = parseScenario(JSON.parse(JSON.stringify(scenario)), lookup)
  expect(again).toEqual(scenario)
  expect(traceHeader(again)).toEqual(traceHeader(scenario))
  expect(runOf(definition, again)).toEqual(runOf(definition, scenario))
})
