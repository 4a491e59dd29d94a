/**
 * Runs a module job in a worker thread of its own. A job that blocks its thread does not block the node: it is reported
 * as stalled, and stopping it ends the thread.
 */
import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { pathToFileURL } from 'node:url'
import { Worker } from 'node:worker_threads'
import type { JobDefinition } from './content.ts'
import type { JobContext } from './context.ts'
import { JobDeclinedError, JobFailedError } from './errors.ts'
import {
  type FromWorker,
  type ModuleStart,
  receiveError,
  sendError,
  type ToWorker,
} from './module-messages.ts'
import type { EncodedContext } from './run.ts'
import { encodeValue } from './value.ts'

/** The sources are not run as they are: their tests use the bundled thread. */
const SCRIPT = new URL('../../../../dist/bundle/service/recovery/jobs/module-worker.js', import.meta.url)
const PING_MS = 1000

export type ModuleLimits = {
  /** A thread that does not answer for this long is reported as stalled. */
  readonly stallMs: number
  /** How long a stopped job may take to end before its thread is ended. */
  readonly stopMs: number
  /** `null`: the thread answers again. */
  stalled(forMs: number | null): void
}

type ModuleDefinition = Extract<JobDefinition, { kind: 'module' }>

export async function digestOfModule(file: string): Promise<string> {
  return createHash('sha256')
    .update(await readFile(file))
    .digest('hex')
}

/** Rejects with JobDeclinedError if this node does not have the module as it was submitted. */
export async function runModule(
  definition: ModuleDefinition,
  context: JobContext,
  encoded: EncodedContext,
  limits: ModuleLimits,
): Promise<Uint8Array> {
  await checkModule(definition)
  context.signal.throwIfAborted()
  const workerData: ModuleStart = {
    module: pathToFileURL(definition.file).href,
    name: context.name,
    token: context.token,
    input: encodeValue(definition.input ?? null, 'input'),
  }
  // Node's own flags may name a script or a loader, which are not for this thread.
  const worker = new Worker(SCRIPT, { name: `job ${context.name}`, workerData, execArgv: [] })
  const watch = watchStalls(worker, limits)
  const stopped = stopWith(worker, context.signal, limits.stopMs)
  try {
    return await resultOf(worker, { context, encoded, answered: watch.answered })
  } finally {
    watch.stop()
    stopped.release()
    await worker.terminate()
  }
}

async function checkModule({ file, digest }: ModuleDefinition): Promise<void> {
  let actual: string
  try {
    actual = await digestOfModule(file)
  } catch (error) {
    throw new JobDeclinedError(`cannot read the module ${file}: ${(error as Error).message}`)
  }
  if (actual !== digest)
    throw new JobDeclinedError(`the module ${file} differs from the submitted one; copy it to this node`)
}

type Caller = { readonly context: JobContext; readonly encoded: EncodedContext; answered(): void }

function resultOf(worker: Worker, { context, encoded, answered }: Caller): Promise<Uint8Array> {
  const post = (message: ToWorker): void => worker.postMessage(message)
  const aborts = new Map<number, AbortController>()
  const answer = async (call: number, work: () => Promise<Uint8Array | null>): Promise<void> => {
    try {
      post({ type: 'answer', call, value: await work() })
    } catch (error) {
      post({ type: 'failure', call, error: sendError(error) })
    } finally {
      aborts.delete(call)
    }
  }
  return new Promise((resolve, reject) => {
    worker.once('error', (error) => reject(error))
    worker.once('exit', (code) =>
      reject(new JobFailedError(context.name, `its thread ended with code ${code}`)),
    )
    worker.on('message', (message: FromWorker) => {
      answered()
      switch (message.type) {
        case 'restore':
          return answer(message.call, async () => encoded.state)
        case 'checkpoint': {
          const abort = new AbortController()
          aborts.set(message.call, abort)
          return answer(message.call, async () => {
            await encoded.checkpoint(message.state, abort.signal)
            return null
          })
        }
        case 'abortCheckpoint':
          return aborts.get(message.call)?.abort()
        case 'emit':
          return attempt(() => encoded.emit({ seq: message.seq, value: message.value }), reject)
        case 'progress':
          return context.progress(message.done, message.text)
        case 'log':
          return context.log(message.text)
        case 'returned':
          return resolve(message.value)
        case 'threw':
          return reject(receiveError(message.error))
        case 'pong':
          return undefined
      }
    })
  })
}

/** A job whose output cannot be accepted fails. */
function attempt(emit: () => void, reject: (error: unknown) => void): void {
  try {
    emit()
  } catch (error) {
    reject(error)
  }
}

function watchStalls(worker: Worker, { stallMs, stalled }: ModuleLimits): { answered(): void; stop(): void } {
  let last = performance.now()
  let isStalled = false
  const timer = setInterval(
    () => {
      worker.postMessage({ type: 'ping' } satisfies ToWorker)
      const silence = performance.now() - last
      if (silence < stallMs) return
      isStalled = true
      stalled(Math.round(silence))
    },
    Math.min(PING_MS, stallMs / 2),
  )
  return {
    answered() {
      last = performance.now()
      if (!isStalled) return
      isStalled = false
      stalled(null)
    },
    stop: () => clearInterval(timer),
  }
}

function stopWith(worker: Worker, signal: AbortSignal, stopMs: number): { release(): void } {
  let timer: NodeJS.Timeout | undefined
  const onAbort = (): void => {
    worker.postMessage({ type: 'abort', error: sendError(signal.reason) } satisfies ToWorker)
    timer = setTimeout(() => void worker.terminate(), stopMs)
  }
  if (signal.aborted) onAbort()
  else signal.addEventListener('abort', onAbort)
  return {
    release() {
      signal.removeEventListener('abort', onAbort)
      clearTimeout(timer)
    },
  }
}
