/** Worlds that stress the leases of epochs: 5 % drift, 3 % of all operations very late, crashes. */
import type { PlainObject } from '../../src/core/index.ts'
import { simulate } from './run.ts'

const UNTIL_MS = 60_000

/** A separate generator, so that the faults do not depend on what the world draws. */
function chance(seed: number): () => number {
  let x = Math.imul(seed, 7919) | 0
  return () => {
    x = (Math.imul(x, 1_664_525) + 1_013_904_223) | 0
    return (x >>> 0) / 2 ** 32
  }
}

function crashes(seed: number): readonly PlainObject[] {
  const draw = chance(seed)
  const events: { atMs: number; [field: string]: number }[] = []
  const downUntil = new Map<number, number>()
  for (let atMs = 500 + draw() * 3000; atMs < UNTIL_MS - 2000; atMs += 500 + draw() * 3000) {
    const node = 1 + Math.floor(draw() * 3)
    if ((downUntil.get(node) ?? 0) > atMs) continue
    const until = atMs + 20 + draw() * 800
    downUntil.set(node, until)
    events.push({ atMs, crash: node }, { atMs: until, recover: node })
  }
  return events.sort((a, b) => a.atMs - b.atMs)
}

/** The leader gives up its lease on command; the others start an election at once. */
function resignations(seed: number): readonly PlainObject[] {
  const draw = chance(seed + 104_729)
  const events: PlainObject[] = []
  for (let atMs = 300; atMs < UNTIL_MS - 2000; atMs += 100 + draw() * 400)
    events.push({ atMs, command: { node: 1 + Math.floor(draw() * 3), do: 'stepDown' } })
  return events
}

export type LeaseTally = { readonly elections: number; readonly violated: readonly string[] }

/** One minute with three nodes: the number of epochs won, and the violations. */
export function leaseRun(seed: number, options: PlainObject, resigning = false): LeaseTally {
  let elections = 0
  const report = simulate(
    {
      protocol: 'epochs',
      nodes: [1, 2, 3],
      seed,
      options: { driftPpm: 50_000, ...options },
      clocks: { driftPpm: 50_000 },
      registers: { delayMs: [0.5, 5], late: 0.03, lateMs: [5, 400], timeoutMs: 1000 },
      events: [...crashes(seed), ...(resigning ? resignations(seed) : [])],
      untilMs: UNTIL_MS,
    },
    {
      observe(seen) {
        if (seen.type !== 'output' || seen.event.type !== 'learned') return
        if (seen.event['leader'] === seen.node) elections += 1
      },
    },
  )
  const violated = report.specs.flatMap(({ name, verdict }) => (verdict === 'violated' ? [name] : []))
  return { elections, violated }
}

export function leaseRuns(count: number, options: PlainObject, resigning = false): LeaseTally {
  let elections = 0
  const violated: string[] = []
  for (let seed = 1; seed <= count; seed++) {
    const run = leaseRun(seed, options, resigning)
    elections += run.elections
    violated.push(...run.violated)
  }
  return { elections, violated }
}
