/** Errors between threads. Structured cloning loses classes and own fields; this keeps class, fields, stack and cause. */
import * as registerErrors from '../../registers/errors.ts'
import {
  DamagedStorageError,
  InvalidKeyError,
  LaterIncarnationError,
  StorageFailedError,
  StorageInUseError,
  StorageLockError,
  UnusableFolderError,
  UnusableIncarnationError,
} from '../../runtime/index.ts'
import { InvalidOptionsError, StoreFailedError } from '../api/errors.ts'

type Plain = string | number | boolean | null | readonly Plain[] | { readonly [field: string]: Plain }

export type SerializedError = {
  readonly name: string
  readonly message: string
  readonly stack: string | null
  /** Own fields such as `code`, `field` and `syscall`. */
  readonly fields: { readonly [field: string]: Plain }
  readonly cause: SerializedError | null
}

/** The classes that callers can catch by `instanceof`. Other errors keep their name, code and fields. */
const CLASSES: readonly { readonly name: string; readonly prototype: object }[] = [
  DamagedStorageError,
  InvalidKeyError,
  InvalidOptionsError,
  LaterIncarnationError,
  StorageFailedError,
  StorageInUseError,
  StorageLockError,
  StoreFailedError,
  UnusableFolderError,
  UnusableIncarnationError,
  ...Object.values(registerErrors).filter((value) => value.prototype instanceof Error),
]

/** A longer chain of causes is cut. */
const MAX_CAUSES = 8
const HANDLED = ['name', 'message', 'stack', 'cause']

export function serializeError(thrown: unknown, depth = 0): SerializedError {
  const error = thrown instanceof Error ? thrown : new Error(String(thrown))
  const { name, message, stack = null, cause } = error
  const fields = Object.entries(error).filter(([field, value]) => !HANDLED.includes(field) && isPlain(value))
  return {
    name,
    message,
    stack,
    fields: Object.fromEntries(fields),
    cause: cause === undefined || depth === MAX_CAUSES ? null : serializeError(cause, depth + 1),
  }
}

export function deserializeError({ name, message, stack, fields, cause }: SerializedError): Error {
  const error = new Error(message, cause === null ? {} : { cause: deserializeError(cause) })
  const known = CLASSES.find((each) => each.name === name)
  if (known !== undefined) Object.setPrototypeOf(error, known.prototype)
  return Object.assign(error, fields, { name }, stack === null ? {} : { stack })
}

function isPlain(value: unknown): value is Plain {
  if (value === null || ['string', 'number', 'boolean'].includes(typeof value)) return true
  if (Array.isArray(value)) return value.every(isPlain)
  return (
    typeof value === 'object' &&
    Object.getPrototypeOf(value) === Object.prototype &&
    Object.values(value).every(isPlain)
  )
}
