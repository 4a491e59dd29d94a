/** The analysis of real runs from the traces of their nodes. */
import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { recordings } from '../../../test/support/recordings.ts'
import { type Micros, type PlainObject, present } from '../../core/index.ts'
import { catalogue } from '../../protocols/index.ts'
import { matchMessages, runsOf, scaleOf, type TraceFile } from '../../workbench/forensics/index.ts'
import { analyse, describeVerdict, type Recorded } from './recorded.ts'

const definition = present(catalogue.find('local-leader'), 'local-leader')

async function analyseScenario(scenario: PlainObject, most?: number): Promise<Recorded> {
  const { files } = await recordings(scenario, definition, most)
  return analyse(files, definition, null)
}

const named = ({ specs }: Recorded, verdict: string): readonly string[] =>
  specs.flatMap((spec) => (spec.verdict === verdict ? [spec.name] : []))

const QUIET: PlainObject = {
  protocol: 'local-leader',
  nodes: ['a', 'b', 'c'],
  network: { delayMs: [0.1, 2] },
  events: [
    { atMs: 2000, command: { node: 'a', do: 'stepDown' } },
    { atMs: 4000, crash: 'b' },
    { atMs: 4500, recover: 'b' },
  ],
  untilMs: 6000,
}

const example = (name: string): PlainObject =>
  JSON.parse(
    readFileSync(new URL(`../../../examples/papers/${name}.json`, import.meta.url), 'utf8'),
  ) as PlainObject

