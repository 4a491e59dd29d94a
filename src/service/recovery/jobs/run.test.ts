/** One run of a job, with the node replaced by functions. */
import { expect, it } from 'vitest'
import { until } from '../../../../test/support/wait.ts'
import { DigestMismatchError } from '../checkpoints/index.ts'
import { MAX_MESSAGE_BYTES } from '../transport/wire.ts'
import { decodeContent, type EncodedContent, encodeContent, type JobContent } from './content.ts'
import { type JobContext, MOST_OUTPUT_BYTES } from './context.ts'
import { CheckpointDiskFullError, CheckpointFailedError, JobDeclinedError, JobFencedError } from './errors.ts'
import { receiveError, sendError } from './module-messages.ts'
import { JobRun, type RunPorts } from './run.ts'
import { decodeValue, encodeValue } from './value.ts'

const FIRST: JobContent = {
  submission: 'ab',
  definition: { kind: 'function' },
  state: null,
  outputs: [],
  progress: null,
  result: null,
}

/** A run of `work`, and what reaches the node. */
function createRun(
  work: (context: JobContext) => unknown,
  { content = FIRST, ports = {} }: { content?: JobContent; ports?: Partial<RunPorts> } = {},
) {
  const stored: JobContent[] = []
  const released: unknown[] = []
  const published: unknown[] = []
  const run = new JobRun(
    { job: 'job', token: 5, maxCheckpointBytes: 10_000 },
    {
      restore: async () => Buffer.concat((await encodeContent(content)).chunks),
      execute: async (_, context) => encodeValue((await work(context)) ?? null, 'result'),
      async store({ chunks }: EncodedContent) {
        stored.push(decodeContent(Buffer.concat(chunks)))
      },
      async release({ seq, value }) {
        released.push([seq, decodeValue(value)])
      },
      async publish(result) {
        published.push(decodeValue(result))
      },
      progressed() {},
      log() {},
      ...ports,
    },
  )
  return { run, stored, released, published }
}

const numbersIn = ({ outputs }: JobContent): readonly number[] => outputs.map(({ seq }) => seq)

it('releases outputs only after the checkpoint that contains them, and the rest at the end', async () => {
  const seen: unknown[] = []
  const { run, stored, released, published } = createRun(async (ctx) => {
    ctx.emit(1, 'a')
    seen.push([...released])
    await ctx.checkpoint('one')
    await until(() => released.length === 1)
    ctx.emit(2, 'b')
    seen.push([...released])
    return 'end'
  })
  expect(await run.run()).toEqual({ how: 'finished' })
  expect(seen).toEqual([[], [[1, 'a']]])
  expect(released).toEqual([
    [1, 'a'],
    [2, 'b'],
  ])
  expect(stored.map(numbersIn)).toEqual([[1], [2]])
  expect(published).toEqual(['end'])
})

it('keeps outputs in every checkpoint until the sink has them, so that the next owner can release them', async () => {
  let isOpen = false
  const { run, stored } = createRun(
    async (ctx) => {
      for (const seq of [1, 2, 3]) {
        ctx.emit(seq, seq)
        // oxlint-disable-next-line no-await-in-loop -- one checkpoint after the other
        await ctx.checkpoint(seq)
      }
      isOpen = true
    },
    { ports: { release: () => until(() => isOpen).then(() => {}) } },
  )
  expect(await run.run()).toEqual({ how: 'finished' })
  expect(stored.slice(0, 3).map(numbersIn)).toEqual([[1], [1, 2], [1, 2, 3]])
})

it('releases the outputs of the restored checkpoint first, and continues from its state', async () => {
  const content = {
    ...FIRST,
    state: encodeValue({ n: 7 }, 'state'),
    outputs: [{ seq: 7, value: encodeValue('seven', 'output') }],
  }
  const { run, released } = createRun(
    async (ctx) => {
      expect(await ctx.restore()).toEqual({ n: 7 })
      ctx.emit(8, 'eight')
    },
    { content },
  )
  expect(await run.run()).toEqual({ how: 'finished' })
  expect(released).toEqual([
    [7, 'seven'],
    [8, 'eight'],
  ])
})

it('does not run a job again whose result is stored', async () => {
  const content = { ...FIRST, result: encodeValue('earlier', 'result') }
  const { run, published } = createRun(() => expect.unreachable(), { content })
  expect(await run.run()).toEqual({ how: 'finished' })
  expect(published).toEqual(['earlier'])
})

it('releases what is committed before it reports a job that threw, and nothing else', async () => {
  const { run, released } = createRun(async (ctx) => {
    ctx.emit(1, 'a')
    await ctx.checkpoint('one')
    ctx.emit(2, 'b')
    throw new RangeError('no')
  })
  expect(await run.run()).toEqual({ how: 'threw', reason: 'RangeError: no' })
  expect(released).toEqual([[1, 'a']])
})

it.each([
  ['a full disk', new CheckpointDiskFullError('job', 2, 'a: no space left'), /does not fit on the disks/],
  ['a failed upload', new CheckpointFailedError('job', 2, 'b: timeout'), /checkpoint 2 of job "job" failed/],
  [
    'a full disk, in a thread of its own',
    receiveError(sendError(new CheckpointDiskFullError('job', 2, 'a: no space left'))),
    /does not fit/,
  ],
])('is interrupted, and does not fail, when the job lets the error of %s pass', async (_, error, reason) => {
  const { run } = createRun((ctx) => ctx.checkpoint('one'), {
    ports: { store: () => Promise.reject(error) },
  })
  expect(await run.run()).toEqual({ how: 'interrupted', reason: expect.stringMatching(reason) })
})

