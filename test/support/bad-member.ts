/**
 * A small world in virtual time with one bad member: a node that holds the right key and says whatever a fuzzer makes
 * of its messages. Nodes are what real processes run (protocols/host.ts), and everything that the bad member says goes
 * through the real codec, so a message is believed here only if a real process would believe it.
 */
import {
  canonical,
  type Input,
  type Message,
  type NodeId,
  type Output,
  type Plain,
  type PlainObject,
  type Protocol,
  present,
} from '../../src/core/index.ts'
import { type Datagram, stateInBundle } from '../../src/links/index.ts'
import { type GroupSpec, groupFor, host, peerHosting, protocolNamed } from '../../src/protocols/index.ts'
import { InvalidBytesError } from '../../src/service/runtime/bytes.ts'
import { Codec } from '../../src/service/runtime/codec.ts'
import { checkedOptions } from '../../src/workbench/sim/index.ts'

export const IDS: readonly string[] = ['a', 'b', 'c']
const DELAY = 1000
const LOOK_EVERY = 10_000

/** Marsaglia's xorshift, 32 bits: runs must be the same everywhere. */
export function chance(seed: number): (below: number) => number {
  let word = Math.imul(seed, 0x9e3779b1) ^ 0x5bd1e995 || 1
  return (below) => {
    word ^= word << 13
    word ^= word >>> 17
    word ^= word << 5
    return (word >>> 0) % below
  }
}

export function specOf(protocol: 'local-leader' | 'omega', options: PlainObject = {}): GroupSpec {
  const definition = present(protocolNamed(protocol), protocol)
  const full = checkedOptions(definition, IDS, options)
  return { protocol, nodes: IDS, options: full }
}

/** How long after the last bad message somebody must lead: the protocol's own bound. */
export function boundOf({ protocol, options }: GroupSpec): number {
  const definition = present(protocolNamed(protocol), protocol)
  return present(definition.settlesWithin, 'bound')(options, DELAY, IDS.length)
}

/** Made once for each node and group: worlds are copied all the time. */
const made = new WeakMap<GroupSpec, Map<NodeId, Protocol>>()

export function protocolFor(id: NodeId, spec: GroupSpec): Protocol {
  const known = made.get(spec) ?? new Map<NodeId, Protocol>()
  made.set(spec, known)
  const protocol = known.get(id) ?? groupFor(id, spec).protocol
  known.set(id, protocol)
  return protocol
}

type Node = {
  readonly id: NodeId
  readonly protocol: Protocol
  state: Plain
  stable: Plain
  up: boolean
  readonly timers: Map<string, number>
}

type Flight = { readonly at: number; readonly from: NodeId; readonly to: NodeId; readonly body: Message }

/** What becomes of a message of the bad member: null when the codec refuses it. */
export type Tamper = (body: Message, to: NodeId) => Message | null

export class BadWorld {
  readonly specs: { readonly [group: string]: GroupSpec }
  readonly #random: (below: number) => number
  readonly #codec: Codec
  now = 1_000_000
  nodes: Node[] = []
  #flights: Flight[] = []
  /** Who is bad at the moment, and what becomes of what it says. */
  bad: { readonly id: NodeId; readonly tamper: Tamper } | null = null
  readonly outputs: { readonly node: NodeId; readonly event: Output }[] = []

  constructor(
    specs: { readonly [group: string]: GroupSpec },
    random: (below: number) => number,
    codec = new Codec(),
  ) {
    this.specs = specs
    this.#random = random
    this.#codec = codec
    for (const [group, { protocol }] of Object.entries(specs)) codec.learn(group, peerHosting(protocol).wire)
  }

  static begun(specs: { readonly [group: string]: GroupSpec }): BadWorld {
    const world = new BadWorld(specs, chance(1))
    for (const id of IDS) {
      const protocol = host({ self: id, groups: {} })
      world.nodes.push({ id, protocol, state: null, stable: null, up: false, timers: new Map() })
      world.start(id)
    }
    return world
  }

