/**
 * Fault injection for tests of a group: datagrams from a peer are held back, delayed or lost. Faults are injected at the
 * receiver, so each direction of a link has its own.
 */
import type { NodeId } from '../../core/index.ts'

/** The fault of the datagrams from one peer. */
export type LinkFault =
  | { readonly cut: true }
  | {
      readonly cut: false
      /** The delay range, drawn for each datagram: datagrams may overtake each other. */
      readonly delayMs: readonly [number, number]
      /** Part of them that is lost, 0 to 1. */
      readonly loss: number
    }

/**
 * By the sending peer. Datagrams of peers that are not listed arrive unchanged. Plain data, so that it can be sent to
 * another process.
 */
export type NetworkFaults = { readonly [from: string]: LinkFault }

export class FaultyNetwork {
  #faults = new Map<string, LinkFault>()
  readonly #held = new Set<NodeJS.Timeout>()

  /** Replaces the faults. Datagrams that are already delayed still arrive on time. */
  set(faults: NetworkFaults): void {
    this.#faults = new Map(Object.entries(faults))
  }

  /** Delivers a datagram now, later or never, depending on the fault. */
  pass(from: NodeId, arrive: () => void): void {
    const fault = this.#faults.get(String(from))
    if (fault === undefined) arrive()
    else if (!fault.cut && Math.random() >= fault.loss) this.#later(fault.delayMs, arrive)
  }

  /** Discards all delayed datagrams. */
  close(): void {
    for (const timer of this.#held) clearTimeout(timer)
    this.#held.clear()
  }

  #later([least, most]: readonly [number, number], arrive: () => void): void {
    const delay = least + Math.random() * (most - least)
    if (delay === 0) {
      arrive()
      return
    }
    const timer = setTimeout(() => {
      this.#held.delete(timer)
      arrive()
    }, delay)
    this.#held.add(timer)
  }
}
