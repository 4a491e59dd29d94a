/**
 * How the library waits for its own news: the next term, the next view.
 *
 * It does not listen on the public emitter. Applications may remove every listener there, and a listener that throws
 * keeps those after it from being called.
 */
import type { NodeView } from '../election/election.ts'
import type { CurrentTerm } from './term.ts'

/** Calls every subscriber, in the order in which they came. Subscribers belong to the library and do not throw. */
export class Notifier<T> {
  readonly #subscribers = new Set<(news: T) => void>()

  subscribe(subscriber: (news: T) => void): () => void {
    this.#subscribers.add(subscriber)
    return () => this.#subscribers.delete(subscriber)
  }

  notify(news: T): void {
    for (const subscriber of this.#subscribers) subscriber(news)
  }
}

/** What waiting needs of a node. */
export type Watched = {
  isClosed(): boolean
  /** Notified of every change of the view, the last time when the node has closed. */
  readonly changes: Notifier<NodeView>
  /** Notified when a term of this node begins. */
  readonly elections: Notifier<void>
  view(): NodeView
}

/** An observer that does not read gets the latest changes: so many are kept for it. */
const MOST_UNREAD = 1024

/** Every change of who leads, beginning with how it is. */
export async function* viewsOf(
  node: Watched,
  signal: AbortSignal | undefined,
): AsyncGenerator<NodeView, void, void> {
  const unread: NodeView[] = [node.view()]
  let wake: () => void = () => {}
  const unsubscribe = node.changes.subscribe((view) => {
    unread.push(view)
    if (unread.length > MOST_UNREAD) unread.shift()
    wake()
  })
  const onAbort = (): void => wake()
  signal?.addEventListener('abort', onAbort)
  try {
    for (;;) {
      while (unread.length > 0 && signal?.aborted !== true) yield unread.shift() as NodeView
      if (signal?.aborted === true || node.isClosed()) return
      // oxlint-disable-next-line no-await-in-loop -- until there is something to tell
      await new Promise<void>((resolve) => {
        wake = resolve
      })
    }
  } finally {
    unsubscribe()
    signal?.removeEventListener('abort', onAbort)
  }
}

/** The term that is under way, as `current` has it, or comes next; null when there will be none. */
export function termOf(
  node: Watched,
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
