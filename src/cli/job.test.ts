/** `conclave job` with three real nodes: submit, list, read, cancel, and what they say when something is wrong. */
import { type ChildProcess, spawn } from 'node:child_process'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest'
import { CONCLAVE, conclave } from '../../test/support/agents.ts'
import { until } from '../../test/support/job-nodes.ts'
import { freePorts } from '../../test/support/ports.ts'

const IDS = ['a', 'b', 'c'] as const
const FOLDER = mkdtempSync(join(tmpdir(), 'conclave-job-'))
const TOKEN = join(FOLDER, 'token')
const COUNT = join(FOLDER, 'count.mjs')
const nodes = new Map<string, { readonly process: ChildProcess; text: string }>()
let urls: readonly string[] = []

const logged = (id: string, event: string): readonly { readonly [field: string]: unknown }[] =>
  (nodes.get(id)?.text ?? '')
    .split('\n')
    .filter((line) => line.startsWith('{'))
    .map((line) => JSON.parse(line) as { readonly [field: string]: unknown })
    .filter((line) => line['event'] === event)

beforeAll(async () => {
  writeFileSync(TOKEN, 'a-token-of-the-tests')
  writeFileSync(join(FOLDER, 'key'), Buffer.alloc(32, 7))
  writeFileSync(
    COUNT,
    `export default async (ctx) => {
      let n = (await ctx.restore()) ?? 0
      ctx.log('from ' + n)
      while (n < ctx.input.last) {
        n += 1
        ctx.emit(n, { square: n * n })
        await ctx.checkpoint(n)
        ctx.progress(n / ctx.input.last, 'number ' + n)
        while (n === ctx.input.stopAt) await new Promise((resolve) => setTimeout(resolve, 20))
      }
      return { total: n }
    }`,
  )
  const ports = await freePorts(IDS.length)
  const start = (id: string, at: number): void => {
    const peers = IDS.flatMap((other, index) =>
      other === id ? [] : ['--peer', `${other}=127.0.0.1:${ports[index]}`],
    )
    const words = ['--group', 'jobs', '--id', id, '--listen', `127.0.0.1:${ports[at]}`, ...peers]
    const files = ['--key-file', join(FOLDER, 'key'), '--data', join(FOLDER, id), '--admin-token-file', TOKEN]
    const times = ['pingMs=400', 'alphaMs=1600', 'timeoutMs=3000'].flatMap((each) => ['--option', each])
    const process = spawn(CONCLAVE, ['job', 'serve', ...words, ...files, ...times, '--http', '127.0.0.1:0'], {
      stdio: ['ignore', 'ignore', 'pipe'],
    })
    const node = { process, text: '' }
    process.stderr.on('data', (data: Buffer) => (node.text += data.toString()))
    nodes.set(id, node)
  }
  for (const [at, id] of IDS.entries()) start(id, at)
  await until(() => IDS.every((id) => logged(id, 'started').length > 0))
  urls = IDS.map((id) => String(logged(id, 'started')[0]?.['http']))
}, 90_000)

afterEach(({ task }) => {
  if (task.result?.state === 'fail') for (const { text } of nodes.values()) console.error(text)
})

afterAll(async () => {
  const ended = [...nodes.values()].map(({ process }) => {
    if (process.exitCode !== null) return Promise.resolve()
    const closed = new Promise<void>((resolve) => process.once('close', () => resolve()))
    process.kill('SIGKILL')
    return closed
  })
  await Promise.all(ended)
  rmSync(FOLDER, { recursive: true, force: true })
})

const job = (at: number, ...words: readonly string[]) =>
  conclave(['job', ...words, '--agent', urls[at] ?? ''], { CONCLAVE_ADMIN_TOKEN_FILE: TOKEN })

it('submits a job, waits for it, and prints its result; its outputs are the same at every node', async () => {
  const input = JSON.stringify({ last: 6 })
  const { code, out, said } = await job(
    0,
    'submit',
    'squares',
    '--module',
    COUNT,
    '--input',
    input,
    '--wait',
    '--json',
  )
  expect([code, said]).toEqual([0, expect.any(String)])
  expect(JSON.parse(out)).toMatchObject({ name: 'squares', status: 'done', result: { total: 6 } })
  const squares = Array.from({ length: 6 }, (_, at) => ({ seq: at + 1, output: { square: (at + 1) ** 2 } }))
  for (const at of [0, 1, 2]) {
    // oxlint-disable-next-line no-await-in-loop -- one node after the other
    const logs = await job(at, 'logs', 'squares', '--json')
    expect(
      logs.out
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line) as unknown),
    ).toEqual(squares)
  }
  expect((await job(1, 'logs', 'squares')).out).toMatch(/^1 {2}\{"square":1\}\n/)
  expect(readdirSync(FOLDER).sort()).toContain('a')
}, 120_000)

it('gives the outputs and the result of the last job of a name, after a failed and a cancelled one', async () => {
  const tagged = join(FOLDER, 'tagged.mjs')
  writeFileSync(
    tagged,
    `export default async (ctx) => {
      for (let n = 1; n <= ctx.input.outputs; n += 1) ctx.emit(n, ctx.input.tag + n)
      await ctx.checkpoint(1)
      if (ctx.input.fails) throw new Error('no ' + ctx.input.tag)
      return ctx.input.tag
    }`,
  )
  const submit = (tag: string, outputs: number, fails = false) => {
    const input = JSON.stringify({ tag, outputs, fails })
    return job(0, 'submit', 'again', '--module', tagged, '--input', input, '--wait')
  }
  expect(await submit('first', 3, true)).toMatchObject({ code: 1, out: 'again failed: Error: no first\n' })
  expect((await job(1, 'logs', 'again')).out).toBe('1  first1\n2  first2\n3  first3\n')
  expect(await submit('second', 2)).toMatchObject({ code: 0, out: 'second\n' })
  expect((await job(1, 'logs', 'again')).out).toBe('1  second1\n2  second2\n')
  await job(2, 'cancel', 'again')
  expect(await submit('third', 0)).toMatchObject({ code: 0, out: 'third\n' })
  expect((await job(1, 'logs', 'again')).out).toBe('')
}, 120_000)

