/** One error that callers can meet. */
import { EXIT } from './errors.ts'

export type CatalogueEntry = {
  /** The name of the class. */
  readonly name: string
  /** The package's door that exports the class; null where only its code is public. */
  readonly door: string | null
  readonly meaning: string
  readonly action: string
  readonly exit: number
}

export const entry = (
  name: string,
  door: string | null,
  meaning: string,
  action: string,
  exit: number = EXIT.failure,
): CatalogueEntry => ({ name, door, meaning, action, exit })
