/**
 * How the library waits for its own events: the next term, the next view.
 *
 * It does not listen on the public emitter. Applications may remove every listener there, and a listener that throws
 * keeps those after it from being called.
 */
import type { NodeView } from '../election/election.ts'
import type { CurrentTerm } from './term.ts'

/** Calls every subscriber, in the order of subscription. Subscribers belong to the library and do not throw. */
export class Notifier<T> {
  readonly #subscribers = new Set<(value: T) => void>()

  subscribe(subscriber: (value: T) => void): () => void {
    this.#subscribers.add(subscriber)
    return () => this.#subscribers.delete(subscriber)
  }

  notify(value: T): void {
    for (const subscriber of this.#subscribers) subscriber(value)
  }
}

/** What waiting needs of a node. */
export type ObservableNode = {
  isClosed(): boolean
  /** Notified of every change of the view, the last time when the node has closed. */
  readonly changes: Notifier<NodeView>
  /** Notified when a term of this node begins. */
  readonly elections: Notifier<void>
  view(): NodeView
}

/** The current view, then every change of it. A reader that is slower than the changes gets only the newest view. */
export async function* observeViews(
  node: ObservableNode,
  signal: AbortSignal | undefined,
): AsyncGenerator<NodeView, void, void> {
  let unread: NodeView | null = node.view()
  let wake: () => void = () => {}
  const unsubscribe = node.changes.subscribe((view) => {
    unread = view
    wake()
  })
  const onAbort = (): void => wake()
  signal?.addEventListener('abort', onAbort)
  try {
    for (;;) {
      while (unread !== null && signal?.aborted !== true) {
        const view: NodeView = unread
        unread = null
        yield view
      }
      if (signal?.aborted === true || node.isClosed()) return
      // oxlint-disable-next-line no-await-in-loop -- until the view changes
      await new Promise<void>((resolve) => {
        wake = resolve
      })
    }
  } finally {
    unsubscribe()
    signal?.removeEventListener('abort', onAbort)
  }
}

/** The current term, as `current` has it, or the next one; null when there will be none. */
export function nextTerm(
  node: ObservableNode,
  signal: AbortSignal | undefined,
  current: () => CurrentTerm | null,
): Promise<CurrentTerm | null> {
  if (signal?.aborted === true || node.isClosed()) return Promise.resolve(null)
  const held = current()
  if (held !== null) return Promise.resolve(held)
  return new Promise((resolve) => {
    const done = (term: CurrentTerm | null): void => {
      unsubscribeElections()
      unsubscribeChanges()
      signal?.removeEventListener('abort', onAbort)
      resolve(term)
    }
    const onAbort = (): void => done(null)
    const unsubscribeElections = node.elections.subscribe(() => {
      const term = current()
      if (term !== null) done(term)
    })
    const unsubscribeChanges = node.changes.subscribe(() => {
      if (node.isClosed()) done(null)
    })
    signal?.addEventListener('abort', onAbort)
  })
}