  /** The same world, to go another way. */
  copy(random: (below: number) => number): BadWorld {
    const world = new BadWorld(this.specs, random, this.#codec)
    world.now = this.now
    world.nodes = this.nodes.map((node) => ({ ...node, timers: new Map(node.timers) }))
    world.#flights = [...this.#flights]
    return world
  }

  node(id: NodeId): Node {
    return present(
      this.nodes.find((node) => node.id === id),
      'node',
    )
  }

  start(id: NodeId): void {
    const node = this.node(id)
    node.up = true
    node.timers.clear()
    this.#carryOut(node, node.protocol.start(node.stable, this.now))
    for (const [group, spec] of Object.entries(this.specs)) {
      this.#input(node, { type: 'command', command: { do: 'join', group, spec } })
    }
  }

  stop(id: NodeId): void {
    const node = this.node(id)
    node.up = false
    node.timers.clear()
  }

  command(id: NodeId, group: string, command: PlainObject & { do: string }): void {
    this.#input(this.node(id), { type: 'command', command: { do: 'tell', group, command } })
  }

  /** A message that is there now. */
  deliver(from: NodeId, to: NodeId, body: Message): void {
    this.#input(this.node(to), { type: 'message', from, body, receipt: null })
  }

  /** Goes on until `isOver`, or for so long; whether it was over. */
  run(micros: number, isOver: () => boolean = () => false): boolean {
    const end = this.now + micros
    let looked = Number.NEGATIVE_INFINITY
    for (;;) {
      // Asking costs more than most steps.
      if (this.now - looked >= LOOK_EVERY) {
        if (isOver()) return true
        looked = this.now
      }
      let at = Number.POSITIVE_INFINITY
      let flight = -1
      let due: { readonly node: Node; readonly name: string } | null = null
      for (const [index, each] of this.#flights.entries()) {
        if (each.at < at) [at, flight] = [each.at, index]
      }
      for (const node of this.nodes) {
        for (const [name, when] of node.timers) if (when < at) [at, due] = [when, { node, name }]
      }
      if (at > end) {
        this.now = end
        return isOver()
      }
      this.now = Math.max(this.now, at)
      if (due !== null) {
        due.node.timers.delete(due.name)
        this.#input(due.node, { type: 'timer', name: due.name })
      } else {
        const [{ from, to, body }] = this.#flights.splice(flight, 1) as [Flight]
        if (this.node(to).up) this.deliver(from, to, body)
      }
    }
  }

  viewOf(id: NodeId, group: string) {
    const { state } = this.node(id)
    const protocol = protocolFor(id, present(this.specs[group], group))
    return protocol.view(stateInBundle(state, group), this.now)
  }

  /** Whom all nodes that run follow in a group; null where they do not agree or nobody leads. */
  leaderOf(group: string): NodeId | null {
    const running = this.nodes.filter(({ up }) => up)
    const leaders = new Set(running.map(({ id }) => this.viewOf(id, group).leader))
    const [leader] = leaders
    if (leaders.size !== 1 || leader === undefined || leader === null) return null
    return this.viewOf(leader, group).role === 'leader' ? leader : null
  }

  isLed(): boolean {
    return Object.keys(this.specs).every((group) => this.leaderOf(group) !== null)
  }

  /** Everybody is led, and where there are views, in them: only then may another node be missed. */
  isWhole(): boolean {
    const isIn = (group: string): boolean =>
      this.specs[group]?.protocol !== 'omega' ||
      IDS.every((id) => this.viewOf(id, group).members?.length === IDS.length)
    return this.isLed() && Object.keys(this.specs).every(isIn)
  }

  /** What a receiver makes of these bytes; null when it refuses them. */
  decoded(bytes: Uint8Array): Message | null {
    const envelope = this.#codec.decode(bytes)
    return envelope instanceof InvalidBytesError ? null : envelope.body
  }

  encoded(from: NodeId, to: NodeId, body: Message): Uint8Array {
    return this.#codec.encode({ from, to, body })
  }

  #input(node: Node, input: Input): void {
    if (node.up) this.#carryOut(node, node.protocol.step(node.state, input, this.now))
  }

  #carryOut(node: Node, { state, effects }: ReturnType<Protocol['step']>): void {
    node.state = state
    for (const effect of effects) {
      switch (effect.type) {
        case 'persist':
          node.stable = effect.stable
          break
        case 'send':
          this.#send(node.id, effect.to, effect.body)
          break
        case 'setTimer': {
          const { at } = effect
          node.timers.set(effect.name, typeof at === 'number' ? at : at[0] + this.#random(at[1] - at[0] + 1))
          break
        }
        case 'stopTimer':
          node.timers.delete(effect.name)
          break
        case 'output':
          this.outputs.push({ node: node.id, event: effect.event })
          break
        default:
      }
    }
  }

