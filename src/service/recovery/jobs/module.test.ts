/** Module jobs: each in a thread of its own. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, it } from 'vitest'
import { JobNodes, until } from '../../../../test/support/job-nodes.ts'
import type { JobContext } from './context.ts'
import { digestOfModule, runModule } from './module-run.ts'
import type { EncodedContext } from './run.ts'
import { decodeValue, encodeValue } from './value.ts'

const FOLDER = mkdtempSync(join(tmpdir(), 'conclave-module-'))
afterAll(() => rmSync(FOLDER, { recursive: true, force: true }))

function moduleWith(name: string, source: string): string {
  const file = join(FOLDER, `${name}.mjs`)
  writeFileSync(file, source)
  return file
}

/** Runs a module as a node would, without a node. */
async function run(file: string, { input = null, digest = '' }: { input?: unknown; digest?: string } = {}) {
  const stop = new AbortController()
  const stored: unknown[] = []
  const emitted: unknown[] = []
  const progress: unknown[] = []
  const logged: string[] = []
  const stalls: (number | null)[] = []
  const context = {
    name: 'job',
    token: 5,
    signal: stop.signal,
    progress: (done: number, text: string) => progress.push([done, text]),
    log: (text: string) => logged.push(text),
  } as unknown as JobContext
  const encoded: EncodedContext = {
    state: encodeValue({ from: 3 }, 'state'),
    async checkpoint(state, signal) {
      signal?.throwIfAborted()
      stored.push(decodeValue(state))
      if (stored.length === 2)
        throw Object.assign(new Error('full'), { code: 'ERR_CONCLAVE_CHECKPOINT_DISK_FULL' })
    },
    emit: ({ seq, value }) => emitted.push([seq, decodeValue(value)]),
  }
  const definition = {
    kind: 'module',
    file,
    digest: digest === '' ? await digestOfModule(file).catch(() => '') : digest,
    input,
  } as const
  const limits = { stallMs: 200, stopMs: 100, stalled: (ms: number | null) => stalls.push(ms) }
  const running = runModule(definition, context, encoded, limits)
  return { running, stop, stored, emitted, progress, logged, stalls }
}

it('gives a module its input and its state, and takes its checkpoints, outputs, progress and result', async () => {
  const file = moduleWith(
    'all',
    `export default async (ctx) => {
      ctx.log('token ' + ctx.token)
      ctx.emit(1, new Uint8Array([1, 2]))
      ctx.progress(0.5, 'half')
      await ctx.checkpoint({ restored: await ctx.restore() })
      let code = ''
      try { await ctx.checkpoint('second') } catch (error) { code = error.code }
      return { input: ctx.input, name: ctx.name, code }
    }`,
  )
  const { running, stored, emitted, progress, logged } = await run(file, { input: { width: 4 } })
  expect(decodeValue(await running)).toEqual({
    input: { width: 4 },
    name: 'job',
    code: 'ERR_CONCLAVE_CHECKPOINT_DISK_FULL',
  })
  expect(stored).toEqual([{ restored: { from: 3 } }, 'second'])
  expect(emitted).toEqual([[1, new Uint8Array([1, 2])]])
  expect(progress).toEqual([[0.5, 'half']])
  expect(logged).toEqual(['token 5'])
})

it.each([
  ['throws', 'export default () => { throw new RangeError("no") }', /^no$/],
  ['has no function', 'export const job = 1', /must export a function as default/],
  ['cannot be parsed', 'export default (', /./],
  ['ends its thread', 'export default () => process.exit(3)', /its thread ended with code 3/],
])('rejects when the module %s', async (name, source, message) => {
  const { running } = await run(moduleWith(name.replaceAll(' ', '-'), source))
  await expect(running).rejects.toThrow(message)
})

