/** Classifies the events of scenarios and schedules by how the diagram shows them. */
import {
  isList,
  type Micros,
  microsOf,
  type NodeId,
  type Plain,
  type PlainObject,
} from '../../../core/index.ts'
import { worldText } from '../text.ts'

export type Fault =
  | { readonly type: 'crash'; readonly node: NodeId }
  | { readonly type: 'stall'; readonly node: NodeId; readonly length: Micros; readonly word: string }
  | { readonly type: 'notice'; readonly text: string }

/** Null if another record shows the event: a restart shows as a start, a command as a step. */
export function faultOf(event: PlainObject): Fault | null {
  const { crash, pause, suspend, forMs, node, do: word } = event
  // A crash that waits for a step with enough effects shows in that step.
  if (isNode(crash)) return event['afterEffects'] === undefined ? { type: 'crash', node: crash } : null
  if (word === 'crash' && isNode(node)) return { type: 'crash', node }
  const length = microsOf(typeof forMs === 'number' ? forMs : 0)
  if (isNode(pause)) return { type: 'stall', node: pause, length, word: 'paused' }
  if (isNode(suspend)) return { type: 'stall', node: suspend, length, word: 'suspended' }
  if ('recover' in event || 'command' in event || word === 'deliver') return null
  return { type: 'notice', text: noticeText(event) }
}

function isNode(value: Plain | undefined): value is NodeId {
  return typeof value === 'number' || typeof value === 'string'
}

function noticeText(event: PlainObject): string {
  const { do: word, node, peer, ...rest } = event
  if ((word === 'cut' || word === 'heal') && isNode(node) && isNode(peer))
    return `${word} ${node}\u2013${peer}`
  const [first] = Object.entries(rest)
  if (first === undefined) return worldText(event)
  const [kind, value] = first
  if (kind === 'partition') return `partition ${listText(value, ' ', ' | ')}`
  if (kind === 'cutOneWay') return `cut ${listText(value, '\u2192', ', ')}`
  if (['cut', 'heal', 'links', 'slow'].includes(kind)) return `${kind} ${listText(value, '\u2013', ', ')}`
  return worldText(event)
}

/** A list of lists, or a word such as "all". */
function listText(value: Plain, inner: string, outer: string): string {
  if (!isList(value)) return plainText(value)
  return value.map((each) => (isList(each) ? each.map(plainText).join(inner) : plainText(each))).join(outer)
}

function plainText(value: Plain): string {
  return typeof value === 'string' ? value : JSON.stringify(value)
}
