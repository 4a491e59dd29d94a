import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type Fault, Killer, planKills } from './kills.ts'
import type { DemoState, NodeState } from './state.ts'

const IDS = ['n1', 'n2', 'n3', 'n4', 'n5']
const TOLERATED = 2

/** A group that notices every loss and every return at once. */
class FakeGroup {
  readonly down = new Set<string>()

  get state(): Pick<DemoState, 'nodes' | 'view'> {
    const isFull = this.down.size >= TOLERATED
    const nodes = IDS.map(
      (id): NodeState => ({
        id,
        status: this.down.has(id) ? 'down' : 'up',
        keepReason: isFull ? 'too many are down' : null,
      }),
    )
    const members = IDS.filter((id) => !this.down.has(id))
    return { nodes, view: { token: 1, leader: 'n1', members } }
  }

  inject(fault: Fault): void {
    if ('kill' in fault) this.down.add(fault.kill)
    else this.down.delete(fault.revive)
  }
}

function runPlan(killer: Killer, group: FakeGroup): readonly Fault[] {
  const faults: Fault[] = []
  for (let percent = 0; percent <= 100; percent++) {
    for (let fault = killer.next(percent / 100, group.state); fault !== null; ) {
      faults.push(fault)
      group.inject(fault)
      expect(group.down.size).toBeLessThanOrEqual(TOLERATED)
      fault = killer.next(percent / 100, group.state)
    }
  }
  return faults
}

describe('the kills', () => {
  it('are the same for the same seed', () => {
    expect(planKills(5, 7)).toEqual(planKills(5, 7))
    expect(planKills(5, 7)).not.toEqual(planKills(5, 8))
  })

  it('come in order, after the start and before the end', () => {
    const at = planKills(20, 3).map((kill) => kill.at)
    expect(at).toEqual([...at].sort((a, b) => a - b))
    expect(at.every((share) => share >= 0.05 && share <= 0.8)).toBe(true)
  })

  it('are all carried out and all undone, with at most the tolerated number down', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 1_000_000 }), fc.integer({ min: 0, max: 8 }), (seed, count) => {
        const group = new FakeGroup()
        const faults = runPlan(new Killer(planKills(count, seed)), group)
        expect(faults.filter((fault) => 'kill' in fault)).toHaveLength(count)
        expect(group.down.size).toBe(0)
      }),
    )
  })
})

describe('Killer', () => {
  const plan = [{ at: 0.1, downFor: 0.1, choice: 0 }]

  it('does not kill before the planned share is rendered', () => {
    const killer = new Killer(plan)
    const group = new FakeGroup()
    expect(killer.next(0.09, group.state)).toBeNull()
    expect(killer.next(0.1, group.state)).toEqual({ kill: 'n1' })
  })

  it('waits while no node may be killed', () => {
    const killer = new Killer(plan)
    const group = new FakeGroup()
    group.inject({ kill: 'n4' })
    group.inject({ kill: 'n5' })
    expect(killer.next(0.5, group.state)).toBeNull()
    group.inject({ revive: 'n4' })
    expect(killer.next(0.5, group.state)).toEqual({ kill: 'n1' })
  })

  it('does not revive a node before the group has noticed its loss', () => {
    const killer = new Killer(plan)
    const group = new FakeGroup()
    killer.next(0.1, group.state)
    expect(killer.next(0.9, group.state)).toBeNull()
    group.inject({ kill: 'n1' })
    expect(killer.next(0.9, group.state)).toEqual({ revive: 'n1' })
  })

  it('leaves nodes alone that a person has killed', () => {
    const killer = new Killer([])
    const group = new FakeGroup()
    group.inject({ kill: 'n3' })
    expect(killer.next(0.9, group.state)).toBeNull()
  })
})
