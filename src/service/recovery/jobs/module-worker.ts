/** The worker thread of a module job: imports the module and calls its default export. */
import { parentPort, workerData } from 'node:worker_threads'
import {
  checkOutputSize,
  checkProgress,
  checkSeq,
  checkText,
  type JobContext,
  type JobFunction,
  parseCheckpointSignal,
} from './context.ts'
import { CheckpointAbortedError, InvalidJobValueError } from './errors.ts'
import {
  type FromWorker,
  type ModuleStart,
  receiveError,
  sendError,
  type ToWorker,
} from './module-messages.ts'
import { decodeValue, encodeValue } from './value.ts'

type Waiting = { resolve(value: Uint8Array | null): void; reject(error: Error): void }

const port = parentPort
const start = workerData as ModuleStart
const stop = new AbortController()
const waiting = new Map<number, Waiting>()
let calls = 0

function post(message: FromWorker, transfer: readonly Uint8Array[] = []): void {
  port?.postMessage(message, transfer.map(({ buffer }) => buffer) as ArrayBuffer[])
}

/** Sends a message that the node answers. */
function ask(
  message: (call: number) => FromWorker,
  transfer: readonly Uint8Array[] = [],
): Promise<Uint8Array | null> {
  calls += 1
  const call = calls
  return new Promise((resolve, reject) => {
    waiting.set(call, { resolve, reject })
    post(message(call), transfer)
  })
}

/** Small buffers of Node.js share one allocation, which must not be transferred. */
function ownBytes(bytes: Uint8Array): Uint8Array {
  return bytes.byteLength === bytes.buffer.byteLength ? bytes : bytes.slice()
}

async function checkpoint(state: unknown, signal: AbortSignal | undefined): Promise<void> {
  if (signal?.aborted === true) throw new CheckpointAbortedError(start.name, signal.reason)
  const bytes = ownBytes(encodeValue(state, 'state'))
  let call = 0
  const storing = ask(
    (number) => {
      call = number
      return { type: 'checkpoint', call, state: bytes }
    },
    [bytes],
  )
  const onAbort = (): void => post({ type: 'abortCheckpoint', call })
  signal?.addEventListener('abort', onAbort)
  try {
    await storing
  } finally {
    signal?.removeEventListener('abort', onAbort)
  }
}

const context: JobContext = {
  name: start.name,
  input: decodeValue(start.input),
  signal: stop.signal,
  token: start.token,
  async restore() {
    const state = await ask((call) => ({ type: 'restore', call }))
    return state === null ? undefined : decodeValue(state)
  },
  checkpoint: async (state, options) => checkpoint(state, parseCheckpointSignal(options)),
  emit(seq, output) {
    checkSeq(seq)
    stop.signal.throwIfAborted()
    const value = ownBytes(encodeValue(output, 'output'))
    checkOutputSize('output', value)
    post({ type: 'emit', seq, value }, [value])
  },
  progress(done, text = '') {
    checkProgress(done, text)
    post({ type: 'progress', done, text })
  },
  log(text) {
    checkText(text)
    post({ type: 'log', text })
  },
}

port?.on('message', (message: ToWorker) => {
  if (message.type === 'ping') post({ type: 'pong' })
  else if (message.type === 'abort') stop.abort(receiveError(message.error))
  else {
    const asked = waiting.get(message.call)
    waiting.delete(message.call)
    if (message.type === 'answer') asked?.resolve(message.value)
    else asked?.reject(receiveError(message.error))
  }
})

async function run(): Promise<void> {
  try {
    const { default: job } = (await import(start.module)) as { readonly default?: unknown }
    if (typeof job !== 'function')
      throw new InvalidJobValueError('module', `${start.module} must export a function as default`)
    const value = ownBytes(encodeValue((await (job as JobFunction)(context)) ?? null, 'result'))
    post({ type: 'returned', value }, [value])
  } catch (error) {
    post({ type: 'threw', error: sendError(error) })
  }
}

void run()
