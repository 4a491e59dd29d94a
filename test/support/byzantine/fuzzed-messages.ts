/** Fuzzed messages for the Byzantine node: random, mutated and corrupted, with values at all bounds. */
import type { Message, NodeId, Plain, PlainObject } from '../../../src/core/index.ts'
import type { Datagram } from '../../../src/links/index.ts'
import { type ByzantineWorld, IDS, type Tamper } from './world.ts'

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

export type Random = (below: number) => number
export const oneOf = <T>(random: Random, list: readonly T[]): T => list[random(list.length)] as T

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
const beacon = (random: Random): PlainObject => ({
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

const LEVELS = [0, 1, 5, 9, 40, 41, 255, -1, 1.5]
const LOCKS = [0, 1, 8192, 20_000, 61_035, 200_000, 250_000, 60_000_000, 2 ** 32, -1, 1.5]

/** The same message with fields of adaptive timing. */
function timed(random: Random, message: Message): Message {
  if (message.kind === 'Election') return { ...message, lock: oneOf(random, LOCKS) }
  if (message.kind !== 'Reply') return message
  const evidence = {
    late: oneOf(random, LEVELS),
    delay: oneOf(random, LEVELS),
    loss: oneOf(random, LEVELS),
  }
  const bounds = { shortest: oneOf(random, LOCKS), longest: oneOf(random, LOCKS) }
  const vote = { node: oneOf(random, IDS), support: random(2) === 0 }
  return { ...message, votes: [{ ...vote, ...oneOf<PlainObject>(random, [{ evidence }, { bounds }]) }] }
}

/** A message of the given kind with values from all ranges. */
function messageOf(random: Random, kind: string): Message {
  const n = oneOf(random, NUMBERS)
  switch (kind) {
    case 'Heartbeat':
      return { kind, beacon: beacon(random) }
    case 'Election':
      return {
        kind,
        beacon: beacon(random),
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
        beacon: beacon(random),
        candidate: oneOf(random, TEXTS),
        request: request(random),
        votes: random(2) === 0 ? [] : [{ node: oneOf(random, TEXTS), support: random(2) === 0 }],
        promised: epoch(random),
        config: config(random),
      }
    case 'Release':
      return { kind, beacon: beacon(random), request: request(random), yields: random(2) === 0 }
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

/** A view within all bounds of the wire format, but with random content. */
function validView(random: Random): PlainObject {
  const leader = oneOf(random, IDS)
  const members = IDS.filter((id) => id === leader || random(2) === 0).map((id) => [id, 1 + random(6)])
  return { id: [oneOf(random, VIEW_NUMBERS), leader], members }
}

/** A message of omega that the codec accepts. */
function validMessage(random: Random, kind: string): Message {
  const view = random(4) === 0 ? { id: [0, null], members: [] } : validView(random)
  const formed = random(4) === 0 ? view : validView(random)
  const attempts = random(2) === 0 ? [] : [validView(random)]
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

/** The value with one part, at any depth, replaced. */
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

/** Tampers with a part of a bundle, or sometimes with the session fields. */
export function tampering(random: Random, world: ByzantineWorld, from: NodeId): Tamper {
  const isAdaptive = Object.values(world.specs).some(({ options }) => options['timing'] === 'adaptive')
  const made = (kind: string): Message => {
    const message = messageOf(random, kind)
    return isAdaptive ? timed(random, message) : message
  }
  return (body, to) => {
    const whole = body as unknown as Datagram
    const parts =
      whole.body === null ? [] : [...(whole.body as unknown as { parts: readonly PlainObject[] }).parts]
    let sent: Message
    const place = parts.length === 0 ? 0 : random(parts.length)
    const part = parts[place]
    if (part === undefined || random(5) === 0) {
      const { body: inner, ...session } = whole
      sent = {
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
          ? { ...inner, body: (random(4) === 0 ? messageOf : validMessage)(random, oneOf(random, OMEGA)) }
          : (changed(random, inner) as Message)
      else if (inner.kind === 'ping' || inner.kind === 'ack') next = changed(random, inner) as Message
      else next = isMade ? made(oneOf(random, LOCAL_LEADER)) : (changed(random, inner) as Message)
      parts[place] = { ...part, body: next }
      sent = { ...whole, body: { kind: 'bundle', parts } }
    }
    let bytes: Uint8Array
    try {
      bytes = world.encode(from, to, sent)
    } catch {
      // This message cannot be encoded.
      return body
    }
    return world.decode(random(20) === 0 ? corrupt(random, bytes) : bytes)
  }
}

/** The bytes with a few of them changed. */
export function corrupt(random: Random, bytes: Uint8Array): Uint8Array {
  const copy = bytes.slice(0, random(4) === 0 ? 1 + random(bytes.length) : bytes.length)
  for (let left = 1 + random(3); left > 0; left--) copy[random(copy.length)] = random(256)
  return copy
}
