/** One step of the manager: the state while rules run, and the effects that they cause. */
import { type Effect, type NodeId, output, send, setTimer, stopTimer } from '../../core/index.ts'
import { findEntry, withEntry } from './placement.ts'
import type { ManagerRules } from './rules.ts'
import type {
  Entry,
  GroupView,
  LeaderState,
  ManagerMessage,
  ManagerStable,
  ManagerState,
  Run,
} from './state.ts'
import { type Assignment, compareAssignments, LONGEST_REASON, type ManagerOutput } from './types.ts'

export type ManagerSettings = {
  readonly self: NodeId
  readonly nodes: readonly NodeId[]
  /** How long the leader waits before it starts the jobs of a lost owner elsewhere. */
  readonly waitMs: number
  /** How long a node outside the quorum lets its jobs run. */
  readonly stopMs: number
  readonly rules: ManagerRules
}

export class Work {
  state: ManagerState
  readonly settings: ManagerSettings
  readonly effects: Effect<ManagerMessage, never>[] = []
  /** Messages of this node to itself: the leader is a member like any other. */
  readonly loopback: ManagerMessage[] = []
  readonly #links: readonly NodeId[]
  readonly #now: number

  constructor(settings: ManagerSettings, state: ManagerState, links: readonly NodeId[], now: number) {
    this.settings = settings
    this.state = state
    this.#links = links
    this.#now = now
  }

  set(change: Partial<ManagerState>): void {
    this.state = { ...this.state, ...change }
  }

  /** The composition persists the stable data before all other effects of the step. */
  setStable(change: Partial<ManagerStable>): void {
    this.set({ stable: { ...this.state.stable, ...change } })
  }

  setLeader(change: Partial<LeaderState>): void {
    const { leader } = this.state
    if (leader !== null) this.set({ leader: { ...leader, ...change } })
  }

  send(to: NodeId, body: ManagerMessage): void {
    if (to === this.settings.self) this.loopback.push(body)
    else if (this.#links.includes(to)) this.effects.push(send(to, body))
  }

  sendMembers(body: ManagerMessage): void {
    for (const [id] of this.state.view?.members ?? []) this.send(id, body)
  }

  /** To the leader, if it takes requests. It gets all open requests when it is ready. */
  request(body: ManagerMessage): void {
    const { view, isReady } = this.state
    if (view !== null && isReady) this.send(view.leader, body)
  }

  /** News for a leader that has this node's inventory already. A later inventory contains it. */
  tellLeader(body: ManagerMessage): void {
    const { view, stable } = this.state
    if (view !== null && stable.fence === view.token) this.send(view.leader, body)
  }

  output(event: ManagerOutput): void {
    this.effects.push(output(event))
  }

  setTimer(name: string, afterMs: number): void {
    this.effects.push(setTimer(name, this.#now + Math.round(afterMs * 1000)))
  }

  stopTimer(name: string): void {
    this.effects.push(stopTimer(name))
  }

  beginStep(step: number): void {
    const { view, step: current } = this.state
    if (view === null) return
    if (current !== step) this.set({ step })
    this.output({ type: 'step', step, token: view.token })
  }

  get token(): number {
    return this.state.view?.token ?? -1
  }

  entryOf(job: string): Entry | null {
    return findEntry(this.state.unrecorded, job) ?? findEntry(this.state.stable.table, job)
  }

  /** The table, including assignments that are not recorded. */
  table(): readonly Entry[] {
    return this.state.unrecorded.reduce(withEntry, this.state.stable.table)
  }

  write(entry: Entry): void {
    const { unrecorded, stable } = this.state
    const { name, status, assignment } = entry.record
    const before = this.entryOf(name)?.record.assignment
    const isAssignment =
      status === 'running' && (before === undefined || compareAssignments(before, assignment) !== 0)
    if (isAssignment && !this.settings.rules.recordsAssignment()) {
      this.set({ unrecorded: withEntry(unrecorded, entry) })
      return
    }
    if (unrecorded.length > 0)
      this.set({ unrecorded: unrecorded.filter(({ record }) => record.name !== name) })
    this.setStable({ table: withEntry(stable.table, entry) })
  }

  /** A rank or an assignment that was never issued before. */
  issue(): Assignment {
    const { issued } = this.state.stable
    const next: Assignment = issued[0] === this.token ? [this.token, issued[1] + 1] : [this.token, 1]
    this.setStable({ issued: next })
    return next
  }

  isRunning({ job, assignment }: Run): boolean {
    return this.state.running.some(
      (run) => run.job === job && compareAssignments(run.assignment, assignment) === 0,
    )
  }

  removeRun(job: string): void {
    this.set({ running: this.state.running.filter((run) => run.job !== job) })
  }

  viewOrThrow(): GroupView {
    const { view } = this.state
    if (view === null) throw new Error('no view')
    return view
  }
}

/** As it fits into a message: printable ASCII that JSON does not escape. */
export function shortenReason(reason: string): string {
  const plain = reason
    .replaceAll('"', "'")
    .replaceAll('\\', '/')
    .replaceAll(/[^ -~]/g, '?')
  return plain.length <= LONGEST_REASON ? plain : `${plain.slice(0, LONGEST_REASON - 3)}...`
}
