/** Waiting for what a member tells. */
import type { EventEmitter } from 'node:events'
import type { NodeView } from './seat.ts'
import type { HeldTerm } from './term.ts'
import type { MemberEvents } from './told.ts'

/** What is needed of a member for that. */
export type Telling = Pick<EventEmitter<MemberEvents>, 'on' | 'off'> & {
  readonly isClosed: boolean
  view(): NodeView
}

/** Every change of who leads, beginning with how it is. */
export async function* viewsOf(
  member: Telling,
  signal: AbortSignal | undefined,
): AsyncGenerator<NodeView, void, void> {
  const waiting: NodeView[] = [member.view()]
  let wake: () => void = () => {}
  const onChange = (view: NodeView): void => {
    waiting.push(view)
    wake()
  }
  const onAbort = (): void => wake()
  member.on('change', onChange)
  signal?.addEventListener('abort', onAbort)
  try {
    for (;;) {
      while (waiting.length > 0 && signal?.aborted !== true) yield waiting.shift() as NodeView
      if (signal?.aborted === true || member.isClosed) return
      // oxlint-disable-next-line no-await-in-loop -- until there is something to tell
      await new Promise<void>((resolve) => {
        wake = resolve
      })
    }
  } finally {
    member.off('change', onChange)
    signal?.removeEventListener('abort', onAbort)
  }
}

/** The term that is under way, as `current` has it, or comes next; null when there will be none. */
export function termOf(
  member: Telling,
  signal: AbortSignal | undefined,
  current: () => HeldTerm | null,
): Promise<HeldTerm | null> {
  if (signal?.aborted === true || member.isClosed) return Promise.resolve(null)
  const held = current()
  if (held !== null) return Promise.resolve(held)
  return new Promise((resolve) => {
    const done = (term: HeldTerm | null): void => {
      member.off('elected', onElected)
      member.off('change', onChange)
      signal?.removeEventListener('abort', onAbort)
      resolve(term)
    }
    const onElected = (): void => {
      const term = current()
      if (term !== null) done(term)
    }
    const onAbort = (): void => done(null)
    const onChange = (): void => {
      if (member.isClosed) done(null)
    }
    member.on('elected', onElected)
    member.on('change', onChange)
    signal?.addEventListener('abort', onAbort)
  })
}
