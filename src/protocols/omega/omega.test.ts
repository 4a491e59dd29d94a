/** Each rule of Omega+, and its quorums. */
import { describe, expect, it } from 'vitest'
import type { Effect, NodeId } from '../../core/index.ts'
import { omega } from './omega.ts'
import { RULES } from './rules.ts'
import type { OmegaSettings } from './settings.ts'
import { NO_VIEW, type OmegaMessage, type OmegaState, type OmegaView, type Status } from './state.ts'

const PLAIN: OmegaSettings = {
  quorum: 'none',
  tie: false,
  reinit: 'never',
  filter: false,
  weights: {},
  rules: RULES,
}

function node(self: NodeId, settings: Partial<OmegaSettings> = {}, nodes: readonly NodeId[] = [1, 2, 3]) {
  return omega({ self, nodes }, { ...PLAIN, ...settings })
}

const DYNAMIC_RULE: Partial<OmegaSettings> = { quorum: 'dynamic' }

type Node = ReturnType<typeof node>

/** A node that starts in the first view of all nodes. Tests send it one input after another. */
class ScriptedNode {
  readonly #node: Node
  state: OmegaState
  effects: readonly Effect[]

  constructor(self: NodeId, settings: Partial<OmegaSettings> = {}, nodes: readonly NodeId[] = [1, 2, 3]) {
    this.#node = node(self, settings, nodes)
    const settled = this.#node.settled?.({ leader: 1, members: nodes }, 0)
    if (settled === undefined) throw new Error('omega must support settled()')
    this.state = settled.state
    this.effects = settled.effects
  }

  link(peer: NodeId, up: boolean): this {
    return this.#apply(this.#node.step(this.state, { type: 'link', peer, up }, 0))
  }

  receive(from: NodeId, body: OmegaMessage): this {
    return this.#apply(this.#node.step(this.state, { type: 'message', from, body, receipt: null }, 0))
  }

  sent(kind: string): readonly (readonly [NodeId, OmegaMessage])[] {
    return this.effects.flatMap((effect) =>
      effect.type === 'send' && effect.body.kind === kind
        ? [[effect.to, effect.body as OmegaMessage] as const]
        : [],
    )
  }

  get kinds(): readonly string[] {
    return this.effects.map((effect) => (effect.type === 'send' ? effect.body.kind : effect.type))
  }

  #apply(step: ReturnType<Node['step']>): this {
    this.state = step.state
    this.effects = step.effects
    return this
  }
}

const FIRST: OmegaView = {
  id: [1, 1],
  members: [
    [1, 1],
    [2, 1],
    [3, 1],
  ],
}
const status = (some: Partial<Status> = {}): OmegaMessage => ({
  kind: 'status',
  life: 1,
  ok: true,
  view: FIRST,
  promised: 1,
  formed: NO_VIEW,
  attempts: [],
  links: [],
  torn: false,
  aside: false,
  ...some,
})
const PAIR = [
  [1, 1],
  [2, 1],
] as const
const CAND: OmegaMessage = { kind: 'cand', n: 2, members: PAIR, base: [1, 1] }
const acceptOf = (n: number): OmegaMessage => ({ kind: 'accept', n, formed: NO_VIEW, attempts: [] })

