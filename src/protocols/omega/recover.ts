/**
 * Stable data of Omega+ that is undamaged but unusable: view numbers or lives out of range.
 *
 * What a node has installed and recorded binds the others, so one node alone cannot give it up: with dynamic voting two
 * majorities could follow. All nodes of the group are recovered together, while none of them runs. Then no view is
 * installed anywhere, and the group begins as a new one does, with a majority of all nodes, under larger numbers.
 */
import type { NodeId, Plain } from '../../core/index.ts'
import { checkedStable } from './stable.ts'
import { MOST_LEADERS, MOST_VIEWS, NO_VIEW, type OmegaStable } from './state.ts'
import { whole } from './wire.ts'

export type OmegaRemedy = {
  readonly self: NodeId
  /** Seconds of the wall clock: a sound group has had fewer views. */
  readonly second: number
  /** The largest token that anybody has seen; 0 when none is larger. */
  readonly above: number
}

/** Null when the data is usable as it is, unless `force`. Throws a RangeError that says what is missing. */
export function recoverOmega(
  data: Plain,
  { self, second, above }: OmegaRemedy,
  force: boolean,
): { readonly stable: Plain; readonly changes: readonly string[] } | null {
  const wrong = problemIn(data)
  if (wrong === null && !force) return null
  const { layer, upper } = (data ?? {}) as { readonly layer?: Plain; readonly upper?: Plain }
  const { life, promised } = (upper ?? {}) as { readonly life?: Plain; readonly promised?: Plain }
  const isWhole = (value: unknown, most: number): value is number => whole(1, most)(value) === null
  const last = Array.isArray(promised) && isWhole(promised[0], MOST_VIEWS - 1) ? promised[0] : 0
  const number = Math.max(second, Math.ceil(above / MOST_LEADERS), last)
  if (number >= MOST_VIEWS) throw new RangeError(`above: must be below ${MOST_VIEWS * MOST_LEADERS}`)
  const stable: OmegaStable = {
    life: isWhole(life, 2 ** 51) ? life : second,
    view: NO_VIEW,
    promised: [number, self],
    formed: NO_VIEW,
    attempts: [],
  }
  return {
    stable: { layer: isWhole(layer, 2 ** 51) ? layer : second, upper: stable as unknown as Plain },
    changes: [
      ...(wrong === null ? [] : [wrong]),
      `no view is remembered, and every one up to number ${number} is promised`,
    ],
  }
}

function problemIn(data: Plain): string | null {
  try {
    checkedStable(data)
    return null
  } catch (error) {
    return (error as { readonly problem?: string }).problem ?? (error as Error).message
  }
}
