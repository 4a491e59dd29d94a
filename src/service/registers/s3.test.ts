/** Against a small imitation of the protocol in this process: see test/support/fake-s3.ts for what that can show. */
import { afterAll, describe, expect, it, onTestFinished } from 'vitest'
import { conformance } from '../../../test/support/conformance.ts'
import { ACCESS_KEY, type FakeS3, fakeS3 } from '../../../test/support/fake-s3.ts'
import { networkFaults } from '../../../test/support/outages.ts'
import { openRegisters } from './index.ts'
import { openS3, type S3Options } from './s3.ts'

const shared = await fakeS3()
afterAll(() => shared.end())

function optionsFor({ endpoint }: FakeS3): S3Options {
  return {
    bucket: 'bucket',
    prefix: 'c',
    region: 'us-east-1',
    endpoint,
    accessKeyId: ACCESS_KEY,
    secretAccessKey: 'secret',
  }
}

networkFaults('s3', shared.endpoint, (endpoint, group) => openS3({ ...optionsFor(shared), endpoint }, group))

conformance('a bucket', { open: (group) => openS3(optionsFor(shared), group) })

describe('S3', () => {
  it('refuses a store that ignores conditional writes', async () => {
    const fake = await fakeS3()
    onTestFinished(() => fake.end())
    fake.ignoresConditions = true
    await expect(openS3(optionsFor(fake), 'g')).rejects.toMatchObject({
      name: 'UnsuitableStoreError',
      message: expect.stringContaining('ignores the conditions'),
    })
  })

  it('sends each request once, and treats a failed write as unknown', async () => {
    const fake = await fakeS3()
    onTestFinished(() => fake.end())
    const node = openRegisters(await openS3(optionsFor(fake), 'g'), {
      self: 1,
      timeoutMs: 10_000,
      probeMs: 50,
    })
    await node.claim()
    fake.requests.clear()
    fake.failsAfterwards = true
    expect(await node.write({ ctr: 1 })).toMatchObject({
      outcome: 'unknown',
      why: expect.stringContaining('503'),
    })
    expect(fake.requests).toEqual(new Map([['PUT', 1]]))
    fake.failsAfterwards = false
    expect(await node.claim()).toMatchObject({ outcome: 'ok', own: { value: { ctr: 1 } } })
  })

  it('reports wrong keys, a missing bucket, and an unreachable server', async () => {
    const fake = await fakeS3()
    const options = optionsFor(fake)
    await expect(openS3({ ...options, accessKeyId: 'another' }, 'g')).rejects.toMatchObject({
      name: 'StoreAccessDeniedError',
      message: expect.stringContaining('s3:PutObject'),
    })
    await expect(openS3({ ...options, bucket: 'bucke' }, 'g')).rejects.toMatchObject({
      name: 'StoreAccessDeniedError',
      message: expect.stringContaining('the bucket does not exist'),
    })
    await fake.end()
    await expect(openS3(options, 'g')).rejects.toMatchObject({ name: 'StoreUnreachableError' })
  })
})
