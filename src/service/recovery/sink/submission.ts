/** The id of a submission at the sink. Sinks compare ids as text: a later job of the same name has the larger id. */
import type { Assignment } from '../../../recovery/manager/types.ts'

const DIGITS = 16

export const SUBMISSION_FORM = /^\d{16}-\d{16}$/

export function submissionOf([token, n]: Assignment): string {
  return `${String(token).padStart(DIGITS, '0')}-${String(n).padStart(DIGITS, '0')}`
}
