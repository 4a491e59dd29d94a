/** Five nodes in this process: real files, and real sockets on loopback. */
import { randomBytes } from 'node:crypto'
import { mkdtempSync, readdirSync, readFileSync, readlinkSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { describe, expect, it, onTestFinished } from 'vitest'
import { pending, until } from '../../../../test/support/wait.ts'
import { type Commit, codeFor, type Source } from '../../../recovery/manager/types.ts'
import { type ColumnStore, columnName, findColumnProblem, openDiskStore, scrub } from '../store/index.ts'
import { ColumnClient, ColumnOffers, ColumnServer, type Upload, type Verdict } from '../transport/index.ts'
import { Checkpoints } from './checkpoints.ts'
import { describePayload, type Payload } from './payload.ts'
import type { UploadPlan } from './upload.ts'

const KEY = Buffer.alloc(32, 5)
const GROUP = 'g'
const MEGABYTE = 1_000_000
const TOKEN = 10_001

type TestNode = {
  readonly id: number
  readonly folder: string
  readonly store: ColumnStore
  readonly server: ColumnServer
  readonly checkpoints: Checkpoints
  /** Columns that the protocol has recorded. */
  readonly held: Upload[]
  /** Tokens below are refused. */
  fence: number
}

async function startNodes(count: number): Promise<readonly TestNode[]> {
  const ports = new Map<number, number>()
  const start = async (id: number): Promise<TestNode> => {
    const folder = mkdtempSync(join(tmpdir(), 'conclave-checkpoints-'))
    const store = await openDiskStore({ folder })
    const offers = new ColumnOffers()
    const client = new ColumnClient({
      self: id,
      keys: [KEY],
      addressOf: (node) => ({ host: '127.0.0.1', port: ports.get(node as number) as number }),
      idleMs: 5000,
      offers,
      minOfferBytes: 0,
    })
    const server = await ColumnServer.listen({
      self: id,
      host: '127.0.0.1',
      port: 0,
      keys: [KEY],
      offers,
      fetch: client.fetchOffered.bind(client),
    })
    ports.set(id, server.address.port)
    const judge = async ({ token }: { readonly token: number }): Promise<Verdict> =>
      token < node.fence ? { ok: false, reason: `the fence is ${node.fence}` } : { ok: true }
    const recordStored = async (upload: Upload): Promise<Verdict> => {
      const verdict = await judge(upload)
      if (verdict.ok) node.held.push(upload)
      return verdict
    }
    const checkpoints = new Checkpoints({
      self: id,
      group: GROUP,
      store,
      client,
      getToken: () => TOKEN,
      recordStored,
    })
    const node: TestNode = { id, folder, store, server, checkpoints, held: [], fence: 0 }
    server.serve(GROUP, { store, gate: { mayStore: judge, mayRead: judge, recordStored } })
    onTestFinished(async () => {
      client.close()
      await server.close()
      await store.close()
      rmSync(folder, { recursive: true, force: true })
    })
    return node
  }
  return Promise.all(Array.from({ length: count }, (_, at) => start(at + 1)))
}

async function planFor(nodes: readonly TestNode[], payload: Payload, epoch = 1): Promise<UploadPlan> {
  return {
    id: { job: 'render', assignment: [TOKEN, 0], epoch, token: TOKEN },
    code: codeFor(nodes.length),
    holders: nodes.map(({ id }) => id),
    ...(await describePayload(payload)),
  }
}

function commitOf(plan: UploadPlan, columns: readonly number[]): Commit {
  return { ...plan, holders: plan.holders.map((node, column) => (columns.includes(column) ? node : null)) }
}

function sourcesOf({ holders }: Commit): readonly Source[] {
  return holders.flatMap((node, column) => (node === null ? [] : [{ node, column }]))
}

/** Stores a payload at all nodes, from the first. */
async function storeAtAll(nodes: readonly TestNode[], payload: Payload, epoch = 1): Promise<Commit> {
  const plan = await planFor(nodes, payload, epoch)
  const { columns, problems } = await (nodes[0] as TestNode).checkpoints.upload(plan, payload)
  expect(problems).toEqual([])
  return commitOf(plan, columns)
}

function fileOf({ folder, id }: TestNode, commit: Commit): string {
  return join(folder, columnName({ id: commit.id, column: id - 1, digest: commit.digest }))
}

function damage(node: TestNode, commit: Commit, change: (bytes: Buffer) => Buffer): void {
  const file = fileOf(node, commit)
  writeFileSync(file, change(readFileSync(file)))
}

function flipLast(bytes: Buffer): Buffer {
  bytes[bytes.length - 1] = (bytes.at(-1) as number) ^ 1
  return bytes
}

const unfinished = (node: TestNode): string[] =>
  readdirSync(node.folder).filter((name) => name.endsWith('.new'))

describe('a checkpoint', () => {
  it.each([0, 1, 1000, MEGABYTE, 5 * MEGABYTE + 7])('of %i bytes is stored and restored', async (size) => {
    const nodes = await startNodes(5)
    const payload = randomBytes(size)
    const commit = await storeAtAll(nodes, payload)
    expect(commit.holders).toEqual([1, 2, 3, 4, 5])
    expect(nodes.map(({ held }) => held.map(({ key }) => key.column))).toEqual([[0], [1], [2], [3], [4]])
    const restored = await Promise.all(
      nodes.map(({ checkpoints }) => checkpoints.restore(commit, sourcesOf(commit))),
    )
    expect(restored.map(({ bad }) => bad)).toEqual([[], [], [], [], []])
    expect(restored.every(({ payload: found }) => payload.equals(found))).toBe(true)
  })

  it.each([1, 2, 3, 4, 7])('survives among %i nodes as many losses as its code tolerates', async (count) => {
    const nodes = await startNodes(count)
    const payload = randomBytes(MEGABYTE)
    const commit = await storeAtAll(nodes, payload)
    const { data } = commit.code
    const sources = sourcesOf(commit).slice(commit.code.columns - data)
    const { payload: found } = await (nodes.at(-1) as TestNode).checkpoints.restore(commit, sources)
    expect(payload.equals(found)).toBe(true)
    await expect((nodes[0] as TestNode).checkpoints.restore(commit, sources.slice(1))).rejects.toMatchObject({
      name: 'UnrestorableError',
      message: expect.stringContaining('checkpoint 1 of job'),
    })
  })

  it('is taken from pieces of any length, and checked when it is read again', async () => {
    const nodes = await startNodes(5)
    const whole = randomBytes(4 * MEGABYTE)
    const cuts = [0, 1, 3, 100_003, 900_001, 900_001, 3_999_999, whole.length]
    const pieces = (): Uint8Array[] => cuts.slice(1).map((end, at) => whole.subarray(cuts[at], end))
    const commit = await storeAtAll(nodes, pieces)
    expect(commit.digest).toBe((await describePayload(whole)).digest)
    const { payload } = await (nodes[2] as TestNode).checkpoints.restore(commit, sourcesOf(commit))
    expect(whole.equals(payload)).toBe(true)
  })

  it('in several pieces of memory is stored as one', async () => {
    const nodes = await startNodes(5)
    const bytes = randomBytes(3 * MEGABYTE)
    const payload = [bytes.subarray(0, 5), bytes.subarray(5, MEGABYTE), bytes.subarray(MEGABYTE)]
    const [first] = nodes as [TestNode]
    const plan = await planFor(nodes, payload)
    expect(plan).toMatchObject(await describePayload(bytes))
    await first.checkpoints.upload(plan, payload)
    const sources = plan.holders.map((node, column) => ({ node, column }))
    expect(Buffer.from((await first.checkpoints.restore(plan, sources)).payload).equals(bytes)).toBe(true)
  })

  it.each([
    ['other bytes', (bytes: Buffer) => flipLast(Buffer.from(bytes)), /its digest is/],
    ['fewer bytes', (bytes: Buffer) => bytes.subarray(1), /it has 2999999 bytes, had 3000000/],
    ['more bytes', (bytes: Buffer) => Buffer.concat([bytes, bytes]), /more than 3000000 bytes/],
  ] as const)('with %s the second time is refused, and leaves nothing', async (_, change, message) => {
    const nodes = await startNodes(5)
    const bytes = randomBytes(3 * MEGABYTE)
    let calls = 0
    const payload = (): Uint8Array[] => {
      calls += 1
      return [calls === 1 ? bytes : change(bytes)]
    }
    const plan = await planFor(nodes, payload)
    await expect((nodes[0] as TestNode).checkpoints.upload(plan, payload)).rejects.toMatchObject({
      name: 'PayloadChangedError',
      message: expect.stringMatching(message),
    })
    await until(() => nodes.every((node) => unfinished(node).length === 0))
    expect((await Promise.all(nodes.map((node) => node.store.list()))).flat()).toEqual([])
  })

  it('reports its progress', async () => {
    const nodes = await startNodes(3)
    const payload = randomBytes(2 * MEGABYTE)
    const plan = await planFor(nodes, payload)
    const done: number[] = []
    const { checkpoints } = nodes[0] as TestNode
    await checkpoints.upload(plan, payload, { onProgress: (progress) => done.push(progress.done) })
    expect(done.length).toBeGreaterThan(2)
    expect(done).toEqual([...done].sort((a, b) => a - b))
    expect(done.at(-1)).toBe(2 * MEGABYTE)
    const restored: number[] = []
    const commit = commitOf(plan, [0, 1, 2])
    await checkpoints.restore(commit, sourcesOf(commit), {
      onProgress: (progress) => restored.push(progress.done),
    })
    expect(restored).toEqual(done)
  })
})

describe('a checkpoint with failing nodes', () => {
  it('is acknowledged by the others, and says who failed and why', async () => {
    const nodes = await startNodes(5)
    const [first, , third, fourth] = nodes as [TestNode, TestNode, TestNode, TestNode]
    await third.server.close()
    fourth.fence = TOKEN + 1
    const payload = randomBytes(3 * MEGABYTE)
    const plan = await planFor(nodes, payload)
    const outcome = await first.checkpoints.upload(plan, payload)
    expect(outcome.columns).toEqual([0, 1, 4])
    expect(outcome.problems).toEqual([
      { node: 3, column: 2, problem: expect.stringContaining('node 3 failed: connect ECONNREFUSED') },
      { node: 4, column: 3, problem: `node 4 refused (409): the fence is ${TOKEN + 1}` },
    ])
    expect(fourth.held).toEqual([])
    const commit = commitOf(plan, outcome.columns)
    const { payload: found } = await first.checkpoints.restore(commit, sourcesOf(commit))
    expect(payload.equals(found)).toBe(true)
  })

  it('is given up when too few are left', async () => {
    const nodes = await startNodes(5)
    await Promise.all(nodes.slice(2).map(({ server }) => server.close()))
    const payload = randomBytes(10 * MEGABYTE)
    const outcome = await (nodes[0] as TestNode).checkpoints.upload(await planFor(nodes, payload), payload)
    expect(outcome.columns).toEqual([])
    expect(outcome.problems).toHaveLength(5)
    await until(() => nodes.every((node) => unfinished(node).length === 0))
    expect((await Promise.all(nodes.map((node) => node.store.list()))).flat()).toEqual([])
  })

  it('does not count the own column when the protocol refuses it', async () => {
    const nodes = await startNodes(5)
    const first = nodes[0] as TestNode
    first.fence = TOKEN + 1
    const payload = randomBytes(MEGABYTE)
    const outcome = await first.checkpoints.upload(await planFor(nodes, payload), payload)
    expect(outcome.columns).toEqual([1, 2, 3, 4])
    expect(await first.store.list()).toEqual([])
  })

  it('releases everything when it is aborted', async () => {
    const nodes = await startNodes(5)
    const payload = randomBytes(40 * MEGABYTE)
    const controller = new AbortController()
    const upload = (nodes[0] as TestNode).checkpoints.upload(await planFor(nodes, payload), payload, {
      signal: controller.signal,
      onProgress: ({ done }) => done > 5 * MEGABYTE && controller.abort(new Error('no longer needed')),
    })
    await expect(upload).rejects.toThrow('no longer needed')
    await until(() => nodes.every((node) => unfinished(node).length === 0))
    await until(() => nodes.every(({ server }) => server.load.running === 0))
    expect((await Promise.all(nodes.map((node) => node.store.list()))).flat()).toEqual([])
  })

  it('releases everything, whenever it is aborted', async () => {
    const nodes = await startNodes(5)
    const payload = randomBytes(2 * MEGABYTE)
    const commit = await storeAtAll(nodes, payload)
    const plan = await planFor(nodes, payload, 2)
    /** Files that this process has open; only Linux tells. */
    const columnFiles = (): number =>
      readdirSync('/proc/self/fd').filter((fd) => {
        try {
          return readlinkSync(`/proc/self/fd/${fd}`).includes('conclave-checkpoints-')
        } catch {
          return false
        }
      }).length
    const before = process.platform === 'linux' ? columnFiles() : 0
    for (let delay = 0; delay < 60; delay += 3) {
      const controller = new AbortController()
      const { signal } = controller
      const reason = new Error('no longer needed')
      const calls = [
        (nodes[0] as TestNode).checkpoints.upload(plan, payload, { signal }),
        (nodes[3] as TestNode).checkpoints.restore(commit, sourcesOf(commit), { signal }),
      ]
      // oxlint-disable-next-line no-await-in-loop -- each time a little later
      for (let waited = 0; waited < delay; waited++) await nextTurn()
      controller.abort(reason)
      // oxlint-disable-next-line no-await-in-loop -- one after the other
      for (const result of await Promise.allSettled(calls))
        if (result.status === 'rejected') expect(result.reason).toBe(reason)
    }
    await until(() => nodes.every(({ server }) => server.load.running === 0))
    await until(() => nodes.every((node) => unfinished(node).length === 0))
    if (process.platform === 'linux') await until(() => columnFiles() === before)
    expect(await findColumnProblem(nodes[4]?.store as ColumnStore, { ...commit, column: 4 })).toBeNull()
  })

  it('takes no more of the payload than a few stripes while a holder stalls', async () => {
    const nodes = await startNodes(5)
    const stalled = pending<Verdict>()
    const [first, second] = nodes as [TestNode, TestNode]
    const allow = async (): Promise<Verdict> => ({ ok: true })
    const gate = { mayStore: () => stalled.promise, mayRead: allow, recordStored: allow }
    second.server.serve(GROUP, { store: second.store, gate })
    const piece = randomBytes(MEGABYTE)
    let taken = 0
    const payload = function* (): Generator<Uint8Array> {
      for (taken = 0; taken < 40; taken++) yield piece
    }
    const plan = await planFor(nodes, payload)
    taken = 0
    const upload = first.checkpoints.upload(plan, payload)
    // A stripe has 1.5 MiB, and four fill the queue of the stalled holder.
    await until(() => taken >= 5)
    for (let turn = 0; turn < 200; turn++)
      // oxlint-disable-next-line no-await-in-loop -- lets the other lanes go on as far as they can
      await nextTurn()
    expect(taken).toBeLessThan(9)
    stalled.resolve({ ok: true })
    const commit = commitOf(plan, (await upload).columns)
    expect(commit.holders).toEqual([1, 2, 3, 4, 5])
    let isSame = true
    let at = 0
    await first.checkpoints.restoreTo(commit, sourcesOf(commit), (part) => {
      for (let offset = 0; offset < part.length; at++, offset++)
        isSame &&= part[offset] === piece[at % piece.length]
    })
    expect([at, isSame]).toEqual([40 * MEGABYTE, true])
  })
})

describe('a restored checkpoint', () => {
  it.each([
    ['a flipped bit', flipLast, /is corrupt: stripe checksum/],
    [
      'a truncated file',
      (bytes: Buffer) => bytes.subarray(0, bytes.length - 100),
      /is corrupt: total length/,
    ],
  ] as const)('does without columns with %s, and reports them by name', async (_, change, problem) => {
    const nodes = await startNodes(5)
    const payload = randomBytes(4 * MEGABYTE)
    const commit = await storeAtAll(nodes, payload)
    const [first, second] = nodes as [TestNode, TestNode]
    damage(first, commit, change)
    damage(second, commit, change)
    const { payload: found, bad } = await first.checkpoints.restore(commit, sourcesOf(commit))
    expect(payload.equals(found)).toBe(true)
    expect(bad).toHaveLength(2)
    expect(new Set(bad)).toEqual(
      new Set([
        { node: 1, column: 0, isLost: true, problem: expect.stringMatching(problem) },
        { node: 2, column: 1, isLost: true, problem: expect.stringMatching(problem) },
      ]),
    )
    damage(nodes[4] as TestNode, commit, change)
    await expect(first.checkpoints.restore(commit, sourcesOf(commit))).rejects.toMatchObject({
      name: 'UnrestorableError',
      message: expect.stringMatching(/3 columns are needed, 2 are good.*column 0 at node 1/),
    })
  })

  it('does without nodes that are gone, also in the middle', async () => {
    const nodes = await startNodes(5)
    const payload = randomBytes(30 * MEGABYTE)
    const commit = await storeAtAll(nodes, payload)
    const [, second, third, fourth] = nodes as [TestNode, TestNode, TestNode, TestNode]
    await second.server.close()
    const closing: Promise<void>[] = []
    const { payload: found, bad } = await fourth.checkpoints.restore(commit, sourcesOf(commit), {
      onProgress: () => {
        if (closing.length === 0) closing.push(third.server.close())
      },
    })
    await Promise.all(closing)
    expect(payload.equals(found)).toBe(true)
    expect(bad.map(({ node, isLost }) => [node, isLost])).toEqual([
      [2, false],
      [3, false],
    ])
  })

  it('is refused if its digest is wrong', async () => {
    const nodes = await startNodes(3)
    const payload = randomBytes(1000)
    const plan = { ...(await planFor(nodes, payload)), digest: 'd'.repeat(64) }
    const { columns } = await (nodes[0] as TestNode).checkpoints.upload(plan, payload)
    const commit = commitOf(plan, columns)
    await expect((nodes[1] as TestNode).checkpoints.restore(commit, sourcesOf(commit))).rejects.toMatchObject(
      { name: 'DigestMismatchError' },
    )
  })
})

describe('repair', () => {
  it('rebuilds a column that a scrub found corrupt, byte by byte as it was', async () => {
    const nodes = await startNodes(5)
    const commit = await storeAtAll(nodes, randomBytes(4 * MEGABYTE))
    await Promise.all(
      nodes.map(async (node) => {
        const before = readFileSync(fileOf(node, commit))
        damage(node, commit, flipLast)
        const found: string[] = []
        for await (const { problem } of scrub(node.store)) if (problem !== null) found.push(problem)
        expect(found).toEqual([expect.stringContaining('stripe checksum')])
        writeFileSync(fileOf(node, commit), before)
      }),
    )
    for (const node of nodes) {
      const before = readFileSync(fileOf(node, commit))
      damage(node, commit, (bytes) => bytes.subarray(0, 1000))
      // oxlint-disable-next-line no-await-in-loop -- one after the other, so that the others are good
      expect(await node.checkpoints.repair(commit, node.id - 1, sourcesOf(commit))).toEqual([])
      expect(readFileSync(fileOf(node, commit)).equals(before)).toBe(true)
      expect(node.held).toHaveLength(2)
    }
  })

  it('does not change anything when it fails', async () => {
    const nodes = await startNodes(5)
    const commit = await storeAtAll(nodes, randomBytes(4 * MEGABYTE))
    const first = nodes[0] as TestNode
    for (const node of nodes.slice(2)) damage(node, commit, flipLast)
    await expect(first.checkpoints.repair(commit, 0, sourcesOf(commit))).rejects.toMatchObject({
      name: 'UnrestorableError',
    })
    const key = { id: commit.id, column: 0, digest: commit.digest }
    expect(await findColumnProblem(first.store, key)).toBeNull()
    expect(unfinished(first)).toEqual([])
  })
})

describe('re-encoding', () => {
  it('stores a checkpoint for other holders, beside the old columns, which can then be dropped', async () => {
    const nodes = await startNodes(5)
    const payload = randomBytes(4 * MEGABYTE)
    const commit = await storeAtAll(nodes, payload)
    const rest = nodes.slice(1, 4)
    const id = { ...commit.id, token: 20_001 }
    const plan = { id, code: codeFor(3), holders: rest.map((node) => node.id) }
    const sources = sourcesOf(commit).filter(({ node }) => node !== 1)
    const leader = rest[0] as TestNode
    const { columns, bad } = await leader.checkpoints.reencode(commit, sources, plan)
    expect([columns, bad]).toEqual([[0, 1, 2], []])
    expect(await leader.store.list()).toHaveLength(2)
    const dropped = await Promise.all(rest.map(({ checkpoints }) => checkpoints.drop([commit.id])))
    expect(dropped.map((keys) => keys.map(({ id: { token } }) => token))).toEqual([[TOKEN], [TOKEN], [TOKEN]])
    await leader.checkpoints.drop([{ ...id, job: 'another' }])
    const next = commitOf({ ...plan, bytes: commit.bytes, digest: commit.digest }, columns)
    // One data column is enough for three nodes.
    const { payload: found } = await leader.checkpoints.restore(next, sourcesOf(next).slice(2))
    expect(payload.equals(found)).toBe(true)
  })
})
