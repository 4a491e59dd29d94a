/** The cause of the end of a term, for operators: one word, and one sentence that names the node. */
import type { NodeId } from '../../../core/index.ts'
import type { Cause, CauseKind } from '../../runtime/index.ts'
import type { LossReason } from './loss-reason.ts'

const KINDS: { readonly [reason in LossReason]: CauseKind } = {
  expired: 'unknown',
  suspended: 'slept',
  stalled: 'late',
  'stepped down': 'stepped-down',
  stopped: 'stepped-down',
  unhealthy: 'stepped-down',
  closed: 'stepped-down',
  outranked: 'handed-over',
  'term over': 'handed-over',
  'no longer a voter': 'handed-over',
  withdrew: 'stepped-down',
  'left the view': 'partitioned',
  'another view': 'partitioned',
  'out of quorum': 'partitioned',
  deposed: 'unknown',
  failed: 'crashed',
  'lease too short': 'unknown',
}

export function causeOf(node: NodeId, reason: LossReason, detail: string | null): Cause {
  return {
    kind: KINDS[reason],
    node,
    text: detail === null ? `${node}: ${reason}` : `${node}: ${reason}: ${detail}`,
  }
}
