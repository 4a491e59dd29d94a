import { describe, expect, it } from 'vitest'
import { probeDefinition } from '../../../test/support/probe.ts'
import { parseScenario } from '../scenario/index.ts'
import { Random } from '../scenario/random.ts'
import { LinkNotifier } from './link-notifier.ts'
import { LinkStates } from './link-states.ts'
import { makeNodes } from './make-nodes.ts'
import { Network } from './network.ts'
import type { Pending, SimNode } from './world-node.ts'

const DELAY = 2000

/** Two nodes whose link both see up; `settle` runs all scheduled checks in order. */
function setUp() {
  const lookup = { names: ['probe'], find: () => probeDefinition }
  const scenario = parseScenario(
    { protocol: 'probe', nodes: [1, 2], untilMs: 1, network: { delayMs: DELAY / 1000 } },
    lookup,
  )
  const random = new Random(1)
  const nodes = makeNodes(probeDefinition, scenario, random, false)
  for (const node of nodes) node.up = true
  const [a, b] = nodes as [SimNode, SimNode]
  const network = new Network(scenario.nodes, scenario.network, scenario.links, random)
  const states = new LinkStates(2, { slack: 1, labelled: true }, () => true)
  const queue: { readonly time: number; readonly pending: Pending }[] = []
  const notices: string[] = []
  let now = 0
  const notifier = new LinkNotifier(states, network, nodes, {
    now: () => now,
    push: (time, pending) => void queue.push({ time, pending }),
    advance: (node, input) =>
      void notices.push(
        input.type === 'link' ? `${node.id}: ${input.peer} ${input.up ? 'up' : 'down'}` : input.type,
      ),
  })
  function settle(): void {
    for (let next = queue.shift(); next !== undefined; next = queue.shift()) {
      now = next.time
      if (next.pending.type === 'checkLink') notifier.check(next.pending.node, next.pending.peer)
    }
  }
  return { a, b, network, states, notifier, queue, notices, settle }
}

describe('a change of the network', () => {
  it('is noticed by both ends, a delay later', () => {
    const { network, notifier, queue, notices, settle } = setUp()
    network.cut([[1, 2]], false)
    notifier.checkAll()
    expect(notices).toEqual([])
    expect(queue.map(({ time }) => time)).toEqual([DELAY, DELAY])
    settle()
    expect(notices.toSorted()).toEqual(['1: 2 down', '2: 1 down'])
    notices.length = 0
    network.heal('all')
    notifier.checkAll()
    settle()
    expect(notices.toSorted()).toEqual(['1: 2 up', '2: 1 up'])
  })

  it('that changes nothing is not reported', () => {
    const { notifier, queue, notices } = setUp()
    notifier.checkAll()
    expect([queue, notices]).toEqual([[], []])
  })

  it('is not noticed by a node that is down', () => {
    const { a, notifier, notices, settle } = setUp()
    a.up = false
    notifier.checkAll()
    settle()
    expect(notices).toEqual(['2: 1 down'])
  })

  it('is noticed by a stalled node when its stall ends', () => {
    const { a, b, network, notifier, queue, notices } = setUp()
    network.cut([[1, 2]], false)
    a.stalledUntil = 9000
    notifier.check(a, b)
    expect(notices).toEqual([])
    expect(queue).toEqual([{ time: 9000, pending: { type: 'checkLink', node: a, peer: b } }])
  })
})

describe('a lost message', () => {
  it('takes the link down at both ends, and then it comes up again', () => {
    const { a, b, notifier, notices, settle } = setUp()
    notifier.noteLoss(a, b)
    settle()
    for (const end of ['1: 2', '2: 1'])
      expect(notices.filter((notice) => notice.startsWith(end))).toEqual([`${end} down`, `${end} up`])
  })
})

describe('a message', () => {
  it('of the current incarnation is accepted', () => {
    const { a, b, states, notifier } = setUp()
    expect(notifier.accepts(a, b, states.count(a.index, b.index))).toBe(true)
  })

  it('of an incarnation that has ended is not', () => {
    const { a, b, states, notifier, settle } = setUp()
    const before = states.count(a.index, b.index)
    notifier.noteLoss(a, b)
    settle()
    expect(notifier.accepts(a, b, before)).toBe(false)
    expect(notifier.accepts(a, b, states.count(a.index, b.index))).toBe(true)
  })

  it('for a node that is down is not', () => {
    const { a, b, states, notifier } = setUp()
    b.up = false
    expect(notifier.accepts(a, b, states.count(a.index, b.index))).toBe(false)
  })
})
