import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Ended, conclave as run } from '../../test/support/cli.ts'
import { findXmlProblem } from '../../test/support/xml.ts'
import type { PlainObject } from '../core/index.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))

describe('conclave draw', () => {
  const folder = mkdtempSync(join(tmpdir(), 'conclave-draw-'))
  afterAll(() => rmSync(folder, { recursive: true }))
  const trace = join(folder, 'run.ndjson')

  const conclave = (...words: readonly string[]): Promise<Ended> => run(words, { cwd: root })
  beforeAll(() => conclave('sim', 'examples/first-election.json', '--trace', trace))

  it('prints the SVG, or writes the same SVG to a file', async () => {
    const { code, stdout, stderr } = await conclave('draw', trace)
    expect([code, stderr]).toEqual([0, ''])
    expect(findXmlProblem(stdout)).toBeNull()
    const out = join(folder, 'run.svg')
    expect(await conclave('draw', trace, '--out', out)).toEqual({
      code: 0,
      stdout: '',
      stderr: `wrote ${out}\n`,
    })
    expect(readFileSync(out, 'utf8')).toBe(stdout)
  })

  it('shows the messages of a real run, and clips no label', async () => {
    const file = join(folder, 'real.ndjson')
    writeFileSync(file, realRun())
    const { code, stdout } = await conclave('draw', file)
    expect(code).toBe(0)
    expect(stdout).toMatch(/<title>Election\(.*\) from n1 to n2, sent at 1 ms, arrives at 3 ms/)
    expect(stdout).not.toContain('Heartbeat')
    const all = (await conclave('draw', file, '--all')).stdout
    expect(all).toMatch(/<title>Election\(.*\) and Heartbeat\(.*\) from n1 to n2/)
    const width = Number(/viewBox="0 0 (\d+)/.exec(stdout)?.[1])
    const labels = [
      ...stdout.matchAll(/class="label[^"]*" x="([\d.]+)"[^>]*text-anchor="start"[^>]*>([^<]*)</g),
    ]
    expect(labels.some(([, , text = '']) => text.startsWith('join(group '))).toBe(true)
    for (const [, x, text = ''] of labels)
      expect(Number(x) + text.replaceAll('&quot;', '"').length * 6.8).toBeLessThan(width)
  })

  it('says how to draw the messages, given the recording of one node', async () => {
    const file = join(folder, 'one.ndjson')
    const recording = { group: 'g', node: 'n1', run: 'r', skipped: 0, clock: 'c', takenAt: 1, wallAhead: 0 }
    const [header = '', ...rest] = realRun().split('\n')
    writeFileSync(file, [JSON.stringify({ ...JSON.parse(header), recording }), ...rest].join('\n'))
    const { code, stderr } = await conclave('draw', file)
    expect([code, stderr]).toEqual([
      0,
      `${file} is the recording of n1 alone, without messages: merge the recordings of all nodes first, with "conclave replay TRACES --merged FILE"\n`,
    ])
  })

  it('draws a time range with all messages and a title', async () => {
    const part = ['--from', '1000', '--to', '1153', '--all', '--title', 'Failover & more']
    const { code, stdout } = await conclave('draw', trace, ...part)
    expect(code).toBe(0)
    expect(stdout).toContain('<title id="title">Failover &amp; more</title>')
    expect(stdout).toMatch(/heartbeat[^<]* from 4 to 1/)
    expect(stdout).not.toContain('restart')
  })

  const header = JSON.stringify({ trace: 1, protocol: 'bully', nodes: [1], options: {}, seed: 1 })
  const step = { at: 0, node: 9, now: 1, effects: [], sent: [], cutAfter: null, view: null }
  const start = (fields: PlainObject): string =>
    `${header}\n${JSON.stringify({ type: 'start', ...step, stable: null, settledOn: null, ...fields })}`
  const file = (name: string, text: string): string => {
    writeFileSync(join(folder, name), text)
    return join(folder, name)
  }

  it.each([
    [['draw'], "missing required argument 'trace'"],
    [['draw', join(folder, 'none')], 'no such file'],
    [['draw', folder], 'cannot be read (EISDIR)'],
    [['draw', 'examples/first-election.json'], 'line 1 is not JSON'],
    [['draw', file('empty', '')], 'the trace is empty'],
    [['draw', file('header', header)], 'the trace contains only a header'],
    [['draw', file('node', start({}))], 'line 2: node 9 is not in the header'],
    [
      ['draw', file('send', start({ node: 1, effects: [{ type: 'send', to: 7 }] }))],
      'line 2: a message goes to a node that is not in the header, or is none',
    ],
    [['draw', trace, '--from', 'soon'], '--from soon: write a number of milliseconds'],
    [['draw', trace, '--from', '20', '--to', '10'], 'write --from 10 --to 20'],
    [['draw', trace, '--from', '99999'], 'nothing happens in that range: the trace runs from 0 to'],
    [['draw', trace, '--out', join(folder, 'no/such/place.svg')], 'cannot be written (ENOENT)'],
    [['draw', trace, '--paint', 'blue'], "unknown option '--paint'"],
  ])('refuses %j in one line', async (words, message) => {
    const { code, stdout, stderr } = await conclave(...words)
    expect([code, stdout]).toEqual([2, ''])
    expect(stderr).toContain(message)
    expect(stderr.trim().split('\n')).toHaveLength(1)
  })
})

/** Two nodes of a group, as real processes record them: messages are parts of a bundle in a datagram. */
function realRun(): string {
  const common = { sent: [], cutAfter: null, view: null, message: null }
  const beacon = { candidate: true, low: 0, priority: 0, incumbent: false, heard: true, lease: null }
  const election = { kind: 'Election', epoch: 1, renew: false, beacon }
  const part = (group: string, body: PlainObject): PlainObject => ({ group, config: 1, body })
  const body = {
    kind: 'datagram',
    number: 1,
    body: {
      kind: 'bundle',
      parts: [
        part('g', { kind: 'Heartbeat', beacon }),
        part('g', election),
        part('another', { kind: 'Release' }),
      ],
    },
  }
  const command = { do: 'join', group: 'g', spec: { protocol: 'local-leader', nodes: ['n1', 'n2'] } }
  const records = [
    { trace: 1, protocol: 'local-leader', nodes: ['n1', 'n2'], options: {}, seed: 0, hosted: 'g' },
    ...['n1', 'n2'].map((node) => ({
      type: 'start',
      at: 0,
      node,
      now: 0,
      effects: [],
      ...common,
      stable: null,
      settledOn: null,
    })),
    ...['n1', 'n2'].map((node) => ({
      type: 'step',
      at: 500,
      node,
      now: 500,
      input: { type: 'command', command },
      effects: [],
      ...common,
    })),
    {
      type: 'step',
      at: 1000,
      node: 'n1',
      now: 1000,
      input: { type: 'timer', name: 'bundle/tick' },
      effects: [{ type: 'send', to: 'n2', body }],
      ...common,
      sent: [7],
    },
    {
      type: 'step',
      at: 3000,
      node: 'n2',
      now: 3000,
      input: { type: 'message', from: 'n1', body, receipt: null },
      effects: [],
      ...common,
      message: 7,
    },
  ]
  return `${records.map((record) => JSON.stringify(record)).join('\n')}\n`
}