describe('the rules', () => {
  it('rule 4: the least living node proposes its target, and persists its promise before it sends', () => {
    const one = new ScriptedNode(1).link(3, false)
    expect(one.sent('cand')).toEqual([[2, CAND]])
    expect(one.kinds[0]).toBe('persist')
    expect(one.state.promised).toEqual([2, 1])
    expect(new ScriptedNode(2).link(3, false).sent('cand')).toEqual([])
  })

  it('rule 4: the proposer cancels a proposal that is no longer its target', () => {
    const one = new ScriptedNode(1).link(3, false).link(3, true)
    expect(one.sent('cancel')).toEqual([[2, { kind: 'cancel', n: 2 }]])
    expect(one.state.proposal).toBeNull()
  })

  it('rule 5: once all have accepted, the proposer installs the view, sends it to all and outputs it', () => {
    const one = new ScriptedNode(1).link(3, false).receive(2, acceptOf(2))
    expect(one.state.view).toEqual({ id: [2, 1], members: PAIR })
    expect(one.kinds.slice(0, 2)).toEqual(['persist', 'output'])
    expect(one.effects).toContainEqual({
      type: 'output',
      event: { type: 'view', id: [2, 1], members: PAIR, left: [[3, 1]], joined: [] },
    })
    expect(one.sent('status').map(([to]) => to)).toEqual([2])
  })

  it('rule 6: a member accepts once its target is the same, and withdraws when it is not', () => {
    const two = new ScriptedNode(2).receive(1, CAND)
    expect(two.kinds).toEqual([])
    two.link(3, false)
    expect(two.kinds.slice(0, 3)).toEqual(['persist', 'output', 'accept'])
    expect(two.sent('accept').map(([to]) => to)).toEqual([1])
    two.link(3, true)
    expect(two.sent('withdraw')).toEqual([[1, { kind: 'withdraw', n: 2 }]])
  })

  it('rule 6: a node answers a number that is too low with its status, once', () => {
    const two = new ScriptedNode(2)
    two.state = { ...two.state, promised: [4, 3] }
    two.link(3, false).receive(1, CAND)
    expect(two.sent('accept')).toEqual([])
    expect(two.sent('status')).toMatchObject([[1, { promised: 4 }]])
    expect(two.receive(1, status()).sent('status')).toEqual([])
  })

  it('rule 1: a node adopts a newer view; if it is not a member, it dies and sends its next life', () => {
    const without2: OmegaView = {
      id: [2, 1],
      members: [
        [1, 1],
        [3, 1],
      ],
    }
    const two = new ScriptedNode(2).receive(3, status({ view: without2 }))
    expect(two.state).toMatchObject({ ok: false, life: 2, view: FIRST })
    expect(two.sent('status').map(([, body]) => body)).toMatchObject([
      { life: 2, ok: false },
      { life: 2, ok: false },
    ])
    const three = new ScriptedNode(3)
    three.state = { ...three.state, promised: [2, 1] }
    expect(three.receive(1, status({ view: without2 })).state).toMatchObject({ ok: true, view: without2 })
  })

  it('dies and takes a new life when it is isolated', () => {
    const three = new ScriptedNode(3).link(1, false).link(2, false)
    expect(three.state).toMatchObject({ ok: false, life: 2, links: [] })
  })

  it('takes a new life at a restart, and persists it before it sends', () => {
    const kept = { life: 3, view: FIRST, promised: [1, 1], formed: NO_VIEW, attempts: [] } as const
    const { state, effects } = node(1).start(kept, 0)
    expect(state).toMatchObject({ life: 4, ok: false })
    expect(effects).toEqual([{ type: 'persist', stable: { ...kept, life: 4 } }])
    expect(node(1).start(null, 0).state.life).toBe(1)
  })

  it('ignores messages over a link that is down', () => {
    const one = new ScriptedNode(1).link(3, false)
    const before = one.state
    expect(one.receive(3, status({ life: 9 })).state).toBe(before)
  })

  it('compares weights before ids', () => {
    const weights = { '1': 5 }
    expect(new ScriptedNode(2, { weights }).link(3, false).sent('cand')).toHaveLength(1)
    expect(new ScriptedNode(1, { weights }).link(3, false).sent('cand')).toEqual([])
  })
})

