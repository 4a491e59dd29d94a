/** Something that was said cannot be; the message names the field in which it was said. */
export class BadField extends Error {
  readonly field: string
  readonly problem: string

  constructor(field: string, problem: string) {
    super(`${field}: ${problem}`)
    this.field = field
    this.problem = problem
  }
}

/** A group or a peer that cannot be as it is described. */
export class BadGroup extends BadField {
  override readonly name = 'BadGroup'
}
