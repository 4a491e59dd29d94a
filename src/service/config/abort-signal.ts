/** In a file of its own, because the thread of a job needs nothing else of this folder. */

/** A signal of another realm or of a polyfill is not an instance of this realm's class. */
export function isAbortSignal(value: unknown): value is AbortSignal {
  if (value === null || typeof value !== 'object') return false
  const { aborted, addEventListener, removeEventListener } = value as { readonly [field: string]: unknown }
  return (
    typeof aborted === 'boolean' &&
    typeof addEventListener === 'function' &&
    typeof removeEventListener === 'function'
  )
}
