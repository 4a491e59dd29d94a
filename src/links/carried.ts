/** What the messages of the layers carry: for transcripts, diagrams and counts. */
import { isList, type Message, type Plain } from '../core/index.ts'

/**
 * The messages of protocols in a message on the wire. Empty for a message that a layer sends for itself or repeats.
 * `group`: only those of this group, where several groups share a session. The message may come from a damaged trace.
 */
export function carriedMessages(body: Message, group: string | null = null): readonly Message[] {
  const inner = body['body'] ?? null
  switch (body.kind) {
    case 'datagram':
      return isMessage(inner) ? carriedMessages(inner, group) : []
    case 'frame':
    case 'data':
      return isMessage(inner) && body['again'] !== true ? carriedMessages(inner, group) : []
    case 'bundle':
      return partsOf(body['parts'] ?? null).flatMap((part) =>
        group === null || part.group === group ? carriedMessages(part.body, group) : [],
      )
    default:
      return [body]
  }
}

type CarriedPart = { readonly group: Plain; readonly body: Message }

function partsOf(parts: Plain): readonly CarriedPart[] {
  if (!isList(parts)) return []
  return parts.flatMap((part) => {
    if (typeof part !== 'object' || part === null || isList(part)) return []
    const body = part['body'] ?? null
    return isMessage(body) ? [{ group: part['group'] ?? null, body }] : []
  })
}

function isMessage(value: Plain): value is Message {
  return typeof value === 'object' && value !== null && !isList(value) && typeof value['kind'] === 'string'
}
