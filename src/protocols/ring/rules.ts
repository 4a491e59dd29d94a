/** Rules that the lecture leaves out (README.md, R2 and R6). Tests replace them by the rules of a defect (defects.ts). */
import type { NodeId } from '../../core/index.ts'
import type { Key } from './messages.ts'

export type RingRules = {
  /** Whether a node joins, or joins again, when it receives a smaller identifier than its own. */
  shouldAnswerSmaller(isParticipant: boolean): boolean
  /** A node's identifier in an election, given its current identifier and the identifier with which it joined. */
  keyInElection(present: Key, frozen: Key | null): Key
  /** Whether a message carries the node's own identifier. */
  isOwn(key: Key, self: NodeId, own: Key): boolean
}

export const RULES: RingRules = {
  shouldAnswerSmaller: (isParticipant) => !isParticipant,
  keyInElection: (present, frozen) => frozen ?? present,
  isOwn: (key, self) => key.node === self,
}
