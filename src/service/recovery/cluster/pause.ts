/** Waits; rejects with the signal's reason when it is aborted. Does not keep the process running. */
import { setTimeout } from 'node:timers/promises'

export async function pause(ms: number, signal: AbortSignal): Promise<void> {
  try {
    await setTimeout(ms, undefined, { signal, ref: false })
  } catch {
    signal.throwIfAborted()
  }
}
