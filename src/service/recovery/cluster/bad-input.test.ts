/** What goes wrong in jobs, and its outcome: exceptions, full disks, blocked threads, names used twice, damaged columns. */
import { existsSync, readdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { JobNodes, until } from '../../../../test/support/job-nodes.ts'

it('reports a job that throws, with its reason, at every node; and a job that returns what cannot be stored', async () => {
  const nodes = await JobNodes.start(
    'abc',
    `
follow(cluster.job('broken', async (ctx) => {
  ctx.emit(1, 'before')
  await ctx.checkpoint({ n: 1 })
  ctx.emit(2, 'never released')
  throw new RangeError('no such tile')
})).then(async () => say('outputs', (await cluster.logs('broken')).map(({ seq }) => seq).join()))
follow(cluster.job('odd', async () => new Map()))
`,
  )
  for (const rejection of await nodes.all('rejected broken'))
    expect(rejection).toBe('ERR_CONCLAVE_JOB_FAILED job "broken" failed: RangeError: no such tile')
  for (const rejection of await nodes.all('rejected odd'))
    expect(rejection).toContain('ERR_CONCLAVE_INVALID_JOB_VALUE: result: is a Map')
  for (const outputs of await nodes.all('outputs')) expect(outputs).toBe('1')
}, 180_000)

it('refuses a function for a name that this node has registered, and a module for a name that the group has', async () => {
  const nodes = await JobNodes.start(
    'abc',
    `
const handle = cluster.job('twice', async () => 1)
try { cluster.job('twice', async () => 2) } catch (error) { say('second', error.code, error.message) }
follow(handle).then(() => cluster.submit('twice', { module: 'package.json' })).catch((error) => say('third', error.code))
try { cluster.job('a b', async () => 1) } catch (error) { say('named', error.code, error.message) }
`,
  )
  for (const line of await nodes.all('second'))
    expect(line).toMatch(
      /^ERR_CONCLAVE_JOB_EXISTS job "twice" exists: this node has already registered a function/,
    )
  for (const line of await nodes.all('named'))
    expect(line).toMatch(/^ERR_CONCLAVE_INVALID_ARGUMENT name: "a b" must/)
  for (const line of await nodes.all('third')) expect(line).toBe('ERR_CONCLAVE_JOB_EXISTS')
  // The first function ran, once for the group.
  for (const result of await nodes.all('result twice')) expect(result).toBe('1')
}, 180_000)

const WRITER = `
follow(cluster.job('writer', async (ctx) => {
  const store = async (name, bytes) => {
    try {
      await ctx.checkpoint({ name, bytes: new Uint8Array(bytes) })
      say('stored', name)
    } catch (error) {
      say('failed', name, error.code, error.message)
    }
  }
  const until = async (name) => { while (!has(name)) { ctx.signal.throwIfAborted(); await wait(10) } }
  say('owner')
  await store('first', 100_000)
  await until('one')
  await store('second', 100_000)
  await until('two')
  await store('third', 100_000)
  await until('three')
  await store('fourth', 100_000)
  return (await ctx.restore()) ?? 'a first run'
}))
`

it('continues on the other disks when one is full, fails cleanly when too many are, and continues when space is freed', async () => {
  const nodes = await JobNodes.start('abc', WRITER)
  const [owner] = await nodes.first('stored first')
  const [one, two] = nodes.ids.filter((id) => id !== owner)
  nodes.tell(`full-${one}`)
  nodes.tell('one')
  await nodes.first('stored second')
  nodes.tell(`full-${two}`)
  nodes.tell('two')
  const [, failure] = await nodes.first('failed third')
  expect(failure).toMatch(
    /^ERR_CONCLAVE_CHECKPOINT_DISK_FULL checkpoint 3 of job "writer" does not fit on the disks: /,
  )
  expect(failure).toMatch(/no space left/)
  expect(failure).toMatch(/The last committed checkpoint stays$/)
  nodes.take(`full-${one}`)
  nodes.take(`full-${two}`)
  nodes.tell('three')
  await nodes.first('stored fourth')
  for (const result of await nodes.all('result writer')) expect(result).toBe('"a first run"')
}, 180_000)

it('continues a job from its last checkpoint when space is freed, although it let the error of the full disks pass', async () => {
  const nodes = await JobNodes.start(
    'abc',
    `
follow(cluster.job('careless', async (ctx) => {
  const state = (await ctx.restore()) ?? { next: 1, runs: [] }
  state.runs.push(state.next)
  for (; state.next <= 4; state.next += 1) {
    if (state.next === 3) { say('third'); while (!has('go')) { ctx.signal.throwIfAborted(); await wait(10) } }
    await ctx.checkpoint({ ...state, next: state.next + 1, bytes: new Uint8Array(100_000) })
  }
  return state.runs
}))
`,
  )
  const [owner] = await nodes.first('third')
  const others = nodes.ids.filter((id) => id !== owner)
  for (const id of others) nodes.tell(`full-${id}`)
  nodes.tell('go')
  const [, warning] = await nodes.first('warning checkpoint')
  expect(warning).toMatch(
    /^job "careless" continues from its last checkpoint in 1 s: checkpoint 3 .* does not fit on the disks/,
  )
  for (const id of others) nodes.take(`full-${id}`)
  for (const result of await nodes.all('result careless')) expect(result).toBe('[1,3]')
}, 180_000)

it('refuses a checkpoint that is larger than the disks or than the limit, and keeps the last one', async () => {
  const nodes = await JobNodes.start(
    'abc',
    `
follow(cluster.job('large', async (ctx) => {
  const before = await ctx.restore()
  if (before !== undefined) return before
  const codes = []
  await ctx.checkpoint('small')
  for (const bytes of [8, 64]) {
    try { await ctx.checkpoint(new Uint8Array(bytes * 2 ** 20)) } catch (error) { codes.push(error.code) }
  }
  const aborted = new AbortController()
  aborted.abort(new Error('enough'))
  try { await ctx.checkpoint('late', { signal: aborted.signal }) } catch (error) { codes.push(error.code, error.cause.message) }
  try { await ctx.checkpoint(() => 1) } catch (error) { codes.push(error.code) }
  await ctx.checkpoint(codes)
  if (!has('again')) { say('codes', codes.join()); process.kill(process.pid, 'SIGKILL') }
}))
`,
    { disk: 200_000 },
  )
  // The owner kills itself; the next one continues from the last checkpoint that was stored.
  await until(() => nodes.living.length === 2)
  nodes.tell('again')
  for (const result of await nodes.all('result large'))
    expect(JSON.parse(result)).toEqual([
      'ERR_CONCLAVE_CHECKPOINT_DISK_FULL',
      'ERR_CONCLAVE_CHECKPOINT_TOO_LARGE',
      'ERR_CONCLAVE_CHECKPOINT_ABORTED',
      'enough',
      'ERR_CONCLAVE_INVALID_JOB_VALUE',
    ])
}, 180_000)

it('continues a job elsewhere when its function blocks the thread, and refuses the checkpoint of the old run', async () => {
  const nodes = await JobNodes.start(
    'abc',
    `
follow(cluster.job('spin', async (ctx) => {
  const { n } = (await ctx.restore()) ?? { n: 0 }
  say('from', n, id)
  if (n === 0) {
    ctx.emit(1, id)
    await ctx.checkpoint({ n: 1 })
    say('blocking')
    while (!has('unblock')) {}
    ctx.emit(2, id)
    try { await ctx.checkpoint({ n: 2 }); say('stored') } catch (error) { say('refused', error.code) }
    return 'the old run'
  }
  ctx.emit(2, id)
  await ctx.checkpoint({ n: 2 })
  return 'the new run'
})).then(async () => say('outputs', JSON.stringify((await cluster.logs('spin')).map(({ seq, output }) => [seq, output]))))
`,
  )
  const [blocked] = await nodes.first('blocking')
  const others = nodes.ids.filter((id) => id !== blocked)
  const [heir] = await nodes.first('from 1', others)
  await nodes.first('result spin', others)
  nodes.tell('unblock')
  const [, code] = await nodes.first('refused', [blocked])
  expect(code).toBe('ERR_CONCLAVE_JOB_FENCED')
  for (const result of await nodes.all('result spin')) expect(result).toBe('"the new run"')
  for (const outputs of await nodes.all('outputs'))
    expect(JSON.parse(outputs)).toEqual([
      [1, blocked],
      [2, heir],
    ])
}, 180_000)

it('finds and repairs a flipped bit, a truncated column and a deleted column, and reports each', async () => {
  const nodes = await JobNodes.start(
    'abc',
    `
follow(cluster.job('keep', async (ctx) => {
  await ctx.checkpoint({ picture: new Uint8Array(300_000).fill(7) })
  say('stored')
  while (!has('end')) { ctx.signal.throwIfAborted(); await wait(10) }
}))
`,
    { scrubIntervalMs: 1000 },
  )
  await nodes.first('stored')
  const namesOf = (id: string): readonly string[] =>
    readdirSync(join(nodes.folder, `${id}-columns`)).filter((each) => /^keep~.*~1~\d+~\d+~/.test(each))
  const tokenIn = (name: string | undefined): string | undefined => name?.split('~').at(-3)
  // A node that joined late has made the others encode again: one column each, of one encoding.
  await until(() => {
    const names = nodes.ids.map(namesOf)
    return (
      names.every(({ length }) => length === 1) && new Set(names.map(([name]) => tokenIn(name))).size === 1
    )
  })
  const column = (id: string): string => join(nodes.folder, `${id}-columns`, namesOf(id)[0] as string)
  const [flipped, cut, deleted] = [column('a'), column('b'), column('c')]
  const [good, whole] = [readFileSync(flipped), readFileSync(cut)]
  const bad = Buffer.from(good)
  bad[good.length >> 1] = (bad[good.length >> 1] as number) ^ 1
  writeFileSync(flipped, bad)
  truncateSync(cut, whole.length >> 1)
  const isGood = (file: string, content: Buffer): boolean => readFileSync(file).equals(content)
  await until(() => isGood(flipped, good) && isGood(cut, whole))
  const last = readFileSync(deleted)
  rmSync(deleted)
  await until(() => existsSync(deleted) && isGood(deleted, last))
  for (const id of ['a', 'b', 'c'])
    expect(nodes.said(id, 'warning columns').join('\n')).toMatch(/of job "keep" is lost \(.*it is rebuilt/)
  nodes.tell('end')
  expect(await nodes.all('result keep')).toHaveLength(3)
}, 180_000)
