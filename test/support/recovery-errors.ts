/** Produces each error of jobs, checkpoints and columns, by the code that produces it in production. */
import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Checkpoints } from '../../src/service/recovery/checkpoints/index.ts'
import { JobFunctions } from '../../src/service/recovery/cluster/functions.ts'
import { assertKnown, createHandle, type HandlePorts } from '../../src/service/recovery/cluster/handle.ts'
import { Host, type HostOptions } from '../../src/service/recovery/cluster/host.ts'
import { encodeContent } from '../../src/service/recovery/jobs/content.ts'
import { JobRun } from '../../src/service/recovery/jobs/run.ts'
import { encodeValue } from '../../src/service/recovery/jobs/value.ts'
import { openDirectorySink } from '../../src/service/recovery/sink/index.ts'
import { columnName, openDiskStore, readColumn } from '../../src/service/recovery/store/index.ts'
import { openBlocks } from '../../src/service/recovery/transport/blocks.ts'
import { ColumnClient } from '../../src/service/recovery/transport/index.ts'
import { ASSIGNMENT, CONTENT, createWriter, JOB } from './manager-stub.ts'

const NEVER = new AbortController().signal
const KEY = {
  id: { job: JOB, assignment: ASSIGNMENT, epoch: 1, token: 5 },
  column: 0,
  digest: 'ab'.repeat(32),
} as const

async function withStore<T>(
  folder: string,
  use: (store: Awaited<ReturnType<typeof openDiskStore>>, place: string) => Promise<T>,
  calls?: Parameters<typeof openDiskStore>[0]['calls'],
): Promise<T> {
  const place = mkdtempSync(join(folder, 'columns-'))
  const store = await openDiskStore({ folder: place, ...(calls === undefined ? {} : { calls }) })
  try {
    return await use(store, place)
  } finally {
    await store.close()
  }
}

/** A handle of a job in the given state. */
function handleOf(status: 'failed' | 'cancelled') {
  const job = { status, reason: 'RangeError: no' } as ReturnType<HandlePorts['find']>
  const ports = { find: () => job, until: async () => true } as unknown as HandlePorts
  return createHandle(JOB, Promise.resolve(), ports)
}

const problem = (text: string) => ({ columns: [], problems: [{ node: 'b', column: 1, problem: text }] })

export function recoveryProducers(folder: () => string): { readonly [code: string]: () => unknown } {
  return {
    ERR_CONCLAVE_INVALID_JOB_VALUE: () => encodeValue(undefined, 'state'),
    ERR_CONCLAVE_JOB_EXISTS: () => {
      const functions = new JobFunctions({ self: 'a', stallMs: 100, stalled() {} })
      functions.register(JOB, () => 1)
      functions.register(JOB, () => 2)
    },
    ERR_CONCLAVE_JOB_REFUSED: () => {
      const manager = { command: async () => 'the name must be shorter', look: () => ({ jobs: [] }) }
      const events = { warn() {}, suspect() {} }
      const host = new Host({ manager, checkpoints: null, stored: [], events } as unknown as HostOptions)
      return host.submit(JOB, { kind: 'function' })
    },
    ERR_CONCLAVE_UNKNOWN_JOB: () => assertKnown(JOB, null),
    ERR_CONCLAVE_JOB_FAILED: () => handleOf('failed').result(),
    ERR_CONCLAVE_JOB_CANCELLED: () => handleOf('cancelled').result(),
    ERR_CONCLAVE_JOB_FENCED: () =>
      createWriter({ status: 'cancelled' }).writer.store(JOB, ASSIGNMENT, CONTENT, NEVER),
    ERR_CONCLAVE_CHECKPOINT_ABORTED: () =>
      createWriter({}).writer.store(JOB, ASSIGNMENT, CONTENT, AbortSignal.abort()),
    ERR_CONCLAVE_CHECKPOINT_DISK_FULL: () =>
      createWriter({ uploads: [problem('no space left')] }).writer.store(JOB, ASSIGNMENT, CONTENT, NEVER),
    ERR_CONCLAVE_CHECKPOINT_FAILED: () =>
      createWriter({ uploads: [problem('refused')] }, 0).writer.store(JOB, ASSIGNMENT, CONTENT, NEVER),
    ERR_CONCLAVE_CHECKPOINT_TOO_LARGE: async () => {
      const definition = { kind: 'function' } as const
      const content = { submission: 'ab', definition, state: null, outputs: [], progress: null, result: null }
      let thrown: unknown = null
      const run = new JobRun(
        { job: JOB, token: 5, maxCheckpointBytes: 1024 },
        {
          restore: async () => Buffer.concat((await encodeContent(content)).chunks),
          async execute(_, context) {
            await context.checkpoint(new Uint8Array(2000)).catch((error: unknown) => {
              thrown = error
            })
            return encodeValue(null, 'result')
          },
          store: async () => {},
          release: async () => {},
          publish: async () => {},
          progressed() {},
          log() {},
        },
      )
      await run.run()
      throw thrown
    },
    ERR_CONCLAVE_SINK_FAILED: () => {
      const place = mkdtempSync(join(folder(), 'sink-'))
      writeFileSync(join(place, JOB), 'a file in place of the folder')
      const sink = openDirectorySink(place)
      return sink.accept({ job: JOB, submission: 'ab', seq: 1, token: 1, output: null })
    },
    ERR_CONCLAVE_COLUMN_MISSING: () => withStore(folder(), (store) => store.openRaw(KEY)),
    ERR_CONCLAVE_CORRUPT_COLUMN: () =>
      withStore(folder(), (store, place) => {
        writeFileSync(join(place, columnName(KEY)), 'not a column')
        return readColumn(store, KEY)
      }),
    ERR_CONCLAVE_COLUMN_STORE_FULL: () => {
      const fail = () => Promise.reject(Object.assign(new Error('ENOSPC'), { code: 'ENOSPC' }))
      const use: Parameters<typeof withStore>[1] = async (store) =>
        (await store.create(KEY)).write([new Uint8Array(10)])
      return withStore(folder(), use, { write: fail, sync: fail })
    },
    ERR_CONCLAVE_COLUMN_STORE_FAILED: () =>
      withStore(folder(), async (store, place) => {
        mkdirSync(join(place, columnName(KEY)))
        await store.drop(KEY)
      }),
    ERR_CONCLAVE_INVALID_COLUMN_KEY: () => columnName({ ...KEY, digest: 'short' }),
    ERR_CONCLAVE_UNRESTORABLE: () => {
      const code = { name: 'evenodd', columns: 3, data: 1 } as const
      const commit = { id: KEY.id, code, holders: [null, null, null], bytes: 1, digest: KEY.digest }
      const options = { self: 'a', group: 'g' } as unknown as ConstructorParameters<typeof Checkpoints>[0]
      return new Checkpoints(options).restore(commit, [])
    },
    ERR_CONCLAVE_TRANSFER_FAILED: () => {
      const client = new ColumnClient({ self: 'a', keys: [], addressOf: () => null })
      return client.call('b', { group: 'g', token: 1 }, new Uint8Array())
    },
    ERR_CONCLAVE_INVALID_BODY: async () => {
      const chunks = (async function* () {
        yield new Uint8Array(8)
      })()
      for await (const _ of openBlocks(chunks, { key: Buffer.alloc(32), isSecret: false })) break
    },
  }
}
