/** A group or a peer that cannot be as it is described; the message names what is wrong. */
export class BadGroup extends Error {
  override readonly name = 'BadGroup'
  readonly field: string
  readonly problem: string

  constructor(field: string, problem: string) {
    super(`${field}: ${problem}`)
    this.field = field
    this.problem = problem
  }
}
