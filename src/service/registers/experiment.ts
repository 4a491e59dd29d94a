/**
 * Tests whether a store behaves like a register, with two writers on separate connections, in a group made for the test.
 * The experiment can show violations; it cannot prove their absence.
 */
import { CellLockedError } from './errors.ts'
import type { CellStore, Version } from './store.ts'

export type ExperimentFinding = {
  readonly name: 'regular' | 'compare' | 'late-write'
  readonly requirement: string
  /** Number of trials. */
  readonly trials: number
  /** The first violation; null if there was none. */
  readonly problem: string | null
}

export type Latency = {
  readonly count: number
  readonly medianMs: number
  readonly p99Ms: number
  readonly maxMs: number
}

export type Experiment = {
  readonly findings: readonly ExperimentFinding[]
  readonly read: Latency
  readonly write: Latency
}

export type ExperimentOptions = {
  readonly rounds: number
  /** Timeout of an operation. */
  readonly timeoutMs: number
  /** A monotonic clock. */
  nowMs(): number
}

/** Cell names in the format of blocks; the owners do not matter. */
const SHARED = 'b_0'
const OWN = 'b_1'

export async function runExperiment(
  a: CellStore,
  b: CellStore,
  options: ExperimentOptions,
): Promise<Experiment> {
  const readMs: number[] = []
  const writeMs: number[] = []
  const measure = async <T>(into: number[], operation: (signal: AbortSignal) => Promise<T>): Promise<T> => {
    const startedAt = options.nowMs()
    const answer = await operation(AbortSignal.timeout(options.timeoutMs))
    into.push(options.nowMs() - startedAt)
    return answer
  }
  const lab: Experimenter = {
    options,
    read: async (store, name) => {
      const cells = await measure(readMs, (signal) => store.read(signal))
      return cells.find((cell) => cell.name === name) ?? null
    },
    write: (store, name, body, expected) =>
      measure(writeMs, (signal) => store.write(name, body, expected, signal)).catch((error: unknown) => {
        // A store without compare-and-swap locks the cell for one writer instead.
        if (error instanceof CellLockedError) return null
        throw error
      }),
  }
  try {
    const findings = [
      await checkRegularReads(lab, a, b),
      await checkCompareAndSwap(lab, a, b),
      await checkLateWrite(lab, a, b),
    ]
    return { findings, read: summarizeLatency(readMs), write: summarizeLatency(writeMs) }
  } finally {
    const signal = AbortSignal.timeout(options.timeoutMs)
    const cells = await a.read(signal).catch(() => [])
    await Promise.allSettled(cells.map(({ name, version }) => a.remove(name, version, signal)))
  }
}

type Experimenter = {
  readonly options: ExperimentOptions
  read(store: CellStore, name: string): Promise<{ readonly version: Version; readonly body: string } | null>
  write(store: CellStore, name: string, body: string, expected: Version | null): Promise<Version | null>
}

/** One connection writes 1, 2, 3 and so on while the other reads. */
async function checkRegularReads(
  lab: Experimenter,
  writer: CellStore,
  reader: CellStore,
): Promise<ExperimentFinding> {
  const { rounds } = lab.options
  let sent = 0
  let done = 0
  let trials = 0
  let problem: string | null = null
  const report = (text: string): void => {
    problem ??= text
  }

  async function writes(): Promise<void> {
    let version: Version | null = null
    for (let round = 1; round <= rounds && problem === null; round++) {
      sent = round
      // oxlint-disable-next-line no-await-in-loop -- one write after the other
      version = await lab.write(writer, OWN, padded(round), version)
      if (version === null) {
        report(`write ${round} was refused although there is no other writer`)
        break
      }
      done = round
      // An acknowledged write must be visible.
      // oxlint-disable-next-line no-await-in-loop -- one write after the other
      await check(round)
    }
  }

  async function check(least: number): Promise<number> {
    const cell = await lab.read(reader, OWN)
    trials += 1
    if (cell === null) {
      if (least > 0) report(`the cell was missing although write ${least} was acknowledged`)
      return least
    }
    const seen = Number(cell.body.slice(0, cell.body.indexOf(' ')))
    if (cell.body !== padded(seen))
      report(`a value was read that was never written: ${cell.body.slice(0, 40)}`)
    else if (seen < least) report(`write ${seen} was read after write ${least} was acknowledged or read`)
    else if (seen > sent) report(`write ${seen} was read before it was sent`)
    return seen
  }

  async function reads(): Promise<void> {
    // oxlint-disable-next-line no-await-in-loop -- one read after the other
    for (let last = 0; done < rounds && problem === null; ) last = await check(Math.max(done, last))
  }

  await Promise.all([writes(), reads()])
  return {
    name: 'regular',
    requirement: 'a read returns the last acknowledged write or a concurrent one, never an older one',
    trials,
    problem,
  }
}

/** A value with the size of a block. */
function padded(round: number): string {
  return `${round} ${String(round % 10).repeat(300)}`
}

/** Both replace the same version concurrently: one must win, and both must then read its value. */
async function checkCompareAndSwap(
  lab: Experimenter,
  a: CellStore,
  b: CellStore,
): Promise<ExperimentFinding> {
  let version: Version | null = null
  let problem: string | null = null
  for (let round = 1; round <= lab.options.rounds && problem === null; round++) {
    const expected: Version | null = version
    // oxlint-disable-next-line no-await-in-loop -- one race after the other
    const [first, second]: (Version | null)[] = await Promise.all([
      lab.write(a, SHARED, `a${round}`, expected),
      lab.write(b, SHARED, `b${round}`, expected),
    ])
    const winners = [first, second].filter((won) => won !== null).length
    if (winners !== 1) problem = `${winners} of two writers replaced the same version`
    version = first ?? second ?? null
    const value = first === null ? `b${round}` : `a${round}`
    // oxlint-disable-next-line no-await-in-loop -- one race after the other
    for (const seen of await Promise.all([lab.read(a, SHARED), lab.read(b, SHARED)]))
      if (seen?.body !== value) problem ??= `${value} won, but ${seen?.body ?? 'nothing'} was read`
  }
  return {
    name: 'compare',
    requirement: 'of two writers that replace the same version, one succeeds',
    trials: lab.options.rounds,
    problem,
  }
}

/** A delayed write that expects an older version must change nothing. */
async function checkLateWrite(lab: Experimenter, a: CellStore, b: CellStore): Promise<ExperimentFinding> {
  let problem: string | null = null
  const old = await lab.read(a, OWN)
  const newer = old === null ? null : await lab.write(a, OWN, 'newer', old.version)
  if (old === null || newer === null) problem = 'a plain write was refused'
  else {
    const late = await lab.write(b, OWN, 'late', old.version)
    const again = await lab.write(b, OWN, 'late', null)
    const seen = await lab.read(b, OWN)
    if (late !== null || again !== null) problem = 'a write that expected an older version was accepted'
    else if (seen?.body !== 'newer') problem = `a late write changed the cell to ${seen?.body ?? 'nothing'}`
  }
  return {
    name: 'late-write',
    requirement: 'a write that expects an older version changes nothing',
    trials: 2,
    problem,
  }
}

function summarizeLatency(values: readonly number[]): Latency {
  const sorted = values.toSorted((x, y) => x - y)
  const quantile = (share: number): number =>
    sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? 0
  return { count: sorted.length, medianMs: quantile(0.5), p99Ms: quantile(0.99), maxMs: sorted.at(-1) ?? 0 }
}
