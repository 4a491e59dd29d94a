/**
 * What may come from another process in a group of Omega+, checked to the last field: the links' own datagrams, and in
 * frames the protocol's messages. Anything else is not a message.
 *
 * Written out rather than as a schema: the few messages after a failure are the ones that count, and code that is seldom
 * run is slow. (The first message through a schema took 11 ms, one now and then 0.2 ms; here 0.4 and 0.05.)
 */
import { compareIds, type Message, type NodeId } from '../../core/index.ts'
import { MOST_LEADERS, MOST_VIEWS } from './state.ts'

/** Lives, incarnations and what links count. The next of each must be exact, too. */
const MOST_COUNT = 2 ** 52
const LONGEST_ID = 255

/** What is wrong, after the place where it is; null when nothing is. */
type Check = (value: unknown) => string | null

export const whole =
  (least: number, most = Number.MAX_SAFE_INTEGER): Check =>
  (value) =>
    Number.isInteger(value) && (value as number) >= least && (value as number) <= most
      ? null
      : `: must be a whole number from ${least} to ${most}`

const life = whole(1, MOST_COUNT)
const count = whole(0, MOST_COUNT)
const number = whole(0, MOST_VIEWS)
const proposed = whole(1, MOST_VIEWS)

const flag: Check = (value) => (typeof value === 'boolean' ? null : ': must be true or false')

const node: Check = (value) =>
  (typeof value === 'string' ? value !== '' && value.length <= LONGEST_ID : Number.isSafeInteger(value))
    ? null
    : ': must name a node'

const listOf =
  (each: Check): Check =>
  (value) => {
    if (!Array.isArray(value)) return ': must be a list'
    if (value.length > MOST_LEADERS) return `: must have ${MOST_LEADERS} entries at most`
    for (let at = 0; at < value.length; at++) {
      const wrong = each(value[at])
      if (wrong !== null) return `.${at}${wrong}`
    }
    return null
  }

const pair =
  (first: Check, second: Check): Check =>
  (value) => {
    if (!Array.isArray(value) || value.length !== 2) return ': must be a pair'
    const wrong = first(value[0])
    if (wrong !== null) return `.0${wrong}`
    const other = second(value[1])
    return other === null ? null : `.1${other}`
  }

/** Exactly these fields; what they hold together is looked at last. */
export const fields = (checks: { readonly [field: string]: Check }, together: Check = () => null): Check => {
  const entries = Object.entries(checks)
  return (value) => {
    if (value === null || typeof value !== 'object' || Array.isArray(value)) return ': must be an object'
    for (const [field, check] of entries) {
      if (!Object.hasOwn(value, field)) return `.${field}: is missing`
      const wrong = check((value as { [field: string]: unknown })[field])
      if (wrong !== null) return `.${field}${wrong}`
    }
    if (Object.keys(value).length === entries.length) return together(value)
    return `.${Object.keys(value).find((field) => !Object.hasOwn(checks, field))}: is no field of it`
  }
}

const memberList = listOf(pair(node, life))
const members: Check = (value) => {
  const wrong = memberList(value)
  if (wrong !== null) return wrong
  const pairs = value as readonly (readonly [NodeId, number])[]
  const isRising = pairs.every(
    ([id], at) => at === 0 || compareIds((pairs[at - 1] as readonly [NodeId, number])[0], id) < 0,
  )
  return isRising ? null : ': members are in order, each once'
}

const numbered = pair(number, (value) => (value === null ? null : node(value)))
const viewId: Check = (value) => {
  const wrong = numbered(value)
  if (wrong !== null) return wrong
  const [n, leader] = value as readonly [number, NodeId | null]
  return (n === 0) === (leader === null) ? null : ': a number and a leader go together'
}

const view = fields({ id: viewId, members }, (value) => {
  const { id, members: pairs } = value as { id: readonly [number, NodeId]; members: readonly [NodeId][] }
  const isIn = id[0] === 0 ? pairs.length === 0 : pairs.some(([member]) => member === id[1])
  return isIn ? null : ': a leader is in its view'
})

export const stable = fields({ life, view, promised: viewId, formed: view, attempts: listOf(view) })

/** By what it says itself to be. */
const ofKind = (kinds: { readonly [kind: string]: Check }): Check => {
  const checks = new Map(Object.entries(kinds))
  return (value) => {
    const kind = (value as { kind?: unknown } | null)?.kind
    const check = typeof kind === 'string' ? checks.get(kind) : undefined
    return check === undefined ? '.kind: there is no such message' : check(value)
  }
}

const kind: Check = () => null
const message = ofKind({
  status: fields({
    kind,
    life,
    ok: flag,
    view,
    promised: number,
    formed: view,
    attempts: listOf(view),
    links: listOf(node),
    torn: flag,
    aside: flag,
  }),
  cand: fields({ kind, n: proposed, members, base: viewId }),
  cancel: fields({ kind, n: proposed }),
  accept: fields({ kind, n: proposed, formed: view, attempts: listOf(view) }),
  attempt: fields({ kind, n: proposed }),
  attempted: fields({ kind, n: proposed }),
  withdraw: fields({ kind, n: proposed }),
})

const header = { kind, by: life, for: count, count, received: count }
const DATAGRAMS = new Map([
  ['ping', fields({ ...header, no: count, echo: whole(-1, MOST_COUNT) })],
  ['ack', fields(header)],
  ['frame', fields({ ...header, seq: count, again: flag, body: message })],
])

/** What is wrong with a message of a kind that Omega+ sends; null when nothing is, or it is of another kind. */
export function omegaFault(body: Message): string | null {
  const wrong = DATAGRAMS.get(body.kind)?.(body) ?? null
  return wrong === null ? null : `${body.kind}${wrong}`
}