  #send(from: NodeId, to: NodeId, body: Message): void {
    const said = this.bad !== null && this.bad.id === from ? this.bad.tamper(body, to) : body
    if (said !== null) this.#flights.push({ at: this.now + DELAY, from, to, body: said })
  }
}

// ---- What the fuzzer says ----

const NUMBERS = [
  0,
  1,
  2,
  3,
  -1,
  1.5,
  255,
  2 ** 31 - 1,
  2 ** 32,
  2 ** 32 + 1,
  2 ** 39,
  2 ** 41,
  2 ** 42,
  2 ** 42 + 1,
  2 ** 48,
  2 ** 52,
  2 ** 53 - 2,
  2 ** 53 - 1,
]
const STEPS = [1, -1, 2, 4096, 16_384, 65_536, 2 ** 20, 2 ** 32]
const TEXTS = ['', 'a', 'b', 'c', 'zz', '__proto__', 'constructor', 'x'.repeat(300)]

type Random = (below: number) => number
const oneOf = <T>(random: Random, list: readonly T[]): T => list[random(list.length)] as T

const epoch = (random: Random): Plain => {
  const number = oneOf(random, NUMBERS)
  return { number, owner: number === 0 ? null : oneOf(random, IDS) }
}
const request = (random: Random): Plain => ({
  incarnation: oneOf(random, NUMBERS),
  counter: oneOf(random, NUMBERS),
})
const ids = (random: Random): Plain => {
  const list: Plain[] = []
  for (let left = random(4); left > 0; left--)
    list.push(random(9) === 0 ? oneOf(random, NUMBERS) : oneOf(random, TEXTS))
  return list
}
const config = (random: Random): Plain => ({
  id: [oneOf(random, NUMBERS), oneOf(random, NUMBERS)],
  sets: oneOf(random, [
    [],
    [['']],
    [[1.5]],
    [['c']],
    [['a']],
    [['a', 'b', 'c']],
    [['b', 'c']],
    [['a', 'b', 'c'], ['c']],
    [ids(random)],
  ]),
})
const herald = (random: Random): PlainObject => ({
  candidate: random(2) === 0,
  low: oneOf(random, [0, 0, 0, 1, 2, 3, 4, 255]),
  priority: oneOf(random, [0, 0, 1, -1, 1_000_000, 2 ** 31 - 1, -(2 ** 31)]),
  incumbent: random(2) === 0,
  heard: random(2) === 0,
  seen: epoch(random),
  lease:
    random(2) === 0
      ? null
      : { left: oneOf(random, NUMBERS), token: random(5) === 0 ? null : oneOf(random, NUMBERS) },
})
const anyView = (random: Random): Plain => ({
  id: [oneOf(random, NUMBERS), oneOf(random, [...IDS, null])],
  members: oneOf<Plain>(random, [
    [],
    [
      ['a', 1],
      ['b', 1],
      ['c', 1],
    ],
    [
      ['a', 1],
      ['b', 2 ** 53 - 2],
    ],
    [
      ['zz', 1],
      ['c', 1],
    ],
    [['c', 1]],
    [
      ['a', 2],
      ['c', 2],
    ],
  ]),
})

/** One message of every kind with values from everywhere. */
function messageOf(random: Random, kind: string): Message {
  const n = oneOf(random, NUMBERS)
  switch (kind) {
    case 'Heartbeat':
      return { kind, herald: herald(random) }
    case 'Election':
      return {
        kind,
        herald: herald(random),
        request: request(random),
        epoch: oneOf(random, NUMBERS),
        renew: random(2) === 0,
        config: config(random),
        certificate: random(2) === 0 ? null : { owner: oneOf(random, TEXTS), request: request(random) },
        view: random(2) === 0 ? null : { round: request(random), members: ids(random) },
        wanted: random(2) === 0 ? null : ids(random),
        tree: random(2) === 0 ? null : ids(random),
      }
    case 'Reply':
      return {
        kind,
        herald: herald(random),
        candidate: oneOf(random, TEXTS),
        request: request(random),
        votes: random(2) === 0 ? [] : [{ node: oneOf(random, TEXTS), support: random(2) === 0 }],
        promised: epoch(random),
        config: config(random),
      }
    case 'Release':
      return { kind, herald: herald(random), request: request(random), yields: random(2) === 0 }
    case 'Settings':
      return {
        kind,
        agreed: oneOf<PlainObject>(random, [
          {},
          { constructor: 1 },
          { mode: [] },
          { nodes: ids(random) },
          { nested: nested(random(3) === 0 ? 5000 : 6) },
        ]),
      }
    case 'status':
      return {
        kind,
        life: n,
        ok: random(2) === 0,
        view: anyView(random),
        promised: oneOf(random, NUMBERS),
        formed: anyView(random),
        attempts: random(2) === 0 ? [] : [anyView(random)],
        links: ids(random),
        torn: random(2) === 0,
        aside: random(2) === 0,
      }
    case 'cand':
      return {
        kind,
        n,
        members: (anyView(random) as PlainObject)['members'] as Plain,
        base: (anyView(random) as PlainObject)['id'] as Plain,
      }
    case 'accept':
      return { kind, n, formed: anyView(random), attempts: random(2) === 0 ? [] : [anyView(random)] }
    default:
      return { kind, n }
  }
}

