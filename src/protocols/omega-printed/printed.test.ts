/** Phi, Psi and Omega as printed: Table 1, the examples, and the theorems in exhaustive searches. */
import { describe, expect, it } from 'vitest'
import { exploring, ids, simulate } from '../../../test/support/run.ts'
import { sized } from '../../../test/support/sizes.ts'
import { type Definition, type NodeId, type PlainObject, sortIds } from '../../core/index.ts'
import { checkedOptions, deliverable, UntimedRules, type UntimedWorld } from '../../workbench/sim/index.ts'
import { type Spec, specNamed } from '../../workbench/specs/index.ts'
import { phiDefinition } from '../phi/index.ts'
import { psiDefinition } from '../psi/index.ts'
import { omegaPrintedDefinition } from './index.ts'
import type { Note, PrintedState } from './state.ts'

/** A world in which links change at both ends at once, and all messages arrive before the next change. */
class Lockstep {
  readonly #rules: UntimedRules
  world: UntimedWorld

  constructor(definition: Definition, count: number, members: readonly NodeId[], options: PlainObject = {}) {
    const nodes = ids(count)
    const history = { slack: 0, labelled: true }
    this.#rules = new UntimedRules(
      definition,
      nodes,
      checkedOptions(definition, nodes, options),
      'fifo',
      true,
      history,
    )
    this.world = this.#rules.start({ leader: members[0] as NodeId, members }).world
  }

  flip(...pairs: readonly (readonly [NodeId, NodeId])[]): this {
    for (const pair of pairs) {
      const [node, peer] = sortIds(pair) as [NodeId, NodeId]
      this.#perform({ node, do: 'flip', peer })
    }
    return this.deliver()
  }

  deliver(): this {
    for (;;) {
      const next = this.world.inboxes.flatMap((inbox, at) =>
        deliverable(inbox, 'fifo', (message) => this.#rules.canDeliver(this.world, at, message)).map(
          ({ place }) => [at, inbox[place]?.from ?? -1] as const,
        ),
      )[0]
      if (next === undefined) return this
      const [at, from] = next
      const { nodes } = this.#rules
      this.#perform({ node: nodes[at] as NodeId, do: 'deliver', from: nodes[from] as NodeId })
    }
  }

  state(node: number): PrintedState {
    return this.world.slots[node - 1]?.state as PrintedState
  }

  get leaders(): readonly number[] {
    return this.world.slots.flatMap(({ state }, place) =>
      (state as PrintedState).leader === place + 1 ? [place + 1] : [],
    )
  }

  get dead(): readonly number[] {
    return this.world.slots.flatMap(({ state }, place) => ((state as PrintedState).dead ? [place + 1] : []))
  }

  #perform(step: Parameters<UntimedRules['perform']>[1]): void {
    const performed = this.#rules.perform(this.world, step)
    if (typeof performed === 'string') throw new Error(performed)
    this.world = performed.world
  }
}

/** A cell of Table 1: cand(2)>3 was sent to N3, 3>accept(1) was received from N3. */
function cells(state: PrintedState): { readonly sent: string; readonly received: string } {
  const sent = (kind: string, notes: readonly Note[]) => notes.map(({ of, peer }) => `${kind}(${of})>${peer}`)
  const got = (kind: string, notes: readonly Note[]) => notes.map(({ of, peer }) => `${peer}>${kind}(${of})`)
  return {
    sent: [...sent('cand', state.sentCand), ...sent('accept', state.sentAccept)].sort().join(' '),
    received: [...got('cand', state.gotCand), ...got('accept', state.gotAccept)].sort().join(' '),
  }
}

const FROM_1_AND_2 = '1>cand(2) 2>cand(1)'
const N4_HEARD = '1>cand(2) 1>cand(3) 2>cand(1) 2>cand(3) 3>cand(1) 3>cand(2)'
const N3_SENT = 'accept(1)>2 cand(1)>4 cand(2)>4'

