import { expect, it } from 'vitest'
import { NamedQueue } from './named-queue.ts'

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

it('runs tasks of one name in their order, also after a failure, and others beside them', async () => {
  const queue = new NamedQueue()
  const log: string[] = []
  const task = (name: string) => async (): Promise<string> => {
    log.push(`${name} begins`)
    await turn()
    log.push(`${name} ends`)
    if (name === 'a1') throw new Error('a1 failed')
    return name
  }
  const first = queue.run('a', task('a1'))
  const second = queue.run('a', task('a2'))
  const other = queue.run('b', task('b1'))
  await expect(first).rejects.toThrow('a1 failed')
  expect([await second, await other]).toEqual(['a2', 'b1'])
  expect(log.filter((line) => line.startsWith('a'))).toEqual(['a1 begins', 'a1 ends', 'a2 begins', 'a2 ends'])
  expect(log.indexOf('b1 begins')).toBeLessThan(log.indexOf('a1 ends'))
})

it('is drained when the tasks that were added have ended', async () => {
  const queue = new NamedQueue()
  let ended = 0
  for (const name of ['a', 'a', 'b']) {
    void queue.run(name, async () => {
      await turn()
      ended += 1
    })
  }
  await queue.drain()
  expect(ended).toBe(3)
  await queue.drain()
})
