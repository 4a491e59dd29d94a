/**
 * Draws the faults of one scenario: a random subset of the fault kinds, often close together in time, and at the end
 * everything is healed, except for faults that a minority of the nodes may keep.
 */
import type { Command, Definition, FaultKind, NodeId, Swarm } from '../../core/index.ts'
import type { Random } from '../scenario/random.ts'
import type { NetworkRule, ScenarioEvent } from '../scenario/scenario.ts'
import type { LoadEvent } from './load.ts'

/** The faults that can happen in a group of one node. */
const ALONE: readonly FaultKind[] = ['crash', 'pause', 'suspend', 'late', 'hang', 'load']

/**
 * The faults that a minority of the nodes may keep to the end, if the protocol still promises something to
 * the others.
 */
const LASTING = ['cutOneWay', 'linkLoss', 'drop', 'unwritable'] as const

/** A fault and the time at which it is over. */
type Drawn = { readonly events: readonly ScenarioEvent[]; readonly until: number }

/** Rounds to whole microseconds, so that a scenario survives a round trip through a file. */
export function toMicros(ms: number): number {
  return Math.round(ms * 1000) / 1000
}

export class FaultDrawer {
  readonly #nodes: readonly NodeId[]
  readonly #random: Random
  readonly #settlingMs: number
  /** The node that the protocol prefers as leader. */
  readonly #preferred: NodeId
  /** Message kinds: the protocol's own, and all. */
  readonly #ownKinds: readonly [string, ...string[]]
  readonly #kinds: readonly [string, ...string[]]
  /**
   * Upper bounds of the gaps between faults: one message, a few messages, a part of the settling time, all of
   * it.
   */
  readonly #gaps: readonly [number, ...number[]]

  constructor(
    nodes: readonly NodeId[],
    { kinds, linkKinds, prefers }: Definition,
    random: Random,
    settlingMs: number,
    delayMs: number,
  ) {
    this.#nodes = nodes
    this.#preferred = (prefers === 'lowest' ? nodes[0] : nodes.at(-1)) as NodeId
    this.#ownKinds = kinds as readonly [string, ...string[]]
    this.#kinds = [...kinds, ...linkKinds] as [string, ...string[]]
    this.#random = random
    this.#settlingMs = settlingMs
    this.#gaps = [delayMs, delayMs * 3, settlingMs / 10, settlingMs / 3, settlingMs * 1.2]
  }

