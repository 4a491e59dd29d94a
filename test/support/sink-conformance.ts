/** What every sink promises. Run by the tests of each implementation. */
import { expect, it } from 'vitest'
import { type Sink, type SinkEntry, submissionOf } from '../../src/service/recovery/sink/index.ts'

export type SinkUnderTest = {
  readonly sink: Sink
  /** The outputs of that submission, which is the newest of the job, by number. */
  outputs(job: string, submission: string): Promise<readonly (readonly [seq: number, output: unknown])[]>
  /** Opens the same sink again, as after a restart; null if it does not survive one. */
  reopen: (() => Promise<SinkUnderTest>) | null
}

const FIRST = submissionOf([3, 1])
const SECOND = submissionOf([3, 20])
const THIRD = submissionOf([10, 2])

const entry = (seq: number, token: number, output: unknown = `output ${seq}`): SinkEntry => ({
  job: 'render',
  submission: FIRST,
  seq,
  token,
  output,
})

export function checkSink(open: () => Promise<SinkUnderTest>): void {
  it('keeps the first output with a number, and drops all later ones', async () => {
    const { sink, outputs } = await open()
    expect(await sink.accept(entry(0, 5))).toBe('accepted')
    expect(await sink.accept(entry(1, 5))).toBe('accepted')
    expect(await sink.accept(entry(0, 5))).toBe('duplicate')
    expect(await sink.accept(entry(1, 7, 'other'))).toBe('duplicate')
    expect(await outputs('render', FIRST)).toEqual([
      [0, 'output 0'],
      [1, 'output 1'],
    ])
  })

  it('refuses a token that is smaller than the largest seen for the job', async () => {
    const { sink, outputs } = await open()
    await sink.accept(entry(0, 7))
    expect(await sink.accept(entry(1, 6))).toBe('fenced')
    // A repeated output carries a token, too.
    expect(await sink.accept(entry(0, 9))).toBe('duplicate')
    expect(await sink.accept(entry(1, 8))).toBe('fenced')
    expect(await sink.accept({ ...entry(1, 6), job: 'other' })).toBe('accepted')
    expect(await outputs('render', FIRST)).toEqual([[0, 'output 0']])
  })

  it('accepts outputs in any order, and of any value that a job can emit', async () => {
    const { sink, outputs } = await open()
    await sink.accept(entry(7, 1, { text: 'ä', list: [1, null, true] }))
    await sink.accept(entry(2, 1, null))
    await sink.accept(entry(3, 1, new Uint8Array([1, 2, 255])))
    expect((await outputs('render', FIRST)).map(([seq]) => seq)).toEqual([2, 3, 7])
    const [, bytes, object] = await outputs('render', FIRST)
    expect(new Uint8Array(bytes?.[1] as Uint8Array)).toEqual(new Uint8Array([1, 2, 255]))
    expect(object?.[1]).toEqual({ text: 'ä', list: [1, null, true] })
  })

  it('accepts one of many simultaneous offers of one number', async () => {
    const { sink } = await open()
    const offers = Array.from({ length: 8 }, () => sink.accept(entry(4, 3)))
    const answers = await Promise.all(offers)
    expect(answers.filter((answer) => answer === 'accepted')).toHaveLength(1)
    expect(answers.filter((answer) => answer === 'duplicate')).toHaveLength(7)
  })

  it('keeps the outputs of a later job of the same name apart, and fences the earlier job', async () => {
    const { sink, outputs } = await open()
    await sink.accept(entry(0, 3, 'old'))
    expect(await sink.accept({ ...entry(0, 8, 'new'), submission: SECOND })).toBe('accepted')
    expect(await outputs('render', SECOND)).toEqual([[0, 'new']])
    expect(await sink.accept(entry(1, 3, 'late'))).toBe('fenced')
  })

  it('tells apart jobs of one name that were submitted in one view, and keeps only the last', async () => {
    const { sink, outputs } = await open()
    await sink.accept(entry(0, 5, 'first'))
    expect(await sink.accept({ ...entry(0, 5, 'second'), submission: SECOND })).toBe('accepted')
    expect(await outputs('render', SECOND)).toEqual([[0, 'second']])
    expect(await sink.accept(entry(1, 5, 'late'))).toBe('fenced')
    expect(await sink.accept({ ...entry(0, 5, 'again'), submission: SECOND })).toBe('duplicate')
    expect(await sink.accept({ ...entry(0, 5, 'third'), submission: THIRD })).toBe('accepted')
    expect(await sink.accept({ ...entry(1, 5, 'third'), submission: THIRD })).toBe('accepted')
    expect(await outputs('render', THIRD)).toEqual([
      [0, 'third'],
      [1, 'third'],
    ])
    expect(await sink.accept({ ...entry(2, 9, 'late'), submission: SECOND })).toBe('fenced')
  })

  it('remembers outputs and tokens across a restart, if it survives one', async () => {
    const first = await open()
    await first.sink.accept(entry(0, 7))
    if (first.reopen === null) {
      expect(first.sink.place).toBe('memory')
      return
    }
    const { sink, outputs } = await first.reopen()
    expect(await sink.accept(entry(0, 7))).toBe('duplicate')
    expect(await sink.accept(entry(1, 6))).toBe('fenced')
    expect(await sink.accept(entry(1, 7))).toBe('accepted')
    expect((await outputs('render', FIRST)).map(([seq]) => seq)).toEqual([0, 1])
  })
}
