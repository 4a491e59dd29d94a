/** The conformance suite of column stores: what src/service/recovery/store/column-store.ts promises. */
import { randomBytes } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { createCode, encodePayload } from '../../src/recovery/codes/index.ts'
import {
  type ColumnKey,
  type ColumnStore,
  columnOwner,
  FAST_CHECKSUMS,
  findColumnProblem,
  readColumn,
  scrub,
} from '../../src/service/recovery/store/index.ts'

export type ColumnPlace = {
  /** Opens the same place again each time. Only one store is open at a time. */
  open(): Promise<ColumnStore>
  /** Changes the stored bytes of a column behind the store's back. */
  damage(key: ColumnKey, change: (bytes: Buffer) => Buffer): Promise<void>
  /** How many unfinished writes lie around. */
  countUnfinished(): Promise<number>
  /** Leaves an unfinished write behind, as a crash does. */
  crashDuringWrite(key: ColumnKey, bytes: Uint8Array): Promise<void>
  /** Makes the place full, and ends that. */
  fill(): Promise<void>
  empty(): Promise<void>
}

export const PAYLOAD_BYTES = 300_000
const STRIPE = 32 * 1024
const CODE = { code: 'evenodd', columns: 5, dataColumns: 3 } as const

export function keyFor(
  change: Partial<ColumnKey['id']> = {},
  column = 0,
  digest = 'a'.repeat(64),
): ColumnKey {
  return {
    id: { job: 'render', assignment: [10_001, 0], epoch: 1, token: 10_001, ...change },
    column,
    digest,
  }
}

/** The bytes of a valid column. */
export function columnBytes(key: ColumnKey, payload: Uint8Array = randomBytes(PAYLOAD_BYTES)): Uint8Array {
  const options = { checksum: 'crc32', checksums: FAST_CHECKSUMS, stripeSize: STRIPE } as const
  return encodePayload(createCode(CODE), columnOwner(key), payload, options)[key.column] as Uint8Array
}

export async function putColumn(
  store: ColumnStore,
  key: ColumnKey,
  bytes = columnBytes(key),
): Promise<Uint8Array> {
  const writer = await store.create(key, undefined, bytes.length)
  for (let at = 0; at < bytes.length; at += 50_000)
    // oxlint-disable-next-line no-await-in-loop -- in order
    await writer.write([bytes.subarray(at, at + 20_000), bytes.subarray(at + 20_000, at + 50_000)])
  expect(await writer.finish()).toBe(bytes.length)
  return bytes
}

export async function readBytes(store: ColumnStore, key: ColumnKey): Promise<Buffer> {
  const raw = await store.openRaw(key)
  try {
    const chunks: Uint8Array[] = []
    for await (const chunk of raw.chunks) chunks.push(chunk)
    return Buffer.concat(chunks)
  } finally {
    await raw.close()
  }
}

export function columnConformance(name: string, createPlace: () => Promise<ColumnPlace>): void {
  describe(`${name} as a column store`, () => {
    stores(createPlace)
    findsDamage(createPlace)
    survivesFailures(createPlace)
  })
}

