import { describe, expect, it } from 'vitest'
import { probeDefinition } from '../../../test/support/probe.ts'
import { FAULT_KINDS, type FaultKind } from '../../core/index.ts'
import { Random } from '../scenario/random.ts'
import type { ScenarioEvent } from '../scenario/scenario.ts'
import { FaultDrawer, toMicros } from './fault-drawer.ts'

const SEEDS = Array.from({ length: 300 }, (_, seed) => seed + 1)
const NODES = [1, 2, 3, 4, 5]
const SETTLING_MS = 100

const drawer = (seed: number, nodes: readonly number[] = NODES): FaultDrawer =>
  new FaultDrawer(nodes, probeDefinition, new Random(seed), SETTLING_MS, 2)

function draw(seed: number, kinds: readonly FaultKind[], nodes: readonly number[] = NODES) {
  return drawer(seed, nodes).draw(kinds, { commands: [], rests: false })
}

/** The state that events leave behind, one word for each fault that is still in place. */
function leftAfter(events: readonly ScenarioEvent[]): ReadonlySet<string> {
  const left = new Set<string>()
  const set = (fault: string, isOn: boolean): void => void (isOn ? left.add(fault) : left.delete(fault))
  for (const event of events) {
    if ('crash' in event) set(`crash ${event.crash}`, true)
    else if ('recover' in event) set(`crash ${event.recover}`, false)
    else if ('unwritable' in event) set(`disk ${event.unwritable}`, true)
    else if ('writable' in event) set(`disk ${event.writable}`, false)
    else if ('loss' in event) set('loss', event.loss > 0)
    else if ('duplicate' in event) set('duplicate', event.duplicate > 0)
    else if ('late' in event) set('late', event.late > 0)
    else if ('load' in event) set('load', event.lateMs !== 0 && event.forMs === undefined)
    else if ('rules' in event) set('rules', event.rules.length > 0)
    else if ('heal' in event) set('links', false)
    else if (
      'cut' in event ||
      'cutOneWay' in event ||
      'partition' in event ||
      'links' in event ||
      'slow' in event
    )
      set('links', true)
  }
  return left
}

describe('drawn faults', () => {
  it('are the same for the same seed', () => {
    for (const seed of SEEDS.slice(0, 30)) expect(draw(seed, FAULT_KINDS)).toEqual(draw(seed, FAULT_KINDS))
  })

  it('include every kind', () => {
    const fields = new Set(SEEDS.flatMap((seed) => draw(seed, FAULT_KINDS).events.flatMap(Object.keys)))
    const links = ['partition', 'cut', 'cutOneWay', 'links', 'slow', 'heal']
    const messages = ['loss', 'duplicate', 'rules']
    const nodes = [
      'crash',
      'recover',
      'afterEffects',
      'pause',
      'suspend',
      'unwritable',
      'late',
      'hang',
      'load',
    ]
    for (const field of [...links, ...messages, ...nodes]) expect(fields).toContain(field)
  })

  it('come in order of time, and the healing comes last', () => {
    for (const seed of SEEDS) {
      const { events, endsAtMs } = draw(seed, FAULT_KINDS)
      const times = events.map(({ atMs }) => atMs)
      expect(times).toEqual(times.toSorted((a, b) => a - b))
      expect(times.at(-1)).toBe(toMicros(endsAtMs))
    }
  })

  it('are all undone at the end, for any order in which they overlap', () => {
    for (const seed of SEEDS) expect([...leftAfter(draw(seed, FAULT_KINDS).events)]).toEqual([])
  })

  it('end before the end, pauses and suspensions too', () => {
    const lengths = SEEDS.flatMap((seed) => {
      const { events, endsAtMs } = draw(seed, ['pause', 'suspend', 'hang'])
      return events.flatMap((event) => ('forMs' in event ? [endsAtMs - event.atMs - event.forMs] : []))
    })
    expect(lengths.length).toBeGreaterThan(100)
    expect(Math.min(...lengths)).toBeGreaterThan(0)
  })

  it('fire a crash that is still armed before the nodes recover', () => {
    const armed = SEEDS.map((seed) => draw(seed, ['crash']).events).filter((events) =>
      events.some((event) => 'afterEffects' in event),
    )
    expect(armed.length).toBeGreaterThan(10)
    for (const events of armed) {
      const last = events.filter(({ atMs }) => atMs === events.at(-1)?.atMs)
      const crash = last.findIndex((event) => 'crash' in event && !('afterEffects' in event))
      expect(crash).toBeGreaterThanOrEqual(0)
      expect(last.findIndex((event) => 'recover' in event)).toBeGreaterThan(crash)
    }
  })

  it('of a single node are the faults that a single node can have', () => {
    const fields = new Set(SEEDS.flatMap((seed) => draw(seed, FAULT_KINDS, [1]).events.flatMap(Object.keys)))
    for (const field of ['partition', 'cut', 'cutOneWay', 'links', 'slow'])
      expect(fields).not.toContain(field)
    expect(fields).toContain('crash')
  })

  it('go with commands, if the protocol has any', () => {
    for (const seed of SEEDS.slice(0, 30)) {
      const { events } = drawer(seed).draw([], { commands: [{ do: 'stepDown' }], rests: false })
      const commands = events.flatMap((event) => ('command' in event ? [event.command] : []))
      expect(commands.length).toBeGreaterThan(0)
      for (const { node, do: what } of commands)
        expect([NODES.includes(node as number), what]).toEqual([true, 'stepDown'])
    }
  })

  it('leave time to settle after a rest between partitions', () => {
    const ends = SEEDS.map((seed) => drawer(seed).draw(['graph'], { commands: [], rests: true }))
    const rested = ends.filter(({ events, endsAtMs }) => {
      const links = events.findLast((event) => 'links' in event)
      return links !== undefined && endsAtMs - links.atMs > SETTLING_MS
    })
    expect(rested.length).toBeGreaterThan(SEEDS.length / 4)
  })
})

describe('lasting faults', () => {
  const lasting = (seed: number, kinds: readonly FaultKind[], nodes: readonly number[] = NODES) =>
    drawer(seed, nodes).lasting(kinds, 50)

  it('hit less than half of the nodes', () => {
    for (const seed of SEEDS) {
      const nodes = lasting(seed, ['unwritable']).flatMap((event) =>
        'unwritable' in event ? [event.unwritable] : [],
      )
      expect(new Set(nodes).size).toBeLessThanOrEqual(2)
    }
    expect(SEEDS.some((seed) => lasting(seed, ['unwritable']).length === 2)).toBe(true)
  })

  it('happen at the end, and in some of the runs only', () => {
    const drawn = SEEDS.map((seed) => lasting(seed, ['drop', 'linkLoss', 'cutOneWay']))
    expect(drawn.flat().every(({ atMs }) => atMs === 50)).toBe(true)
    expect(drawn.some((events) => events.length === 0)).toBe(true)
    expect(drawn.some((events) => events.length > 0)).toBe(true)
  })

  it('are never of a kind that must be healed, and never in a group of two', () => {
    for (const seed of SEEDS) {
      expect(lasting(seed, ['crash', 'partition', 'loss'])).toEqual([])
      expect(lasting(seed, ['unwritable'], [1, 2])).toEqual([])
    }
  })
})

it('rounds to whole microseconds', () => {
  expect([toMicros(1.234_567_8), toMicros(0), toMicros(5)]).toEqual([1.235, 0, 5])
})
