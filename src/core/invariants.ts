/**
 * Invariants of every election, asserted in production: cheap, and always on.
 *
 * A failed assertion means a bug. The runtime then ends the term, stops the node and leaves its black box.
 */
import { fail } from './assert.ts'
import type { Output } from './contract.ts'
import type { Micros } from './units.ts'

/** Epochs, tokens and the ends of locks only grow. */
export function assertNoDecrease(what: string, before: number, after: number): void {
  if (!(after >= before)) fail(`${what} decreased from ${before} to ${after}`)
}

/** A lease counts from the moment of its request: votes may have been cast any time after it. */
export function assertLease(until: Micros, requestedAt: Micros, length: Micros): void {
  if (!(until <= requestedAt + length)) {
    fail(`the lease ends ${until - requestedAt} µs after its request, but may last only ${length} µs`)
  }
}

/** The last term of a node in a group. */
export type TermRecord = { readonly token: number | null; readonly isOver: boolean }

/** Follows `elected` and `demoted`: a term starts once, ends once, and its token is no smaller than the one before. */
export function nextTerm(last: TermRecord | null, event: Output): TermRecord | null {
  if (event.type === 'elected') {
    const token = (event['token'] ?? null) as number | null
    if (last !== null && !last.isOver) fail(`a term starts (token ${token}) during another (${last.token})`)
    if (last !== null && last.token !== null && token !== null)
      assertNoDecrease('the token', last.token, token)
    return { token: token ?? last?.token ?? null, isOver: false }
  }
  if (event.type !== 'demoted') return last
  if (last === null || last.isOver) fail('a term ends, but none is under way')
  return { token: last.token, isOver: true }
}
