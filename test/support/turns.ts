/**
 * Measures elections with each election order: how long the group is without a leader, and how often candidates
 * collide.
 */
import type { NodeId, PlainObject } from '../../src/core/index.ts'
import { ids, simulate } from './run.ts'

export type Turn = {
  /** From the moment the first leader is removed, or crashes, to the next leader. */
  readonly gapMs: number
  /** Elections started (ticks) and ballots written after that moment. One of each is enough. */
  readonly ticks: number
  readonly ballots: number
  readonly violated: readonly string[]
}

const AT_MS = 1500

function world(seed: number, nodes: number, options: PlainObject): PlainObject {
  return {
    protocol: 'epochs',
    nodes: [...ids(nodes)],
    seed,
    options,
    clocks: { driftPpm: 500 },
    registers: { delayMs: [1, 5], timeoutMs: 1000 },
    untilMs: AT_MS,
  }
}

/** `gone`: how many of the next candidates crash with the leader. */
export function turnRun(
  seed: number,
  nodes: number,
  options: PlainObject,
  how: 'crash' | 'stepDown',
  gone = 0,
): Turn {
  const file = world(seed, nodes, options)
  // The same seed gives the same leader up to then.
  const [first] = simulate(file, {}).leaders
  if (typeof first !== 'number') throw new Error('there is not exactly one leader')
  const others = Array.from({ length: nodes - 1 }, (_, index) => ((first + index) % nodes) + 1)
  let ticks = 0
  let ballots = 0
  const last = new Map<NodeId, { readonly ctr: number; readonly pbal: number }>()
  const report = simulate(
    {
      ...file,
      events: [
        ...others.slice(0, gone).map((node) => ({ atMs: AT_MS, crash: node })),
        how === 'crash'
          ? { atMs: AT_MS, crash: first }
          : { atMs: AT_MS, command: { node: first, do: 'stepDown' } },
      ],
      untilMs: 2 * AT_MS,
    },
    {
      record(record) {
        if (record.type !== 'step') return
        for (const effect of record.effects) {
          if (effect.type !== 'register' || effect.call.op !== 'write') continue
          const { ctr, pbal, bal } = effect.call.value as { ctr: number; pbal: number; bal: number }
          const before = last.get(record.node) ?? { ctr: 0, pbal: 0 }
          last.set(record.node, { ctr, pbal })
          if (record.at < AT_MS * 1000) continue
          // The block of a leader's renewal carries its vote; that of any other tick does not.
          if (ctr > before.ctr && bal === 0) ticks += 1
          if (pbal > before.pbal) ballots += 1
        }
      },
    },
  )
  const next = report.leaderships.find(({ fromMs }) => fromMs > AT_MS)
  const violated = report.specs.flatMap(({ name, verdict }) => (verdict === 'violated' ? [name] : []))
  return { gapMs: (next?.fromMs ?? Number.POSITIVE_INFINITY) - AT_MS, ticks, ballots, violated }
}

export type TurnTally = {
  readonly medianMs: number
  readonly mostMs: number
  /** More than one election was started. */
  readonly contended: number
  readonly ballots: number
  readonly violated: readonly string[]
}

export function turnRuns(
  count: number,
  nodes: number,
  options: PlainObject,
  how: 'crash' | 'stepDown',
  gone = 0,
): TurnTally {
  const runs = Array.from({ length: count }, (_, index) => turnRun(index + 1, nodes, options, how, gone))
  const gaps = runs.map(({ gapMs }) => gapMs).sort((a, b) => a - b)
  return {
    medianMs: gaps[Math.floor(gaps.length / 2)] ?? Number.NaN,
    mostMs: gaps.at(-1) ?? Number.NaN,
    contended: runs.filter(({ ticks }) => ticks > 1).length,
    ballots: runs.reduce((sum, { ballots }) => sum + ballots, 0),
    violated: runs.flatMap(({ violated }) => violated),
  }
}
