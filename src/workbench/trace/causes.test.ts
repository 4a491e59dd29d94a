import { describe, expect, it } from 'vitest'
import type { Definition, PlainObject } from '../../core/index.ts'
import { catalogue, protocols } from '../../protocols/index.ts'
import { Random } from '../scenario/random.ts'
import { parseScenario, runScenario, scenarioDrawer, traceHeader } from '../sim/index.ts'
import { type Cause, causesOf } from './causes.ts'
import { InvalidTraceError, readTrace, type Trace } from './ndjson.ts'
import type { TraceRecord } from './records.ts'

type Recorded = TraceRecord & { readonly type: 'start' | 'step' }

function traceOf(file: PlainObject): Trace {
  const scenario = parseScenario({ nodes: [1, 2, 3], untilMs: 3000, ...file }, catalogue)
  const records: TraceRecord[] = []
  const definition = catalogue.find(scenario.protocol)
  if (definition === null) throw new Error('unknown protocol')
  runScenario(definition, scenario, { record: (record) => void records.push(record) })
  return { header: traceHeader(scenario), records }
}

/** The chain from the first step that passes a test. */
function why(trace: Trace, test: (step: Recorded, record: number) => boolean): readonly Cause[] {
  const definition = catalogue.find(trace.header.protocol)
  const record = trace.records.findIndex(
    (each, index) => (each.type === 'start' || each.type === 'step') && test(each, index),
  )
  expect(record).toBeGreaterThanOrEqual(0)
  return definition === null ? [] : causesOf(trace, definition, record)
}

/** The chain as text. */
const texts = (chain: readonly Cause[]): readonly string[] =>
  chain.flatMap(({ text, because }) => [text, ...(because === null ? [] : [`because ${because}`])])

const leads =
  (node: number, afterMs: number) =>
  ({ node: who, view, at }: Recorded): boolean =>
    who === node && view?.role === 'leader' && at > afterMs * 1000