describe('Table 1, cell by cell: links 1, 6, 2, 4, 5 are N1-N2, N1-N3, N2-N3, N1-N4, N2-N4', () => {
  const table: readonly (readonly [
    readonly [NodeId, NodeId],
    readonly (readonly [string, string] | 'dead')[],
  ])[] = [
    [
      [1, 2],
      [
        ['cand(2)>3 cand(2)>4', ''],
        ['cand(1)>3 cand(1)>4', ''],
        ['', FROM_1_AND_2],
        ['', FROM_1_AND_2],
      ],
    ],
    [
      [1, 3],
      [
        ['cand(2)>3 cand(2)>4 cand(3)>4', ''],
        ['cand(1)>3 cand(1)>4', '3>accept(1)'],
        ['accept(1)>2', FROM_1_AND_2],
        ['', '1>cand(2) 1>cand(3) 2>cand(1)'],
      ],
    ],
    [
      [2, 3],
      [
        ['cand(2)>3 cand(2)>4 cand(3)>4', ''],
        ['cand(1)>3 cand(1)>4 cand(3)>4', '3>accept(1)'],
        [N3_SENT, FROM_1_AND_2],
        ['', N4_HEARD],
      ],
    ],
    [
      [1, 4],
      [
        'dead',
        ['cand(1)>3 cand(1)>4 cand(3)>4', '3>accept(1) 4>accept(1)'],
        [N3_SENT, FROM_1_AND_2],
        ['accept(1)>2', N4_HEARD],
      ],
    ],
    [
      [2, 4],
      [
        'dead',
        'dead',
        [N3_SENT, `${FROM_1_AND_2} 4>accept(1) 4>accept(2)`],
        ['accept(1)>2 accept(1)>3 accept(2)>3', N4_HEARD],
      ],
    ],
  ]
  const world = new Lockstep(phiDefinition, 4, ids(4))
  const columns = table.map(([link, expected]) => {
    world.flip(link)
    return { expected, found: [1, 2, 3, 4].map((node) => world.state(node)), leaders: world.leaders }
  })

  it.each([0, 1, 2, 3, 4])('column %i', (column) => {
    const { expected, found } = columns[column] ?? { expected: [], found: [] }
    const shown = found.map((state) => (state.dead ? 'dead' : [cells(state).sent, cells(state).received]))
    expect(shown).toEqual(expected)
  })

  it('elects N3 within N3 and N4, and no node before', () => {
    expect(columns.map(({ leaders }) => leaders)).toEqual([[], [], [], [], [3]])
  })

  it('forgets everything in a dead node', () => {
    expect(cells(world.state(1))).toEqual({ sent: '', received: '' })
  })
})

describe('section 3.4.1: nodes 1 and 3 wrongly suspect 4, which then comes back together with 5', () => {
  const suspected = [
    [1, 4],
    [3, 4],
  ] as const
  const back = [...suspected, [1, 5], [2, 5], [3, 5], [4, 5]] as const

  it('Psi: node 1 waits for ever for the accept of 2 about 4, though all accept 5', () => {
    const world = new Lockstep(psiDefinition, 5, [1, 2, 3, 4]).flip(...suspected).flip(...back)
    expect(world.leaders).toEqual([])
    const { gotAccept, sentCand } = world.state(1)
    expect(gotAccept.filter(({ of }) => of === 5).map(({ peer }) => peer)).toEqual([2, 3, 4, 5])
    expect(sentCand.filter(({ is }) => is === 'down').map(({ peer }) => peer)).toContain(2)
    expect(gotAccept.filter(({ is, peer }) => is === 'down' && peer === 2)).toEqual([])
  })

  it('Omega, with the link to the recipient in Def. 3.2: 1 leads', () => {
    const options = { convergence: 'recipient' }
    const world = new Lockstep(omegaPrintedDefinition, 5, [1, 2, 3, 4], options)
    expect(world.flip(...suspected).leaders).toEqual([])
    expect(world.flip(...back).leaders).toEqual([1])
  })

  it('Omega, Def. 3.2 as printed: 1 leads while only 1 and 3 suspect 4', () => {
    expect(new Lockstep(omegaPrintedDefinition, 5, [1, 2, 3, 4]).flip(...suspected).leaders).toEqual([1])
  })
})

