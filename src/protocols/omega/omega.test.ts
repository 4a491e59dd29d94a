/** Omega+: its rules one by one, every schedule of small worlds, random ones of larger, and the paper's story. */
import { describe, expect, it } from 'vitest'
import { type Broken, brokenOmega } from '../../../test/canaries/omega.ts'
import { exploring, ids } from '../../../test/support/run.ts'
import type { Effect, NodeId, PlainObject } from '../../core/index.ts'
import { checkedOptions, Wanderer } from '../../sim/index.ts'
import { type Spec, specNamed } from '../../specs/index.ts'
import { omegaDefinition } from './index.ts'
import { omega } from './omega.ts'
import type { OmegaSettings } from './settings.ts'
import type { OmegaMessage, OmegaState, OmegaView, Status } from './state.ts'

const PLAIN: OmegaSettings = {
  quorum: 'none',
  tie: false,
  reinit: 'never',
  filter: false,
  weights: {},
  flaws: [],
}

function node(self: NodeId, settings: Partial<OmegaSettings> = {}, nodes: readonly NodeId[] = [1, 2, 3]) {
  return omega({ self, nodes }, { ...PLAIN, ...settings })
}

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
const acceptOf = (n: number): OmegaMessage => ({ kind: 'accept', n, view: FIRST, attempts: [] })

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
    const three = new Played(3).hears(1, status({ view: without2 }))
    expect(three.state).toMatchObject({ ok: true, view: without2 })
  })

  it('isolated: dead, in a new life', () => {
    const three = new Played(3).link(1, false).link(2, false)
    expect(three.state).toMatchObject({ ok: false, life: 2, links: [] })
  })

  it('a restart is a new life, kept before anything is said', () => {
    const { state, effects } = node(1).start({ life: 3, view: FIRST, promised: [1, 1], attempts: [] }, 0)
    expect(state).toMatchObject({ life: 4, ok: false })
    expect(effects).toEqual([
      { type: 'persist', stable: { life: 4, view: FIRST, promised: [1, 1], attempts: [] } },
    ])
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
  const halves = (settings: Partial<OmegaSettings>): OmegaState =>
    new Played(1, settings, four)
      .link(3, false)
      .link(4, false)
      .hears(2, {
        kind: 'accept',
        n: 3,
        view: { ...FIRST, members: four.map((id) => [id, 1]) },
        attempts: [],
      }).state

  it('none: any half forms its own view', () => {
    expect(halves({ quorum: 'none' }).view.id).toEqual([3, 1])
  })

  it.each(['static', 'dynamic'] as const)('%s: half is not enough', (quorum) => {
    expect(halves({ quorum }).view.id).toEqual([1, 1])
  })

  it('dynamic with tie: it is, with the least node', () => {
    expect(halves({ quorum: 'dynamic', tie: true }).view.id).toEqual([3, 1])
  })

  it('dynamic: an attempt that somebody promised and that may have been installed counts like a view', () => {
    const attempt: OmegaView = {
      id: [2, 3],
      members: [
        [2, 1],
        [3, 1],
      ],
    }
    const one = new Played(1, { quorum: 'dynamic' }).link(3, false)
    one.hears(2, { kind: 'accept', n: 2, view: FIRST, attempts: [{ id: [0, 3], members: [[3, 1]] }] })
    expect(one.state.view.id).toEqual([2, 1])
    const other = new Played(1, { quorum: 'dynamic' }).link(3, false)
    other.hears(2, { kind: 'accept', n: 2, view: FIRST, attempts: [attempt] })
    expect(other.state.view.id).toEqual([1, 1])
  })

  it('dynamic: an attempt that its proposer has taken back counts no more', () => {
    const attempt: OmegaView = { id: [3, 2], members: [[2, 1]] }
    const accept = (attempts: readonly OmegaView[]): OmegaMessage => ({
      kind: 'accept',
      n: 2,
      view: FIRST,
      attempts,
    })
    const asked = (): Played => {
      const one = new Played(1, { quorum: 'dynamic' }, [1, 2, 3, 4]).link(4, false)
      one.state = { ...one.state, attempts: [...one.state.attempts, { id: [3, 4], members: [[4, 1]] }] }
      return one
    }
    // 4, which proposed to be alone, is not here: it may have installed that.
    expect(asked().hears(2, accept([])).hears(3, accept([])).state.view.id).toEqual([1, 1])
    const heardOf = (told: readonly OmegaView[]): Played =>
      new Played(1, { quorum: 'dynamic' }).link(3, false).hears(2, accept(told))
    expect(heardOf([{ ...attempt, members: [[3, 1]] }]).state.view.id).toEqual([1, 1])
    // 2 proposed something, and 3 promised it; 2 itself no longer says so.
    const one = new Played(1, { quorum: 'dynamic' }, [1, 2, 3, 4]).link(4, false)
    one
      .hears(
        3,
        accept([
          {
            id: [3, 2],
            members: [
              [2, 1],
              [4, 1],
            ],
          },
        ]),
      )
      .hears(2, accept([]))
    expect(one.state.view.id).toEqual([2, 1])
  })

  it('dynamic: who takes its proposal back, or starts again, has no attempt of its own left', () => {
    const one = new Played(1, { quorum: 'dynamic' }).link(3, false)
    expect(one.state.attempts.map(({ id }) => id)).toEqual([[2, 1]])
    expect(one.link(3, true).state.attempts).toEqual([])
    const kept = {
      life: 1,
      view: FIRST,
      promised: [3, 2],
      attempts: [
        { id: [2, 1], members: PAIR },
        { id: [3, 2], members: PAIR },
      ],
    } as const
    expect(
      node(1)
        .start(kept, 0)
        .state.attempts.map(({ id }) => id),
    ).toEqual([[3, 2]])
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

/** For npm run soak: these take a minute or so each. */
const LARGE: readonly [number, PlainObject, Bounds, number][] = [
  [3, DYNAMIC, { flips: 5 }, 151_071],
  [3, {}, { flips: 4, crashes: 1 }, 845_354],
  [3, { reinit: 'all' }, { flips: 4, crashes: 1 }, 847_018],
  [3, STATIC, { flips: 4, crashes: 1 }, 1_115_412],
  [3, DYNAMIC, { flips: 4, crashes: 1 }, 969_058],
  [3, DYNAMIC, { flips: 3, crashes: 2 }, 1_467_664],
  [3, { filter: true }, { flips: 4 }, 322_639],
  [4, {}, { flips: 4 }, 487_188],
  [4, STATIC, { flips: 4 }, 484_996],
  [4, DYNAMIC, { flips: 4 }, 485_817],
]

describe('every schedule of a small world', () => {
  it.each<[number, PlainObject, Bounds, number]>([
    ...(process.env['OMEGA_SOAK'] === undefined ? [] : LARGE),
    [3, {}, { flips: 5 }, 153_044],
    [3, DYNAMIC, { flips: 4 }, 20_232],
    [3, {}, { flips: 3, crashes: 1 }, 94_687],
    [3, DYNAMIC, { flips: 2, crashes: 1 }, 10_447],
    [3, { filter: true }, { flips: 3 }, 8854],
    [3, {}, { flips: 4, slack: 2 }, 22_606],
    [4, {}, { flips: 3 }, 27_036],
    [4, STATIC, { flips: 3 }, 27_036],
    [4, DYNAMIC, { flips: 3 }, 27_036],
  ])(
    '%i nodes, %j, %j: nothing, and a settled state stays within reach',
    (n, options, bounds, states) => {
      const report = explored(n, options, bounds)
      expect(report.counterexample).toBeNull()
      expect(report).toMatchObject({ complete: true, states, progress: { verdict: 'held' } })
      expect(report.specs.filter(({ verdict }) => verdict !== 'held')).toEqual([])
      expect(report.goals.find(({ name }) => name === 'view-installed')?.reached).toBe(true)
    },
    process.env['OMEGA_SOAK'] === undefined ? 900_000 : 0,
  )
})

describe('what each rule is there for', () => {
  it.each<[Broken, string, PlainObject, Bounds]>([
    ['no attempts', 'primary-chain', DYNAMIC, { flips: 4 }],
    ['volatile attempts', 'primary-chain', DYNAMIC, { flips: 3, crashes: 1 }],
    ['no life', 'weak-liveness', {}, { flips: 4 }],
    ['no yield', 'connected-leaders', {}, { flips: 4 }],
    ['lost stable state', 'omega-views', {}, { flips: 3, crashes: 1 }],
  ])('%s: caught by %s', (broken, name, options, { flips, crashes = 0 }) => {
    const { counterexample } = exploring('omega', 3, {
      definition: brokenOmega(broken),
      options,
      budget: { crashes, recoveries: crashes, flips, ticks: 0 },
      specs: [specNamed(name) as Spec],
      goals: [],
    })
    expect(counterexample?.spec).toBe(name)
    expect(counterexample?.steps.length).toBeLessThanOrEqual(14)
  })

  it('frames without labels, with slack 2: a node is left dead', () => {
    const specs = [specNamed('weak-liveness') as Spec]
    const budget = { crashes: 0, recoveries: 0, flips: 5, ticks: 0 }
    const raw = { slack: 2, labelled: false }
    const { counterexample } = exploring('omega', 3, { budget, specs, goals: [], history: raw })
    expect(counterexample?.why).toContain('is left dead')
    expect(explored(3, {}, { flips: 3, slack: 1, raw: true }).counterexample).toBeNull()
  })
})

/** So many in all; npm run soak asks for a million, which take as long as they take. */
const SCHEDULES = Number(process.env['OMEGA_SCHEDULES'] ?? 20_000)
const PATIENCE_MS = SCHEDULES > 20_000 ? 0 : 600_000

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
      const wanderer = new Wanderer({
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
        const { violation, schedule } = wanderer.walk(seed)
        steps += schedule.length
        return violation === null ? [] : [{ seed, ...violation }]
      })
      expect(broken).toEqual([])
      expect(steps).toBeGreaterThan(seeds.length * wanderer.faults)
    },
    PATIENCE_MS,
  )
})
