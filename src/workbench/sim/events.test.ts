import { describe, expect, it } from 'vitest'
import { probeDefinition } from '../../../test/support/probe.ts'
import type { Command } from '../../core/index.ts'
import { parseScenario, type ScenarioEvent } from '../scenario/index.ts'
import { Random } from '../scenario/random.ts'
import { changeNetwork, changeNode, type NodeEventTargets } from './events.ts'
import { makeNodes } from './make-nodes.ts'
import { Network } from './network.ts'
import { NEVER, type Pending, type SimNode } from './world-node.ts'

function setUp() {
  const lookup = { names: ['probe'], find: () => probeDefinition }
  const scenario = parseScenario({ protocol: 'probe', nodes: [1, 2, 3], untilMs: 1 }, lookup)
  const random = new Random(1)
  const nodes = makeNodes(probeDefinition, scenario, random, false)
  for (const node of nodes) node.up = true
  const network = new Network(scenario.nodes, scenario.network, scenario.links, random)
  const calls: string[] = []
  const queue: { readonly time: number; readonly type: Pending['type'] }[] = []
  const store = { late: 0, hang: (until: number) => calls.push(`hang until ${until}`) }
  const world = {
    store,
    push: (time: number, { type }: Pending) => void queue.push({ time, type }),
    node: (id: number | string) => nodes.find((node) => node.id === id) as SimNode,
    boot: ({ id }: SimNode) => void calls.push(`boot ${id}`),
    crash: ({ id }: SimNode) => void calls.push(`crash ${id}`),
    adjustClock: (node: SimNode, adjust: (clock: SimNode['clock']) => void) => {
      calls.push(`adjust clock of ${node.id}`)
      adjust(node.clock)
    },
    showClock: () => {},
    command: ({ id }: SimNode, command: Command) => void calls.push(`${id} ${JSON.stringify(command)}`),
  } as unknown as NodeEventTargets
  type NodeEvent = Parameters<typeof changeNode>[1]
  return {
    nodes: nodes as readonly [SimNode, SimNode, SimNode],
    network,
    calls,
    queue,
    store,
    happen: (event: object, now = 1000) => changeNode(world, { atMs: 1, ...event } as NodeEvent, now),
  }
}

describe('an event of the network', () => {
  const connected = (...events: readonly object[]) => {
    const { network } = setUp()
    for (const event of events)
      expect(changeNetwork(network, { atMs: 1, ...event } as ScenarioEvent)).toBe(true)
    return network.connected([0, 1, 2])
  }

  it('cuts and heals links', () => {
    expect(connected({ cut: [[1, 2]] })).toEqual([
      [1, 3],
      [2, 3],
    ])
    expect(connected({ cut: [[1, 2]] }, { heal: [[1, 2]] })).toBe('full')
    expect(connected({ cutOneWay: [[1, 2]] }, { heal: 'all' })).toBe('full')
  })

  it('partitions the nodes, and replaces the links', () => {
    expect(connected({ partition: [[1], [2, 3]] })).toEqual([[2, 3]])
    expect(connected({ links: [[1, 2]] })).toEqual([[1, 2]])
  })

  it('sets loss and duplication', () => {
    const { network } = setUp()
    changeNetwork(network, { atMs: 1, loss: 0.5 })
    changeNetwork(network, { atMs: 1, duplicate: 0.25 })
    expect([network.loss, network.duplicate, network.isLossy]).toEqual([0.5, 0.25, true])
  })

  it('is not an event of a node', () => {
    const { network } = setUp()
    expect(changeNetwork(network, { atMs: 1, crash: 2 })).toBe(false)
    expect(network.connected([0, 1, 2])).toBe('full')
  })
})

describe('an event of a node', () => {
  it('crashes it at once, or arms a crash in the middle of a step', () => {
    const { nodes, calls, happen } = setUp()
    happen({ crash: 2 })
    expect([calls, nodes[1].crashAfter]).toEqual([['crash 2'], NEVER])
    happen({ crash: 3, afterEffects: 2 })
    expect([calls, nodes[2].crashAfter]).toEqual([['crash 2'], 2])
  })

  it('boots it only if it is down', () => {
    const { nodes, calls, happen } = setUp()
    happen({ recover: 1 })
    nodes[0].up = false
    happen({ recover: 1 })
    expect(calls).toEqual(['boot 1'])
  })

  it('pauses it, and schedules the end of the pause', () => {
    const { nodes, queue, happen } = setUp()
    happen({ pause: 2, forMs: 3 }, 1000)
    expect(nodes[1].stalledUntil).toBe(4000)
    expect(queue).toEqual([{ time: 4000, type: 'resume' }])
    happen({ pause: 2, forMs: 1 }, 1500)
    expect([nodes[1].stalledUntil, queue.length]).toEqual([4000, 1])
  })

  it('suspends it: its clock stands still, and it does not know for how long', () => {
    const { nodes, queue, happen } = setUp()
    const before = nodes[1].clock.at(1000)
    happen({ suspend: 2, forMs: 5 }, 1000)
    expect(nodes[1].clock.at(6000)).toBe(before)
    expect([nodes[1].sleptFor, nodes[1].stalledUntil]).toEqual([5000, 6000])
    expect(queue).toEqual([{ time: 6000, type: 'resume' }])
  })

  it('does not suspend a node that is down', () => {
    const { nodes, queue, happen } = setUp()
    nodes[1].up = false
    happen({ suspend: 2, forMs: 5 })
    expect([nodes[1].sleptFor, nodes[1].stalledUntil, queue]).toEqual([0, 0, []])
  })

  it('makes its clock drift and jump', () => {
    const { nodes, calls, happen } = setUp()
    const before = nodes[1].clock.at(1000)
    happen({ drift: 2, ppm: 500_000 }, 1000)
    expect(nodes[1].clock.at(1100)).toBe(before + 150)
    happen({ skew: 2, byMs: -0.05 }, 1100)
    expect(nodes[1].clock.at(1100)).toBe(before + 100)
    expect(calls).toEqual(['adjust clock of 2', 'adjust clock of 2'])
  })

  it('makes its disk unwritable and writable', () => {
    const { nodes, happen } = setUp()
    happen({ unwritable: 3 })
    expect(nodes.map(({ isWritable }) => isWritable)).toEqual([true, true, false])
    happen({ writable: 3 })
    expect(nodes[2].isWritable).toBe(true)
  })

  it('gives it a command, without the name of the node', () => {
    const { calls, happen } = setUp()
    happen({ command: { node: 2, do: 'detect', of: 3 } })
    expect(calls).toEqual(['2 {"do":"detect","of":3}'])
  })
})

describe('an event of the store', () => {
  it('makes it hang, and settling starts again when it responds', () => {
    const { calls, queue, happen } = setUp()
    happen({ hang: true, forMs: 2 }, 500)
    expect(calls).toEqual(['hang until 2500'])
    expect(queue).toEqual([{ time: 2500, type: 'storeAnswers' }])
  })

  it('makes its writes late', () => {
    const { store, happen } = setUp()
    happen({ late: 0.3 })
    expect(store.late).toBe(0.3)
  })
})
