/**
 * Fences all other nodes before this node leads: section 6 of Dharmadeep & Gopinath 2006.
 *
 * The protocol requests fencing once START lets the leader act, and acts only when every target is confirmed. Meanwhile
 * it renews. On any failure this node does not lead: it steps down and reports why, and another node may try.
 */
import type { NodeId } from '../../../core/index.ts'
import { type FencingConfig, openDevice } from '../../fencing/config.ts'
import { establish, type FenceDevice, type FenceResult } from '../../fencing/devices.ts'

export type FencerHooks = {
  /** All targets are fenced, confirmed with this token. */
  confirmed(token: number, targets: readonly NodeId[]): void
  failed(why: string): void
}

export class Fencer {
  readonly #self: string
  readonly #devices: readonly FenceDevice[]
  readonly #hooks: FencerHooks
  #under: { readonly token: number; readonly abort: AbortController } | null = null

  constructor(self: string, devices: readonly FencingConfig[], hooks: FencerHooks) {
    this.#self = self
    this.#devices = devices.map(openDevice)
    this.#hooks = hooks
  }

  get isNeeded(): boolean {
    return this.#devices.length > 0
  }

  async fence(token: number, targets: readonly NodeId[]): Promise<void> {
    this.stop(null)
    const under = { token, abort: new AbortController() }
    this.#under = under
    // The empty id stands for nodes that may join a node that is alone.
    const outside = targets.filter((id) => id !== '').map(String)
    const orders = { by: this.#self, token, inside: [this.#self], outside }
    const answer = await establish(this.#devices, orders, under.abort.signal)
    if (this.#under !== under) return
    this.#under = null
    if (answer.outcome === 'confirmed') this.#hooks.confirmed(token, targets)
    else this.#hooks.failed(whyNot(answer))
  }

  /** Aborts fencing that runs with another token. */
  stop(token: number | null): void {
    if (this.#under === null || this.#under.token === token) return
    this.#under.abort.abort()
    this.#under = null
  }
}

function whyNot(answer: Exclude<FenceResult, { outcome: 'confirmed' }>): string {
  if (answer.outcome === 'unknown') return `${answer.at}: ${answer.why}`
  const newer = answer.current === null ? '' : ` (token ${answer.current} was there)`
  return `${answer.at} refused${newer}: ${answer.why}`
}
