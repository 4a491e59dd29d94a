/**
 * Validation of everything that a group of Omega+ receives, field by field: the datagrams of the links, and the protocol
 * messages inside their frames. Everything else is refused.
 */
import { compareIds, type Message, type NodeId } from '../../core/index.ts'
import { type Check, fields, flag, listOf, MOST_COUNT, node, pair, whole } from '../message-checks.ts'
import { MOST_LEADERS, MOST_VIEWS } from './state.ts'

const life = whole(1, MOST_COUNT)
const count = whole(0, MOST_COUNT)
const number = whole(0, MOST_VIEWS)
const proposed = whole(1, MOST_VIEWS)

const memberList = listOf(pair(node, life), MOST_LEADERS)
const members: Check = (value) => {
  const wrong = memberList(value)
  if (wrong !== null) return wrong
  const pairs = value as readonly (readonly [NodeId, number])[]
  const isRising = pairs.every(
    ([id], at) => at === 0 || compareIds((pairs[at - 1] as readonly [NodeId, number])[0], id) < 0,
  )
  return isRising ? null : ': must be sorted by id, without duplicates'
}

const numbered = pair(number, (value) => (value === null ? null : node(value)))
const viewId: Check = (value) => {
  const wrong = numbered(value)
  if (wrong !== null) return wrong
  const [n, leader] = value as readonly [number, NodeId | null]
  return (n === 0) === (leader === null) ? null : ': must have a leader exactly if the number is not 0'
}

const view = fields({ id: viewId, members }, (value) => {
  const { id, members: pairs } = value as { id: readonly [number, NodeId]; members: readonly [NodeId][] }
  const isIn = id[0] === 0 ? pairs.length === 0 : pairs.some(([member]) => member === id[1])
  return isIn ? null : ': must contain its leader'
})

export const stable = fields({
  life,
  view,
  promised: viewId,
  formed: view,
  attempts: listOf(view, MOST_LEADERS),
})

/** Selects the check by the field `kind`. */
const ofKind = (kinds: { readonly [kind: string]: Check }): Check => {
  const checks = new Map(Object.entries(kinds))
  return (value) => {
    const kind = (value as { kind?: unknown } | null)?.kind
    const check = typeof kind === 'string' ? checks.get(kind) : undefined
    return check === undefined ? '.kind: unknown message' : check(value)
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
    attempts: listOf(view, MOST_LEADERS),
    links: listOf(node, MOST_LEADERS),
    torn: flag,
    aside: flag,
  }),
  cand: fields({ kind, n: proposed, members, base: viewId }),
  cancel: fields({ kind, n: proposed }),
  accept: fields({ kind, n: proposed, formed: view, attempts: listOf(view, MOST_LEADERS) }),
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

/** The problem of a message of Omega+; null when it is valid, or its kind belongs to another protocol. */
export function findOmegaFault(body: Message): string | null {
  const wrong = DATAGRAMS.get(body.kind)?.(body) ?? null
  return wrong === null ? null : `${body.kind}${wrong}`
}
