/** The sinks, each under the conformance suite, and what only the replicated one does. */
import {
  appendFileSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it, onTestFinished } from 'vitest'
import { checkSink, type SinkUnderTest } from '../../../../test/support/sink-conformance.ts'
import { decodeValue, encodeValue } from '../jobs/value.ts'
import {
  openDirectorySink,
  openMemorySink,
  type PeerMessages,
  ReplicatedSink,
  type SinkEntry,
  type SinkRequest,
  submissionOf,
} from './index.ts'

const ROOT = mkdtempSync(join(tmpdir(), 'conclave-sink-'))
afterAll(() => rmSync(ROOT, { recursive: true, force: true }))
const newFolder = (): string => mkdtempSync(join(ROOT, 's'))

describe('the sink in memory', () => {
  checkSink(async () => {
    const delivered = new Map<string, SinkEntry[]>()
    const sink = openMemorySink((entry) => {
      const earlier = delivered.get(entry.job) ?? []
      const same = earlier.filter(({ submission }) => submission === entry.submission)
      delivered.set(entry.job, [...same, entry])
    })
    return {
      sink,
      outputs: async (job) =>
        (delivered.get(job) ?? []).map(({ seq, output }) => [seq, output] as const).sort(([a], [b]) => a - b),
      reopen: null,
    }
  })
})

describe('the sink in a directory', () => {
  const openIn = (folder: string): SinkUnderTest => ({
    sink: openDirectorySink(folder),
    async outputs(job) {
      const names = readdirSync(join(folder, job)).filter((name) => !name.startsWith('.'))
      const read = (name: string): unknown => {
        const bytes = readFileSync(join(folder, job, name))
        return name.endsWith('.bin') ? bytes : JSON.parse(bytes.toString())
      }
      return names.map((name) => [Number.parseInt(name, 10), read(name)] as const).sort(([a], [b]) => a - b)
    },
    reopen: async () => openIn(folder),
  })
  checkSink(async () => openIn(newFolder()))

  it('keeps what was moved aside before, when a late output of the same submission follows a crash', async () => {
    const folder = newFolder()
    const { sink, outputs } = openIn(folder)
    const [first, second] = [submissionOf([1, 1]), submissionOf([1, 2])]
    const entry = { job: 'render', submission: first, seq: 0, token: 1, output: 'early' }
    await sink.accept(entry)
    // A crash after the outputs were moved aside, and before the next job wrote anything.
    renameSync(join(folder, 'render'), join(folder, `render~before-${first}`))
    await sink.accept({ ...entry, seq: 1, output: 'late' })
    expect(await sink.accept({ ...entry, submission: second, output: 'new' })).toBe('accepted')
    expect(await outputs('render', second)).toEqual([[0, 'new']])
    expect(readdirSync(join(folder, `render~before-${first}`))).toContain('0.json')
    const aside = readdirSync(folder).find((name) => name.startsWith(`render~before-${first}-`)) ?? ''
    expect(readdirSync(join(folder, aside))).toContain('1.json')
  })
})

/** Three nodes whose messages are function calls. A node in `down` does not answer. */
async function openGroup(folder = newFolder()) {
  const nodes = ['a', 'b', 'c'] as const
  const down = new Set<string>()
  const sinks = new Map<string, ReplicatedSink>()
  const peers: PeerMessages = {
    async call(node, body) {
      const sink = sinks.get(String(node))
      if (sink === undefined || down.has(String(node))) throw new Error('unreachable')
      return encodeValue(await sink.handle(decodeValue(body) as SinkRequest), 'reply')
    },
  }
  for (const self of nodes) {
    // oxlint-disable-next-line no-await-in-loop -- three nodes
    sinks.set(self, await ReplicatedSink.open({ self, nodes, folder: join(folder, self), peers }))
  }
  onTestFinished(async () => {
    await Promise.all([...sinks.values()].map((sink) => sink.close()))
  })
  return { folder, down, at: (node: string) => sinks.get(node) as ReplicatedSink }
}

const listOf = (outputs: readonly { readonly seq: number; readonly output: unknown }[]) =>
  outputs.map(({ seq, output }) => [seq, output] as const)

