/** The plan of a group in a store: trials, bounds, loads and text. */
import { describe, expect, it } from 'vitest'
import type { PlanAsked, SteadyLoad, TrialPlan } from '../planning.ts'
import { epochsHosting } from './hosting.ts'
import { epochsOptions } from './options.ts'
import { epochsPlanning } from './planning.ts'

const OPTIONS = epochsOptions().parse({ periodMs: 80, accessMs: 1, driftPpm: 0 })
const asked = (change: Partial<PlanAsked> = {}): PlanAsked => ({
  nodes: ['a', 'b', 'c'],
  options: {},
  chosen: {},
  seeds: 3,
  ...change,
})
function planned(change: Partial<PlanAsked> = {}, options: object = {}): TrialPlan {
  const plan = epochsPlanning.describe({ asked: asked(change), options: { ...OPTIONS, ...options } })
  if (plan.kind !== 'trials') throw new Error('epochs plans trials')
  return plan
}

describe('the options of a plan', () => {
  it('come from the profile, then the file, then the flags', () => {
    const given = asked({
      profile: 'region',
      options: { accessMs: 60, leaseMs: 5000 },
      chosen: { accessMs: 70 },
    })
    expect(epochsPlanning.optionsFor(given)).toEqual({
      options: { periodMs: 1000, accessMs: 70, leaseMs: 5000 },
    })
  })
  it('have no mode', () => {
    expect(epochsPlanning.optionsFor(asked({ mode: 'majority' }))).toEqual({
      problems: [
        {
          field: '--mode',
          message: 'epochs has no modes: one node leads all nodes that reach the store; remove it',
        },
      ],
    })
  })
  it.each([
    [
      { turns: 'none' },
      'options.turns',
      'none guarantees no times, because elections collide at random; use succession or oracle',
    ],
    [{ clock: 'none' }, 'options.clock', 'is for searches only; remove it, because real nodes have clocks'],
    [{ epochs: 2 }, 'options.epochs', 'and ballots limit searches only; remove them'],
    [{ ballots: 2 }, 'options.epochs', 'and ballots limit searches only; remove them'],
  ])('are refused with %j', (change, field, message) => {
    expect(epochsPlanning.problemsWith({ ...OPTIONS, ...change }, asked())).toEqual([{ field, message }])
  })
  it('are accepted otherwise', () => {
    expect(epochsPlanning.problemsWith(OPTIONS, asked())).toEqual([])
  })
})

describe('the trials', () => {
  const namesOf = ({ trials }: TrialPlan): readonly string[] => trials.map(({ name }) => name)

  it('include crashes and hand-overs in usual and in slow worlds', () => {
    expect(namesOf(planned())).toEqual(
      expect.arrayContaining(['crash', 'crash-slow', 'hand-over', 'hand-over-slow', 'restart']),
    )
  })
  it('of a single node include no fail-over', () => {
    const names = namesOf(planned({ nodes: ['a'] }))
    expect(names).toContain('restart')
    expect(names.some((name) => name.startsWith('crash') || name.startsWith('hand-over'))).toBe(false)
  })
  it('crash the leader, and expect another node to lead in time', () => {
    const plan = planned()
    const crash = plan.trials.find(({ name }) => name === 'crash')
    expect(crash?.fault('b', { integer: () => 0 })).toEqual({
      events: [{ crash: 'b' }],
      among: ['a', 'c'],
    })
    expect(crash?.restoredWithin).toBe(plan.bounds.failOver)
  })
  it('take as long for an access as the configuration assumes, or as the file says', () => {
    expect(planned().trials.find(({ name }) => name === 'crash')?.settings.store?.delaysMs).toEqual([[0, 1]])
    const slow = planned({ registers: { delayMs: [2, 4] } })
    expect(slow.trials.find(({ name }) => name === 'crash')?.settings.store?.delaysMs).toEqual([[2, 4]])
    expect(slow.text.broken).toEqual([
      'accesses take up to 4 ms, but the configuration assumes at most 1 ms (r)',
    ])
    expect(planned({ registers: { delayMs: 1 } }).text.broken).toEqual([])
  })
})