describe('the analysis of a real run', () => {
  it('derives one time scale from the messages alone, within the error that it reports', async () => {
    const { files, truth } = await recordings(QUIET, definition)
    const runs = runsOf(files)
    const scale = scaleOf(runs, matchMessages(runs).records, { rho: 1e-4, wallError: null })
    expect(scale.by).toBe('messages')
    const error = present(scale.error, 'error')
    expect(error).toBeLessThan(4000)
    expect(scale.drift).toEqual([])
    // The error of each run at its first and last step.
    const errors = runs.flatMap(({ node, steps }, place): readonly Micros[] =>
      [steps[0], steps.at(-1)].map((step) => {
        const real = truth.get(node)?.find(({ now }) => now === step?.record.now)?.at ?? Number.NaN
        return (step?.record.now ?? 0) + (scale.ahead[place] ?? 0) - real
      }),
    )
    const spread = Math.max(...errors) - Math.min(...errors)
    expect(spread).toBeLessThanOrEqual(error)
  })

  it('replays every effect and judges; does not judge what did not happen', async () => {
    const run = await analyseScenario(QUIET)
    expect(run.replayed).toMatchObject({ difference: null })
    expect(named(run, 'violated')).toEqual([])
    expect(named(run, 'held')).toEqual(
      expect.arrayContaining(['one-leader', 'tokens', 'SO', 'told-in-pairs']),
    )
    expect(run.leaderships.length).toBeGreaterThan(1)
    expect(run.runs.map(({ node }) => node)).toEqual(['a', 'b', 'b', 'c'])
    expect(describeVerdict(run)).toMatch(/^no specification was violated$/)
  })

  it('accepts traces that start in the middle with a state, and joins the traces of one run', async () => {
    const cut = await recordings(QUIET, definition, 320)
    const whole = await recordings(QUIET, definition)
    expect(cut.files.some(({ trace }) => trace.records[0]?.type === 'resume')).toBe(true)
    const run = analyse(cut.files, definition, null)
    expect(run.replayed.difference).toBeNull()
    expect(named(run, 'violated')).toEqual([])
    const both = analyse([...cut.files, ...whole.files], definition, null)
    expect(both.replayed.steps).toBe(analyse(whole.files, definition, null).replayed.steps)
  })

  it('names the first step that the code does not reproduce', async () => {
    const { files } = await recordings(QUIET, definition)
    const [first, ...rest] = files as [TraceFile, ...TraceFile[]]
    const at = first.trace.records.findIndex(
      (record) => record.type === 'step' && record.effects.some(({ type }) => type === 'send'),
    )
    const records = first.trace.records.with(at, { ...first.trace.records[at], effects: [] } as never)
    const run = analyse([{ ...first, trace: { ...first.trace, records } }, ...rest], definition, null)
    expect(run.replayed.difference).toMatchObject({
      file: 'a-0.ndjson',
      line: at + 2,
      node: 'a',
      recorded: [],
    })
    expect(describeVerdict(run)).toMatch(/^the code does not reproduce the recorded effects/)
  })

  it('lists assumptions that did not hold and that affect progress only', async () => {
    const events = [{ atMs: 2000, pause: 'a', forMs: 300 }]
    const run = await analyseScenario({ ...QUIET, events })
    expect(named(run, 'violated')).toEqual([])
    const late = run.broken.find(({ text }) => text.startsWith('a acted too late'))
    expect(late).toMatchObject({ touches: 'progress' })
    expect(late?.text).toMatch(/by (2[89]|30)\d\.\d ms at 2\d{3}\.\d ms \(σ = 10\.0 ms\)/)
    const slow = await analyseScenario({
      ...QUIET,
      events: [{ atMs: 2000, slow: [['a', 'b']], delayMs: [40, 60] }],
    })
    const [text = ''] = slow.broken.flatMap((each) => (each.text.includes('from a to b') ? [each.text] : []))
    expect(text).toMatch(/^\d+ messages from a to b took longer than δ = 5\.0 ms/)
    expect(describeVerdict(slow)).toMatch(/can only delay an election, not cause two leaders$/)
  })

  it('finds a clock that stopped unnoticed', async () => {
    // The messages contradict a clock that stood still.
    const { files } = await recordings({ ...example('local-leader-suspend'), untilMs: 2000 }, definition)
    const unnoticed = files.map(({ file, trace }) => {
      const records = trace.records.filter((each) => each.type !== 'step' || each.input.type !== 'suspended')
      return { file, trace: { ...trace, records } }
    }, definition)
    const run = analyse(unnoticed, definition, null)
    expect(run.broken[0]).toMatchObject({ touches: 'safety' })
    expect(run.broken[0]?.text).toMatch(/^the clocks of 1 and 2 drifted apart by at least \d+ ppm/)
  })

  it('names a host that slept and noticed it, instead of its clock', async () => {
    const run = await analyseScenario({ ...QUIET, events: [{ atMs: 2000, suspend: 'a', forMs: 300 }] })
    expect(run.replayed.difference).toBeNull()
    const slept = { touches: 'progress', text: 'the host of a slept for 300.0 ms, noticed at 2300.0 ms' }
    expect(run.broken).toContainEqual(slept)
    expect(run.broken.filter(({ touches }) => touches === 'safety')).toEqual([])
    expect(describeVerdict(run)).toMatch(/can only delay an election, not cause two leaders$/)
  })

  it('names a slow message that counted as timely because others arrived sooner than δmin', async () => {
    const run = await analyseScenario({
      ...QUIET,
      events: [],
      options: { deltaMinMs: 4, fastMs: 10.1 },
      network: { delayMs: [0.1, 0.2], rules: [{ from: 'a', to: 'b', kind: 'Heartbeat', delayMs: 12 }] },
    })
    expect(run.replayed.difference).toBeNull()
    expect(run.broken[0]).toMatchObject({ touches: 'safety' })
    expect(run.broken[0]?.text).toMatch(
      /^a message from a to b took 1[12]\.\d ms and counted as fast \(Δ = 10\.1 ms\), at \d+\.\d ms: a clock was wrong, or a message took less than δmin$/,
    )
    expect(describeVerdict(run)).toMatch(
      /although an assumption for safety did not hold: a message from a to b took/,
    )
  })

  it('reports two leaders, with the assumption that did not hold or as a bug', async () => {
    const { files } = await recordings(QUIET, definition)
    // As if the leader had not received the command to step down: its lease overlaps the next one.
    const deaf = files.map(({ file, trace }) => {
      const end = trace.records.findIndex((each) => each.type === 'step' && each.input.type === 'command')
      return { file, trace: { ...trace, records: end < 0 ? trace.records : trace.records.slice(0, end) } }
    })
    const two = analyse(deaf, definition, null)
    expect(two.specs.find(({ name }) => name === 'one-leader')).toMatchObject({
      verdict: 'violated',
      why: 'a and b lead at the same time',
    })
    expect(describeVerdict(two)).toMatch(/one-leader were violated, and all assumptions held: this is a bug/)
    // The same, with a different configuration on one node.
    const odd = deaf.map(({ file, trace }, place) => {
      const options = { ...trace.header.options, ...(place === 0 ? { treeFanout: 17 } : {}) }
      return { file, trace: { ...trace, header: { ...trace.header, options } } }
    })
    expect(describeVerdict(analyse(odd, definition, null))).toMatch(
      /one-leader were violated because .*configured differently: treeFanout is/,
    )
  })

  it('reports a bug if a specification was violated and all assumptions held', async () => {
    const run = await analyseScenario(example('local-leader-volatile'))
    expect(named(run, 'violated')).toEqual(['tokens'])
    expect(describeVerdict(run)).toMatch(/^tokens was violated, and all assumptions held: this is a bug/)
  })

  it('does not compare leases without a bound on the clocks, unless --clock-error-ms gives one', async () => {
    const alone = await recordings(
      { ...QUIET, links: [], events: [], options: { mode: 'local' } },
      definition,
    )
    const run = analyse(alone.files, definition, null)
    expect(run.scale).toMatchObject({ by: 'nothing', error: null })
    expect(named(run, 'held')).toEqual(['LS', 'told-in-pairs'])
    const vouched = analyse(alone.files, definition, 5)
    expect(vouched.scale).toMatchObject({ by: 'wall clocks' })
    expect(named(vouched, 'held')).toContain('SO')
  })

  it('refuses traces that do not belong together', async () => {
    const { files } = await recordings(QUIET, definition)
    const [first] = files as [TraceFile]
    const { header } = first.trace
    const recording = { ...present(header.recording, 'recording'), group: 'other', run: 'x' }
    const other = { file: 'x', trace: { ...first.trace, header: { ...header, recording } } }
    expect(() => analyse([first, other], definition, null)).toThrow('two groups, g and other')
    const different = {
      file: 'x',
      trace: { ...first.trace, header: { ...header, options: { ...header.options, sigmaMs: 11 } } },
    }
    const broken = analyse([...files.slice(1), different], definition, null).broken.map(({ text }) => text)
    expect(broken).toContainEqual(expect.stringContaining('configured differently: sigmaMs is'))
  })
})
