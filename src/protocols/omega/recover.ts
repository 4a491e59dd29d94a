/**
 * Recovery of stable data of Omega+ that is readable but unusable: view numbers or lives are out of range.
 *
 * What a node has installed and recorded binds the other nodes, so it cannot be discarded on one node alone: with dynamic
 * voting two majorities could result. All nodes of the group are recovered together, while none of them runs. Afterwards
 * no view is installed, and the group starts like a new one: with a majority of all nodes, and with larger numbers.
 */
import type { NodeId, Plain } from '../../core/index.ts'
import { whole } from '../message-checks.ts'
import { checkedStable } from './stable.ts'
import { MOST_LEADERS, MOST_VIEWS, NO_VIEW, type OmegaStable } from './state.ts'

export type OmegaRecovery = {
  readonly self: NodeId
  /** Seconds of the wall clock. A healthy group has had fewer views than that. */
  readonly second: number
  /** The largest token that was ever observed; 0 when unknown. */
  readonly above: number
}

/** Null when the data is usable, unless `force` is set. Throws a RangeError that says what is missing. */
export function recoverOmega(
  data: Plain,
  { self, second, above }: OmegaRecovery,
  force: boolean,
): { readonly stable: Plain; readonly changes: readonly string[] } | null {
  const wrong = findProblem(data)
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
      `forgets all views, and promises every view up to number ${number}`,
    ],
  }
}

function findProblem(data: Plain): string | null {
  try {
    checkedStable(data)
    return null
  } catch (error) {
    return (error as { readonly problem?: string }).problem ?? (error as Error).message
  }
}
