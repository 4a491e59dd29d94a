/** Waiting for real processes: for a condition, never for a duration. */
import { vi } from 'vitest'

/** Yields to the event loop until the condition holds. More checks per second would cost more than they save. */
export function until(isSo: () => boolean): Promise<unknown> {
  return vi.waitUntil(isSo, { timeout: 25_000, interval: 10 })
}

/** A promise that the test settles itself. */
export function pending<T = void>(): { readonly promise: Promise<T>; resolve(value: T): void } {
  let settle: (value: T) => void = () => {}
  const promise = new Promise<T>((resolve) => {
    settle = resolve
  })
  return { promise, resolve: (value) => settle(value) }
}