function stores(createPlace: () => Promise<ColumnPlace>): void {
  it('returns the bytes that were written, lists them, and drops them', async () => {
    const store = await (await createPlace()).open()
    const keys = [keyFor(), keyFor({}, 4), keyFor({ epoch: 2 }), keyFor({ token: 20_001 })]
    const written: Uint8Array[] = []
    // oxlint-disable-next-line no-await-in-loop -- one after the other
    for (const key of keys) written.push(await putColumn(store, key))
    const read = await Promise.all(keys.map((key) => readBytes(store, key)))
    expect(read.map((bytes, at) => bytes.equals(written[at] as Uint8Array))).toEqual(keys.map(() => true))
    const listed = await store.list()
    expect(new Set(listed.map(({ key }) => key))).toEqual(new Set(keys))
    expect(listed.every(({ bytes }) => bytes === written[0]?.length)).toBe(true)
    await store.drop(keys[0] as ColumnKey)
    await store.drop(keys[0] as ColumnKey)
    expect(await store.list()).toHaveLength(3)
    await expect(readColumn(store, keys[0] as ColumnKey)).rejects.toMatchObject({
      name: 'ColumnMissingError',
      message: expect.stringContaining('column 0 of job "render"'),
    })
    await store.close()
  })

  it('keeps its columns when it is opened again', async () => {
    const place = await createPlace()
    const first = await place.open()
    const bytes = await putColumn(first, keyFor())
    await first.close()
    const second = await place.open()
    expect((await readBytes(second, keyFor())).equals(bytes)).toBe(true)
    expect(await findColumnProblem(second, keyFor())).toBeNull()
    await second.close()
  })

  it('stores another content of the same checkpoint beside the first', async () => {
    const store = await (await createPlace()).open()
    const [one, other] = [keyFor(), keyFor({}, 0, 'b'.repeat(64))]
    const bytes = await putColumn(store, one)
    await putColumn(store, other)
    expect((await readBytes(store, one)).equals(bytes)).toBe(true)
    expect(await store.list()).toHaveLength(2)
    await store.close()
  })

  it('takes concurrent writes, also of one column', async () => {
    const place = await createPlace()
    const store = await place.open()
    const keys = Array.from({ length: 8 }, (_, epoch) => keyFor({ epoch }))
    await Promise.all(keys.map((key) => putColumn(store, key)))
    const again = columnBytes(keyFor())
    await Promise.all([1, 2, 3].map(() => putColumn(store, keyFor(), again)))
    expect((await readBytes(store, keyFor())).equals(again)).toBe(true)
    expect(await store.list()).toHaveLength(8)
    expect(await place.countUnfinished()).toBe(0)
    await store.close()
  })

  it.each(['../escape', '..', '.', '/etc/passwd', 'a/../../b', 'a\0b', '.hidden.new', 'Größe~1 %2e%2e'])(
    'keeps the job name %j inside',
    async (job) => {
      const store = await (await createPlace()).open()
      await putColumn(store, keyFor({ job }))
      expect((await store.list()).map(({ key }) => key.id.job)).toEqual([job])
      expect(await findColumnProblem(store, keyFor({ job }))).toBeNull()
      await store.close()
    },
  )

  it.each([
    [{ job: '' }, 'non-empty'],
    [{ job: 'x'.repeat(101) }, 'at most 100'],
    [{ epoch: -1 }, 'non-negative'],
    [{ token: 1.5 }, 'non-negative'],
    [{ assignment: [1, Number.NaN] }, 'non-negative'],
  ] as const)('refuses the key %j', async (change, message) => {
    const store = await (await createPlace()).open()
    await expect(store.create(keyFor(change))).rejects.toMatchObject({
      name: 'InvalidColumnKeyError',
      message: expect.stringContaining(message),
    })
    await expect(store.create(keyFor({}, 256))).rejects.toThrow('less than 256')
    await expect(store.create(keyFor({}, 0, '../x'))).rejects.toThrow('hexadecimal')
    await store.close()
  })
}

function findsDamage(createPlace: () => Promise<ColumnPlace>): void {
  it.each([
    ['a flipped bit', flip((bytes) => bytes.length / 2), /stripe checksum/],
    ['a flipped bit in the header', flip(() => 30), /header checksum/],
    ['a flipped bit in the last byte', flip((bytes) => bytes.length - 1), /stripe checksum/],
    ['a truncated file', (bytes: Buffer) => bytes.subarray(0, 50_000), /truncated/],
    ['an empty file', () => Buffer.alloc(0), /truncated/],
    ['a byte too many', (bytes: Buffer) => Buffer.concat([bytes, Buffer.alloc(1)]), /bytes were added/],
    [
      'the bytes of another column',
      () => Buffer.from(columnBytes(keyFor({}, 1))),
      /^column: is 1, must be 0/,
    ],
    ['the bytes of another content', () => Buffer.from(columnBytes(keyFor({}, 0, 'c'.repeat(64)))), /^job: /],
  ] as const)('finds %s by name', async (_, change, problem) => {
    const place = await createPlace()
    const store = await place.open()
    const [bad, good] = [keyFor(), keyFor({ epoch: 2 })]
    await putColumn(store, bad)
    await putColumn(store, good)
    await place.damage(bad, change)
    expect(await findColumnProblem(store, bad)).toMatch(problem)
    const results = []
    for await (const result of scrub(store)) results.push(result)
    expect(results.find(({ key }) => key.id.epoch === 1)?.problem).toMatch(problem)
    expect(results.find(({ key }) => key.id.epoch === 2)?.problem).toBeNull()
    await store.close()
  })
}