describe('the story of the introduction: 5 fails, 1 fails, both come back', () => {
  const failing5 = [1, 2, 3, 4].map((id) => [id, 5] as const)
  const failing1 = [2, 3, 4].map((id) => [1, id] as const)
  const naive = { convergence: 'recipient', views: 'naive' }

  function upTo2Leads(options: PlainObject): Lockstep {
    const world = new Lockstep(omegaPrintedDefinition, 5, ids(5), options)
    world.flip(...failing5)
    expect([world.leaders, world.dead]).toEqual([[1], [5]])
    world.flip(...failing1)
    expect([world.leaders, world.dead]).toEqual([[2], [1, 5]])
    return world
  }

  it('goes as the paper says until 2 leads; then no node may admit 1, because 1 is smaller', () => {
    const world = upTo2Leads(naive).flip(...failing5, ...failing1)
    expect(world.dead).toEqual([1, 5])
  })

  it('fails as well with isolated nodes left out of K: the dead 5 refuses, because it believes that 1 is alive', () => {
    const world = upTo2Leads({ ...naive, smaller: 'living' }).flip(...failing5, ...failing1)
    expect(world.dead).toEqual([1, 5])
    expect(world.state(5).sentAccept).toEqual([])
  })
})

function searched(
  protocol: string,
  count: number,
  options: PlainObject,
  flips: number,
  of: string,
  more = {},
) {
  const specs = [specNamed(of) as Spec]
  const budget = { crashes: 0, recoveries: 0, ticks: 0, flips }
  return exploring(protocol, count, { options, budget, specs, goals: [], ...more })
}

const RECIPIENT = { convergence: 'recipient' }
const ATOMIC = { history: { slack: 0, labelled: true } }

describe('the theorems, on every schedule', () => {
  it.each([
    [3, 4, 2373],
    [4, 3, 19_654],
  ])('3.1: Phi, %i nodes, %i changes: in the end only the least survivor leads', (n, flips, states) => {
    const report = searched('phi', n, {}, flips, 'theorem-3-1')
    expect(report).toMatchObject({ complete: true, counterexample: null, states })
    expect(report.specs).toMatchObject([{ verdict: 'held' }])
  })

  it('3.2 is false as printed: if a smaller node recovers, no node is ever elected', () => {
    const { counterexample } = searched('psi', 3, {}, 2, 'theorem-3-2', { members: [2, 3] })
    expect(counterexample?.steps).toHaveLength(4)
    expect(counterexample?.why).toBe('of 1, 2, 3, all linked, no node leads, not 2')
  })

  it('3.2 holds when K leaves isolated nodes out', () => {
    const report = searched('psi', 3, { smaller: 'living' }, 2, 'theorem-3-2', { members: [2, 3] })
    expect(report).toMatchObject({ complete: true, counterexample: null, states: 130 })
    const four = searched('psi', 4, { smaller: 'living' }, 3, 'theorem-3-2', { members: [2, 3, 4] })
    expect(four).toMatchObject({ complete: true, counterexample: null })
  })

  it('3.3: with Def. 3.2 as printed, the first candidate wins at once', () => {
    expect(searched('omega-printed', 3, {}, 4, 'theorem-3-3').counterexample?.steps).toHaveLength(1)
  })

  it('3.3, first half: a stale accept elects wrongly, with three nodes and five changes', () => {
    expect(searched('omega-printed', 3, RECIPIENT, 4, 'theorem-3-3').counterexample).toBeNull()
    const { counterexample } = searched('omega-printed', 3, RECIPIENT, 5, 'theorem-3-3')
    expect(counterexample?.steps.length).toBeLessThanOrEqual(11)
    expect(counterexample?.why).toContain('never suspected all at once')
  })

  it('numbered rounds prevent that for three nodes, but not for four', () => {
    const rounds = { ...RECIPIENT, rounds: true }
    expect(searched('omega-printed', 3, rounds, sized(5, 6), 'theorem-3-3')).toMatchObject({
      complete: true,
      counterexample: null,
    })
    expect(searched('omega-printed', 4, rounds, 4, 'theorem-3-3').counterexample?.steps).toHaveLength(8)
  })

  it('3.3, second half: a node that was isolated for a moment stays dead in its component for ever', () => {
    const { counterexample } = searched('omega-printed', 3, RECIPIENT, 4, 'theorem-3-3-rest', ATOMIC)
    expect(counterexample?.steps).toHaveLength(6)
    expect(counterexample?.why).toContain('is left dead inside its component 1, 2, 3')
    expect(searched('omega-printed', 3, RECIPIENT, 4, 'theorem-3-3-rest').counterexample?.steps).toHaveLength(
      10,
    )
  })

  it('with the naive view message, two linked nodes lead', () => {
    const options = { ...RECIPIENT, smaller: 'living', views: 'naive' }
    const { counterexample } = searched('omega-printed', 4, options, 5, 'connected-leaders', ATOMIC)
    expect(counterexample?.steps.length).toBeLessThanOrEqual(16)
    expect(counterexample?.why).toContain('both lead, and are linked')
    // The simulator replays it to the same violation.
    const replayed = simulate(counterexample?.scenario ?? {})
    expect(replayed.specs.find(({ name }) => name === 'connected-leaders')).toMatchObject({
      verdict: 'violated',
      why: counterexample?.why,
    })
  })
})