describe('the replicated sink', () => {
  const openUnderTest = async (folder?: string): Promise<SinkUnderTest> => {
    const group = await openGroup(folder)
    return {
      sink: group.at('a'),
      outputs: async (job, submission) => listOf(await group.at('b').outputs(job, submission)),
      async reopen() {
        await Promise.all(['a', 'b', 'c'].map((node) => group.at(node).close()))
        return openUnderTest(group.folder)
      },
    }
  }
  checkSink(() => openUnderTest())

  const SUBMISSION = submissionOf([1, 7])
  const entry = (seq: number): SinkEntry => ({
    job: 'render',
    submission: SUBMISSION,
    seq,
    token: 1,
    output: seq,
  })

  it('accepts with a majority, and a node that was away reads everything', async () => {
    const { at, down } = await openGroup()
    down.add('c')
    expect(await at('a').accept(entry(0))).toBe('accepted')
    down.clear()
    expect(listOf(await at('c').outputs('render', SUBMISSION))).toEqual([[0, 0]])
  })

  it('rejects without a majority, and names the nodes that did not answer', async () => {
    const { at, down } = await openGroup()
    down.add('b').add('c')
    await expect(at('a').accept(entry(0))).rejects.toThrow(
      /1 of 3 nodes have it, and 2 are needed \(b: unreachable/,
    )
    down.clear()
    expect(await at('a').accept(entry(0))).toBe('accepted')
  })

  it('is fenced by a node that has seen a later run, although this node has not', async () => {
    const { at, down } = await openGroup()
    down.add('a')
    expect(await at('b').accept({ ...entry(0), token: 9 })).toBe('accepted')
    down.clear()
    expect(await at('a').accept(entry(1))).toBe('fenced')
  })

  it('cuts off a record that a crash left incomplete', async () => {
    const group = await openGroup()
    await group.at('a').accept(entry(0))
    await Promise.all(['a', 'b', 'c'].map((node) => group.at(node).close()))
    for (const node of ['a', 'b', 'c']) {
      const [name = ''] = readdirSync(join(group.folder, node))
      appendFileSync(join(group.folder, node, name), Buffer.from([200, 0, 0, 0, 1, 2]))
    }
    const again = await openGroup(group.folder)
    expect(await again.at('a').accept(entry(1))).toBe('accepted')
    expect(listOf(await again.at('b').outputs('render', SUBMISSION))).toEqual([
      [0, 0],
      [1, 1],
    ])
  })

  it('fetches an output that is damaged on the disk of the node that reads', async () => {
    const { at, folder } = await openGroup()
    for (const seq of [0, 1, 2]) {
      // oxlint-disable-next-line no-await-in-loop -- one output after the other
      await at('a').accept({ ...entry(seq), output: `output ${seq}` })
    }
    const [name = ''] = readdirSync(join(folder, 'b'))
    const file = join(folder, 'b', name)
    const bytes = readFileSync(file)
    const place = bytes.indexOf('output 1')
    bytes.write('outpux', place)
    writeFileSync(file, bytes)
    expect((await at('b').outputs('render', SUBMISSION)).map(({ output }) => output)).toEqual([
      'output 0',
      'output 1',
      'output 2',
    ])
  })

  it('fetches outputs of an earlier run, although this node has seen a later one', async () => {
    const { at, down } = await openGroup()
    down.add('a')
    expect(await at('b').accept(entry(0))).toBe('accepted')
    down.clear()
    down.add('b').add('c')
    await expect(at('a').accept({ ...entry(1), token: 9 })).rejects.toThrow('1 of 3 nodes have it')
    down.clear()
    expect(listOf(await at('a').outputs('render', SUBMISSION))).toEqual([
      [0, 0],
      [1, 1],
    ])
  })

  it('gives the result of a job at every node', async () => {
    const { at } = await openGroup()
    const { job, submission, token } = entry(0)
    const value = encodeValue({ total: 42 }, 'result')
    await at('a').acceptEncoded({ job, submission, seq: null, token, value })
    expect(await at('c').result('render', SUBMISSION)).toEqual({ value: { total: 42 } })
    expect(await at('c').result('other', SUBMISSION)).toBeNull()
  })
})