const VIEW_NUMBERS = [1, 2, 3, 4, 5, 9, 20, 2 ** 32, 2 ** 32 + 1, 2 ** 39]

/** Within all bounds of the wire; whether it is true is another matter. */
function soundView(random: Random): PlainObject {
  const leader = oneOf(random, IDS)
  const members = IDS.filter((id) => id === leader || random(2) === 0).map((id) => [id, 1 + random(6)])
  return { id: [oneOf(random, VIEW_NUMBERS), leader], members }
}

/** A message of omega that the codec takes. */
function soundMessage(random: Random, kind: string): Message {
  const view = random(4) === 0 ? { id: [0, null], members: [] } : soundView(random)
  const formed = random(4) === 0 ? view : soundView(random)
  const attempts = random(2) === 0 ? [] : [soundView(random)]
  const n = oneOf(random, VIEW_NUMBERS)
  switch (kind) {
    case 'status': {
      const state = { life: 1 + random(6), ok: random(2) === 0, view, promised: n, formed, attempts }
      return { kind, ...state, links: IDS, torn: false, aside: random(4) === 0 }
    }
    case 'cand':
      return { kind, n, members: formed['members'] as Plain, base: view['id'] as Plain }
    case 'accept':
      return { kind, n, formed, attempts }
    default:
      return { kind, n }
  }
}

export function nested(depth: number): Plain {
  let value: Plain = 1
  for (let level = 0; level < depth; level++) value = level % 2 === 0 ? [value] : { deeper: value }
  return value
}

const LOCAL_LEADER = ['Heartbeat', 'Election', 'Reply', 'Release', 'Settings']
const OMEGA = ['status', 'status', 'cand', 'accept', 'attempt', 'attempted', 'cancel', 'withdraw']

/** The value with one place in it, at whatever depth, changed to something else. */
function changed(random: Random, value: Plain): Plain {
  if (value === null)
    return oneOf<Plain>(random, [
      request(random),
      epoch(random),
      ids(random),
      7,
      { left: oneOf(random, NUMBERS), token: oneOf(random, NUMBERS) },
    ])
  switch (typeof value) {
    case 'boolean':
      return !value
    case 'number':
      return random(2) === 0 ? oneOf(random, NUMBERS) : value + oneOf(random, STEPS)
    case 'string':
      return oneOf(random, TEXTS)
    default:
  }
  const isList = Array.isArray(value)
  const keys = Object.keys(value).filter((key) => isList || key !== 'kind')
  if (keys.length === 0 || random(12) === 0) return oneOf<Plain>(random, [null, [], {}, [null]])
  const key = oneOf(random, keys)
  if (isList) {
    const list = [...(value as readonly Plain[])]
    const what = random(6)
    if (what === 0) list.splice(Number(key), 1)
    else if (what === 1) list.push(list[Number(key)] as Plain)
    else list[Number(key)] = changed(random, list[Number(key)] as Plain)
    return list
  }
  const object = value as PlainObject
  return { ...object, [key]: changed(random, object[key] as Plain) }
}

