/** A faulty node of omega: it has the right key, and sends messages that cannot be true. */
import { describe, expect, it } from 'vitest'
import { type NodeId, type Output, sortIds } from '../../core/index.ts'
import { omega } from './omega.ts'
import { FREE_VIEWS, VIEW_STEP } from './plausible.ts'
import { RULES as HONEST_RULES } from './rules.ts'
import { NO_VIEW, type OmegaMessage, type OmegaState, type OmegaView, type Status } from './state.ts'

const NODES = [1, 2, 3]
const RULES = {
  quorum: 'dynamic',
  tie: false,
  reinit: 'quorum',
  filter: false,
  weights: {},
  rules: HONEST_RULES,
} as const

class ScriptedNode {
  readonly #node: ReturnType<typeof omega>
  state: OmegaState
  implausible: readonly Output[] = []
  asked: readonly number[] = []
  /** Messages of the last step. */
  sent: readonly { readonly to: NodeId; readonly body: OmegaMessage }[] = []

  constructor(self: NodeId = 1) {
    this.#node = omega({ self, nodes: NODES }, RULES)
    const settled = this.#node.settled?.({ leader: 1, members: NODES }, 0)
    if (settled === undefined) throw new Error('omega must support settled()')
    this.state = settled.state
  }

  receive(from: NodeId, body: OmegaMessage): this {
    return this.#apply(this.#node.step(this.state, { type: 'message', from, body, receipt: null }, 0))
  }

  link(peer: NodeId, up: boolean): this {
    return this.#apply(this.#node.step(this.state, { type: 'link', peer, up }, 0))
  }

  #apply({ state, effects }: ReturnType<ReturnType<typeof omega>['step']>): this {
    this.state = state
    this.implausible = effects.flatMap((effect) =>
      effect.type === 'output' && effect.event.type === 'implausible' ? [effect.event] : [],
    )
    this.sent = effects.flatMap((effect) =>
      effect.type === 'send' ? [{ to: effect.to, body: effect.body }] : [],
    )
    this.asked = this.sent.flatMap(({ body }) => (body.kind === 'cand' ? [body.n] : []))
    return this
  }
}

const view = (n: number, leader: NodeId, ...others: readonly NodeId[]): OmegaView => ({
  id: [n, leader],
  members: sortIds([leader, ...others]).map((id) => [id, 1]),
})
const FIRST = view(1, 1, 2, 3)
const status = (some: Partial<Status> = {}): OmegaMessage => ({
  kind: 'status',
  life: 1,
  ok: true,
  view: FIRST,
  promised: 1,
  formed: FIRST,
  attempts: [],
  links: [],
  torn: false,
  aside: false,
  ...some,
})

describe('an implausible status', () => {
  it.each<[string, Partial<Status>]>([
    ['promised', { promised: FREE_VIEWS + 1 }],
    ['view.id', { view: view(FREE_VIEWS + 1, 2, 3), formed: FIRST }],
    ['formed.id', { formed: view(2 ** 39, 2, 3) }],
    ['formed.members', { formed: view(2, 2, 9) }],
    ['formed.members', { formed: view(2, 2) }],
    ['attempts.members', { attempts: [view(2, 2, 8, 9)] }],
    ['view', { view: view(2, 3, 1) }],
    ['view', { view: view(1, 3, 1), life: 2 }],
  ])('is refused, and the event names its sender and the field %s: %j', (field, some) => {
    const node = new ScriptedNode().receive(2, status(some))
    expect(node.implausible).toMatchObject([{ peer: 2, field: `status.${field}` }])
    const { promised, formed } = node.state
    expect(formed.id).toEqual(FIRST.id)
    expect(promised[0]).toBeLessThan(FREE_VIEWS + 5)
  })

  it('leaves its sender dead instead of unknown, so that no node waits for another status', () => {
    const node = new ScriptedNode().receive(2, status({ promised: 2 ** 39 }))
    const { status: kept } = node.state.links.find(({ peer }) => peer === 2) ?? {}
    expect(kept).toMatchObject({ life: 1, ok: false, view: NO_VIEW, promised: 0, attempts: [] })
  })

  it('does not teach a view that contains this node but that it never promised', () => {
    const node = new ScriptedNode().receive(2, status({ formed: view(7, 2, 1) }))
    expect(node.implausible).toEqual([])
    expect(node.state.formed.id).toEqual([1, 1])
  })
})

