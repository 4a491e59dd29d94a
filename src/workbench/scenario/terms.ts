/**
 * The terms of a run: which node led, from when until when, and how the term ended. Derived from
 * observations.
 */
import { type Micros, msOf, type NodeId } from '../../core/index.ts'
import { isLeading, type Observation } from '../trace/index.ts'

export type TermRecord = {
  readonly node: NodeId
  readonly token: number | null
  readonly fromMs: number
  /** The end of the lease, or of the term if it has ended; null if unlimited. */
  readonly untilMs: number | null
  readonly cause: string
  /** Why it ended, or null while it lasts. */
  readonly ended: string | null
}

export class TermRecorder {
  readonly #past: TermRecord[] = []
  readonly #present = new Map<NodeId, TermRecord>()
  readonly #causes = new Map<NodeId, string>()

  observe(seen: Observation): void {
    switch (seen.type) {
      case 'output': {
        const { type, cause = type } = seen.event
        const why = typeof cause === 'string' ? cause : type
        if (type === 'elected') this.#causes.set(seen.node, why)
        if (type === 'demoted') this.#end(seen.node, seen.at, why)
        break
      }
      case 'view':
        this.#view(seen)
        break
      case 'down':
        this.#end(seen.node, seen.at, 'crashed')
        break
      default:
    }
  }

  list(): readonly TermRecord[] {
    return [...this.#past, ...this.#present.values()].sort((a, b) => a.fromMs - b.fromMs)
  }

  #view(seen: Observation & { type: 'view' }): void {
    const { node, at, view, until } = seen
    const present = this.#present.get(node)
    if (!isLeading(view.role, view.detail)) {
      this.#end(node, at, 'demoted')
      return
    }
    const untilMs = until === null ? null : msOf(until)
    if (present !== undefined && present.token === view.token) {
      if (present.untilMs !== untilMs) {
        const { token, fromMs, cause, ended } = present
        this.#present.set(node, { node, token, fromMs, untilMs, cause, ended })
      }
      return
    }
    const cause = this.#causes.get(node) ?? 'initial'
    this.#end(node, at, 'superseded')
    this.#present.set(node, { node, token: view.token, fromMs: msOf(at), untilMs, cause, ended: null })
  }

  #end(node: NodeId, at: Micros, ended: string): void {
    const present = this.#present.get(node)
    this.#causes.delete(node)
    if (present === undefined) return
    this.#present.delete(node)
    this.#past.push({ ...present, untilMs: msOf(at), ended })
  }
}