  draw(
    kinds: readonly FaultKind[],
    { commands, rests }: Pick<Swarm, 'commands' | 'rests'>,
  ): {
    readonly events: readonly ScenarioEvent[]
    readonly endsAtMs: number
  } {
    const possible = this.#nodes.length > 1 ? kinds : kinds.filter((kind) => ALONE.includes(kind))
    const chosen = possible.filter(() => this.#random.chance(0.7))
    const events: ScenarioEvent[] = []
    let atMs = this.#gap()
    let endsAtMs = atMs
    const count = chosen.length === 0 ? 0 : this.#random.integer(1, 8)
    for (let fault = 0; fault < count; fault++) {
      const kind = chosen[this.#random.integer(0, chosen.length - 1)] as FaultKind
      const drawn = this.#fault(kind, toMicros(atMs))
      events.push(...drawn.events)
      endsAtMs = Math.max(endsAtMs, drawn.until)
      atMs += this.#gap()
    }
    const commandCount = commands.length === 0 ? 0 : this.#random.integer(1, 4)
    for (let each = 0; each < commandCount; each++) {
      const at = toMicros(this.#gap())
      const command = commands[this.#random.integer(0, commands.length - 1)] as Command
      events.push({ atMs: at, command: { ...command, node: this.#node() } })
      endsAtMs = Math.max(endsAtMs, at)
    }
    if (rests && possible.includes('graph') && this.#random.chance(0.5)) {
      const rest = this.#rest(toMicros(endsAtMs))
      events.push(...rest.events)
      endsAtMs = rest.until
    }
    return {
      events: [...sorted(events), ...this.#healing(events, toMicros(endsAtMs + 1))],
      endsAtMs: endsAtMs + 1,
    }
  }

  #fault(kind: FaultKind, atMs: number): Drawn {
    const until = toMicros(atMs + this.#gap())
    const forMs = Math.max(toMicros(until - atMs), 0.001)
    const node = this.#node()
    switch (kind) {
      case 'crash': {
        const inTheMiddle = this.#random.chance(0.3) ? { afterEffects: this.#random.integer(0, 4) } : {}
        const crash = { atMs, crash: node, ...inTheMiddle }
        return this.#random.chance(0.8)
          ? { events: [crash, { atMs: until, recover: node }], until }
          : { events: [crash], until: atMs }
      }
      case 'pause':
        return { events: [{ atMs, pause: node, forMs }], until }
      case 'suspend':
        return { events: [{ atMs, suspend: node, forMs }], until }
      case 'partition':
        return this.#healed({ atMs, partition: this.#blocks() }, until)
      case 'cut':
        return this.#healed({ atMs, cut: [this.#pair()] }, until)
      case 'cutOneWay':
        return this.#healed({ atMs, cutOneWay: [this.#pair()] }, until)
      case 'graph':
        return { events: [{ atMs, links: this.#graph() }], until: atMs }
      case 'loss':
        return {
          events: [
            { atMs, loss: this.#probability(0.3) },
            { atMs: until, loss: 0 },
          ],
          until,
        }
      case 'duplicate':
        return {
          events: [
            { atMs, duplicate: this.#probability(0.2) },
            { atMs: until, duplicate: 0 },
          ],
          until,
        }
      case 'late':
        return {
          events: [
            { atMs, late: this.#probability(0.2) },
            { atMs: until, late: 0 },
          ],
          until,
        }
      case 'hang':
        return { events: [{ atMs, hang: 'store', forMs }], until }
      case 'load':
        return this.#load(atMs, until)
      case 'linkLoss':
        return this.#ruled([this.#lossyLink()], atMs, until)
      case 'drop':
        return this.#ruled([this.#targeted()], atMs, until)
      case 'unwritable':
        return {
          events: [
            { atMs, unwritable: node },
            { atMs: until, writable: node },
          ],
          until,
        }
      case 'slow': {
        const delayMs = toMicros(this.#gap())
        return this.#healed({ atMs, slow: [this.#pair()], delayMs: [0, delayMs] }, until + delayMs)
      }
      default:
        return kind satisfies never
    }
  }

  /** A step, a spike, a ramp or a heavy tail, on some nodes or on all. */
  #load(atMs: number, until: number): Drawn {
    const load: LoadEvent['load'] = this.#random.chance(0.5) ? 'all' : [this.#node()]
    const most = Math.max(toMicros(this.#gap()), 0.002)
    const forMs = Math.max(toMicros(until - atMs), 0.001)
    const how = this.#random.integer(0, 3)
    // The tail may be longer than anything the protocol has seen before.
    const lateMs = how === 3 ? ([toMicros(most / 2), toMicros(most * 4)] as const) : ([0, most] as const)
    const delayMs = this.#random.chance(0.5) ? { delayMs: lateMs } : {}
    const shape = how === 1 ? { overMs: forMs } : how === 3 ? { tail: 1.2 } : {}
    const event = { atMs, load, lateMs, ...delayMs, ...shape }
    if (how === 2) return { events: [{ ...event, forMs }], until }
    return { events: [event, { atMs: toMicros(until), load, lateMs: 0 }], until }
  }

  /**
   * Two different partitions in quick succession, then rest until the protocol must have settled. In between,
   * nodes have different information.
   */
  #rest(atMs: number): Drawn {
    const again = toMicros(atMs + this.#gap())
    const crashed = this.#random.chance(0.3) ? [{ atMs: again, crash: this.#node() }] : []
    const [apart, other] = [this.#cliques(), this.#random.chance(0.5) ? this.#cliques() : this.#graph()]
    return {
      events: [{ atMs, links: apart }, { atMs: again, links: other }, ...crashed],
      until: again + this.#settlingMs * 1.2,
    }
  }

  /** Two cliques, sometimes with a node that is linked to both. */
  #cliques(): readonly (readonly [NodeId, NodeId])[] {
    const blocks = this.#blocks()
    const between = this.#random.chance(0.3) ? this.#node() : null
    return blocks.flatMap((block) => {
      const all = between === null || block.includes(between) ? block : [...block, between]
      return all.flatMap((a, place) => all.slice(place + 1).map((b) => [a, b] as const))
    })
  }

  /** A later set of rules replaces an earlier one. */
  #ruled(rules: readonly NetworkRule[], atMs: number, until: number): Drawn {
    return {
      events: [
        { atMs, rules },
        { atMs: toMicros(until), rules: [] },
      ],
      until,
    }
  }

  #lossyLink(): NetworkRule {
    const [from, to] = this.#pair()
    return { from, to, loss: this.#probability(1) }
  }

  /** Messages of one kind are lost: on one link, or on all links from or to a node. */
  #targeted(): NetworkRule {
    const [from, to] = this.#pair()
    const kind = this.#random.pick(this.#kinds)
    const which = this.#random.integer(0, 2)
    return { ...(which === 1 ? {} : { from }), ...(which === 2 ? {} : { to }), kind, drop: true }
  }

  /**
   * Faults that are not healed: a minority of the nodes keeps bad links, an unwritable disk, or the loss of
   * one message kind. The others must make progress nevertheless.
   */
  lasting(kinds: readonly FaultKind[], atMs: number): readonly ScenarioEvent[] {
    const possible = LASTING.filter((kind) => kinds.includes(kind))
    const most = Math.ceil(this.#nodes.length / 2) - 1
    if (possible.length === 0 || most < 1 || this.#random.chance(0.5)) return []
    // Faults of the preferred leader matter most.
    const preferred = this.#random.chance(0.5) ? [this.#preferred] : []
    const affected = new Set(
      [...preferred, ...Array.from({ length: most }, () => this.#node())].slice(0, most),
    )
    const rules: NetworkRule[] = []
    const events: ScenarioEvent[] = []
    for (const node of affected) {
      const kind = possible[this.#random.integer(0, possible.length - 1)] as (typeof LASTING)[number]
      if (kind === 'unwritable') events.push({ atMs, unwritable: node })
      else if (kind === 'linkLoss') {
        const loss = this.#probability(1)
        rules.push({ from: node, loss }, { to: node, loss })
      } else if (kind === 'drop') {
        const side = this.#random.chance(0.5) ? { from: node } : { to: node }
        rules.push({ ...side, kind: this.#random.pick(this.#ownKinds), drop: true })
      } else {
        const others = this.#nodes.filter((other) => other !== node && this.#random.chance(0.5))
        const away = this.#random.chance(0.5)
        events.push({ atMs, cutOneWay: others.map((other) => (away ? [node, other] : [other, node])) })
      }
    }
    return rules.length === 0 ? events : [...events, { atMs, rules }]
  }

  #healed(event: ScenarioEvent, until: number): Drawn {
    return { events: [event, { atMs: toMicros(until), heal: 'all' }], until }
  }

  /** Undoes everything, including crashes in the middle of a step that have not happened yet. */
  #healing(events: readonly ScenarioEvent[], atMs: number): readonly ScenarioEvent[] {
    const hasRules = events.some((event) => 'rules' in event)
    const unwritable = events.flatMap((event) => ('unwritable' in event ? [event.unwritable] : []))
    const armed = events.flatMap((event) =>
      'crash' in event && 'afterEffects' in event ? [event.crash] : [],
    )
    const crashed = events.flatMap((event) => ('crash' in event ? [event.crash] : []))
    const isLate = events.some((event) => 'late' in event)
    const isLoaded = events.some((event) => 'load' in event)
    return [
      ...(isLate ? [{ atMs, late: 0 }] : []),
      ...(isLoaded ? [{ atMs, load: 'all' as const, lateMs: 0 }] : []),
      { atMs, heal: 'all' },
      { atMs, loss: 0 },
      { atMs, duplicate: 0 },
      ...(hasRules ? [{ atMs, rules: [] }] : []),
      ...[...new Set(unwritable)].map((node) => ({ atMs, writable: node })),
      ...[...new Set(armed)].map((node) => ({ atMs, crash: node })),
      ...[...new Set(crashed)].map((node) => ({ atMs, recover: node })),
    ]
  }

  #gap(): number {
    return this.#random.fraction() * this.#random.pick(this.#gaps)
  }

  #node(): NodeId {
    return this.#nodes[this.#random.integer(0, this.#nodes.length - 1)] as NodeId
  }

  #pair(): readonly [NodeId, NodeId] {
    const a = this.#random.integer(0, this.#nodes.length - 1)
    const b = this.#random.integer(0, this.#nodes.length - 2)
    return [this.#nodes[a] as NodeId, this.#nodes[b < a ? b : b + 1] as NodeId]
  }

  #probability(most: number): number {
    return toMicros(this.#random.fraction() * most)
  }

  /** A random graph of random density. */
  #graph(): readonly (readonly [NodeId, NodeId])[] {
    const density = this.#random.fraction()
    return this.#nodes.flatMap((a, place) =>
      this.#nodes.slice(place + 1).flatMap((b) => (this.#random.chance(density) ? [[a, b] as const] : [])),
    )
  }

  #blocks(): readonly (readonly NodeId[])[] {
    const blocks: NodeId[][] = [[], []]
    for (const node of this.#nodes) blocks[this.#random.integer(0, 1)]?.push(node)
    return blocks.filter((block) => block.length > 0)
  }
}

function sorted(events: readonly ScenarioEvent[]): readonly ScenarioEvent[] {
  return events.toSorted((a, b) => a.atMs - b.atMs)
}
