/** The cause of the end of a term, for operators: one word, and one sentence that names the node. */
import type { NodeId } from '../../../core/index.ts'
import type { Cause, CauseKind } from '../../runtime/index.ts'
import type { Loss, LossReason } from './loss-reason.ts'

/** The kind of each reason, and its sentence after the id of the node. */
const MEANINGS: { readonly [reason in LossReason]: readonly [CauseKind, string] } = {
  expired: ['unknown', 'did not renew its lease in time'],
  suspended: ['slept', 'slept: its host was suspended'],
  stalled: ['late', 'did not renew its lease, because its application was blocked'],
  'stepped down': ['stepped-down', 'stepped down'],
  stopped: ['stepped-down', 'was asked to stop leading'],
  unhealthy: ['stepped-down', 'was unhealthy'],
  closed: ['stepped-down', 'was closed'],
  outranked: ['handed-over', 'handed over to a node of higher rank'],
  'term over': ['handed-over', 'handed over: its term was over'],
  'no longer a voter': ['handed-over', 'handed over: it is no longer a voter'],
  withdrew: ['stepped-down', 'is no longer a candidate'],
  'left the view': ['partitioned', 'left its view'],
  'another view': ['partitioned', 'led a view that a newer view replaced'],
  'out of quorum': ['partitioned', 'lost its quorum'],
  deposed: ['unknown', 'was deposed'],
  failed: ['crashed', 'failed'],
  'lease too short': ['unknown', 'had too little time left'],
}

export function causeOf(id: NodeId, { reason, detail, kind, node }: Loss): Cause {
  const [usual, sentence] = MEANINGS[reason]
  return { kind: kind ?? usual, node: node ?? id, text: textOf(id, sentence, detail) }
}

function textOf(id: NodeId, sentence: string, detail: string | null): string {
  if (detail === null) return `${id} ${sentence}`
  // A detail is about `this node`, which other nodes know by its id.
  if (detail.startsWith('this node ')) return `${id}${detail.slice('this node'.length)}`
  return `${id} ${sentence}: ${detail}`
}
