/** Omega+: its rules one by one, every schedule of small worlds, random ones of larger, and the paper's story. */
import { describe, expect, it } from 'vitest'
import { type Broken, brokenOmega, type Defect } from '../../../test/canaries/omega.ts'
import { exploring, ids } from '../../../test/support/run.ts'
import { isSoak, sized } from '../../../test/support/sizes.ts'
import type { Effect, NodeId, PlainObject } from '../../core/index.ts'
import {
  checkedOptions,
  RandomWalker,
  type ScheduleStep,
  UntimedRules,
  type UntimedWorld,
} from '../../workbench/sim/index.ts'
import { type Spec, specNamed } from '../../workbench/specs/index.ts'
import { omegaDefinition } from './index.ts'
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

type Bounds = {
  readonly flips: number
  readonly crashes?: number
  readonly slack?: number
  readonly raw?: true
}

function explored(n: number, options: PlainObject, { flips, crashes = 0, slack = 1, raw }: Bounds) {
  return exploring('omega', n, {
    options,
    budget: { crashes, recoveries: crashes, flips, ticks: 0 },
    history: { slack, labelled: raw === undefined },
  })
}

const DYNAMIC = { quorum: 'dynamic', reinit: 'quorum' }
const STATIC = { quorum: 'static', reinit: 'quorum' }

/** For npm run soak: most take a minute or so each, and the short ones repeat a check of another search. */
const LARGE: readonly [number, PlainObject, Bounds, number][] = [
  [3, {}, { flips: 4 }, 22_568],
  [4, {}, { flips: 3 }, 28_798],
  [3, {}, { flips: 5 }, 174_812],
  [3, {}, { flips: 3, crashes: 1 }, 100_509],
  [3, DYNAMIC, { flips: 5 }, 440_815],
  [3, {}, { flips: 4, crashes: 1 }, 915_751],
  [3, { reinit: 'all' }, { flips: 4, crashes: 1 }, 917_622],
  [3, STATIC, { flips: 4, crashes: 1 }, 1_221_332],
  [3, DYNAMIC, { flips: 4, crashes: 1 }, 3_225_854],
  [3, DYNAMIC, { flips: 3, crashes: 2 }, 3_909_324],
  [3, { filter: true }, { flips: 4 }, 374_223],
  [4, {}, { flips: 4 }, 567_684],
  [4, STATIC, { flips: 4 }, 565_060],
  [4, DYNAMIC, { flips: 4 }, 694_274],
]

describe('every schedule of a small world', () => {
  it.each<[number, PlainObject, Bounds, number]>([
    ...sized([], LARGE),
    [3, DYNAMIC, { flips: 4 }, 44_206],
    [3, {}, { flips: 2, crashes: 1 }, 10_449],
    [3, DYNAMIC, { flips: 2, crashes: 1 }, 18_457],
    [3, { filter: true }, { flips: 3 }, 9445],
    [3, {}, { flips: 4, slack: 2 }, 25_115],
    [4, STATIC, { flips: 3 }, 28_798],
    [4, DYNAMIC, { flips: 3 }, 29_174],
  ])(
    '%i nodes, %j, %j: nothing, and a settled state stays within reach',
    (n, options, bounds, states) => {
      const report = explored(n, options, bounds)
      expect(report.counterexample).toBeNull()
      expect(report).toMatchObject({ complete: true, states, progress: { verdict: 'held' } })
      expect(report.specs.filter(({ verdict }) => verdict !== 'held')).toEqual([])
      expect(report.goals.find(({ name }) => name === 'view-installed')?.reached).toBe(true)
    },
    isSoak ? 0 : 900_000,
  )
})

describe('what each rule is there for', () => {
  it.each<[Broken, string, PlainObject, Bounds]>([
    ['no attempts', 'primary-chain', DYNAMIC, { flips: 4 }],
    ['volatile attempts', 'primary-chain', DYNAMIC, { flips: 3, crashes: 1, slack: sized(0, 1) }],
    ['no life', 'weak-liveness', {}, { flips: 4 }],
    ['no yield', 'connected-leaders', {}, { flips: 4 }],
    ['lost stable state', 'omega-views', {}, { flips: 3, crashes: 1 }],
    ['early attempts', 'majority-of-view-leads', DYNAMIC, { flips: sized(1, 2), crashes: 2, slack: 0 }],
  ])('%s: caught by %s', (broken, name, options, { flips, crashes = 0, slack = 1 }) => {
    const { counterexample } = exploring('omega', 3, {
      definition: brokenOmega(broken),
      options,
      budget: { crashes, recoveries: crashes, flips, ticks: 0 },
      history: { slack, labelled: true },
      specs: [specNamed(name) as Spec],
      goals: [],
    })
    expect(counterexample?.spec).toBe(name)
    expect(counterexample?.steps.length).toBeLessThanOrEqual(18)
  })

  it('frames without labels, with slack 2: a node is left dead', () => {
    const specs = [specNamed('weak-liveness') as Spec]
    const budget = { crashes: 0, recoveries: 0, flips: sized(4, 5), ticks: 0 }
    const raw = { slack: 2, labelled: false }
    const { counterexample } = exploring('omega', 3, { budget, specs, goals: [], history: raw })
    expect(counterexample?.why).toContain('is left dead')
    expect(explored(3, {}, { flips: 3, slack: 1, raw: true }).counterexample).toBeNull()
  })
})