describe('a view number', () => {
  it('advances by a bounded step per message beyond FREE_VIEWS', () => {
    const node = new ScriptedNode().receive(2, status({ promised: FREE_VIEWS }))
    expect(node.implausible).toEqual([])
    node.link(3, false)
    expect(node.asked).toEqual([FREE_VIEWS + 1])
    const far = FREE_VIEWS + 1 + VIEW_STEP
    expect(node.receive(2, status({ promised: far + 1 })).implausible).toMatchObject([
      { field: 'status.promised' },
    ])
    expect(node.receive(2, status({ promised: far })).implausible).toEqual([])
  })
})

/** Delivers messages between two nodes, in order, until no more follow. Returns how many there were. */
function exchange(nodes: readonly [ScriptedNode, ScriptedNode]): number {
  const queue: { readonly from: NodeId; readonly to: NodeId; readonly body: OmegaMessage }[] = []
  const collect = (): void => {
    for (const [place, node] of nodes.entries()) {
      for (const { to, body } of node.sent) if (to !== 3) queue.push({ from: place + 1, to, body })
      node.sent = []
    }
  }
  collect()
  let count = 0
  for (; count < 10_000; count++) {
    const next = queue.shift()
    if (next === undefined) break
    nodes[next.to === 1 ? 0 : 1].receive(next.from, next.body)
    collect()
  }
  return count
}

describe('a node whose promise a faulty node has pushed ahead, step by step', () => {
  const far = [1, 2, 100].flatMap((steps) => [
    { ahead: 1, steps },
    { ahead: 2, steps },
  ])

  it.each(far)('forms the next view with the other node: node $ahead, $steps steps', ({ ahead, steps }) => {
    const nodes = [new ScriptedNode(1), new ScriptedNode(2)] as const
    const pushed = nodes[ahead - 1] as ScriptedNode
    pushed.state = { ...pushed.state, promised: [FREE_VIEWS + steps * VIEW_STEP, 3] }
    for (const node of nodes) node.link(3, false)
    expect(exchange(nodes)).toBeLessThan(10 * steps + 20)
    const [one, two] = nodes.map(({ state }) => state.view)
    expect(one).toEqual(two)
    expect(one?.members).toEqual([
      [1, 1],
      [2, 1],
    ])
  })

  it.each(far)('is heard again after its link was down: node $ahead, $steps steps', ({ ahead, steps }) => {
    const nodes = [new ScriptedNode(1), new ScriptedNode(2)] as const
    const pushed = nodes[ahead - 1] as ScriptedNode
    pushed.state = { ...pushed.state, promised: [FREE_VIEWS + steps * VIEW_STEP, 3] }
    for (const node of nodes) node.link(3, false).sent = []
    nodes[0].link(2, false)
    nodes[1].link(1, false)
    for (const node of nodes) node.sent = []
    nodes[0].link(2, true)
    nodes[1].link(1, true)
    expect(exchange(nodes)).toBeLessThan(10 * steps + 30)
    const [one, two] = nodes.map(({ state }) => state.view)
    expect(one).toEqual(two)
    expect(one?.members.map(([id]) => id)).toEqual([1, 2])
  })
})

/** The proposer repeats a candidacy when the status of its peer shows that the peer may have refused it. */
describe('a candidacy that arrives again', () => {
  it('leaves the accept and the recorded attempt as they are: the view may be installed already', () => {
    const members = FIRST.members.slice(0, 2)
    const cand: OmegaMessage = { kind: 'cand', n: 2, members, base: FIRST.id }
    const node = new ScriptedNode(2).link(3, false).receive(1, cand).receive(1, { kind: 'attempt', n: 2 })
    expect(node.state.attempts).toEqual([{ id: [2, 1], members }])
    expect(node.receive(1, cand).sent).toEqual([])
    expect(node.state.attempts).toEqual([{ id: [2, 1], members }])
  })
})