describe('a causal chain', () => {
  const bully = { protocol: 'bully', seed: 3 }

  it('names the messages that did not come, why they were lost, and the event behind it', () => {
    const trace = traceOf({ ...bully, events: [{ atMs: 1000, partition: [[3]] }] })
    const chain = texts(why(trace, leads(2, 1000)))
    expect(chain).toHaveLength(3)
    expect(chain[0]).toBe('Node 2 reaches the deadline of its timer "detector/silence" and begins to lead.')
    expect(chain[1]).toMatch(
      /^because nothing came in time: messages \d+, \d+, \d+ and \d+ more \(heartbeat from 3\) were lost because the link was cut$/,
    )
    expect(chain[2]).toBe('An event of the scenario: partition [[3]].')
  })

  it('names the node that was down or paused', () => {
    const crashed = traceOf({ ...bully, events: [{ atMs: 1000, crash: 3 }] })
    expect(texts(why(crashed, leads(2, 1000))).at(-1)).toBe('An event of the scenario: crash 3.')
    const paused = traceOf({ protocol: 'local-leader', events: [{ atMs: 2000, pause: 1, forMs: 900 }] })
    const chain = texts(why(paused, leads(2, 2000)))
    expect(chain[0]).toMatch(/^Node 2 receives Reply from 3 and begins to lead with token \d+\.$/)
    expect(chain.at(-2)).toBe('because nothing came in time from 1, which was paused since 2000 ms')
    expect(chain.at(-1)).toBe('An event of the scenario: pause 1, forMs 900.')
  })

  it('follows messages to the steps that sent them, and ends at a start', () => {
    const trace = traceOf({ protocol: 'local-leader' })
    const chain = why(trace, leads(1, 0))
    const all = texts(chain)
    expect(all[0]).toMatch(/^Node 1 receives Reply from \d and begins to lead with token 1\.$/)
    expect(all[1]).toMatch(/^because node \d sent Reply at [\d.]+ ms$/)
    expect(all.at(-1)).toBe('Node 1 starts.')
    expect(chain.at(-1)?.because).toBeNull()
  })

  it('says why another node still believes that it leads: a wrong clock, or a stall', () => {
    const apart = { atMs: 800, partition: [[1], [2, 3]] }
    const leader = { protocol: 'local-leader' }
    const slow = traceOf({ ...leader, events: [{ atMs: 700, drift: 1, ppm: -600_000 }, apart] })
    const chain = texts(why(slow, leads(2, 800)))
    expect(chain.slice(-3)).toEqual([
      'Meanwhile node 1 still believes that it leads with token 1.',
      expect.stringMatching(
        /^because its clock is wrong since 700 ms: on it the lease lasts [\d.]+ ms more$/,
      ),
      'An event of the scenario: the clock of 1 drifts by -600000 ppm.',
    ])
    const asleep = traceOf({ ...leader, events: [{ atMs: 700, suspend: 1, forMs: 900 }] })
    expect(texts(why(asleep, leads(2, 700))).slice(-3)).toEqual([
      'Meanwhile node 1 still believes that it leads with token 1.',
      'because it is suspended since 700 ms, and notices nothing',
      'An event of the scenario: suspend 1, forMs 900.',
    ])
    const exact = traceOf({ ...leader, events: [apart] })
    expect(texts(why(exact, leads(2, 800))).filter((text) => text.startsWith('Meanwhile'))).toEqual([])
    const fast = traceOf({ ...leader, events: [{ atMs: 700, drift: 1, ppm: 600_000 }, apart] })
    expect(texts(why(fast, leads(2, 800))).filter((text) => text.startsWith('Meanwhile'))).toEqual([])
  })

  it('names an event that dropped the message', () => {
    const quiet = traceOf(bully)
    const beats = quiet.records.flatMap((record) =>
      record.type === 'step' && record.node === 3 && record.at > 1_000_000 && record.sent.length > 0
        ? record.effects
            .flatMap((effect) => (effect.type === 'send' ? [effect.to] : []))
            .map((to, place) => ({
              atMs: record.at / 1000 + 0.001,
              to,
              message: record.sent[place] as number,
            }))
        : [],
    )
    // Each drop removes one heartbeat, and leaves the numbers of all later ones as they are.
    const events = beats
      .filter(({ to }) => to === 2)
      .slice(0, 8)
      .map(({ atMs, message }) => ({ atMs, drop: message }))
    const chain = texts(why(traceOf({ ...bully, events }), leads(2, 1000)))
    expect(chain[1]).toMatch(/^because nothing came in time: .* were lost because events dropped them$/)
    expect(chain.at(-1)).toMatch(/^An event of the scenario: message \d+ is dropped\.$/)
  })

  it('explains a command, a suspension and a restart by their events', () => {
    const trace = traceOf({
      ...bully,
      options: { detector: 'none' },
      events: [
        { atMs: 500, command: { node: 1, do: 'detect', of: 3 } },
        { atMs: 800, suspend: 1, forMs: 100 },
        { atMs: 950, command: { node: 1, do: 'detect', of: 3 } },
        { atMs: 1000, crash: 2 },
        { atMs: 1100, recover: 2 },
      ],
    })
    const command = why(trace, (step) => step.type === 'step' && step.input.type === 'command')
    expect(texts(command).slice(1)).toEqual([
      'because the scenario gave this command',
      'An event of the scenario: command {"node":1,"do":"detect","of":3}.',
    ])
    const woken = why(trace, (step) => step.type === 'step' && step.input.type === 'suspended')
    expect(texts(woken).slice(-2)).toEqual([
      'because its host was suspended',
      'An event of the scenario: suspend 1, forMs 100.',
    ])
    const restarted = why(trace, (step) => step.type === 'start' && step.at > 0)
    expect(texts(restarted).slice(-2)).toEqual([
      'because the scenario restarted it',
      'An event of the scenario: recover 2.',
    ])
  })

  it('works in the untimed world, where instants are steps', () => {
    const trace = traceOf({
      protocol: 'bully',
      untilMs: undefined,
      options: { repaired: false },
      initial: { leader: 3 },
      schedule: [
        { node: 3, do: 'crash' },
        { node: 2, do: 'command', command: { do: 'detect', of: 3 } },
        { node: 1, do: 'deliver', from: 2 },
      ],
    } as unknown as PlainObject)
    const chain = why(trace, (step) => step.node === 1 && step.type === 'step')
    expect(texts(chain)).toEqual([
      'Node 1 receives coordinator from 2 and follows 2.',
      'because node 2 sent coordinator in step 2',
      expect.stringMatching(/^Node 2 gets the command detect/),
    ])
  })

  it('names the line of a damaged step, and never fails otherwise', () => {
    const trace = traceOf({ protocol: 'epochs', untilMs: 300 })
    const lines = trace.records.map((record) => JSON.stringify(record))
    const random = new Random(5)
    const definition = catalogue.find('epochs') as Definition
    const damaged = (text: string): string => {
      const fields = text.match(/"(?:call|op|name|of|value|type|id|at)":/g) ?? []
      const field = fields[random.integer(0, Math.max(0, fields.length - 1))]
      return field === undefined ? text : text.replace(field, '"gone":')
    }
    let refused = 0
    for (let attempt = 0; attempt < 150; attempt++) {
      const place = random.integer(0, lines.length - 1)
      const text = lines.with(place, damaged(lines[place] as string))
      try {
        const read = readTrace([JSON.stringify(trace.header), ...text].join('\n'))
        causesOf(read, definition, random.integer(0, lines.length - 1))
      } catch (error) {
        expect(error).toBeInstanceOf(InvalidTraceError)
        expect((error as Error).message).toContain(`line ${place + 2}`)
        refused += 1
      }
    }
    expect(refused).toBeGreaterThan(20)
  })

  it('is empty for a record that the trace does not have', () => {
    const trace = traceOf(bully)
    expect(causesOf(trace, protocols[0] as (typeof protocols)[number], 10 ** 6)).toEqual([])
  })
})

describe.each(protocols.map((definition) => [definition.name, definition] as const))(
  'of a run of %s, each chain',
  (_name, definition) => {
    it('ends, goes back in time, and says how each cause led to its effect', () => {
      const settings = { nodes: [3, 4] as const, options: {}, faults: definition.swarm.faults }
      const scenario = { ...scenarioDrawer(definition, settings)(7), untilMs: 2500 }
      const events = scenario.events.filter(({ atMs }) => atMs <= 2500)
      const records: TraceRecord[] = []
      runScenario(definition, { ...scenario, events }, { record: (record) => void records.push(record) })
      const trace = { header: traceHeader(scenario), records }
      const stride = Math.max(1, Math.floor(records.length / 60))
      for (let index = 0; index < records.length; index += stride) {
        const chain = causesOf(trace, definition, index)
        expect(chain[0]?.record).toBe(index)
        expect(chain.length).toBeLessThanOrEqual(26)
        for (const [place, { record, because, text }] of chain.entries()) {
          expect(text).toMatch(/^[A-Z].*\.$/s)
          const next = chain[place + 1]
          const goesOn = next !== undefined && !next.text.startsWith('Meanwhile')
          expect(because === null).toBe(!goesOn)
          if (goesOn) expect(records[next.record]?.at).toBeLessThanOrEqual(records[record]?.at as number)
        }
      }
    }, 60_000)
  },
)
