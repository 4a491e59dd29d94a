import { describe, expect, it } from 'vitest'
import { lease, TICK } from '../../../test/canaries/lease.ts'
import type { PlainObject } from '../../core/index.ts'
import { InvalidScenarioError, parseScenario } from '../scenario/index.ts'
import { runScenario, traceHeader } from '../sim/index.ts'
import {
  diagramOf,
  type Observation,
  readTrace,
  replay,
  type TraceRecord,
  Transcript,
  writeTrace,
} from '../trace/index.ts'

const definition = lease()
const lookup = { names: ['lease'], find: () => definition }
const tick: PlainObject = { do: 'tick' }

/** Steps after which node 1 leads. */
const LED: readonly PlainObject[] = [
  { node: 1, do: 'timer', name: 'ask' },
  { node: 2, do: 'deliver', from: 1 },
  { node: 1, do: 'deliver', from: 2 },
]

function run(schedule: readonly PlainObject[]) {
  const scenario = parseScenario({ protocol: 'lease', nodes: [1, 2], schedule }, lookup)
  const seen: Observation[] = []
  const records: TraceRecord[] = []
  const report = runScenario(definition, scenario, {
    strict: true,
    observe: (each) => seen.push(each),
    record: (each) => records.push(each),
  })
  return { report, seen, records, header: traceHeader(scenario) }
}

describe('a tick', () => {
  it('ends a lease when its time is up, and what is seen changes only then', () => {
    const { seen, report } = run([...LED, tick, tick])
    const views = seen.filter(({ at, type }) => type === 'view' && at > 0)
    expect(views).toMatchObject([
      { node: 1, at: 3000, view: { role: 'leader', until: 2 * TICK } },
      { node: 1, at: 5000, view: { role: 'follower', until: null } },
    ])
    expect(report.leaderships).toMatchObject([{ node: 1, fromMs: 3, untilMs: 5 }])
  })

  it('frees a lock at the same time', () => {
    const other = [
      { node: 2, do: 'timer', name: 'ask' },
      { node: 1, do: 'deliver', from: 2 },
      { node: 2, do: 'deliver', from: 1 },
    ]
    expect(run([...LED, tick, tick, ...other]).report.leaders).toEqual([2])
    expect(() => run([...LED, tick, ...other])).toThrow('schedule[5]: no such message')
  })

  it('passes by a node that is down', () => {
    const restarted: readonly PlainObject[] = [
      { node: 2, do: 'recover' },
      { node: 2, do: 'timer', name: 'ask' },
      { node: 1, do: 'deliver', from: 2 },
    ]
    const crash = { node: 2, do: 'crash' }
    // After its restart the node is locked for two ticks, regardless of how long it was down.
    expect(() => run([crash, tick, tick, ...restarted])).toThrow('schedule[5]: no such message')
    expect(() => run([crash, ...restarted.toSpliced(1, 0, tick, tick)])).not.toThrow()
  })

  it('is recorded in the trace, which replays and has a transcript', () => {
    const { records, header } = run([...LED, tick, tick, { node: 2, do: 'timer', name: 'ask' }])
    expect(records.filter(({ type }) => type === 'tick')).toMatchObject([
      { at: 4000, by: TICK, views: [] },
      { at: 5000, by: TICK, views: [{ node: 1, view: { role: 'follower' } }] },
    ])
    const trace = { header, records }
    expect(readTrace(writeTrace(trace))).toEqual(trace)
    expect(replay(trace, definition).difference).toBeNull()
    const timeless = { header, records: records.filter(({ type }) => type !== 'tick') }
    expect(replay(timeless, definition).difference).toMatchObject({ node: 2 })
    const transcript = new Transcript({ ...definition, all: false })
    const lines = records.map((each) => transcript.line(each))
    expect(lines).toContain('       5.000 ms  -- a tick of 1 ms passes; 1 is follower --')
  })

  it('is drawn, with the end of the lease', () => {
    const { records, header } = run([...LED, tick, tick, tick])
    const options = { kinds: definition.kinds, all: false, fromMs: null, toMs: null, title: null }
    const { history } = diagramOf({ header, records }, options)
    expect(history.notices.map(({ at }) => at)).toEqual([4000, 5000, 6000])
    expect(history.periods.filter(({ node }) => node === 1).map(({ text, from }) => [text, from])).toEqual([
      ['follower', 0],
      ['leads', 3000],
      ['follower', 5000],
    ])
  })

  it('is refused if the protocol defines no tick', () => {
    const timeless = { ...definition, exploration: { ...definition.exploration, tick: 0 } }
    const scenario = parseScenario({ protocol: 'lease', nodes: [1, 2], schedule: [tick] }, lookup)
    expect(() => runScenario(timeless, scenario)).toThrow(
      new InvalidScenarioError([
        { field: 'schedule[0]', problem: 'lease does not define the length of a tick' },
      ]),
    )
  })
})
