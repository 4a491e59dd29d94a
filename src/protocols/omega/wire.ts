/**
 * What may come from another process in a group of Omega+, checked to the last field: the links' own datagrams, and in
 * frames the protocol's messages. Whatever is not exactly so is no message at all.
 */
import { z } from 'zod'
import { compareIds, type Message, type NodeId } from '../../core/index.ts'
import { HISTORY_KINDS } from '../../links/index.ts'
import { MOST_LEADERS } from './state.ts'

/** A token is a view's number times MOST_LEADERS, and must stay a whole number. */
const MOST_VIEWS = 2 ** 39
const MOST_LIFE = Number.MAX_SAFE_INTEGER - 1

const count = z.int().min(0)
const number = z.int().min(0).max(MOST_VIEWS)
const proposed = z.int().min(1).max(MOST_VIEWS)
const life = z.int().min(1).max(MOST_LIFE)
const node = z.union([z.string().min(1), z.number()])

const isRising = (ids: readonly NodeId[]): boolean =>
  ids.every((id, place) => place === 0 || compareIds(ids[place - 1] as NodeId, id) < 0)

const members = z
  .array(z.tuple([node, life]))
  .max(MOST_LEADERS)
  .refine((pairs) => isRising(pairs.map(([id]) => id)), { error: 'members are in order, each once' })

const viewId = z
  .tuple([number, node.nullable()])
  .refine(([n, leader]) => (n === 0) === (leader === null), { error: 'a number and a leader go together' })

export const viewSchema = z
  .strictObject({ id: viewId, members })
  .refine(
    ({ id: [, leader], members: pairs }) =>
      leader === null ? pairs.length === 0 : pairs.some(([id]) => id === leader),
    { error: 'a leader is in its view' },
  )

export const stableSchema = z.strictObject({
  life,
  view: viewSchema,
  promised: viewId,
  attempts: z.array(viewSchema),
})

const message = z.discriminatedUnion('kind', [
  z.strictObject({
    kind: z.literal('status'),
    life,
    ok: z.boolean(),
    view: viewSchema,
    promised: number,
    links: z.array(node).max(MOST_LEADERS),
    torn: z.boolean(),
    aside: z.boolean(),
  }),
  z.strictObject({ kind: z.literal('cand'), n: proposed, members, base: viewId }),
  z.strictObject({ kind: z.literal('cancel'), n: proposed }),
  z.strictObject({ kind: z.literal('accept'), n: proposed, view: viewSchema, attempts: z.array(viewSchema) }),
  z.strictObject({ kind: z.literal('withdraw'), n: proposed }),
])

const header = { by: life, for: count, count, received: count }

const datagram = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.literal('ping'), ...header, no: count, echo: z.int().min(-1) }),
  z.strictObject({ kind: z.literal('ack'), ...header }),
  z.strictObject({ kind: z.literal('frame'), ...header, seq: count, again: z.boolean(), body: message }),
])

/** What is wrong with a message of a kind that Omega+ sends; null when nothing is, or it is of another kind. */
export function omegaFault(body: Message): string | null {
  if (!(HISTORY_KINDS as readonly string[]).includes(body.kind)) return null
  const result = datagram.safeParse(body)
  if (result.success) return null
  const issue = result.error.issues[0]
  return `${body.kind}: ${issue?.path.join('.') ?? ''}: ${issue?.message ?? 'cannot be read'}`
}
