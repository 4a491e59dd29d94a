/** What real nodes publish with every renewal is what their views and insights say. */
import { describe, expect, it } from 'vitest'
import { ids } from '../../../test/support/run.ts'
import { present } from '../../core/index.ts'
import { parseScenario } from '../../workbench/scenario/index.ts'
import { World } from '../../workbench/sim/world.ts'
import { catalogue, protocolNamed } from '../index.ts'
import { timingInState } from './group.ts'
import { insightOf, pulseOf } from './insight.ts'
import { localLeaderOptions } from './options.ts'

const NODES = ids(5)
const definition = present(protocolNamed('local-leader'), 'local-leader')

describe.each(['fixed', 'adaptive'])('the pulse with timing %s', (timing) => {
  it('has the leader, the members and the evidence of the view and the insight, at any moment', () => {
    const options = { timing, observers: [5] }
    const chosen = localLeaderOptions(NODES).parse(options)
    const file = {
      protocol: 'local-leader',
      nodes: NODES,
      options,
      network: { delayMs: [0.1, 2], loss: 0.05 },
      events: [
        { atMs: 1000, crash: 1 },
        { atMs: 2000, cut: [[2, 3]] },
        { atMs: 2500, command: { node: 2, do: 'stepDown' } },
        { atMs: 3000, recover: 1 },
      ],
      untilMs: 4000,
    }
    const world = new World(
      definition,
      parseScenario(file, catalogue),
      { observe: () => {}, record: null },
      false,
    )
    const seen = new Set<string>()
    for (let atMs = 3; atMs <= 4000; atMs += 7) {
      world.run(atMs * 1000)
      for (const node of NODES) {
        const read = world.inspect(node, (state, now) => {
          const expiry = timingInState(chosen, NODES.length, state)
          return {
            view: definition.create({ self: node, nodes: NODES }, chosen).view(state, now),
            pulse: pulseOf(state, node, NODES, expiry, now),
            insight: insightOf(state, NODES, expiry, now),
            expires: expiry.expires,
          }
        })
        if (read === null) continue
        const { view, pulse, insight, expires } = read
        expect(pulse).toEqual({
          leader: view.leader,
          members: view.members,
          membersUntil: view.until,
          evidence: NODES.map((id) => insight.evidence?.of.find((one) => one.id === id)?.at ?? null),
          evidenceFor: expires,
        })
        seen.add(
          `${view.role} ${view.leader === null ? '' : 'led'} ${view.members === null ? '' : 'members'}`,
        )
      }
    }
    for (const state of [
      'leader led members',
      'follower led members',
      'follower led ',
      'follower  ',
      'observer led ',
    ])
      expect([...seen]).toContain(state)
  })
})
