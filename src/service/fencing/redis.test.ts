import { Redis } from 'ioredis'
import { afterAll, expect, it } from 'vitest'
import { comeback } from '../../../test/support/old-leader.ts'
import { describeWith } from '../../../test/support/servers.ts'
import { fenced, tokenKey } from './redis.ts'

await describeWith('redis', 'fencing in Redis', (url) => {
  const redis = new Redis(url, { lazyConnect: true })
  afterAll(() => redis.disconnect())

  it('refuses a leader that was paused', async () => {
    const { code, said } = await comeback('redis', url, 5, async () => {
      await fenced(redis, { resource: 'billing', token: 6 }, ['ledger'], [['RPUSH', 'ledger', '6']])
    })
    expect({ code, said: JSON.parse(said) as unknown }).toEqual({
      code: 5,
      said: { refused: 'StaleTokenError', current: 6 },
    })
    expect(await redis.lrange('ledger', -1, -1)).toEqual(['6'])
    expect(await redis.lrange('ledger', 0, 2)).toEqual(['5', '5', '5'])
  })

  it('runs several commands atomically and returns their replies', async () => {
    const fence = { resource: 'several', token: 1 }
    const answers = await fenced(
      redis,
      fence,
      ['k', 'l'],
      [
        ['SET', 'k', 'a b\n"c"'],
        ['GET', 'k'],
        ['LPUSH', 'l', '1', '2'],
      ],
    )
    expect(answers).toEqual(['OK', 'a b\n"c"', 2])
    expect(await redis.get(tokenKey('several'))).toBe('1')
    const none = fenced(redis, { ...fence, token: 0 }, ['k'], [['DEL', 'k']])
    await expect(none).rejects.toMatchObject({ name: 'StaleTokenError', current: 1 })
    expect(await redis.exists('k')).toBe(1)
  })

  it('refuses an implausible token, and is not locked by it', async () => {
    const fence = { resource: 'locked', token: Number.MAX_SAFE_INTEGER }
    await expect(fenced(redis, fence, ['m'], [['SET', 'm', '1']])).rejects.toMatchObject({
      name: 'ImplausibleTokenError',
      current: 0,
    })
    expect(await redis.exists('m')).toBe(0)
    expect(await fenced(redis, { ...fence, token: 3 }, ['m'], [['SET', 'm', '1']])).toEqual(['OK'])
  })

  it('compares large tokens exactly', async () => {
    const greatest = Number.MAX_SAFE_INTEGER
    await redis.set(tokenKey('large'), String(greatest - 2))
    const fence = { resource: 'large', token: greatest }
    await fenced(redis, fence, [], [['PING']])
    const smaller = fenced(redis, { ...fence, token: greatest - 1 }, [], [['PING']])
    await expect(smaller).rejects.toMatchObject({ current: greatest })
  })
})