describe('message counts of the final leader', () => {
  /** k nodes fail at once, one link after another. Counts the cands and accepts between the leader and the survivors. */
  function counted(
    n: number,
    failing: readonly number[],
  ): { readonly cands: number; readonly accepts: number } {
    const world = new Lockstep(phiDefinition, n, ids(n))
    const nodes = ids(n).map(Number)
    const lost = nodes.flatMap((a) => nodes.filter((b) => b > a).map((b) => [a, b] as const))
    world.flip(...lost.filter(([a, b]) => failing.includes(a) || failing.includes(b)))
    const [leader] = world.leaders as [number]
    const { sentCand, gotAccept } = world.state(leader)
    const survives = ({ peer }: Note): boolean => !failing.includes(Number(peer))
    return { cands: sentCand.filter(survives).length, accepts: gotAccept.filter(survives).length }
  }

  it.each([
    [4, [1, 2]],
    [4, [4]],
    [5, [1]],
    [5, [2, 4]],
    [6, [1, 2, 3]],
    [6, [4, 5, 6]],
  ])('%i nodes, %j fail: k(n-k-1) each way, not k(n-k)', (n, failing) => {
    const k = failing.length
    expect(counted(n, failing)).toEqual({ cands: k * (n - k - 1), accepts: k * (n - k - 1) })
  })

  it.each([
    [5, [1, 2, 3], [3], [5]],
    [6, [1, 2, 3, 4], [2], [5, 6]],
    [6, [1, 2, 3], [], [4, 5, 6]],
  ])(
    'of %i nodes %j are a component, %j fail and %j recover: (k+q)(m-k+q-1)',
    (n, members, failing, back) => {
      const world = new Lockstep(psiDefinition, n, members, { smaller: 'living' })
      const after = [...members.filter((id) => !failing.includes(id)), ...back]
      const recovered = back.flatMap((a) =>
        after.filter((b) => b !== a && !(back.includes(b) && b > a)).map((b) => [a, b] as const),
      )
      const lost = failing.flatMap((a) =>
        members.filter((b) => b !== a && !(failing.includes(b) && b > a)).map((b) => [a, b] as const),
      )
      world.flip(...lost, ...recovered)
      const [leader] = world.leaders as [number]
      const { sentCand, gotAccept } = world.state(leader)
      const expected = (failing.length + back.length) * (members.length - failing.length + back.length - 1)
      const survives = ({ peer }: Note): boolean => after.includes(Number(peer))
      expect(sentCand.filter(survives)).toHaveLength(expected)
      expect(gotAccept.filter(survives)).toHaveLength(expected)
    },
  )
})

describe('in the timed world', () => {
  it('Phi elects the least survivor for every order in which links are lost', () => {
    for (const seed of [1, 2, 3, 4, 5]) {
      const report = simulate({
        protocol: 'phi',
        nodes: ids(5),
        initial: { leader: 1 },
        seed,
        network: { delayMs: [0.1, 30] },
        events: [
          {
            atMs: 10,
            cut: [
              [1, 2],
              [1, 3],
              [1, 4],
              [1, 5],
              [4, 2],
              [4, 3],
              [4, 5],
            ],
          },
        ],
        untilMs: 2000,
      })
      expect(report.leaders).toEqual([2])
      expect(report.specs).toMatchObject([{ name: 'theorem-3-1', verdict: 'held' }])
    }
  })
})
