/** What a guarantee card is made for. */
import type { NodeId } from '../../core/index.ts'
import type { LocalLeaderOptions } from '../../protocols/local-leader/options.ts'
import type { Span } from '../scenario/scenario.ts'

/** Everything that the card and its simulations depend on; plain, so that threads can be given it. */
export type Plan = {
  readonly protocol: 'local-leader'
  readonly nodes: readonly NodeId[]
  readonly options: LocalLeaderOptions
  /** What is simulated; null: delays as the configuration assumes them. */
  readonly delayMs: Span | null
  readonly loss: number
  readonly seeds: number
}