describe('the text', () => {
  it('names nodes, store and choices that differ from the default', () => {
    expect(planned().text.headline).toBe('epochs, profile lan: 3 nodes (a, b, c) in any suitable store')
    const store = { kind: 's3', acceptWeak: false, assumed: ['reads are current'] }
    const other = planned({ store, profile: 'wan' }, { turns: 'oracle', start: 'simple' })
    expect(other.text.headline).toBe(
      'epochs, profile wan, turns oracle, start simple: 3 nodes (a, b, c) in a store of kind s3',
    )
    expect(other.text.assumes).toContain('of s3, which conclave cannot check: reads are current')
  })
  it('warns of a store that was accepted as weak', () => {
    const store = { kind: 'file', acceptWeak: true, assumed: [] }
    expect(planned({ store }).text.advice).toHaveLength(1)
    expect(planned().text.advice).toEqual([])
  })
  it('says how many nodes may fail', () => {
    expect(planned().text.tolerance[0]).toBe(
      '2 of 3 nodes may fail, in any combination: a single remaining node can lead.',
    )
    expect(planned({ nodes: ['a'] }).text.tolerance[0]).toBe(
      'A single node: if it fails, no node leads until it is back.',
    )
    expect(planned().tolerance).toEqual({ spare: 2 })
  })
})

describe('the load', () => {
  const measured = (accesses: { readonly [node: string]: readonly [writes: number, rounds: number] }) => {
    const steady: SteadyLoad = {
      micros: 10_000_000,
      kinds: {},
      accesses: new Map(
        Object.entries(accesses).map(([node, [writes, rounds]]) => [node, { writes, rounds }]),
      ),
    }
    return planned().load.measure(steady)
  }

  it('compares the writes and read rounds of the leader and of each follower', () => {
    const { rows, exceeded } = measured({ a: [125, 125], b: [0, 900], c: [0, 700] })
    expect(exceeded).toEqual([])
    expect(rows.map(({ cells }) => cells)).toEqual([
      ['', 'computed /s', 'measured /s'],
      ['leader: writes', '12.50', '12.50'],
      ['leader: read rounds', '12.50', '12.50'],
      ['each follower: writes', '0.00', '0.00'],
      ['each follower: read rounds', '93.75', '80.00'],
    ])
  })
  it('allows one operation more, and names what exceeds it', () => {
    expect(measured({ a: [126, 126], b: [0, 0], c: [0, 0] }).exceeded).toEqual([])
    expect(measured({ a: [127, 125], b: [0, 0], c: [0, 0] }).exceeded).toEqual(['leader: writes'])
    expect(measured({ a: [125, 125], b: [3, 0], c: [0, 0] }).exceeded).toEqual(['each follower: writes'])
  })
})

describe('the hosting of epochs', () => {
  it('takes its times from the profile', () => {
    expect(epochsHosting.optionsFor({ id: 'a' }, [])).toEqual({ options: { periodMs: 500, accessMs: 25 } })
    expect(epochsHosting.optionsFor({ id: 'a', profile: 'wan', options: { accessMs: 9 } }, [])).toEqual({
      options: { periodMs: 3000, accessMs: 9 },
    })
  })
  it('has a lease, and a margin after the first renewal', () => {
    expect(epochsHosting.leaseLength(OPTIONS, [])).toEqual({ lease: 86_000, margin: 4000 })
  })
  it('refuses to run a defect', () => {
    expect(() => epochsHosting.create('a', { ...OPTIONS, misreading: 'no-start' })).toThrow(
      'options.misreading: "no-start" is a deliberate defect',
    )
    expect(epochsHosting.create('a', OPTIONS).start(null, 0).effects).toHaveLength(1)
  })
})

describe('the options', () => {
  const problem = (options: object): string | undefined => {
    const issue = epochsOptions().safeParse(options).error?.issues[0]
    return issue === undefined ? undefined : `${issue.path.join('.')}: ${issue.message}`
  }
  it.each([
    [
      { periodMs: 5.9, accessMs: 1, driftPpm: 0 },
      'periodMs: is below 6, its least value here (three writes and three rounds of reads, with drift)',
    ],
    [
      { periodMs: 80, accessMs: 1, driftPpm: 0, leaseMs: 83 },
      'leaseMs: is below 84, its least value here (a period and two renewals)',
    ],
    [{ burials: true, registers: 'regular' }, 'burials: needs atomic registers; remove registers or burials'],
  ])('are refused: %j', (options, message) => {
    expect(problem(options)).toBe(message)
  })
  it('are accepted at their least values', () => {
    expect(problem({ periodMs: 6, accessMs: 1, driftPpm: 0 })).toBeUndefined()
    expect(problem({ periodMs: 80, accessMs: 1, driftPpm: 0, leaseMs: 84 })).toBeUndefined()
  })
})
