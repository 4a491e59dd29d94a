/** One node of local-leader driven by a test, and the messages that others might send to it. */
import type { Effect, NodeId, PlainObject } from '../../src/core/index.ts'
import { timingOf } from '../../src/protocols/local-leader/constants.ts'
import { localLeaderDefinition } from '../../src/protocols/local-leader/index.ts'
import { insightOf } from '../../src/protocols/local-leader/insight.ts'
import {
  type Beacon,
  type Election,
  NO_EPOCH,
  type Release,
  type Reply,
  type Request,
} from '../../src/protocols/local-leader/messages.ts'
import { givenBy, localLeaderOptions } from '../../src/protocols/local-leader/options.ts'
import type { Configuration } from '../../src/protocols/local-leader/voters.ts'
import { checkedOptions } from '../../src/workbench/sim/index.ts'

export const NODES = [1, 2, 3]
export const timing = timingOf(givenBy(localLeaderOptions(NODES).parse({}), 3))
export const FIRST: Configuration = { id: [0, 0], sets: [NODES] }

export const beacon = (priority: number): Beacon => ({
  candidate: true,
  low: 0,
  priority,
  incumbent: false,
  heard: true,
  seen: NO_EPOCH,
  lease: null,
})

export const request = (counter: number, incarnation = 1): Request => ({ incarnation, counter })

/** With a rank before all others, so that rank decides nothing. */
export function election(
  asked: Request,
  epoch: number,
  more: Partial<Election> & { priority?: number } = {},
): Election {
  const { priority = 9, ...rest } = more
  return {
    kind: 'Election',
    beacon: beacon(priority),
    request: asked,
    epoch,
    renew: false,
    config: FIRST,
    certificate: null,
    view: null,
    wanted: null,
    tree: null,
    ...rest,
  }
}

export const release = (of: Request, yields = false): Release => ({
  kind: 'Release',
  beacon: { ...beacon(9), candidate: false },
  request: of,
  yields,
})

/** A node without layers below: every message comes from the test and counts as fast. */
export class Bench {
  readonly self: NodeId
  readonly #protocol: ReturnType<typeof localLeaderDefinition.create>
  #state: unknown
  now: number
  stored: PlainObject | null = null
  effects: readonly Effect[] = []

  constructor(
    self: NodeId,
    stable: PlainObject | null = null,
    now = 0,
    more: PlainObject = {},
    nodes = NODES,
  ) {
    this.self = self
    this.now = now
    const options = checkedOptions(localLeaderDefinition, nodes, { link: 'none', ...more })
    this.#protocol = localLeaderDefinition.create({ self, nodes }, options)
    const { state, effects } = this.#protocol.start(stable, now)
    this.#state = state
    this.#keep(effects)
  }

  input(input: PlainObject): this {
    const { state, effects } = this.#protocol.step(this.#state as never, input as never, this.now)
    this.#state = state
    this.#keep(effects)
    return this
  }

  #keep(effects: readonly Effect[]): void {
    this.effects = effects
    for (const effect of effects) if (effect.type === 'persist') this.stored = effect.stable as PlainObject
  }

  gets(from: NodeId, body: Election | Release | Reply | PlainObject): this {
    return this.input({ type: 'message', from, body, receipt: null })
  }

  /**
   * Whether the node supports this request; null if it does not reply. It must persist its promise before it
   * replies.
   */
  supports(from: NodeId, asked: Election): boolean | null {
    this.gets(from, asked)
    const place = this.effects.findIndex(({ type }) => type === 'send')
    const answer = this.effects[place]
    if (answer?.type !== 'send') return null
    if (this.effects.slice(place).some(({ type }) => type === 'persist')) {
      throw new Error('a vote was given before the promise was stored')
    }
    return (answer.body as unknown as Reply).votes[0]?.support ?? null
  }

  /** Delivers the messages that the node has sent to itself. */
  hearsItself(): this {
    const own = this.effects.flatMap((effect) =>
      effect.type === 'send' && effect.to === this.self ? [effect.body] : [],
    )
    for (const body of own) this.gets(this.self, body)
    return this
  }

  /** The request that the node has just sent. */
  get asked(): Election | null {
    const sent = this.effects.find((effect) => effect.type === 'send' && effect.body.kind === 'Election')
    return sent?.type === 'send' ? (sent.body as unknown as Election) : null
  }

  timer(name: string): this {
    return this.input({ type: 'timer', name })
  }

  /** The peers that an operator sees as reachable. */
  get there(): readonly NodeId[] {
    return insightOf(this.#state as never, NODES, timing, this.now).heard
  }

  get view() {
    return this.#protocol.view(this.#state as never, this.now)
  }
}
