/**
 * The record of a node as a candidate. A node that keeps failing loses its rank, and no longer announces its
 * candidacies, so that it does not block other candidates: its disk, its links or its configuration may be at fault, and
 * it cannot know. It regains its rank when a leader has named it among its supporters for several rounds in a row; the
 * more often it has failed, the more rounds.
 */
export type CandidateRecord = {
  /** Rounds that failed in a row, weighted: unanswered ones count more than refused ones. */
  readonly misses: number
  /** How often it has lost its rank, up to a limit. */
  readonly failures: number
  /** Rounds in a row that went well since it lost its rank; null: it has its rank. */
  readonly proofs: number | null
  /** A majority has answered its last probe. */
  readonly isProven: boolean
}

export const CLEAN_RECORD: CandidateRecord = { misses: 0, failures: 0, proofs: null, isProven: false }

/** A refused round may have a temporary cause: a lock of the last leader. A round without answers has none. */
const WEIGHT = { refused: 1, unanswered: 4 } as const
/** With this many misses it loses its rank: two rounds without answers, or eight refused. */
const MOST_MISSES = 8
const MOST_FAILURES = 3

/** Rounds in a row that must go well after this many failures. */
function neededProofs(failures: number): number {
  return 2 ** (2 + failures)
}

export function afterMiss(record: CandidateRecord, how: keyof typeof WEIGHT): CandidateRecord {
  const misses = record.misses + WEIGHT[how]
  return misses < MOST_MISSES ? { ...record, misses, isProven: false } : afterFailure(record)
}

export function afterFailure({ failures }: CandidateRecord): CandidateRecord {
  return { misses: 0, failures: Math.min(failures + 1, MOST_FAILURES), proofs: 0, isProven: false }
}

/** A round of the leader has named it, or not. The same record when nothing changes. */
export function afterRound(record: CandidateRecord, isNamed: boolean): CandidateRecord {
  const { misses, failures, proofs } = record
  if (!isNamed) return proofs === null || proofs === 0 ? record : { ...record, proofs: 0 }
  if (proofs === null) return misses === 0 ? record : { ...record, misses: 0 }
  const enough = proofs + 1 >= neededProofs(failures)
  return { ...record, misses: 0, proofs: enough ? null : proofs + 1 }
}

/** A leader has its rank. A node that has led for long has a clean record. */
export function afterWin(record: CandidateRecord, isLasting: boolean): CandidateRecord {
  const { misses, failures, proofs, isProven } = record
  const isClean = misses === 0 && proofs === null && !isProven && (failures === 0 || !isLasting)
  return isClean ? record : { ...CLEAN_RECORD, failures: isLasting ? 0 : failures }
}

/** One refusal may be due to a lock of the last leader. */
export function keepsFailing({ misses, proofs }: CandidateRecord): boolean {
  return misses > 1 || proofs !== null
}
