/** What a caller may have to handle. */

/** The term is over, or so close to its end that nothing safe can be begun. */
export class LeadershipLost extends Error {
  override readonly name = 'LeadershipLost'
  /** Why, in one of a few words: expired, stepped down, outranked, suspended, closed, ... */
  readonly reason: string

  constructor(reason: string) {
    super(`this process no longer leads: ${reason}`)
    this.reason = reason
  }
}

/** Options that cannot work; the message names the one that is wrong. */
export class BadJoin extends Error {
  override readonly name = 'BadJoin'
  readonly field: string
  readonly problem: string

  constructor(field: string, problem: string) {
    super(`${field}: ${problem}`)
    this.field = field
    this.problem = problem
  }
}

/** The node was closed, by its owner or because it could not go on. */
export class NodeClosed extends Error {
  override readonly name = 'NodeClosed'
}
