/** Against a small imitation of the protocol in this process: see test/support/fake-s3.ts for what that can show. */
import { describe, expect, it, onTestFinished } from 'vitest'
import {
  columnBytes,
  columnConformance,
  keyFor,
  putColumn,
  readBytes,
} from '../../../../test/support/column-conformance.ts'
import { ACCESS_KEY, type FakeS3, fakeS3 } from '../../../../test/support/fake-s3.ts'
import { columnName } from './column-key.ts'
import { openS3Store, type S3StoreOptions } from './s3.ts'

const PREFIX = 'columns/n1'
/** Smaller than a column, so that a column has several parts. */
const PART_BYTES = 30_000

async function startFake(): Promise<FakeS3> {
  const fake = await fakeS3()
  onTestFinished(() => fake.end())
  return fake
}

function optionsFor({ endpoint }: FakeS3): S3StoreOptions {
  return {
    bucket: 'bucket',
    prefix: PREFIX,
    region: 'us-east-1',
    endpoint,
    accessKeyId: ACCESS_KEY,
    secretAccessKey: 'secret',
    partBytes: PART_BYTES,
  }
}

columnConformance('a bucket', async () => {
  const fake = await startFake()
  return {
    open: () => openS3Store(optionsFor(fake)),
    async damage(key, change) {
      const name = `${PREFIX}/${columnName(key)}`
      fake.objects.set(name, change(fake.objects.get(name) as Buffer))
    },
    countUnfinished: async () => fake.uploads.size,
    async crashDuringWrite(key, bytes) {
      const parts = new Map([[1, Buffer.from(bytes)]])
      fake.uploads.set('of a crash', { key: `${PREFIX}/${columnName(key)}`, parts })
    },
    async fill() {
      fake.isFull = true
    },
    async empty() {
      fake.isFull = false
    },
  }
})

describe('columns in S3', () => {
  it('sends a small column in one request, and a larger one in parts', async () => {
    const fake = await startFake()
    const store = await openS3Store({ ...optionsFor(fake), partBytes: 1_000_000 })
    fake.requests.clear()
    await putColumn(store, keyFor())
    expect(fake.requests).toEqual(new Map([['PUT', 1]]))
    await store.close()
    const parts = await openS3Store(optionsFor(fake))
    fake.requests.clear()
    const bytes = await putColumn(parts, keyFor({ epoch: 2 }))
    expect(fake.requests).toEqual(
      new Map([
        ['POST', 2],
        ['PUT', Math.ceil(bytes.length / PART_BYTES)],
      ]),
    )
    expect((await readBytes(parts, keyFor({ epoch: 2 }))).equals(bytes)).toBe(true)
    await parts.close()
  })

  it('leaves the uploads and objects of other nodes alone', async () => {
    const fake = await startFake()
    fake.uploads.set('of another', { key: `columns/n10/${columnName(keyFor())}`, parts: new Map() })
    fake.objects.set('columns/n10/x', Buffer.from('x'))
    fake.objects.set(`${PREFIX}/not-a-column`, Buffer.from('x'))
    const store = await openS3Store(optionsFor(fake))
    expect(await store.list()).toEqual([])
    expect(fake.uploads.size).toBe(1)
    await store.close()
  })

  it('reports wrong keys, a missing bucket, and an unreachable server', async () => {
    const fake = await startFake()
    const options = optionsFor(fake)
    await expect(openS3Store({ ...options, accessKeyId: 'another' })).rejects.toMatchObject({
      name: 'StoreAccessDeniedError',
      message: expect.stringContaining('s3:PutObject'),
    })
    await expect(openS3Store({ ...options, bucket: 'bucke' })).rejects.toMatchObject({
      name: 'StoreAccessDeniedError',
      message: expect.stringContaining('no such bucket'),
    })
    const store = await openS3Store(options)
    await fake.end()
    await expect(openS3Store(options)).rejects.toMatchObject({ name: 'StoreUnreachableError' })
    await expect(putColumn(store, keyFor(), columnBytes(keyFor()))).rejects.toMatchObject({
      name: 'StoreUnreachableError',
    })
    await store.close()
  })
})
