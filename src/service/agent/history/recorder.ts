/** Records the history of a group while the agent runs: terms, gaps with their causes, and samples of its measurements. */
import type { Cause, CauseKind, Id, SampleResponse, TermResponse } from '../../client/index.ts'
import type { GroupStatus } from '../../node/index.ts'
import {
  type Entry,
  foldHistory,
  type History,
  isRefinable,
  type Observation,
  openQuestions,
  type Supervised,
  type Surroundings,
  startHistory,
} from './fold.ts'
import { canProbe, probeListener } from './probe.ts'

/** How often the measurements are sampled, and for how long samples are kept: an hour. */
const SAMPLE_INTERVAL_MS = 5000
const MAX_SAMPLES = 720
/** How often nodes are observed while the end of a term is unexplained, and for how long. */
const QUESTION_INTERVAL_MS = 500
const QUESTION_AGE_MS = 600_000

const UNINFORMATIVE: readonly CauseKind[] = ['started', 'unknown']

export type RecorderOptions = {
  readonly self: Id
  readonly status: () => GroupStatus
  /** Called with each entry that is new or has changed. */
  readonly onChange: (term: TermResponse) => void
  /** Time on the wall clock. */
  readonly now?: () => number
  /** Whether nothing listens where the URL points to. */
  readonly isRefused?: (url: string) => Promise<boolean>
}

export class HistoryRecorder {
  readonly #options: Required<RecorderOptions>
  readonly #samples: SampleResponse[] = []
  #history: History
  #supervised: Supervised | null = null
  #failoverMs: number | null = null
  #takenEnd = 0
  readonly #timers = new Set<NodeJS.Timeout>()
  #isQuestioning = false

  constructor(options: RecorderOptions) {
    this.#options = { now: () => Date.now(), isRefused: probeListener, ...options }
    this.#history = startHistory(options.self, this.#options.now())
  }

  /** Samples the measurements until `stop`. */
  start(): void {
    const sampling = setInterval(() => this.sample(), SAMPLE_INTERVAL_MS)
    sampling.unref()
    this.#timers.add(sampling)
  }

  stop(): void {
    for (const timer of this.#timers) clearInterval(timer)
    this.#timers.clear()
    this.#isQuestioning = false
  }

  terms(): readonly TermResponse[] {
    return this.#history.entries.map(toResponse)
  }

  samples(): readonly SampleResponse[] {
    return this.#samples
  }

  /** Records the leader that the node knows of now. */
  observe(status: GroupStatus): void {
    const { leader } = status
    const before = this.#history.count
    this.#fold({ type: 'leader', at: this.#options.now(), leader, around: this.#around(status) })
    if (this.#history.count === before) return
    const ended = this.#history.entries.at(-2)
    if (ended?.leader === null && ended.until !== null && ended.number > 1)
      this.#failoverMs = ended.until - ended.from
    this.#question(status)
  }

  /** Why there is no leader now; null with a leader, and if only the reachable nodes are known. */
  currentCause(): string | null {
    const entry = this.#history.entries.at(-1)
    const cause = entry?.cause ?? null
    if (entry === undefined || cause === null || UNINFORMATIVE.includes(cause.kind)) return null
    // A guess says no more than how many voters are reachable.
    return cause.kind === 'partitioned' && isRefinable(entry) ? null : cause.text
  }

  /** Why the last term ended, unless it was asked for before. */
  takeEnd(): Cause | null {
    const last = this.#history.entries.findLast(({ leader, until }) => leader !== null && until !== null)
    if (last === undefined || last.number <= this.#takenEnd) return null
    this.#takenEnd = last.number
    return last.ended
  }

  /** Records why the own term of this node ended. */
  handleRevoked(token: number | null, cause: Cause): void {
    this.#fold({ type: 'revoked', at: this.#options.now(), token, cause })
  }

  /** Records what the supervisor of a local group did to its nodes. */
  supervise(supervised: Supervised): void {
    this.#supervised = supervised
    this.#observeNodes()
  }

  sample(): void {
    const { measured, nodes } = this.#options.status()
    const roundTrips = nodes.flatMap(({ reachable, rttMs }) => (reachable && rttMs !== null ? [rttMs] : []))
    this.#samples.push({
      at: new Date(this.#options.now()).toISOString(),
      rttMs: roundTrips.length === 0 ? null : Math.max(...roundTrips),
      latenessMs: measured.latenessMs?.p99 ?? null,
      delayMs: measured.delayMs?.p99 ?? null,
      renewalMarginMs: measured.renewalMarginMs?.min ?? null,
      failoverMs: this.#failoverMs,
    })
    this.#failoverMs = null
    if (this.#samples.length > MAX_SAMPLES) this.#samples.shift()
  }

  /** While the end of a term is unexplained, asks more often what is known about its leader. */
  #question(status: GroupStatus): void {
    this.#probeLeaders(status)
    if (this.#isQuestioning || this.#questions().length === 0) return
    this.#isQuestioning = true
    const timer = setInterval(() => {
      this.#probeLeaders(this.#observeNodes())
      if (this.#questions().length > 0) return
      clearInterval(timer)
      this.#timers.delete(timer)
      this.#isQuestioning = false
    }, QUESTION_INTERVAL_MS)
    timer.unref()
    this.#timers.add(timer)
  }

  #questions(): readonly Entry[] {
    const oldest = this.#options.now() - QUESTION_AGE_MS
    return openQuestions(this.#history).filter(({ until }) => (until ?? 0) >= oldest)
  }

  /** Asks the host of each unreachable former leader whether its process still listens. */
  #probeLeaders({ nodes }: GroupStatus): void {
    const last = this.#questions().at(-1)
    const node = nodes.find(({ id }) => id === last?.leader)
    if (last === undefined || node === undefined || node.reachable || !canProbe(node)) return
    void this.#options.isRefused(node.page).then((isRefused) => {
      if (isRefused) this.#fold({ type: 'refused', at: this.#options.now(), id: node.id })
    })
  }

  #observeNodes(): GroupStatus {
    const status = this.#options.status()
    this.#fold({ type: 'nodes', at: this.#options.now(), around: this.#around(status) })
    return status
  }

  #around({ voters, nodes }: GroupStatus): Surroundings {
    return { voters, nodes, supervised: this.#supervised }
  }

  #fold(observation: Observation): void {
    const { history, changed } = foldHistory(this.#history, observation)
    this.#history = history
    for (const entry of changed) this.#options.onChange(toResponse(entry))
  }
}

function toResponse({ number, leader, token, from, until, cause, ended }: Entry): TermResponse {
  const toText = (at: number): string => new Date(at).toISOString()
  return {
    number,
    leader,
    token,
    from: toText(from),
    until: until === null ? null : toText(until),
    cause,
    // The end of a term of this node can be reported before the leader changes.
    ended: until === null ? null : ended,
  }
}
