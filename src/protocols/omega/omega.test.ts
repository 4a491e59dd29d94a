/** The rules of Omega+ one by one, and its quorums. */
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

/** A node in the first view of all, as it does one thing after another. */
class Played {
  readonly #node: Node
  state: OmegaState
  effects: readonly Effect[]

  constructor(self: NodeId, settings: Partial<OmegaSettings> = {}, nodes: readonly NodeId[] = [1, 2, 3]) {
    this.#node = node(self, settings, nodes)
    const begun = this.#node.settled?.({ leader: 1, members: nodes }, 0)
    if (begun === undefined) throw new Error('it can begin settled')
    this.state = begun.state
    this.effects = begun.effects
  }

  link(peer: NodeId, up: boolean): this {
    return this.#take(this.#node.step(this.state, { type: 'link', peer, up }, 0))
  }

  hears(from: NodeId, body: OmegaMessage): this {
    return this.#take(this.#node.step(this.state, { type: 'message', from, body, receipt: null }, 0))
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

  #take(step: ReturnType<Node['step']>): this {
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
  it('rule 4: the least of the living proposes what it sees, and has promised that before it says so', () => {
    const one = new Played(1).link(3, false)
    expect(one.sent('cand')).toEqual([[2, CAND]])
    expect(one.kinds[0]).toBe('persist')
    expect(one.state.promised).toEqual([2, 1])
    expect(new Played(2).link(3, false).sent('cand')).toEqual([])
  })

  it('rule 4: what it no longer sees it takes back', () => {
    const one = new Played(1).link(3, false).link(3, true)
    expect(one.sent('cancel')).toEqual([[2, { kind: 'cancel', n: 2 }]])
    expect(one.state.proposal).toBeNull()
  })

  it('rule 5: all have accepted: the view is installed, told to all, and put out', () => {
    const one = new Played(1).link(3, false).hears(2, acceptOf(2))
    expect(one.state.view).toEqual({ id: [2, 1], members: PAIR })
    expect(one.kinds.slice(0, 2)).toEqual(['persist', 'output'])
    expect(one.effects).toContainEqual({
      type: 'output',
      event: { type: 'view', id: [2, 1], members: PAIR, left: [[3, 1]], joined: [] },
    })
    expect(one.sent('status').map(([to]) => to)).toEqual([2])
  })

  it('rule 6: a member accepts once it sees the same, not before, and takes it back when it does not', () => {
    const two = new Played(2).hears(1, CAND)
    expect(two.kinds).toEqual([])
    two.link(3, false)
    expect(two.kinds.slice(0, 3)).toEqual(['persist', 'output', 'accept'])
    expect(two.sent('accept').map(([to]) => to)).toEqual([1])
    two.link(3, true)
    expect(two.sent('withdraw')).toEqual([[1, { kind: 'withdraw', n: 2 }]])
  })

  it('rule 6: a number that is too low is answered by how the node stands, once', () => {
    const two = new Played(2)
    two.state = { ...two.state, promised: [4, 3] }
    two.link(3, false).hears(1, CAND)
    expect(two.sent('accept')).toEqual([])
    expect(two.sent('status')).toMatchObject([[1, { promised: 4 }]])
    expect(two.hears(1, status()).sent('status')).toEqual([])
  })

  it('rule 1: a newer view holds; whoever is not in it dies, and says so under its next life', () => {
    const without2: OmegaView = {
      id: [2, 1],
      members: [
        [1, 1],
        [3, 1],
      ],
    }
    const two = new Played(2).hears(3, status({ view: without2 }))
    expect(two.state).toMatchObject({ ok: false, life: 2, view: FIRST })
    expect(two.sent('status').map(([, body]) => body)).toMatchObject([
      { life: 2, ok: false },
      { life: 2, ok: false },
    ])
    const three = new Played(3)
    three.state = { ...three.state, promised: [2, 1] }
    expect(three.hears(1, status({ view: without2 })).state).toMatchObject({ ok: true, view: without2 })
  })

  it('isolated: dead, in a new life', () => {
    const three = new Played(3).link(1, false).link(2, false)
    expect(three.state).toMatchObject({ ok: false, life: 2, links: [] })
  })

  it('a restart is a new life, kept before anything is said', () => {
    const kept = { life: 3, view: FIRST, promised: [1, 1], formed: NO_VIEW, attempts: [] } as const
    const { state, effects } = node(1).start(kept, 0)
    expect(state).toMatchObject({ life: 4, ok: false })
    expect(effects).toEqual([{ type: 'persist', stable: { ...kept, life: 4 } }])
    expect(node(1).start(null, 0).state.life).toBe(1)
  })

  it('nothing is taken from a link that is not up', () => {
    const one = new Played(1).link(3, false)
    const before = one.state
    expect(one.hears(3, status({ life: 9 })).state).toBe(before)
  })

  it('weights come before ids', () => {
    const weights = { '1': 5 }
    expect(new Played(2, { weights }).link(3, false).sent('cand')).toHaveLength(1)
    expect(new Played(1, { weights }).link(3, false).sent('cand')).toEqual([])
  })
})