/** The parts of a bundle that are worth changing, and the session now and then. */
export function tampering(random: Random, world: BadWorld, from: NodeId): Tamper {
  return (body, to) => {
    const whole = body as unknown as Datagram
    const parts =
      whole.body === null ? [] : [...(whole.body as unknown as { parts: readonly PlainObject[] }).parts]
    let said: Message
    const place = parts.length === 0 ? 0 : random(parts.length)
    const part = parts[place]
    if (part === undefined || random(5) === 0) {
      const { body: inner, ...session } = whole
      said = {
        ...(changed(random, session) as PlainObject),
        kind: 'datagram',
        body: inner,
      }
    } else {
      const inner = part['body'] as Message
      const isFrame = inner.kind === 'frame'
      const isMade = random(2) === 0
      let next: Message
      if (isFrame)
        next = isMade
          ? { ...inner, body: (random(4) === 0 ? messageOf : soundMessage)(random, oneOf(random, OMEGA)) }
          : (changed(random, inner) as Message)
      else if (inner.kind === 'ping' || inner.kind === 'ack') next = changed(random, inner) as Message
      else
        next = isMade ? messageOf(random, oneOf(random, LOCAL_LEADER)) : (changed(random, inner) as Message)
      parts[place] = { ...part, body: next }
      said = { ...whole, body: { kind: 'bundle', parts } }
    }
    let bytes: Uint8Array
    try {
      bytes = world.encoded(from, to, said)
    } catch {
      // No process can even say that.
      return body
    }
    return world.decoded(random(20) === 0 ? spoiled(random, bytes) : bytes)
  }
}

/** The same bytes with a few of them changed. */
export function spoiled(random: Random, bytes: Uint8Array): Uint8Array {
  const copy = bytes.slice(0, random(4) === 0 ? 1 + random(bytes.length) : bytes.length)
  for (let left = 1 + random(3); left > 0; left--) copy[random(copy.length)] = random(256)
  return copy
}

/** The first number in a value that is not exact any more, and where; null when there is none. */
export function unsafeIn(value: Plain, place = 'state'): string | null {
  if (typeof value === 'number') {
    return Number.isInteger(value) && !Number.isSafeInteger(value) ? `${place} is ${value}` : null
  }
  if (value === null || typeof value !== 'object') return null
  for (const [key, inner] of Object.entries(value)) {
    const found = unsafeIn(inner, `${place}.${key}`)
    if (found !== null) return found
  }
  return null
}

// ---- Runs ----

/** Runs that follow each other in one world: what bad messages leave behind must not add up. */
const CHAIN = 20
/** States are looked through after so many runs: what a bad message leaves in them stays. */
const LOOK_INTO = 4
/** What a state may grow by: names of strangers and what is waiting to be borne out, each bounded. */
const ROOM = 4000

/** Whether the bad member goes on as a good one, is started again, or is gone for a while. */
type Ending = 'goes on' | 'restarts' | 'is gone'

export type BadRuns = {
  readonly runs: number
  /** Messages that the codec refused, and those that a protocol found implausible. */
  readonly refused: number
  readonly implausible: number
  /** What went wrong first, with the seed that shows it; null when nothing did. */
  readonly failure: string | null
}

export function badRuns(
  specs: { readonly [group: string]: GroupSpec },
  first: number,
  runs: number,
): BadRuns {
  const hasOmega = Object.values(specs).some(({ protocol }) => protocol === 'omega')
  // What links of omega carry is delivered once: a node that was bad must tell everything again.
  const endings: readonly Ending[] = hasOmega
    ? ['restarts', 'is gone']
    : ['goes on', 'goes on', 'goes on', 'goes on', 'goes on', 'restarts', 'is gone']
  const bound = Math.max(...Object.values(specs).map(boundOf))
  const rested = BadWorld.begun(specs)
  if (!rested.run(2 * bound, () => rested.isWhole())) throw new Error('nobody leads at first')
  rested.run(500_000)
  const room = sizeOf(rested) + ROOM
  const count = { refused: 0, implausible: 0 }
  let world = rested
  for (let run = 0; run < runs; run++) {
    const seed = first + run
    const random = chance(seed)
    world = (run % CHAIN === 0 ? rested : world).copy(random)
    const bad = oneOf(random, IDS)
    const ending = oneOf(random, endings)
    const fail = (why: string): BadRuns => ({
      runs: run + 1,
      ...count,
      failure: `seed ${first + run - (run % CHAIN)} and on, run ${seed}, ${bad} ${ending}: ${why}`,
    })
    // Links of omega carry frames when something changes only.
    if (hasOmega && random(4) > 0) {
      world.stop(bad)
      world.start(bad)
    }
    count.refused += misbehave(world, random, bad, hasOmega ? 200_000 : 60_000)
    if (ending !== 'goes on') world.stop(bad)
    if (ending === 'restarts') world.start(bad)
    world.run(2 * DELAY)
    if (!world.run(bound, () => world.isLed())) return fail(`nobody leads within ${bound} µs`)
    if (ending === 'is gone') world.start(bad)
    if (!world.run(2 * bound, () => world.isWhole())) return fail('not all are back')
    count.implausible += world.outputs.filter(({ event }) => event.type === 'implausible').length
    const wrong = run % LOOK_INTO === 0 ? problemIn(world) : null
    if (wrong !== null) return fail(wrong)
    if (run % CHAIN !== CHAIN - 1) continue
    if (sizeOf(world) > room) return fail(`a state has grown to ${sizeOf(world)}`)
    for (const id of IDS) world.stop(id)
    for (const id of IDS) world.start(id)
    if (!world.run(2 * bound, () => world.isLed())) return fail('nobody leads after all were started again')
  }
  return { runs, ...count, failure: null }
}