it('declines a module that is missing, or that differs from the submitted one', async () => {
  const missing = await run(join(FOLDER, 'missing.mjs'))
  await expect(missing.running).rejects.toMatchObject({ name: 'JobDeclinedError' })
  const file = moduleWith('other', 'export default () => 1')
  const { running } = await run(file, { digest: 'f'.repeat(64) })
  await expect(running).rejects.toThrow(/differs from the submitted one; copy it to this node/)
})

it('reports a thread that is blocked, and ends it when the job is stopped', async () => {
  const file = moduleWith('blocked', 'export default async () => { for (;;) {} }')
  const { running, stop, stalls } = await run(file)
  await until(() => stalls.length > 0)
  expect(stalls[0]).toBeGreaterThanOrEqual(200)
  stop.abort(new Error('cancelled'))
  await expect(running).rejects.toThrow(/its thread ended/)
})

it('lets a module clean up when its signal is aborted', async () => {
  const file = moduleWith(
    'clean',
    `export default (ctx) => new Promise((resolve) => {
      ctx.log('waiting')
      ctx.signal.addEventListener('abort', () => resolve(ctx.signal.reason.message))
    })`,
  )
  const { running, stop, logged } = await run(file)
  await until(() => logged.length > 0)
  stop.abort(new Error('cancelled'))
  expect(decodeValue(await running)).toBe('cancelled')
})

it('continues a module job elsewhere; a blocked one does not disturb its node, and cancelling ends it', async () => {
  const count = moduleWith(
    'count',
    `export default async (ctx) => {
      let n = (await ctx.restore()) ?? 0
      ctx.log('from ' + n)
      while (n < ctx.input.last) {
        n += 1
        ctx.emit(n, n * n)
        await ctx.checkpoint(n)
        ctx.progress(n / ctx.input.last)
        if (n === 5) await new Promise((resolve) => setTimeout(resolve, 500))
      }
      return n
    }`,
  )
  const spin = moduleWith('spin', 'export default async (ctx) => { ctx.log("spinning"); for (;;) {} }')
  const nodes = await JobNodes.start(
    'abc',
    `
if (id === 'a') {
  follow(await cluster.submit('spin', { module: ${JSON.stringify(spin)} }))
  while ((await cluster.handle('spin').status()).status !== 'running') await wait(10)
  await cluster.submit('count', { module: ${JSON.stringify(count)}, input: { last: 12 } })
}
const watch = async () => {
  while (!has('cancel')) await wait(10)
  if (id === 'a') { await cluster.cancel('spin'); say('cancelled') }
}
void watch()
const results = async () => {
  while (!(await cluster.jobs()).some(({ name }) => name === 'count')) await wait(10)
  await follow(cluster.handle('count'))
  say('outputs', (await cluster.logs('count')).map(({ seq, output }) => seq + ':' + output).join())
}
void results()
const stalls = async () => {
  for (;;) {
    const stalled = (await cluster.jobs()).find(({ name, stalledMs }) => name === 'spin' && stalledMs !== null)
    if (stalled !== undefined) { say('stalled', stalled.node); return }
    await wait(50)
  }
}
void stalls()
`,
    { stallMs: 300, slots: 1 },
  )
  // The blocked thread is reported by its node, which stays in the view.
  const [spinner] = await nodes.first('stalled')
  const [owner] = await nodes.first('log count from 0')
  expect(owner).not.toBe(spinner)
  if (owner !== 'a') await nodes.kill(owner)
  for (const result of await nodes.all('result count')) expect(result).toBe('12')
  const squares = Array.from({ length: 12 }, (_, at) => `${at + 1}:${(at + 1) ** 2}`).join()
  for (const outputs of await nodes.all('outputs')) expect(outputs).toBe(squares)
  nodes.tell('cancel')
  await nodes.first('cancelled', ['a'])
  const [, rejection] = await nodes.first('rejected spin', ['a'])
  expect(rejection).toMatch(/^ERR_CONCLAVE_JOB_CANCELLED/)
}, 180_000)
