/** What people and the service part see of leases that tune themselves. */
import { describe, expect, it } from 'vitest'
import { ids } from '../../../test/support/run.ts'
import type { NodeId, Plain, PlainObject } from '../../core/index.ts'
import { present } from '../../core/index.ts'
import { parseScenario } from '../../workbench/scenario/index.ts'
import { World } from '../../workbench/sim/world.ts'
import type { Broken } from '../hosting.ts'
import { catalogue, protocolNamed } from '../index.ts'
import { localLeaderAssumptions } from './assumptions.ts'
import { guaranteesOf } from './guarantees.ts'
import { localLeaderHosting } from './hosting.ts'
import { ownState } from './insight.ts'
import { leaseInsightOf } from './lease-insight.ts'
import { levelFor, lockAt } from './levels.ts'
import { localLeaderOptions } from './options.ts'

const NODES = ids(3)
const optionsOf = (more: object) => localLeaderOptions(NODES).parse(more)

/** The state of a node after a run. */
function stateOf(node: NodeId, file: object, untilMs: number): Plain {
  const whole = {
    protocol: 'local-leader',
    nodes: NODES,
    network: { delayMs: [0.05, 0.5] },
    untilMs,
    ...file,
  }
  const definition = present(protocolNamed('local-leader'), 'local-leader')
  const world = new World(
    definition,
    parseScenario(whole, catalogue),
    { observe: () => {}, record: null },
    false,
  )
  world.run(untilMs * 1000)
  return world.inspect(node, (state) => state) ?? null
}

describe('the insight into leases', () => {
  const chosen = optionsOf({ timing: 'adaptive' })

  it('shows the level of a quiet group, and what every voter reported', () => {
    const seen = leaseInsightOf(chosen, NODES, stateOf(1, { options: { timing: 'adaptive' } }, 10_000))
    expect(seen).toMatchObject({
      level: levelFor(60_000),
      lock: 61_037,
      bounds: [60_000, 5_000_000],
      need: { level: levelFor(60_000) },
      refusals: [],
    })
    expect(seen?.voters.map(({ node }) => node)).toEqual([2, 3])
    expect(seen?.failOver?.worst).toBeLessThan(150_000)
    expect(seen?.failOver?.typical).toBeLessThan(80_000)
  })

  it('shows how often the leader renews: less often while tries are quick', () => {
    const renewalOf = (node: NodeId) =>
      leaseInsightOf(chosen, NODES, stateOf(node, { options: { timing: 'adaptive' } }, 20_000))?.renewalPeriod
    const { traffic } = guaranteesOf(chosen, NODES, undefined, lockAt(levelFor(60_000)))
    expect(renewalOf(1)).toBeGreaterThan(1.2 * traffic.renewalPeriod)
    expect(renewalOf(2)).toBeNull()
  })

  it('names the evidence that holds the level up, and who supplied it', () => {
    const file = {
      options: { timing: 'adaptive' },
      events: [{ atMs: 5000, load: [2, 3], lateMs: [10, 30], delayMs: [2, 8] }],
    }
    const seen = leaseInsightOf(chosen, NODES, stateOf(1, file, 20_000))
    expect(seen?.level).toBeGreaterThan(14)
    expect(['delay', 'late', 'round']).toContain(seen?.need?.cause)
  })

  it('shows who refuses locks', () => {
    const file = {
      options: { timing: 'adaptive' },
      nodeOptions: { 3: { timing: 'adaptive', leaseMinMs: 10_000, leaseMaxMs: 20_000 } },
    }
    const seen = leaseInsightOf(chosen, NODES, stateOf(1, file, 5000))
    expect(seen?.refusals).toEqual([{ node: 3, bounds: [10_000_000, 20_000_000] }])
  })

  it.each([
    ['the same bounds', {}],
    ['bounds above the leases of the leader', { leaseMinMs: 888, leaseMaxMs: 5000 }],
  ])('shows the leases of the leader on a follower with %s', (_what, own) => {
    const options = { timing: 'adaptive', leaseMaxMs: 95 }
    const follower = { ...options, ...own }
    const file = { options, nodeOptions: { 3: follower } }
    const seen = leaseInsightOf(optionsOf(follower), NODES, stateOf(3, file, 10_000))
    const leading = leaseInsightOf(optionsOf(options), NODES, stateOf(1, file, 10_000))
    expect(leading?.need).not.toBeNull()
    expect(seen).toMatchObject({ level: leading?.level, lock: leading?.lock, need: null })
    expect(seen?.failOver).toEqual(leading?.failOver)
  })

  it('shows the leases that a node would ask for where it knows no leader', () => {
    const file = { options: { timing: 'adaptive' }, events: [2, 3].map((crash) => ({ atMs: 0, crash })) }
    const state = stateOf(1, file, 3000)
    expect(leaseInsightOf(chosen, NODES, state)?.level).toBe(ownState(state).pace?.level)
  })

  it('is null where the timing is fixed', () => {
    expect(leaseInsightOf(optionsOf({}), NODES, stateOf(1, {}, 1000))).toBeNull()
  })
})

describe('what real nodes need', () => {
  const adaptive = optionsOf({ timing: 'adaptive' }) as unknown as PlainObject

  it('is the shortest lease', () => {
    expect(localLeaderHosting.leaseLength(adaptive, NODES).lease).toBe(61_024)
    expect(localLeaderHosting.leaseLength(optionsOf({}) as unknown as PlainObject, NODES).lease).toBe(100_408)
  })

  it('is the longest silence after a start without storage', () => {
    const stable = (options: PlainObject) =>
      localLeaderHosting.forgetfulStable({ self: 1, nodes: NODES }, options, 1000)
    expect(stable(adaptive)).toMatchObject({ lockTime: 5_000_000 })
    expect(stable(optionsOf({}) as unknown as PlainObject)).toMatchObject({ lockTime: 1 })
  })

  it('tolerates what the longest lease tolerates, and proposes a longer one for more', () => {
    const { sigma } = localLeaderAssumptions.assumed(adaptive, NODES)
    expect(sigma).toBeGreaterThan(300_000)
    const { leaseMaxMs } = localLeaderAssumptions.remedy(adaptive, NODES, { sigma: 2 * sigma })
    expect(leaseMaxMs).toBeGreaterThan(8000)
  })

  it('proposes no lease that is longer than a lease can be', () => {
    const { sigma, delta } = localLeaderAssumptions.assumed(adaptive, NODES)
    const proposed = (broken: Broken) => localLeaderAssumptions.remedy(adaptive, NODES, broken)
    expect(proposed({ sigma: 11.5 * sigma })['leaseMaxMs']).toBeLessThanOrEqual(60_000)
    expect(proposed({ sigma: 20 * sigma })).toEqual({})
    expect(proposed({ delta: 20 * delta })).toEqual({})
  })

  it('shares only what must be the same on all nodes', () => {
    const group = (options: object) => localLeaderHosting.group({ self: 1, nodes: NODES }, optionsOf(options))
    expect(group({ timing: 'adaptive' }).agreed).toEqual(
      group({ timing: 'adaptive', profile: 'wan', leaseMaxMs: 9000 }).agreed,
    )
    expect(group({ timing: 'adaptive' }).agreed).not.toEqual(group({ timing: 'adaptive', rhoPpm: 50 }).agreed)
  })
})
