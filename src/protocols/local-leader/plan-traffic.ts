/** The messages of a steady group on its guarantee card: computed, and counted in a simulation. */
import { count } from '../../core/text.ts'
import { roundToHundredth } from '../plan-text.ts'
import type { LoadCard, SteadyLoad } from '../planning.ts'
import type { Guarantees } from './guarantees.ts'

/** Sizes are those of the canonical texts. Kinds without a computed rate are those of the layer below. */
export function trafficOf(
  { traffic, timing }: Guarantees,
  { micros, kinds }: SteadyLoad,
  rotates: boolean,
): LoadCard {
  const computed: { readonly [kind: string]: number } = {
    Election: traffic.elections,
    Reply: traffic.replies,
    Heartbeat: traffic.heartbeats,
  }
  const seconds = micros / 1_000_000
  const names = [...new Set([...Object.keys(computed), ...Object.keys(kinds)])]
  const rows = names.map((kind) => {
    const { count: sent, bytes } = kinds[kind] ?? { count: 0, bytes: 0 }
    return {
      kind,
      computedPerSecond: roundToHundredth(computed[kind] ?? 0),
      measuredPerSecond: roundToHundredth(sent / seconds),
      bytes: sent === 0 ? 0 : Math.round(bytes / sent),
    }
  })
  const sum = (of: (row: (typeof rows)[number]) => number): number =>
    rows.reduce((total, row) => total + of(row), 0)
  const perSecond = traffic.elections + traffic.replies + traffic.heartbeats
  // Clocks may be fast, and each end of the measured time may include one more message of each kind.
  const once = (perSecond * Math.max(traffic.renewalPeriod, traffic.heartbeatPeriod)) / micros
  // On a tree, a vote that arrives too late to be gathered is forwarded by itself. Under rotation each hand-over adds a
  // Release and a round: less than one more renewal per renewal.
  const beside = (timing.isTree ? traffic.replies : 0) + (rotates ? traffic.elections + traffic.replies : 0)
  const card = {
    computed: {
      datagramsPerSecond: roundToHundredth(perSecond),
      bytesPerSecond: Math.round(sum((row) => row.computedPerSecond * row.bytes)),
    },
    measured: {
      datagramsPerSecond: roundToHundredth(sum((row) => row.measuredPerSecond)),
      bytesPerSecond: Math.round(sum((row) => row.measuredPerSecond * row.bytes)),
    },
    kinds: rows,
    exceeded: sum((row) => row.measuredPerSecond) > perSecond * (1 + timing.rho) + once + beside,
  }
  return { card, exceeded: card.exceeded ? ['traffic'] : [], rows: trafficRows(card) }
}

type TrafficCard = {
  readonly computed: { readonly datagramsPerSecond: number; readonly bytesPerSecond: number }
  readonly measured: { readonly datagramsPerSecond: number; readonly bytesPerSecond: number }
  readonly kinds: readonly {
    readonly kind: string
    readonly computedPerSecond: number
    readonly measuredPerSecond: number
    readonly bytes: number
  }[]
  readonly exceeded: boolean
}

function trafficRows({ computed, measured, kinds, exceeded }: TrafficCard): LoadCard['rows'] {
  const rate = (value: number): string => value.toFixed(1)
  const rowOf = (...cells: readonly string[]) => ({ cells, exceeded: false })
  return [
    rowOf('', 'computed /s', 'measured /s', 'bytes each'),
    ...kinds.map(({ kind, computedPerSecond, measuredPerSecond, bytes }) =>
      rowOf(kind, rate(computedPerSecond), rate(measuredPerSecond), String(bytes)),
    ),
    {
      cells: ['datagrams', rate(computed.datagramsPerSecond), rate(measured.datagramsPerSecond), ''],
      exceeded,
    },
    rowOf('bytes', count(computed.bytesPerSecond), count(measured.bytesPerSecond), ''),
  ]
}
