/** Something that was said cannot be; the message names the field in which it was said. */
export class InvalidFieldError extends Error {
  readonly field: string
  readonly problem: string

  constructor(field: string, problem: string) {
    super(`${field}: ${problem}`)
    this.field = field
    this.problem = problem
  }
}

/** A group or a peer that cannot be as it is described. */
export class InvalidGroupError extends InvalidFieldError {
  override readonly name = 'InvalidGroupError'
}