describe('two leaders in quorum: from worlds of five in which a split is half over, whatever happens next', () => {
  /** Both ends of all links between the two sides go down; then messages arrive, one by one, until this is so. */
  function halfOver(
    options: PlainObject,
    side: readonly number[],
    isThere: (world: UntimedWorld) => boolean,
    links: readonly (readonly [number, number])[],
  ): readonly ScheduleStep[] {
    const nodes = ids(5).map(Number)
    const asked = { links: 'reported', ...options }
    const rules = new UntimedRules(
      omegaDefinition,
      nodes,
      checkedOptions(omegaDefinition, nodes, asked),
      'fifo',
      false,
      {
        slack: 0,
        labelled: true,
      },
    )
    let { world } = rules.start({ leader: 1, members: nodes })
    const steps: ScheduleStep[] = []
    const take = (step: ScheduleStep): void => {
      const performed = rules.perform(world, step)
      if (typeof performed === 'string') throw new Error(performed)
      steps.push(step)
      world = performed.world
    }
    const flip = (at: number, peer: number): void => take({ node: at, do: 'flip', peer })
    for (const a of nodes) {
      for (const b of nodes) if (a < b && side.includes(a) !== side.includes(b)) flip(a, b)
    }
    while (!isThere(world)) {
      const at = world.inboxes.findIndex((inbox) => inbox.length > 0)
      take({ node: at + 1, do: 'deliver', from: (world.inboxes[at]?.[0]?.from ?? 0) + 1 })
    }
    for (const [a, b] of links) flip(a, b)
    return steps
  }

  const leaderOf = (world: UntimedWorld, place: number): unknown =>
    (world.slots[place]?.state as OmegaState | null)?.view.id[1]

  it.each<[string, Defect, PlainObject, readonly ScheduleStep[], number]>([
    [
      // 3 has installed a view of 3, 4, 5; then 5 is linked with 1 and 2 instead.
      'dynamic',
      'double support',
      DYNAMIC,
      halfOver(DYNAMIC, [1, 2], (world) => leaderOf(world, 2) === 3, [
        [1, 5],
        [2, 5],
        [3, 5],
        [4, 5],
      ]),
      0,
    ],
    [
      // 1 leads 1, 2, 3; then 3 is linked with 4 and 5, and two more links change: the first is 1-3, unless in soak.
      'static',
      'view majority',
      STATIC,
      halfOver(STATIC, [1, 2, 3], ({ inboxes }) => inboxes.every((inbox) => inbox.length === 0), [
        [3, 4],
        [3, 5],
        ...sized<readonly (readonly [number, number])[]>([[1, 3]], []),
      ]),
      sized(1, 2),
    ],
  ])(
    '%s: none, but with %s',
    (_quorum, flaw, options, after, flips) => {
      const search = (broken: Defect | null) =>
        exploring('omega', 5, {
          ...(broken === null ? {} : { definition: brokenOmega(broken) }),
          options,
          after,
          budget: { crashes: 0, recoveries: 0, flips, ticks: 0 },
          history: { slack: 0, labelled: true },
          specs: [specNamed('one-acting-leader') as Spec],
          goals: [],
          progress: false,
        })
      expect(search(flaw).counterexample).toMatchObject({
        spec: 'one-acting-leader',
        why: expect.stringMatching(/^1 .* and 3 .* both lead/),
      })
      expect(search(null)).toMatchObject({ complete: true, counterexample: null })
    },
    600_000,
  )
})

/** The number of schedules of all cases together; npm run soak asks for a million. */
const SCHEDULES = Number(process.env['OMEGA_SCHEDULES'] ?? 2500)
const PATIENCE_MS = isSoak ? 0 : 600_000

describe('random schedules with crashes, then all is healed and there is one view', () => {
  it.each<[number, PlainObject, number]>([
    [3, {}, 0.25],
    [3, DYNAMIC, 0.2],
    [4, DYNAMIC, 0.2],
    [4, STATIC, 0.1],
    [4, { filter: true }, 0.1],
    [5, { ...DYNAMIC, tie: true }, 0.08],
    [5, { reinit: 'all' }, 0.04],
    [6, DYNAMIC, 0.02],
    [7, { ...DYNAMIC, filter: true }, 0.01],
  ])(
    '%i nodes, %j',
    (n, options, share) => {
      const nodes = ids(n)
      const walker = new RandomWalker({
        definition: omegaDefinition,
        nodes,
        options: checkedOptions(omegaDefinition, nodes, {
          links: 'reported',
          quorum: 'none',
          reinit: 'never',
          ...options,
        }),
        initial: { leader: 1, members: nodes },
        faults: 10 + 2 * n,
        crashes: true,
      })
      const seeds = Array.from({ length: Math.ceil(SCHEDULES * share) }, (_, place) => place + 1)
      let steps = 0
      const broken = seeds.flatMap((seed) => {
        const { violation, schedule } = walker.walk(seed)
        steps += schedule.length
        return violation === null ? [] : [{ seed, ...violation }]
      })
      expect(broken).toEqual([])
      expect(steps).toBeGreaterThan(seeds.length * walker.faults)
    },
    PATIENCE_MS,
  )
})