it('lists jobs with their progress at every node, and cancels one', async () => {
  const input = JSON.stringify({ last: 10, stopAt: 5 })
  const submitted = await job(1, 'submit', 'halted', '--module', COUNT, '--input', input)
  expect(submitted).toMatchObject({ code: 0 })
  expect(submitted.out).toMatch(/^halted is submitted; follow it with "conclave job list"/)
  type Listed = {
    readonly jobs: readonly { readonly name: string; readonly progress: { readonly done: number } | null }[]
  }
  const progressAt = async (at: number): Promise<number> => {
    const { jobs } = JSON.parse((await job(at, 'list', '--json')).out) as Listed
    return jobs.find(({ name }) => name === 'halted')?.progress?.done ?? 0
  }
  for (const at of [0, 1, 2]) {
    // oxlint-disable-next-line no-await-in-loop -- until the node shows it
    while ((await progressAt(at)) !== 0.5);
  }
  expect((await job(0, 'list')).out).toMatch(/halted +running +[abc] +5 +50 % number 5/)
  expect(await job(2, 'cancel', 'halted')).toMatchObject({ code: 0, out: 'halted is cancelled\n' })
  const { jobs } = JSON.parse((await job(2, 'list', '--json')).out) as Listed
  expect(jobs.find(({ name }) => name === 'halted') ?? { status: 'cancelled' }).toMatchObject({
    status: 'cancelled',
  })
}, 120_000)

it('continues a job when its node is stopped, and the node exits with 0', async () => {
  const input = JSON.stringify({ last: 8, stopAt: 0 })
  const slow = join(FOLDER, 'slow.mjs')
  const go = join(FOLDER, 'go')
  const source = readFileSync(COUNT, 'utf8').replace(
    'n === ctx.input.stopAt',
    `n === 4 && !(await import('node:fs')).existsSync(${JSON.stringify(go)})`,
  )
  writeFileSync(slow, source)
  await job(0, 'submit', 'moved', '--module', slow, '--input', input)
  const ownerOf = (): string | undefined =>
    IDS.find((id) => logged(id, 'log').some((line) => line['job'] === 'moved' && line['text'] === 'from 0'))
  await until(() => ownerOf() !== undefined)
  const owner = ownerOf() as string
  const { process } = nodes.get(owner) as { readonly process: ChildProcess }
  const other = IDS.findIndex((id) => id !== owner)
  // oxlint-disable-next-line no-await-in-loop -- until its fourth checkpoint is committed
  while (!(await job(other, 'list')).out.match(/moved +running +[abc] +4/));
  const exit = new Promise((resolve) => process.once('close', (code) => resolve(code)))
  process.kill('SIGTERM')
  expect(await exit).toBe(0)
  mkdirSync(go)
  const followed = await job(other, 'logs', 'moved', '--follow')
  expect(followed.out.trim().split('\n')).toHaveLength(8)
  const heirs = IDS.filter((id) => logged(id, 'log').some((line) => line['text'] === 'from 4'))
  expect(heirs).not.toContain(owner)
  expect(heirs).toHaveLength(1)
}, 120_000)

it.each([
  [5, /job "squares" exists: it is done; choose another name/, ['submit', 'squares', '--module', COUNT]],
  [2, /module: .*missing\.mjs cannot be read/, ['submit', 'x', '--module', join(FOLDER, 'missing.mjs')]],
  [2, /name: "a b" must have/, ['submit', 'a b', '--module', COUNT]],
  [2, /--input \{: must be JSON/, ['submit', 'x', '--module', COUNT, '--input', '{']],
  [2, /required option '--module <file>' not specified/, ['submit', 'x']],
  [5, /no job is called "nothing"/, ['logs', 'nothing']],
  [5, /no job is called "nothing"/, ['cancel', 'nothing']],
])(
  'exits with %i and says what is wrong: %s',
  async (code, message, words) => {
    const at = IDS.findIndex((id) => nodes.get(id)?.process.exitCode === null)
    const ran = await job(at, ...words)
    expect(ran.said).toMatch(message)
    expect(ran.code).toBe(code)
  },
  60_000,
)

it('refuses to submit and cancel without the admin token', async () => {
  const at = IDS.findIndex((id) => nodes.get(id)?.process.exitCode === null)
  const words = ['job', 'submit', 'x', '--module', COUNT, '--agent', urls[at] ?? '']
  const ran = await conclave(words)
  expect(ran).toMatchObject({ code: 5 })
  expect(ran.said).toMatch(
    /the admin token is missing or wrong; give the file of the token with --admin-token-file/,
  )
}, 60_000)

it.each([
  [['--slots', 'many'], /--slots many: write a whole number/],
  [[], /data.* is required with recovery|data: is missing/],
])(
  'does not serve with %j',
  async (more, message) => {
    const words = [
      'job',
      'serve',
      '--group',
      'g',
      '--id',
      'a',
      '--listen',
      '127.0.0.1:7999',
      '--peer',
      'b=127.0.0.1:7998',
    ]
    const ran = await conclave([
      ...words,
      '--key-file',
      join(FOLDER, 'key'),
      ...more,
      ...(more.length > 0 ? ['--data', join(FOLDER, 'z')] : []),
    ])
    expect(ran.said).toMatch(message)
    expect(ran.code).toBe(2)
  },
  60_000,
)