function hasFrame({ body }: Message): boolean {
  const { parts = [] } = (body ?? {}) as { readonly parts?: readonly { readonly body: Message }[] }
  return parts.some((part) => part.body.kind === 'frame')
}

/** One node says up to four things that the fuzzer makes of its messages; how many of them nobody could read. */
function misbehave(world: BadWorld, random: Random, bad: string, micros: number): number {
  const hasOmega = Object.values(world.specs).some(({ protocol }) => protocol === 'omega')
  const tamper = tampering(random, world, bad)
  let left = 1 + random(4)
  let refused = 0
  world.bad = {
    id: bad,
    tamper: (body, to) => {
      const isRare = !hasOmega || hasFrame(body)
      if (left === 0 || (isRare ? random(3) === 0 : random(8) > 0)) return body
      left -= 1
      const said = tamper(body, to)
      if (said === null) refused += 1
      return said
    },
  }
  world.run(micros, () => left === 0)
  world.bad = null
  return refused
}

/** Whether every node could be started from its stable data, and every number in its state is exact. */
function problemIn({ nodes, specs, now }: BadWorld): string | null {
  for (const { id, state, stable } of nodes) {
    const unsafe = unsafeIn(state)
    if (unsafe !== null) return `${id}: ${unsafe}`
    const { upper } = stable as { readonly upper: { readonly [group: string]: Plain } }
    for (const [group, kept] of Object.entries(upper)) {
      protocolFor(id, present(specs[group], group)).start(kept, now)
    }
  }
  return null
}

function sizeOf(world: BadWorld): number {
  return Math.max(...world.nodes.map(({ state }) => canonical(state).length))
}

/**
 * Real datagrams of a group with a few bytes changed, sealed with the right key: what a receiver can read of them it is
 * given. Nothing is thrown, and the group elects afterwards. How many were read, and how many were not.
 */
export function badDatagrams(
  specs: { readonly [group: string]: GroupSpec },
  first: number,
  runs: number,
): { readonly read: number; readonly unread: number; readonly failure: string | null } {
  const bound = Math.max(...Object.values(specs).map(boundOf))
  const rested = BadWorld.begun(specs)
  const recorded: { readonly from: NodeId; readonly to: NodeId; readonly bytes: Uint8Array }[] = []
  const recording = rested.copy(chance(first))
  for (const from of IDS) {
    recording.bad = {
      id: from,
      tamper: (body, to) => {
        recorded.push({ from, to, bytes: recording.encoded(from, to, body) })
        return body
      },
    }
    recording.run(bound)
  }
  if (!rested.run(2 * bound, () => rested.isWhole())) throw new Error('nobody leads at first')
  let [read, unread] = [0, 0]
  let world = rested
  for (let run = 0; run < runs; run++) {
    const random = chance(first + run)
    if (run % SPOILED === 0) world = rested.copy(random)
    const { from, to, bytes } = oneOf(random, recorded)
    const body = world.decoded(spoiled(random, bytes))
    if (body === null) unread += 1
    else {
      read += 1
      world.deliver(from, to, body)
    }
    if (run % SPOILED !== SPOILED - 1) continue
    world.run(2 * bound, () => world.isWhole())
    const wrong = problemIn(world)
    const seed = first + run - (SPOILED - 1)
    if (wrong !== null) return { read, unread, failure: `seed ${seed} and on: ${wrong}` }
    if (!world.isLed()) return { read, unread, failure: `seed ${seed} and on: nobody leads` }
  }
  return { read, unread, failure: null }
}

/** So many changed datagrams come to one world at a time. */
const SPOILED = 100
