/** A value that is not valid; `field` names where it was given, `problem` says what is wrong with it. */
export class InvalidFieldError extends Error {
  readonly field: string
  readonly problem: string

  constructor(field: string, problem: string, options?: ErrorOptions) {
    super(`${field}: ${problem}`, options)
    this.field = field
    this.problem = problem
  }
}

/** The description of a group or a peer is not valid. */
export class InvalidGroupError extends InvalidFieldError {
  override readonly name = 'InvalidGroupError'
}