describe('quorums', () => {
  const four = [1, 2, 3, 4]
  const halves = (settings: Partial<OmegaSettings>): OmegaState => {
    const formed =
      settings.quorum === 'dynamic' ? { ...FIRST, members: four.map((id) => [id, 1] as const) } : NO_VIEW
    return new ScriptedNode(1, settings, four)
      .link(3, false)
      .link(4, false)
      .receive(2, { kind: 'accept', n: 3, formed, attempts: [] })
      .receive(2, { kind: 'attempted', n: 3 }).state
  }

  it('none: each half forms its own view', () => {
    expect(halves({ quorum: 'none' }).view.id).toEqual([3, 1])
  })

  it.each(['static', 'dynamic'] as const)('%s: half is not enough', (quorum) => {
    expect(halves({ quorum }).view.id).toEqual([1, 1])
  })

  it('dynamic with tie: half is enough if it includes the least node', () => {
    expect(halves({ quorum: 'dynamic', tie: true }).view.id).toEqual([3, 1])
  })

  /** 1 has lost 4, and proposes view 2.1 of the other nodes. */
  const proposing = (): ScriptedNode => new ScriptedNode(1, DYNAMIC_RULE, four).link(4, false)
  const ALL: OmegaView = { ...FIRST, members: four.map((id) => [id, 1]) }
  const accept = (...attempts: readonly OmegaView[]): OmegaMessage => ({
    kind: 'accept',
    n: 2,
    formed: ALL,
    attempts,
  })
  const viewOf = (n: number, ...members: readonly number[]): OmegaView => ({
    id: [n, members[0] as number],
    members: members.toSorted((a, b) => a - b).map((id) => [id, 1]),
  })
  const isAttempting = (scripted: ScriptedNode): boolean => scripted.state.proposal?.isAttempt === true

  it('dynamic: once all have accepted with a quorum, all record the attempt, and then the view is installed', () => {
    const one = proposing().receive(2, accept())
    expect(one.state.attempts).toEqual([])
    one.receive(3, accept())
    expect(one.sent('attempt').map(([to]) => to)).toEqual([2, 3])
    expect(one.kinds[0]).toBe('persist')
    expect(one.state.attempts.map(({ id }) => id)).toEqual([[2, 1]])
    expect(one.receive(2, { kind: 'attempted', n: 2 }).state.view.id).toEqual([1, 1])
    expect(one.receive(3, { kind: 'attempted', n: 2 }).state.view.id).toEqual([2, 1])
    expect(one.state.attempts).toEqual([])
  })

  it('dynamic: a member records an attempt that it has accepted and not withdrawn, and then confirms', () => {
    const members = viewOf(2, 1, 2, 3).members
    const two = new ScriptedNode(2, DYNAMIC_RULE, four).link(4, false)
    two.receive(1, { kind: 'cand', n: 2, members, base: [1, 1] })
    expect(two.sent('accept')).toHaveLength(1)
    expect(two.state.attempts).toEqual([])
    two.receive(1, { kind: 'attempt', n: 2 })
    expect(two.kinds).toEqual(['persist', 'attempted'])
    expect(two.state.attempts.map(({ id }) => id)).toEqual([[2, 1]])
    const other = new ScriptedNode(2, DYNAMIC_RULE, four).link(4, false)
    other.receive(1, { kind: 'cand', n: 2, members, base: [1, 1] }).link(4, true)
    expect(other.receive(1, { kind: 'attempt', n: 2 }).state.attempts).toEqual([])
  })

  it('dynamic: an open attempt counts like a view, unless one of its members refutes it', () => {
    // 2 and 4 may have formed a view of their own.
    const open = viewOf(2, 4, 2)
    expect(isAttempting(proposing().receive(2, accept(open)).receive(3, accept()))).toBe(false)
    // 3 is a member, and has not recorded it.
    const refused = viewOf(2, 4, 2, 3)
    expect(isAttempting(proposing().receive(2, accept(refused)).receive(3, accept()))).toBe(true)
    // 2 proposed it, and no longer names it.
    const cancelled = viewOf(2, 2, 3, 4)
    expect(isAttempting(proposing().receive(3, accept(cancelled)).receive(2, accept()))).toBe(true)
    // It is older than a view that is known to be installed.
    const formed: OmegaView = { ...ALL, id: [1, 4] }
    const one = proposing()
    one.state = { ...one.state, formed }
    one.receive(2, { ...accept(viewOf(1, 4, 2)), formed } as OmegaMessage)
    expect(isAttempting(one.receive(3, { ...accept(), formed } as OmegaMessage))).toBe(true)
    // A view with 1 or 3 that they have not recorded was never installed, regardless of the sender of the claim.
    const claimed = { ...accept(), formed: viewOf(9, 4, 3) } as OmegaMessage
    expect(isAttempting(proposing().receive(2, claimed).receive(3, accept()))).toBe(true)
    const possible = { ...accept(), formed: viewOf(9, 4, 2) } as OmegaMessage
    expect(isAttempting(proposing().receive(2, possible).receive(3, accept()))).toBe(false)
  })

  it('dynamic: what a member has learned since its accept counts', () => {
    const one = proposing()
      .receive(2, accept(viewOf(2, 4, 2)))
      .receive(3, accept())
    expect(isAttempting(one)).toBe(false)
    one.receive(2, status({ view: ALL, formed: ALL, promised: 2 }))
    expect(isAttempting(one)).toBe(true)
  })

  it('dynamic: an attempt is settled when its proposer cancels it, proposes again, or no longer names it', () => {
    const recorded = (): ScriptedNode => {
      const two = new ScriptedNode(2, DYNAMIC_RULE, four).link(4, false)
      two.receive(1, { kind: 'cand', n: 2, members: viewOf(2, 1, 2, 3).members, base: [1, 1] })
      return two.receive(1, { kind: 'attempt', n: 2 })
    }
    const open = (scripted: ScriptedNode): readonly unknown[] => scripted.state.attempts.map(({ id }) => id)
    expect(open(recorded())).toEqual([[2, 1]])
    expect(open(recorded().receive(1, { kind: 'cancel', n: 2 }))).toEqual([])
    expect(open(recorded().receive(1, { kind: 'cand', n: 3, members: ALL.members, base: [1, 1] }))).toEqual(
      [],
    )
    expect(open(recorded().receive(1, status({ view: ALL, formed: ALL, promised: 2 })))).toEqual([])
    // A member that may still record it settles nothing. A member that has promised a higher number does.
    expect(open(recorded().receive(3, status({ view: ALL, formed: ALL, promised: 2 })))).toEqual([[2, 1]])
    expect(open(recorded().receive(3, status({ view: ALL, formed: ALL, promised: 3 })))).toEqual([])
    // A node that is not a member settles nothing.
    expect(
      open(
        recorded()
          .link(4, true)
          .receive(4, status({ view: ALL, formed: ALL, promised: 9 })),
      ),
    ).toEqual([[2, 1]])
  })

  it('dynamic: the proposer cancels an attempt when a member withdraws, and proposes again', () => {
    const one = proposing().receive(2, accept()).receive(3, accept())
    one.receive(3, { kind: 'withdraw', n: 2 })
    expect(one.sent('cand').map(([, body]) => body)).toMatchObject([{ n: 3 }, { n: 3 }])
    expect(one.state.attempts).toEqual([])
  })

  it('dynamic: a node that cancels its proposal, or restarts, has no attempt of its own left', () => {
    const one = proposing().receive(2, accept()).receive(3, accept())
    expect(one.link(4, true).state.attempts).toEqual([])
    const kept = {
      life: 1,
      view: FIRST,
      promised: [3, 2],
      formed: FIRST,
      attempts: [viewOf(2, 1, 2), viewOf(3, 2, 1)],
    } as const
    const { state } = node(1, DYNAMIC_RULE).start(kept, 0)
    expect(state.attempts.map(({ id }) => id)).toEqual([[3, 2]])
  })

  it('dynamic: an attempt whose proposer is gone is superseded by a new view, even of the same members', () => {
    const one = new ScriptedNode(1, DYNAMIC_RULE, four).link(4, false)
    const formed = FIRST
    one.receive(2, status({ formed, attempts: [viewOf(2, 4, 2)], promised: 2 }))
    expect(one.sent('cand').map(([, body]) => body)).toMatchObject([
      { n: 3, members: FIRST.members },
      { n: 3, members: FIRST.members },
    ])
  })

  it('dynamic: a peer with an attempt at another view no longer supports this one, nor does the leader itself', () => {
    const { view } = node(1, DYNAMIC_RULE)
    const inQuorum = (scripted: ScriptedNode): unknown => view(scripted.state, 0).detail?.['inQuorum']
    const one = new ScriptedNode(1, DYNAMIC_RULE)
    const open = (attempt: OmegaView): OmegaMessage =>
      status({ formed: FIRST, attempts: [attempt], promised: 2 })
    expect(inQuorum(one.receive(2, open(viewOf(2, 3, 2))))).toBe(true)
    expect(inQuorum(one.receive(3, open(viewOf(2, 3, 2))))).toBe(false)
    expect(one.effects).toContainEqual(
      expect.objectContaining({ event: { type: 'demoted', token: 10_001, cause: 'out of quorum' } }),
    )
    // A leader knows whether it has installed its own attempts.
    const other = new ScriptedNode(1, DYNAMIC_RULE)
      .receive(2, open(viewOf(2, 1, 2)))
      .receive(3, open(viewOf(2, 1, 3)))
    expect(inQuorum(other)).toBe(true)
    const self = new ScriptedNode(1, DYNAMIC_RULE)
    self.state = { ...self.state, attempts: [viewOf(2, 2, 1)] }
    expect(inQuorum(self)).toBe(false)
  })

  it.each([
    { kind: 'cancel', n: 2 },
    { kind: 'cand', n: 3, members: PAIR, base: [1, 1] },
  ] as const)('dynamic: a peer that gives up its attempt supports the view again: $kind', (body) => {
    const { view } = node(1, DYNAMIC_RULE)
    const inQuorum = (scripted: ScriptedNode): unknown => view(scripted.state, 0).detail?.['inQuorum']
    const attempts = [viewOf(2, 2, 1)]
    const one = new ScriptedNode(1, DYNAMIC_RULE).link(3, false)
    expect(inQuorum(one.receive(2, status({ formed: FIRST, attempts, promised: 2 })))).toBe(false)
    // No other status follows.
    expect(inQuorum(one.receive(2, body))).toBe(true)
  })

  it('static: a leader is in quorum while more than half of all nodes support its view', () => {
    const five = [1, 2, 3, 4, 5]
    const one = new ScriptedNode(1, { quorum: 'static' }, five).link(4, false).link(5, false)
    const three = viewOf(3, 1, 2, 3)
    for (const peer of [2, 3]) one.receive(peer, acceptOf(3))
    for (const peer of [2, 3]) one.receive(peer, status({ view: three, promised: 3 }))
    const { view } = node(1, { quorum: 'static' }, five)
    expect(view(one.state, 0)).toMatchObject({ role: 'leader', detail: { inQuorum: true } })
    // 1 and 2 are more than half of the view, and less than half of the nodes.
    expect(view(one.link(3, false).state, 0)).toMatchObject({ role: 'leader', detail: { inQuorum: false } })
  })

  it('a leader is in quorum while more than half of its view support that view', () => {
    const { view } = node(1)
    const one = new ScriptedNode(1).link(3, false).receive(2, acceptOf(2))
    expect(view(one.state, 0).detail?.['inQuorum']).toBe(false)
    one.receive(2, status({ view: { id: [2, 1], members: PAIR }, promised: 2 }))
    expect(view(one.state, 0)).toMatchObject({ role: 'leader', detail: { inQuorum: true } })
    expect(one.effects).toContainEqual({
      type: 'output',
      event: { type: 'elected', token: 20_001, cause: 'elected' },
    })
  })
})