it('is interrupted when its result cannot be stored, and fails when its state is too large', async () => {
  const store = (): Promise<void> => Promise.reject(new CheckpointFailedError('job', 2, 'b: timeout'))
  const last = createRun(() => 'result', { ports: { store } })
  expect(await last.run.run()).toMatchObject({ how: 'interrupted' })
  const large = createRun((ctx) => ctx.checkpoint(new Uint8Array(20_000)))
  expect(await large.run.run()).toMatchObject({
    how: 'threw',
    reason: expect.stringMatching('ERR_CONCLAVE_CHECKPOINT_TOO_LARGE'),
  })
})

it('keeps outputs for the next checkpoint when one fails', async () => {
  let fails = true
  const { run, stored } = createRun(
    async (ctx) => {
      ctx.emit(1, 'a')
      await expect(ctx.checkpoint('one')).rejects.toThrow('full')
      fails = false
      await ctx.checkpoint('two')
    },
    {
      ports: {
        async store({ chunks }) {
          if (fails) throw new Error('full')
          stored.push(decodeContent(Buffer.concat(chunks)))
        },
      },
    },
  )
  expect(await run.run()).toEqual({ how: 'finished' })
  expect(stored.map(numbersIn)[0]).toEqual([1])
})

it('stops at once, whether or not the job follows its signal, and refuses everything afterwards', async () => {
  let late: JobContext | null = null
  const { run, stored, released } = createRun((ctx) => {
    late = ctx
    return new Promise(() => {})
  })
  const running = run.run()
  await until(() => late !== null)
  run.stop('superseded')
  expect(await running).toEqual({ how: 'stopped' })
  const context = late as unknown as JobContext
  await expect(context.checkpoint('late')).rejects.toMatchObject({ code: 'ERR_CONCLAVE_JOB_FENCED' })
  expect(() => context.emit(1, 'late')).toThrow(/no longer runs here: superseded/)
  expect([stored, released]).toEqual([[], []])
})

it.each([
  ['declines', new JobDeclinedError('no such module'), 'no such module'],
  [
    'was replaced',
    new JobFencedError('job', 'it was assigned again'),
    'job "job" no longer runs here: it was assigned again',
  ],
])('gives the job back when the code %s', async (_, error, reason) => {
  const { run } = createRun(() => {
    throw error
  })
  expect(await run.run()).toEqual({ how: 'declined', reason })
})

it.each([
  [
    'has another format',
    Buffer.from(encodeValue({ format: 2 }, 'checkpoint')),
    /^checkpoint: must have the format 1/,
  ],
  ['has another digest', new DigestMismatchError('checkpoint 3', 'a', 'b'), /has the digest a, must be b/],
])('gives the job back when its checkpoint %s', async (_, found, reason) => {
  const restore = async (): Promise<Uint8Array> => {
    if (found instanceof Error) throw found
    return found
  }
  const { run } = createRun(() => expect.unreachable(), { ports: { restore } })
  expect(await run.run()).toEqual({ how: 'declined', reason: expect.stringMatching(reason) })
})

it('gives the job back when the sink has outputs of a later run', async () => {
  const { run } = createRun(
    async (ctx) => {
      ctx.emit(1, 'a')
      await ctx.checkpoint('one')
      await new Promise(() => {})
    },
    {
      ports: {
        release: () => Promise.reject(new JobFencedError('job', 'the sink has outputs of a later run')),
      },
    },
  )
  expect(await run.run()).toMatchObject({ how: 'declined' })
})

it('refuses an output and a result that are too large for a message between nodes', async () => {
  const bytes = new Uint8Array(MOST_OUTPUT_BYTES)
  expect(2 * MOST_OUTPUT_BYTES).toBeLessThanOrEqual(MAX_MESSAGE_BYTES)
  const { run, stored } = createRun((ctx) => {
    expect(() => ctx.emit(1, bytes)).toThrow(/^output: has \d+ bytes, and at most 33554432 are allowed/)
    return bytes
  })
  expect(await run.run()).toMatchObject({
    how: 'threw',
    reason: expect.stringMatching(/^ERR_CONCLAVE_INVALID_JOB_VALUE: result: has \d+ bytes, and at most/),
  })
  expect(stored).toEqual([])
})

it.each([
  ['seq', (ctx: JobContext) => ctx.emit(-1, 'x'), /^seq: -1 must be a whole number/],
  ['seq', (ctx: JobContext) => [1, 1].map((seq) => ctx.emit(seq, 'x')), /^seq: 1 was emitted already/],
  ['output', (ctx: JobContext) => ctx.emit(1, new Date()), /^output: is a Date/],
  ['text', (ctx: JobContext) => ctx.log(7 as unknown as string), /^text: 7 must be a string/],
  ['done', (ctx: JobContext) => ctx.progress(2), /^done: 2 must be a number from 0 to 1/],
])('refuses a wrong %s', async (_, call, message) => {
  const { run } = createRun((ctx) => {
    expect(() => call(ctx)).toThrow(message)
  })
  expect(await run.run()).toEqual({ how: 'finished' })
})
