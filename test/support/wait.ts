/** Waiting for real processes: for a condition, never for a duration. */
import { vi } from 'vitest'

/** Lets everything else happen until something is so. */
export function until(isSo: () => boolean): Promise<unknown> {
  return vi.waitUntil(isSo, { timeout: 25_000, interval: 2 })
}

/** A promise that a test settles itself. */
export function pending<T = void>(): { readonly promise: Promise<T>; resolve(value: T): void } {
  let settle: (value: T) => void = () => {}
  const promise = new Promise<T>((resolve) => {
    settle = resolve
  })
  return { promise, resolve: (value) => settle(value) }
}
