/** Errors that reach the top of a job. */

/** By the code: an error that was in the thread of a module has no class. */
export function isStorageFailure(error: unknown): error is Error {
  const { code } = error instanceof Error ? (error as { readonly code?: unknown }) : {}
  return code === 'ERR_CONCLAVE_CHECKPOINT_DISK_FULL' || code === 'ERR_CONCLAVE_CHECKPOINT_FAILED'
}

export function describeThrown(error: unknown): string {
  if (!(error instanceof Error)) return `threw ${String(error)}`
  const { code } = error as { readonly code?: unknown }
  return `${typeof code === 'string' ? code : error.name}: ${error.message}`
}