describe('quorums', () => {
  const four = [1, 2, 3, 4]
  const halves = (settings: Partial<OmegaSettings>): OmegaState => {
    const formed =
      settings.quorum === 'dynamic' ? { ...FIRST, members: four.map((id) => [id, 1] as const) } : NO_VIEW
    return new Played(1, settings, four)
      .link(3, false)
      .link(4, false)
      .hears(2, { kind: 'accept', n: 3, formed, attempts: [] })
      .hears(2, { kind: 'attempted', n: 3 }).state
  }

  it('none: any half forms its own view', () => {
    expect(halves({ quorum: 'none' }).view.id).toEqual([3, 1])
  })

  it.each(['static', 'dynamic'] as const)('%s: half is not enough', (quorum) => {
    expect(halves({ quorum }).view.id).toEqual([1, 1])
  })

  it('dynamic with tie: it is, with the least node', () => {
    expect(halves({ quorum: 'dynamic', tie: true }).view.id).toEqual([3, 1])
  })

  /** 1 has lost 4, and proposes 2.1 of the others. */
  const asks = (): Played => new Played(1, DYNAMIC_RULE, four).link(4, false)
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
  const isAsking = (played: Played): boolean => played.state.proposal?.isAttempt === true

  it('dynamic: an attempt is recorded by all, once all have accepted and there is a quorum; then the view is installed', () => {
    const one = asks().hears(2, accept())
    expect(one.state.attempts).toEqual([])
    one.hears(3, accept())
    expect(one.sent('attempt').map(([to]) => to)).toEqual([2, 3])
    expect(one.kinds[0]).toBe('persist')
    expect(one.state.attempts.map(({ id }) => id)).toEqual([[2, 1]])
    expect(one.hears(2, { kind: 'attempted', n: 2 }).state.view.id).toEqual([1, 1])
    expect(one.hears(3, { kind: 'attempted', n: 2 }).state.view.id).toEqual([2, 1])
    expect(one.state.attempts).toEqual([])
  })

  it('dynamic: a member records an attempt that it has accepted and not withdrawn, and says so afterwards', () => {
    const members = viewOf(2, 1, 2, 3).members
    const two = new Played(2, DYNAMIC_RULE, four).link(4, false)
    two.hears(1, { kind: 'cand', n: 2, members, base: [1, 1] })
    expect(two.sent('accept')).toHaveLength(1)
    expect(two.state.attempts).toEqual([])
    two.hears(1, { kind: 'attempt', n: 2 })
    expect(two.kinds).toEqual(['persist', 'attempted'])
    expect(two.state.attempts.map(({ id }) => id)).toEqual([[2, 1]])
    const other = new Played(2, DYNAMIC_RULE, four).link(4, false)
    other.hears(1, { kind: 'cand', n: 2, members, base: [1, 1] }).link(4, true)
    expect(other.hears(1, { kind: 'attempt', n: 2 }).state.attempts).toEqual([])
  })

  it('dynamic: an open attempt counts like a view, unless one of its members knows better', () => {
    // 2 and 4 may have formed a view of their own.
    const open = viewOf(2, 4, 2)
    expect(isAsking(asks().hears(2, accept(open)).hears(3, accept()))).toBe(false)
    // 3 belongs to it, and has not recorded it.
    const refused = viewOf(2, 4, 2, 3)
    expect(isAsking(asks().hears(2, accept(refused)).hears(3, accept()))).toBe(true)
    // 2 proposed it, and no longer says so.
    const takenBack = viewOf(2, 2, 3, 4)
    expect(isAsking(asks().hears(3, accept(takenBack)).hears(2, accept()))).toBe(true)
    // It is older than a view that is known to be installed.
    const formed: OmegaView = { ...ALL, id: [1, 4] }
    const one = asks()
    one.state = { ...one.state, formed }
    one.hears(2, { ...accept(viewOf(1, 4, 2)), formed } as OmegaMessage)
    expect(isAsking(one.hears(3, { ...accept(), formed } as OmegaMessage))).toBe(true)
    // A view that 1 or 3 would have recorded, and has not, was never installed, whoever says so.
    const claimed = { ...accept(), formed: viewOf(9, 4, 3) } as OmegaMessage
    expect(isAsking(asks().hears(2, claimed).hears(3, accept()))).toBe(true)
    const possible = { ...accept(), formed: viewOf(9, 4, 2) } as OmegaMessage
    expect(isAsking(asks().hears(2, possible).hears(3, accept()))).toBe(false)
  })

  it('dynamic: what a member has learnt since it accepted counts', () => {
    const one = asks()
      .hears(2, accept(viewOf(2, 4, 2)))
      .hears(3, accept())
    expect(isAsking(one)).toBe(false)
    one.hears(2, status({ view: ALL, formed: ALL, promised: 2 }))
    expect(isAsking(one)).toBe(true)
  })

  it('dynamic: an attempt is over when its proposer cancels it, proposes again, or does not name it any more', () => {
    const recorded = (): Played => {
      const two = new Played(2, DYNAMIC_RULE, four).link(4, false)
      two.hears(1, { kind: 'cand', n: 2, members: viewOf(2, 1, 2, 3).members, base: [1, 1] })
      return two.hears(1, { kind: 'attempt', n: 2 })
    }
    const open = (played: Played): readonly unknown[] => played.state.attempts.map(({ id }) => id)
    expect(open(recorded())).toEqual([[2, 1]])
    expect(open(recorded().hears(1, { kind: 'cancel', n: 2 }))).toEqual([])
    expect(open(recorded().hears(1, { kind: 'cand', n: 3, members: ALL.members, base: [1, 1] }))).toEqual([])
    expect(open(recorded().hears(1, status({ view: ALL, formed: ALL, promised: 2 })))).toEqual([])
    // A member that may yet record it settles nothing; one that has promised more does.
    expect(open(recorded().hears(3, status({ view: ALL, formed: ALL, promised: 2 })))).toEqual([[2, 1]])
    expect(open(recorded().hears(3, status({ view: ALL, formed: ALL, promised: 3 })))).toEqual([])
    // Somebody who is not in it knows nothing.
    expect(
      open(
        recorded()
          .link(4, true)
          .hears(4, status({ view: ALL, formed: ALL, promised: 9 })),
      ),
    ).toEqual([[2, 1]])
  })

  it('dynamic: the proposer takes an attempt back when one of its members no longer wants it, and asks again', () => {
    const one = asks().hears(2, accept()).hears(3, accept())
    one.hears(3, { kind: 'withdraw', n: 2 })
    expect(one.sent('cand').map(([, body]) => body)).toMatchObject([{ n: 3 }, { n: 3 }])
    expect(one.state.attempts).toEqual([])
  })

  it('dynamic: who takes its proposal back, or starts again, has no attempt of its own left', () => {
    const one = asks().hears(2, accept()).hears(3, accept())
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
    const one = new Played(1, DYNAMIC_RULE, four).link(4, false)
    const formed = FIRST
    one.hears(2, status({ formed, attempts: [viewOf(2, 4, 2)], promised: 2 }))
    expect(one.sent('cand').map(([, body]) => body)).toMatchObject([
      { n: 3, members: FIRST.members },
      { n: 3, members: FIRST.members },
    ])
  })

  it('dynamic: a peer with an attempt at another view supports this one no more, nor does the leader itself', () => {
    const { view } = node(1, DYNAMIC_RULE)
    const inQuorum = (played: Played): unknown => view(played.state, 0).detail?.['inQuorum']
    const one = new Played(1, DYNAMIC_RULE)
    const open = (attempt: OmegaView): OmegaMessage =>
      status({ formed: FIRST, attempts: [attempt], promised: 2 })
    expect(inQuorum(one.hears(2, open(viewOf(2, 3, 2))))).toBe(true)
    expect(inQuorum(one.hears(3, open(viewOf(2, 3, 2))))).toBe(false)
    expect(one.effects).toContainEqual(
      expect.objectContaining({ event: { type: 'demoted', token: 10_001, cause: 'out of quorum' } }),
    )
    // Its own attempts it knows about.
    const other = new Played(1, DYNAMIC_RULE).hears(2, open(viewOf(2, 1, 2))).hears(3, open(viewOf(2, 1, 3)))
    expect(inQuorum(other)).toBe(true)
    const self = new Played(1, DYNAMIC_RULE)
    self.state = { ...self.state, attempts: [viewOf(2, 2, 1)] }
    expect(inQuorum(self)).toBe(false)
  })

  it('static: a leader is in quorum while more than half of all nodes answer from its view', () => {
    const five = [1, 2, 3, 4, 5]
    const one = new Played(1, { quorum: 'static' }, five).link(4, false).link(5, false)
    const three = viewOf(3, 1, 2, 3)
    for (const peer of [2, 3]) one.hears(peer, acceptOf(3))
    for (const peer of [2, 3]) one.hears(peer, status({ view: three, promised: 3 }))
    const { view } = node(1, { quorum: 'static' }, five)
    expect(view(one.state, 0)).toMatchObject({ role: 'leader', detail: { inQuorum: true } })
    // 1 and 2 are more than half of the view, and less than half of the nodes.
    expect(view(one.link(3, false).state, 0)).toMatchObject({ role: 'leader', detail: { inQuorum: false } })
  })

  it('a leader is in quorum while more than half of its view answer from that very view', () => {
    const { view } = node(1)
    const one = new Played(1).link(3, false).hears(2, acceptOf(2))
    expect(view(one.state, 0).detail?.['inQuorum']).toBe(false)
    one.hears(2, status({ view: { id: [2, 1], members: PAIR }, promised: 2 }))
    expect(view(one.state, 0)).toMatchObject({ role: 'leader', detail: { inQuorum: true } })
    expect(one.effects).toContainEqual({
      type: 'output',
      event: { type: 'elected', token: 20_001, cause: 'elected' },
    })
  })
})
