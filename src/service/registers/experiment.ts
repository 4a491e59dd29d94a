/**
 * Does a store behave as registers must? A small experiment with two writers, each on a connection of its own, in a
 * group made for it. It can show that a store does not; that it always will, no experiment can show.
 */
import { CellLockedError } from './errors.ts'
import type { CellStore, Version } from './store.ts'

export type ExperimentFinding = {
  readonly name: 'regular' | 'compare' | 'late-write'
  readonly requirement: string
  /** How often it was tried. */
  readonly trials: number
  /** What went wrong first; null where nothing did. */
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
  /** The longest that an operation may take. */
  readonly timeoutMs: number
  /** A monotonic clock. */
  nowMs(): number
}

/** Whose cells these are does not matter: they have the form of blocks. */
const SHARED = 'b_0'
const OWN = 'b_1'

export async function runExperiment(
  a: CellStore,
  b: CellStore,
  options: ExperimentOptions,
): Promise<Experiment> {
  const readMs: number[] = []
  const writeMs: number[] = []
  const timed = async <T>(into: number[], operation: (signal: AbortSignal) => Promise<T>): Promise<T> => {
    const began = options.nowMs()
    const answer = await operation(AbortSignal.timeout(options.timeoutMs))
    into.push(options.nowMs() - began)
    return answer
  }
  const lab: Experimenter = {
    options,
    read: async (store, name) => {
      const cells = await timed(readMs, (signal) => store.read(signal))
      return cells.find((cell) => cell.name === name) ?? null
    },
    write: (store, name, body, expected) =>
      timed(writeMs, (signal) => store.write(name, body, expected, signal)).catch((error: unknown) => {
        // Where the store cannot compare, the one who holds the cell keeps the other out.
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

/** One writes 1, 2, 3 and so on; the other reads all the while. */
async function checkRegularReads(
  lab: Experimenter,
  writer: CellStore,
  reader: CellStore,
): Promise<ExperimentFinding> {
  const { rounds } = lab.options
  let begun = 0
  let done = 0
  let trials = 0
  let problem: string | null = null
  const note = (text: string): void => {
    problem ??= text
  }

  async function writes(): Promise<void> {
    let version: Version | null = null
    for (let round = 1; round <= rounds && problem === null; round++) {
      begun = round
      // oxlint-disable-next-line no-await-in-loop -- one write after the other
      version = await lab.write(writer, OWN, padded(round), version)
      if (version === null) {
        note(`write ${round} was refused although nobody else writes the cell`)
        break
      }
      done = round
      // Between two writes, too: what was answered is there.
      // oxlint-disable-next-line no-await-in-loop -- one write after the other
      await look(round)
    }
  }

  async function look(least: number): Promise<number> {
    const cell = await lab.read(reader, OWN)
    trials += 1
    if (cell === null) {
      if (least > 0) note(`the cell was not there although write ${least} had been answered`)
      return least
    }
    const seen = Number(cell.body.slice(0, cell.body.indexOf(' ')))
    if (cell.body !== padded(seen)) note(`a value was read that nobody wrote: ${cell.body.slice(0, 40)}`)
    else if (seen < least) note(`write ${seen} was read after write ${least} had been answered or read`)
    else if (seen > begun) note(`write ${seen} was read before it was made`)
    return seen
  }

  async function reads(): Promise<void> {
    // oxlint-disable-next-line no-await-in-loop -- one read after the other
    for (let last = 0; done < rounds && problem === null; ) last = await look(Math.max(done, last))
  }

  await Promise.all([writes(), reads()])
  return {
    name: 'regular',
    requirement: 'a read returns the last answered write, or one under way, and never an older one',
    trials,
    problem,
  }
}

/** As long as a block. */
function padded(round: number): string {
  return `${round} ${String(round % 10).repeat(300)}`
}

/** Both replace the same version at the same time: one must win, and both must then see its value. */
async function checkCompareAndSwap(
  lab: Experimenter,
  a: CellStore,
  b: CellStore,
): Promise<ExperimentFinding> {
  let version: Version | null = null
  let problem: string | null = null
  for (let round = 1; round <= lab.options.rounds && problem === null; round++) {
    const expected: Version | null = version
    // oxlint-disable-next-line no-await-in-loop -- one contest after the other
    const [first, second]: (Version | null)[] = await Promise.all([
      lab.write(a, SHARED, `a${round}`, expected),
      lab.write(b, SHARED, `b${round}`, expected),
    ])
    const winners = [first, second].filter((won) => won !== null).length
    if (winners !== 1) problem = `${winners} of two writers replaced the same version`
    version = first ?? second ?? null
    const value = first === null ? `b${round}` : `a${round}`
    // oxlint-disable-next-line no-await-in-loop -- one contest after the other
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

/** A write that expects an older version comes late: it must change nothing. */
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
  const at = (share: number): number =>
    sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? 0
  return { count: sorted.length, medianMs: at(0.5), p99Ms: at(0.99), maxMs: sorted.at(-1) ?? 0 }
}
