import { describe, expect, it } from 'vitest'
import { probeDefinition } from '../../../test/support/probe.ts'
import type { PlainObject } from '../../core/index.ts'
import { parseScenario } from '../scenario/index.ts'
import { Random } from '../scenario/random.ts'
import type { TraceRecord } from '../trace/index.ts'
import { LinkStates } from './link-states.ts'
import { makeNodes } from './make-nodes.ts'
import { MessageSender } from './message-sender.ts'
import { Network } from './network.ts'
import type { Pending, SimNode } from './world-node.ts'

type Arrival = { readonly time: number; readonly pending: Pending & { readonly type: 'message' } }

function setUp(settings: PlainObject = {}, links: LinkStates | null = null) {
  const lookup = { names: ['probe'], find: () => probeDefinition }
  const network = { delayMs: 2, ...settings }
  const scenario = parseScenario({ protocol: 'probe', nodes: [1, 2], untilMs: 1, network }, lookup)
  const random = new Random(1)
  const [a, b] = makeNodes(probeDefinition, scenario, random, false) as [SimNode, SimNode]
  const arrivals: Arrival[] = []
  const lost: TraceRecord[] = []
  const broken: string[] = []
  const sender = new MessageSender({
    definition: probeDefinition,
    network: new Network(scenario.nodes, scenario.network, scenario.links, random),
    links,
    notifier: { noteLoss: (from: SimNode, to: SimNode) => broken.push(`${from.id}>${to.id}`) } as never,
    record: (record) => lost.push(record),
    push: (time, pending) => arrivals.push({ time, pending } as Arrival),
  })
  return { a, b, sender, arrivals, lost, broken }
}

describe('a message', () => {
  it('is numbered, counted by kind, and arrives after its delay', () => {
    const { a, b, sender, arrivals } = setUp()
    expect([
      sender.send(a, b, { kind: 'note' }, 1000),
      sender.send(b, a, { kind: 'note' }, 1000),
      sender.send(a, b, { kind: 'other' }, 5000),
    ]).toEqual([0, 1, 2])
    expect(arrivals.map(({ time, pending }) => [time, pending.id])).toEqual([
      [3000, 0],
      [3000, 1],
      [7000, 2],
    ])
    expect([sender.sentOf('note'), sender.sentOf('other'), sender.sentOf('never')]).toEqual([2, 1, 0])
  })

  it('of a kind that the protocol does not declare is an error', () => {
    const { a, b, sender } = setUp()
    expect(() => sender.send(a, b, { kind: 'rumour' }, 0)).toThrow(
      'message kind "rumour" is not declared by the protocol',
    )
  })

  it('that is lost is recorded, counted, and reported to the links', () => {
    const { a, b, sender, arrivals, lost, broken } = setUp({ loss: 1 })
    sender.send(a, b, { kind: 'note' }, 700)
    expect(arrivals).toEqual([])
    expect(lost).toEqual([{ type: 'lost', at: 700, message: 0, why: 'chance' }])
    expect([sender.sentOf('note'), broken]).toEqual([1, ['1>2']])
  })

  it('that a rule drops says so', () => {
    const { a, b, sender, lost } = setUp({ rules: [{ kind: 'note', drop: true }] })
    sender.send(a, b, { kind: 'note' }, 0)
    sender.send(a, b, { kind: 'other' }, 0)
    expect(lost).toEqual([{ type: 'lost', at: 0, message: 0, why: 'rule' }])
  })

  it('that is duplicated arrives twice under one number', () => {
    const { a, b, sender, arrivals } = setUp({ duplicate: 1 })
    sender.send(a, b, { kind: 'note' }, 0)
    expect(arrivals.map(({ pending }) => pending.id)).toEqual([0, 0])
    expect(sender.sentOf('note')).toBe(1)
  })
})

describe('on links that nodes are notified of, a message', () => {
  const states = (isUp: boolean) => new LinkStates(2, { slack: 1, labelled: true }, () => isUp)

  it('carries the incarnation of its link, and is never duplicated', () => {
    const links = states(true)
    const { a, b, sender, arrivals } = setUp({ duplicate: 1 }, links)
    sender.send(a, b, { kind: 'note' }, 0)
    expect(arrivals.map(({ pending }) => pending.label)).toEqual([links.count(a.index, b.index)])
  })

  it('is lost while the sender sees the link down, which breaks nothing', () => {
    const { a, b, sender, arrivals, lost, broken } = setUp({}, states(false))
    sender.send(a, b, { kind: 'note' }, 3)
    expect([arrivals, broken]).toEqual([[], []])
    expect(lost).toEqual([{ type: 'lost', at: 3, message: 0, why: 'cut' }])
  })
})
