/** Which record of a trace made a message get lost. */
import { isList, type NodeId, type Plain, type PlainObject } from '../../../core/index.ts'
import type { LossReason } from '../records.ts'
import { isNode, type Past } from './past.ts'

/** Null: nothing in the trace, but the scenario as a whole. `record`: that of the loss. */
export function sourceOfLoss(
  past: Past,
  {
    from,
    to,
    message,
    why,
    record,
  }: {
    readonly from: NodeId
    readonly to: NodeId
    readonly message: number
    readonly why: LossReason
    readonly record: number
  },
): number | null {
  // A message that is lost when it is sent has its record before that of its step, but after the event.
  const lastEvent = (test: (event: PlainObject) => boolean): number | null =>
    past.last(record, (each) => each.type === 'world' && test(each.event))
  switch (why) {
    case 'dropped':
      return lastEvent((event) => event['drop'] === message)
    case 'chance':
      return lastEvent(({ loss }) => typeof loss === 'number' && loss > 0)
    case 'rule':
      return lastEvent(({ rules }) => isList(rules ?? null))
    case 'down':
      return lastAbsence(past, to, record)
    case 'cut':
      return (
        lastEvent((event) => closes(event, from, to)) ??
        lastAbsence(past, to, record) ??
        lastAbsence(past, from, record)
      )
    default:
      return why satisfies never
  }
}

function lastAbsence(past: Past, node: NodeId, before: number): number | null {
  const known = past.absences.filter(
    (absence) => absence.node === node && absence.kind === 'down' && absence.record < before,
  )
  return known.length === 0 ? null : Math.max(...known.map(({ record }) => record))
}

/** Whether an event closes the link from one node to another. */
export function closes(event: PlainObject, from: NodeId, to: NodeId): boolean {
  const { partition, cut, cutOneWay, links, do: word, node, peer } = event
  if (word === 'cut' || word === 'flip') return isPair([node ?? null, peer ?? null], from, to)
  if (isList(partition ?? null)) {
    const blocks = partition as readonly Plain[]
    const blockOf = (id: NodeId): number => blocks.findIndex((block) => isList(block) && block.includes(id))
    return blockOf(from) !== blockOf(to)
  }
  if (isList(cut ?? null)) return (cut as readonly Plain[]).some((pair) => isPair(pair, from, to))
  if (isList(cutOneWay ?? null)) {
    return (cutOneWay as readonly Plain[]).some((pair) => isList(pair) && pair[0] === from && pair[1] === to)
  }
  return isList(links ?? null) && !(links as readonly Plain[]).some((pair) => isPair(pair, from, to))
}

/** Whether an event opens the link between two nodes again. */
export function opens(event: PlainObject, a: NodeId, b: NodeId): boolean {
  const { heal, links, do: word, node, peer } = event
  if (word === 'heal' || word === 'flip') return isPair([node ?? null, peer ?? null], a, b)
  if (heal === 'all' || links === 'full') return true
  const pairs = heal ?? links ?? null
  return isList(pairs) && pairs.some((pair) => isPair(pair, a, b))
}

function isPair(pair: Plain, a: NodeId, b: NodeId): boolean {
  if (!isList(pair) || !pair.every(isNode)) return false
  return (pair[0] === a && pair[1] === b) || (pair[0] === b && pair[1] === a)
}