/** Flips one bit of the byte at this place. */
function flip(place: (bytes: Buffer) => number): (bytes: Buffer) => Buffer {
  return (bytes) => {
    const changed = Buffer.from(bytes)
    const at = Math.floor(place(bytes))
    changed[at] = (changed[at] as number) ^ 4
    return changed
  }
}

function survivesFailures(createPlace: () => Promise<ColumnPlace>): void {
  it('leaves the older column when a write is given up', async () => {
    const place = await createPlace()
    const store = await place.open()
    const bytes = await putColumn(store, keyFor())
    const writer = await store.create(keyFor())
    await writer.write([columnBytes(keyFor()).subarray(0, 100_000)])
    await writer.abort()
    await expect(writer.write([bytes])).rejects.toThrow('given up')
    await expect(writer.finish()).rejects.toThrow('given up')
    expect((await readBytes(store, keyFor())).equals(bytes)).toBe(true)
    expect(await place.countUnfinished()).toBe(0)
    await store.close()
  })

  it('releases everything when its signal is aborted', async () => {
    const place = await createPlace()
    const store = await place.open()
    const controller = new AbortController()
    const writer = await store.create(keyFor(), controller.signal)
    await writer.write([columnBytes(keyFor()).subarray(0, 100_000)])
    controller.abort(new Error('no longer needed'))
    await expect(writer.finish()).rejects.toThrow('no longer needed')
    expect(await store.list()).toEqual([])
    expect(await place.countUnfinished()).toBe(0)
    await store.close()
  })

  it('gives up unfinished writes when it is closed', async () => {
    const place = await createPlace()
    const store = await place.open()
    const writer = await store.create(keyFor())
    await writer.write([columnBytes(keyFor()).subarray(0, 100_000)])
    await store.close()
    await expect(writer.finish()).rejects.toThrow('given up')
    await expect(store.create(keyFor())).rejects.toThrow('closed')
    expect(await place.countUnfinished()).toBe(0)
  })

  it('keeps the older column after a crash during a write, and removes what the crash left', async () => {
    const place = await createPlace()
    const first = await place.open()
    const bytes = await putColumn(first, keyFor())
    await first.close()
    await place.crashDuringWrite(keyFor(), columnBytes(keyFor()).subarray(0, 100_000))
    expect(await place.countUnfinished()).toBe(1)
    const second = await place.open()
    expect(await place.countUnfinished()).toBe(0)
    expect((await readBytes(second, keyFor())).equals(bytes)).toBe(true)
    expect(await second.list()).toHaveLength(1)
    await second.close()
  })

  it('fails cleanly when it is full, and keeps the last good column', async () => {
    const place = await createPlace()
    const store = await place.open()
    const bytes = await putColumn(store, keyFor())
    await place.fill()
    const next = keyFor({ epoch: 2 })
    await expect(putColumn(store, next)).rejects.toMatchObject({
      name: 'ColumnStoreFullError',
      code: 'ERR_CONCLAVE_COLUMN_STORE_FULL',
      message: expect.stringMatching(/no space left .*render.*untouched/),
    })
    expect(await place.countUnfinished()).toBe(0)
    expect((await readBytes(store, keyFor())).equals(bytes)).toBe(true)
    expect(await store.list()).toHaveLength(1)
    await place.empty()
    await putColumn(store, next)
    expect(await store.list()).toHaveLength(2)
    await store.close()
  })
}
