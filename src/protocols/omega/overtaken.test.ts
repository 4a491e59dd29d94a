/** Hand-written schedules in which a node learns, or does not learn, that a view that it recorded was installed. */
import { describe, expect, it } from 'vitest'
import { ids } from '../../../test/support/run.ts'
import type { NodeId, PlainObject } from '../../core/index.ts'
import {
  checkedOptions,
  factsOf,
  promisedSpecs,
  UntimedRules,
  type UntimedWorld,
} from '../../workbench/sim/index.ts'
import { monitor, Watch } from '../../workbench/specs/index.ts'
import { omegaDefinition } from './index.ts'
import { omega } from './omega.ts'
import { RULES } from './rules.ts'
import type { OmegaMessage, OmegaState } from './state.ts'

/** A world whose links go down at both ends at once, and lose all messages in flight. */
class Scripted {
  readonly #nodes: readonly NodeId[]
  readonly #rules: UntimedRules
  readonly #watch: Watch
  #world: UntimedWorld

  constructor(n: number, given: PlainObject = {}) {
    this.#nodes = ids(n)
    const options = checkedOptions(omegaDefinition, this.#nodes, { links: 'reported', ...given })
    const history = { slack: 0, labelled: true }
    this.#rules = new UntimedRules(omegaDefinition, this.#nodes, options, 'fifo', false, history)
    const facts = factsOf(omegaDefinition, this.#nodes, options)
    this.#watch = new Watch(monitor(promisedSpecs(omegaDefinition, options), [], facts))
    const { world, nodeSteps } = this.#rules.start({ leader: 1, members: this.#nodes })
    this.#world = world
    for (const { result } of nodeSteps) for (const seen of result.seen) this.#watch.observe(seen)
  }

  flip(...links: readonly (readonly [number, number])[]): this {
    for (const [node, peer] of links) this.#perform({ node, do: 'flip', peer })
    return this
  }

  crash(node: number): this {
    return this.#perform({ node, do: 'crash' })
  }

  recover(node: number): this {
    return this.#perform({ node, do: 'recover' })
  }

  deliver(node: number, from: number): this {
    return this.#perform({ node, do: 'deliver', from })
  }

  /** Delivers messages in order until the condition holds, or until no message is in flight. */
  until(isDone: () => boolean = () => false): this {
    while (!isDone()) {
      const { inboxes, ends } = this.#world
      const at = inboxes.findIndex((inbox) => inbox.length > 0)
      if (at !== -1) this.deliver(at + 1, (inboxes[at]?.[0]?.from ?? 0) + 1)
      else if (!this.#follow(ends.length)) return this
    }
    return this
  }

  state(node: number): OmegaState {
    return this.#world.slots[node - 1]?.state as unknown as OmegaState
  }

  /** Delivers all messages, and returns the violated specifications. */
  broken(): readonly string[] {
    this.until()
    this.#watch.observe({ type: 'settled', at: 0, connected: this.#rules.connected(this.#world) })
    return this.#watch
      .verdicts()
      .flatMap((seen) => (seen.verdict === 'violated' ? [`${seen.name}: ${seen.why}`] : []))
  }

  /** Lets one link end follow its other end, for example after a crash. */
  #follow(links: number): boolean {
    if (links === 0) return false
    for (const node of this.#nodes) {
      for (const peer of this.#nodes) {
        if (node === peer) continue
        const performed = this.#rules.perform(this.#world, { node, do: 'follow', peer })
        if (typeof performed === 'string') continue
        this.#perform({ node, do: 'follow', peer })
        return true
      }
    }
    return false
  }

  #perform(step: Parameters<UntimedRules['perform']>[1]): this {
    const performed = this.#rules.perform(this.#world, step)
    if (typeof performed === 'string') throw new Error(performed)
    for (const seen of performed.seen) this.#watch.observe(seen)
    this.#world = performed.world
    return this
  }
}

const APART = [
  [1, 3],
  [1, 4],
  [1, 5],
  [2, 3],
  [2, 4],
  [2, 5],
] as const

describe('a node that has recorded an attempt', () => {
  it('does not support the old view again when a dead node reports that the new one was installed', () => {
    const world = new Scripted(5).flip(...APART)
    world.until(() => world.state(3).view.id[1] === 3)
    // 5 is linked with 1 and 2 again before it learns of the view of 3, 4 and 5; 4 learns of it.
    world.flip([1, 5], [2, 5], [3, 5])
    while (world.state(4).view.id[1] !== 3) world.deliver(4, 3)
    world.flip([4, 5])
    expect(world.broken()).toEqual([])
    // 4 takes a new life, reports that view to 5, and is linked with 3 again.
    world.crash(4).until().recover(4).flip([4, 5])
    expect(world.broken()).toEqual([])
    world.flip([4, 5]).until().flip([3, 4])
    expect(world.broken()).toEqual([])
    expect(world.state(3)).toMatchObject({ ok: true, view: { id: [4, 3] } })
    expect(world.state(5)).toMatchObject({ ok: true, view: { id: [1, 1] } })
  })

  it('learns that the view was installed before it receives the next candidacy', () => {
    const world = new Scripted(5).flip([1, 5], [2, 5], [3, 5], [4, 5])
    world.until(() => [2, 3, 4].every((node) => world.state(node).attempts.length === 1))
    // The attempt of 1 binds 2, 3 and 4, which continue without 1.
    world.flip([1, 2], [1, 3], [1, 4])
    world.until(() => world.state(2).view.id[1] === 2)
    world.deliver(4, 2)
    // 4 receives one more message from 2, and then only messages from 1 and 5.
    world.flip([1, 4], [1, 5], [4, 5], [2, 4], [3, 4])
    expect(world.broken()).toEqual([])
    expect(world.state(4).formed.id).toEqual([3, 2])
  })
})

describe('a dead node with filter', () => {
  it('lets the first of two proposers ask again when the second, accepted later, is gone', () => {
    const world = new Scripted(3, { filter: true })
    for (const node of [1, 2, 3]) world.crash(node)
    for (const node of [1, 2, 3]) world.recover(node)
    // Both have sent a candidacy to 3 before it answers.
    world.flip([2, 3]).deliver(3, 2).deliver(2, 3)
    world.flip([1, 3]).deliver(3, 1).deliver(1, 3)
    const accepted = (): unknown => world.state(3).links.map((link) => [link.peer, link.accepted])
    while (world.state(3).promised[0] !== 2) world.deliver(3, 1)
    while (world.state(3).promised[1] !== 2) world.deliver(3, 2)
    expect(accepted()).toEqual([
      [1, 2],
      [2, 2],
    ])
    world.flip([2, 3])
    expect(world.broken()).toEqual([])
    expect(world.state(1)).toMatchObject({ ok: true, view: { id: [3, 1] } })
  })

  it('does not record its own proposal once it has promised a newer view', () => {
    const five = [1, 2, 3, 4, 5]
    const settings = {
      quorum: 'dynamic',
      tie: false,
      reinit: 'quorum',
      filter: true,
      weights: {},
      rules: RULES,
    } as const
    const two = omega({ self: 2, nodes: five }, settings)
    const members = five.map((id) => [id, 1] as const)
    const first = { id: [1, 1], members } as const
    const kept = { life: 1, view: first, promised: [1, 1], formed: first, attempts: [] } as const
    let { state } = two.start(kept, 0)
    let sent: readonly OmegaMessage[] = []
    const take = (input: Parameters<typeof two.step>[1]): void => {
      const step = two.step(state, input, 0)
      state = step.state
      sent = step.effects.flatMap((effect) => (effect.type === 'send' ? [effect.body] : []))
    }
    const receive = (from: number, body: OmegaMessage): void =>
      take({ type: 'message', from, body, receipt: null })
    const dead = {
      life: 2,
      ok: false,
      view: first,
      promised: 1,
      formed: first,
      attempts: [],
      aside: false,
    } as const
    for (const [peer, links] of [
      [1, [2, 5]],
      [3, [2, 4]],
      [4, [2, 3]],
      [5, [1, 2]],
    ] as const) {
      take({ type: 'link', peer, up: true })
      // 1 was just linked with living nodes of two views.
      receive(peer, { kind: 'status', ...dead, links, torn: peer === 1 })
    }
    const own = state.proposal
    expect(own?.members.map(([id]) => id)).toEqual([2, 3, 4])
    const n = own?.n ?? 0
    const others = [1, 2, 5].map((id) => [id, 2] as const)
    receive(1, { kind: 'cand', n: n + 1, members: others, base: [1, 1] })
    expect(sent).toMatchObject([{ kind: 'accept', n: n + 1 }])
    for (const peer of [3, 4]) receive(peer, { kind: 'accept', n, formed: first, attempts: [] })
    expect(sent).toEqual([])
    expect(state.attempts).toEqual([])
    // When 1 is gone, the node proposes again.
    take({ type: 'link', peer: 1, up: false })
    expect(sent).toContainEqual(expect.objectContaining({ kind: 'cand', n: n + 2 }))
  })
})
