/** Waiting for real processes: for a condition, never for a duration. */
import { vi } from 'vitest'

/** Lets everything else happen until something is so. */
export function until(isSo: () => boolean): Promise<unknown> {
  return vi.waitUntil(isSo, { timeout: 25_000, interval: 2 })
}
