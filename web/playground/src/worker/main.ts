/** The worker of the engine. The page starts one for its run, and more for searches. */

import { EngineError } from '../engine/engine-error.ts'
import type { Problem, Reply } from '../engine/messages.ts'
import type { ModuleTools } from '../engine/modules.ts'
import { problemsOf } from '../engine/problems.ts'
import { Session } from '../engine/session.ts'
import type { WorkerDone, WorkerRequest } from '../engine/worker-messages.ts'
import { confine } from './confine.ts'
import { syntaxErrorFinder } from './syntax-error.ts'

/** The first message of a worker has no number: it is ready. */
export type WorkerReply =
  | { readonly type: 'ready' }
  | Exclude<Reply, { readonly type: 'done' }>
  | { readonly id: number; readonly type: 'done'; readonly result: WorkerDone[keyof WorkerDone] }

export type NumberedRequest = { readonly id: number; readonly request: WorkerRequest }

const BLOB_URLS: ModuleTools = {
  urlOf: (text) => URL.createObjectURL(new Blob([text], { type: 'text/javascript' })),
  syntaxErrorLine: syntaxErrorFinder(Worker),
}
confine(globalThis)

const session = new Session(BLOB_URLS)

// oxlint-disable-next-line unicorn/prefer-global-this -- the type of a worker's own scope, without that of a window
const scope = self as unknown as {
  postMessage(reply: WorkerReply): void
  addEventListener(type: 'message', listener: (event: MessageEvent<NumberedRequest>) => void): void
}

/** A picture that a browser has no memory to hand over. */
function tooLarge(error: unknown): readonly Problem[] | null {
  if (!(error instanceof DOMException) || error.name !== 'DataCloneError') return null
  return [{ place: null, message: 'this run is too large for the memory of this page: open a shorter one' }]
}

async function answer({ id, request }: NumberedRequest): Promise<void> {
  try {
    const result = await session.answer(request, (progress) =>
      scope.postMessage({ id, type: 'progress', progress }),
    )
    scope.postMessage({ id, type: 'done', result })
  } catch (error) {
    const problems = error instanceof EngineError ? error.problems : (tooLarge(error) ?? problemsOf(error))
    scope.postMessage({ id, type: 'failed', problems })
  }
}

scope.addEventListener('message', ({ data }) => void answer(data))
scope.postMessage({ type: 'ready' })
