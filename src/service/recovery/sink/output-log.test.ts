/** The outputs of jobs on a disk that fails: short writes, damaged records, and what a crash leaves behind. */
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
import { expect, it, onTestFinished } from 'vitest'
import { type DiskCalls, REAL_CALLS } from '../store/disk.ts'
import { type LogOptions, OutputLog } from './output-log.ts'
import { submissionOf } from './submission.ts'

const SUBMISSION = submissionOf([1, 1])
const FILE = `render~${SUBMISSION}.log`

function newFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'conclave-log-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

async function openLog(folder: string, options: LogOptions = {}) {
  const log = await OutputLog.open(folder, options)
  onTestFinished(() => log.close())
  return log
}

const put = (log: OutputLog, seq: number, length = 100) =>
  log.accept({
    job: 'render',
    submission: SUBMISSION,
    seq,
    token: 1,
    value: new Uint8Array(length).fill(seq),
  })

const find = (log: OutputLog) => {
  const found = log.find('render', SUBMISSION)
  if (found === null) throw new Error('no log')
  return found
}

/** Stores 1, 2 and 3, and resolves to where the records end. */
async function storeThree(folder: string): Promise<readonly number[]> {
  const log = await OutputLog.open(folder)
  const ends: number[] = []
  for (const seq of [1, 2, 3]) {
    // oxlint-disable-next-line no-await-in-loop -- one record after the other
    await put(log, seq)
    ends.push(readFileSync(join(folder, FILE)).length)
  }
  await log.close()
  return ends
}

it.each([
  ['at once', false],
  ['only before the next record', true],
])('rejects an output of which the disk takes a part, which is cut off %s', async (_, isAway) => {
  const folder = newFolder()
  const path = join(folder, FILE)
  let isFull = false
  const calls: DiskCalls = {
    async write(file, chunks) {
      const bytes = Buffer.concat(chunks)
      // Under another name, the file cannot be cut.
      if (isFull && isAway) renameSync(path, `${path}.away`)
      return (await file.write(isFull ? bytes.subarray(0, bytes.length / 2) : bytes)).bytesWritten
    },
    sync: REAL_CALLS.sync,
  }
  const log = await openLog(folder, { calls })
  expect(await put(log, 1)).toBe('accepted')
  isFull = true
  await expect(put(log, 2, 5000)).rejects.toThrow(/ENOSPC: only \d+ of \d+ bytes were written/)
  expect(find(log).seqs).toEqual([1])
  isFull = false
  if (isAway) renameSync(`${path}.away`, path)
  for (const seq of [3, 4, 2]) {
    // oxlint-disable-next-line no-await-in-loop -- one record after the other
    expect(await put(log, seq)).toBe('accepted')
  }
  const again = find(await openLog(folder))
  expect(again.seqs).toEqual([1, 3, 4, 2])
  for (const seq of [1, 2, 3, 4]) {
    // oxlint-disable-next-line no-await-in-loop -- one record after the other
    expect(await again.read(seq)).toEqual(new Uint8Array(100).fill(seq))
  }
})

it('reads no damaged record, and accepts the output again', async () => {
  const folder = newFolder()
  const warnings: string[] = []
  const [first = 0] = await storeThree(folder)
  const log = await openLog(folder, { warn: (detail) => warnings.push(detail) })
  const bytes = readFileSync(join(folder, FILE))
  bytes[first + 20] = (bytes[first + 20] ?? 0) ^ 1
  writeFileSync(join(folder, FILE), bytes)
  expect(await find(log).read(2)).toBeNull()
  expect(warnings).toEqual([expect.stringMatching(/the record at byte \d+ is damaged; it is fetched from/)])
  expect(await find(log).read(3)).toEqual(new Uint8Array(100).fill(3))
  expect(await put(log, 2)).toBe('accepted')
  expect(await find(log).read(2)).toEqual(new Uint8Array(100).fill(2))
})

it('skips a damaged record when it opens, keeps the records behind it, and warns', async () => {
  const folder = newFolder()
  const warnings: string[] = []
  const [first = 0] = await storeThree(folder)
  const bytes = readFileSync(join(folder, FILE))
  bytes[first + 20] = (bytes[first + 20] ?? 0) ^ 1
  writeFileSync(join(folder, FILE), bytes)
  const log = find(await openLog(folder, { warn: (detail) => warnings.push(detail) }))
  expect(log.seqs).toEqual([1, 3])
  expect(warnings).toEqual([expect.stringContaining('1 records are damaged, and 0 bytes were cut off')])
})

it.each([
  ['a part of a record', Buffer.from([200, 0, 0, 0, 1, 2, 3, 4, 5])],
  ['zeros', Buffer.alloc(64)],
  ['a part of a prefix', Buffer.from([7, 0])],
  ['a record with another content', Buffer.from([2, 0, 0, 0, 1, 2, 3, 4, 5, 6])],
])('cuts off what a crash leaves behind, without a warning: %s', async (_, rest) => {
  const folder = newFolder()
  const warnings: string[] = []
  const ends = await storeThree(folder)
  appendFileSync(join(folder, FILE), rest)
  const log = await openLog(folder, { warn: (detail) => warnings.push(detail) })
  expect(find(log).seqs).toEqual([1, 2, 3])
  expect(readFileSync(join(folder, FILE))).toHaveLength(ends.at(-1) ?? 0)
  expect(warnings).toEqual([])
  expect(await put(log, 4)).toBe('accepted')
})

it('opens a file once for many reads at the same time, and closes it', async () => {
  const folder = newFolder()
  await storeThree(folder)
  const log = await OutputLog.open(folder)
  const openFiles = (): number => readdirSync('/proc/self/fd').length
  const before = openFiles()
  const reads = Array.from({ length: 200 }, (_, at) => find(log).read((at % 3) + 1))
  await Promise.all(reads)
  expect(openFiles() - before).toBeLessThanOrEqual(1)
  await log.close()
  expect(openFiles()).toBeLessThanOrEqual(before)
})
