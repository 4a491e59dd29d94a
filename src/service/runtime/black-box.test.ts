import { randomUUID } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, describe, expect, it, vi } from 'vitest'
import type { Plain, Step } from '../../core/index.ts'
import { BlackBox } from './black-box.ts'
import { writeBlackBox } from './black-box-file.ts'

/** A protocol that counts its inputs, and outputs the count. */
const counting = {
  start: (): Step<Plain> => ({ state: 0, effects: [] }),
  step: (state: Plain): Step<Plain> => ({
    state: Number(state) + 1,
    effects: [{ type: 'output', event: { type: 'counted', to: Number(state) + 1 } }],
  }),
}

/** A node that takes steps on request. */
function node(most: number) {
  const box = new BlackBox('a', counting, most)
  let count = 0
  box.record({ now: 0, input: null, stable: null, outcome: 'done' }, null)
  const go = (steps: number, text = ''): void => {
    for (let left = steps; left > 0; left--) {
      const body = { kind: 'word', text }
      const input = { type: 'message', from: 'b', body, receipt: null } as const
      box.record({ now: count + 1, input, stable: null, outcome: 'done' }, count)
      count += 1
    }
  }
  const trace = () =>
    box.text((skipped) => ({
      trace: 1,
      protocol: 'counting',
      nodes: ['a'],
      options: {},
      seed: 0,
      recording: {
        group: 'g',
        node: 'a',
        run: 'r',
        skipped,
        clock: 'none',
        takenAt: 0,
        wallAhead: 0,
      },
    }))
  return { go, trace }
}

async function whole(trace: AsyncGenerator<string, void, void>): Promise<string> {
  let text = ''
  for await (const piece of trace) text += piece
  return text
}

describe('a trace that is being written', () => {
  afterEach(() => {
    vi.restoreAllMocks()
  })

  it('shows the moment at which reading started, regardless of later steps', async () => {
    const a = node(64)
    a.go(100)
    const before = await whole(a.trace())
    expect(before).toContain('"resume"')
    const slow = a.trace()
    let text = ''
    for await (const piece of slow) {
      text += piece
      // Every segment is replaced, by longer ones.
      a.go(200, 'and so on'.repeat(40))
    }
    expect(text).toBe(before)
    expect(await whole(a.trace())).not.toBe(before)
  })

  it('is read in pieces: a larger box does not block the node for longer', async () => {
    const a = node(16_000)
    a.go(16_000, 'x'.repeat(100))
    let read = 0
    const reading = Buffer.prototype.toString
    vi.spyOn(Buffer.prototype, 'toString').mockImplementation(function read_(this: Buffer, ...asked) {
      const text = reading.apply(this, asked)
      read += text.length
      return text
    })
    let most = 0
    let last = 0
    for await (const _ of a.trace()) {
      most = Math.max(most, read - last)
      last = read
    }
    expect(read).toBeGreaterThan(15_000 * 100)
    expect(most).toBeLessThan(33 * 300)
  })
})

describe('a step that failed', () => {
  const header = { trace: 1, protocol: 'failing', nodes: ['a'], options: {}, seed: 0 } as const
  const failing = {
    start: (): Step<Plain> => ({ state: 0, effects: [] }),
    step: (): Step<Plain> => {
      throw new Error('out of order')
    },
  }

  function failed(isFatal: boolean): BlackBox {
    const box = new BlackBox('a', failing, 64)
    box.record({ now: 0, input: null, stable: null, outcome: 'done' }, null)
    const input = { type: 'timer', name: 't' } as const
    box.record({ now: 5, input, stable: null, outcome: { error: 'out of order', isFatal } }, 0)
    return box
  }

  it('is the last step of the trace, with its error and without effects', async () => {
    const lines = (await whole(failed(true).text(() => header))).trimEnd().split('\n')
    expect(JSON.parse(lines.at(-1) ?? '')).toMatchObject({
      type: 'step',
      input: { type: 'timer', name: 't' },
      effects: [],
      failed: { error: 'out of order', isFatal: true },
    })
  })

  it('is in the trace that a failing node writes at once', async () => {
    const box = failed(false)
    expect(box.textAtOnce(() => header)).toBe(await whole(box.text(() => header)))
  })
})

describe('the file of a black box', () => {
  it('is in the data directory, or else in the directory for temporary files', () => {
    const data = mkdtempSync(join(tmpdir(), 'conclave-box-'))
    const owner = { group: 'a/b', node: 'n1', run: randomUUID() }
    const files = [writeBlackBox({ ...owner, data }, 'text'), writeBlackBox({ ...owner, data: null }, 'text')]
    expect(files).toEqual([
      join(data, 'black-box.ndjson'),
      join(tmpdir(), `conclave-a_b-n1-${owner.run}.ndjson`),
    ])
    for (const file of files) {
      expect(readFileSync(file ?? '', 'utf8')).toBe('text')
      rmSync(file ?? '')
    }
    rmSync(data, { recursive: true })
  })

  it('is skipped without an error where it cannot be written', () => {
    const owner = { group: 'g', node: 'n1', run: 'r', data: '/dev/null/nowhere' }
    expect(writeBlackBox(owner, 'text')).toBeNull()
  })
})
