import { describe, expect, it } from 'vitest'
import { bullyDefinition } from '../../protocols/bully/index.ts'
import { localLeaderDefinition } from '../../protocols/local-leader/index.ts'
import { checkedOptions } from '../scenario/parse.ts'
import {
  addTrials,
  EMPTY_TRIALS,
  runTrial,
  steadyState,
  type TrialSettings,
  type TrialTally,
} from './trials.ts'

const NODES = [1, 2, 3, 4, 5]

function settings(
  definition = localLeaderDefinition,
  options = {},
  change: Partial<TrialSettings> = {},
): TrialSettings {
  return {
    nodes: NODES,
    options: checkedOptions(definition, NODES, options),
    delaysMs: [[0.02, 5]],
    latenessMs: [0],
    loss: 0,
    driftPpm: 100,
    calm: [400_000, 700_000],
    watched: 1_000_000,
    ...change,
  }
}

function others(leader: unknown): readonly number[] {
  return NODES.filter((id) => id !== leader)
}

describe('a trial', () => {
  it('times a crash from the crash itself, even if it falls in a later step', () => {
    const crash = (afterEffects: object) => (leader: string | number) => ({
      events: [{ crash: leader, ...afterEffects }],
      among: others(leader),
    })
    for (const fault of [crash({}), crash({ afterEffects: 2 })]) {
      const { restored, detected, stopped, idle } = runTrial(localLeaderDefinition, settings(), fault, 7)
      expect([idle, restored.count, stopped.max]).toEqual([0, 1, 0])
      expect(restored.max).toBeGreaterThan(80_000)
      expect(restored.max).toBeLessThan(125_000)
      expect(restored.max).toBeGreaterThan(detected.max)
    }
  })

  it('says 0 where a leader stays, nothing where there is none, and when the other side stopped', () => {
    const apart = (own: number, watched: 'own' | 'other') => (leader: string | number) => {
      const rest = others(leader)
      const side = [leader, ...rest.slice(0, own - 1)]
      const other = rest.slice(own - 1)
      return { events: [{ partition: [side, other] }], among: watched === 'own' ? side : other }
    }
    const run = (own: number, watched: 'own' | 'other') =>
      runTrial(localLeaderDefinition, settings(), apart(own, watched), 3)
    expect(run(3, 'own').restored).toMatchObject({ count: 1, max: 0 })
    expect(run(2, 'own').restored).toMatchObject({ count: 0, censored: 1 })
    const lost = run(2, 'other')
    expect(lost.stopped.max).toBeLessThan(lost.restored.max)
  })

  it('counts runs without a leader at the start', () => {
    const early = settings(localLeaderDefinition, {}, { calm: [10, 20] })
    const tally = runTrial(localLeaderDefinition, early, () => ({ events: [], among: NODES }), 1)
    expect([tally.runs, tally.idle, tally.restored.count]).toEqual([1, 1, 0])
  })

  it('adds up to the same in any order', () => {
    const fault = (leader: string | number) => ({ events: [{ crash: leader }], among: others(leader) })
    const tallies = [1, 2, 3].map((seed) => runTrial(localLeaderDefinition, settings(), fault, seed))
    const sum = (all: readonly TrialTally[]) => all.reduce(addTrials, EMPTY_TRIALS)
    expect(sum(tallies.toReversed())).toEqual(sum(tallies))
  })

  it('works for protocols without leases, too', () => {
    const fault = (leader: string | number) => ({ events: [{ crash: leader }], among: others(leader) })
    const { restored } = runTrial(bullyDefinition, settings(bullyDefinition), fault, 1)
    expect(restored.count).toBe(1)
  })
})

describe('messages that all take exactly δ', () => {
  it.each(['local', 'majority'])('are fast in %s mode, however late timers fire and clocks drift', (mode) => {
    const slow = settings(localLeaderDefinition, { mode }, { delaysMs: [5], latenessMs: [[0, 10], 10] })
    const fault = (leader: string | number) => ({
      events: [{ command: { node: leader, do: 'stepDown' } }],
      among: others(leader),
    })
    for (let seed = 1; seed <= 40; seed++) {
      const { violations, restored } = runTrial(localLeaderDefinition, slow, fault, seed)
      expect([violations, restored.max <= 36_000]).toEqual([[], true])
    }
  })
})

describe('a steady state', () => {
  it('counts datagrams of each kind and their size', () => {
    const { kinds, micros } = steadyState(localLeaderDefinition, settings(), 1)
    const perSecond = (kind: string): number => ((kinds[kind]?.count ?? 0) * 1_000_000) / micros
    expect(perSecond('Election')).toBeCloseTo(100, -1)
    expect(perSecond('Heartbeat')).toBeCloseTo(80, -1)
    expect((kinds['Heartbeat']?.bytes ?? 0) / (kinds['Heartbeat']?.count ?? 1)).toBeGreaterThan(100)
  })
})
