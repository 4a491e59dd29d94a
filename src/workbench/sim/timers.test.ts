import { describe, expect, it } from 'vitest'
import { probeDefinition } from '../../../test/support/probe.ts'
import { parseScenario } from '../scenario/index.ts'
import { Random } from '../scenario/random.ts'
import { makeNodes } from './make-nodes.ts'
import { resume, stall } from './stalls.ts'
import { Timers } from './timers.ts'
import { NEVER, type Pending, type SimNode, takeDown } from './world-node.ts'

type Entry = Pending & { type: 'timer' }

/** One node without drift, whose clock shows `start` at true time 0. */
function setUp(lateMs = 0) {
  const lookup = { names: ['probe'], find: () => probeDefinition }
  const scenario = parseScenario({ protocol: 'probe', nodes: [1], untilMs: 1 }, lookup)
  const random = new Random(1)
  const node = makeNodes(probeDefinition, scenario, random, false)[0] as SimNode
  const queue: { readonly time: number; readonly pending: Pending }[] = []
  const push = (time: number, pending: Pending): void => void queue.push({ time, pending })
  const timers = new Timers(random, { least: lateMs * 1000, most: lateMs * 1000 }, push)
  return { node, queue, timers, start: node.clock.at(0), push }
}

describe('a timer', () => {
  it('is queued for its deadline on the node clock, and fires once', () => {
    const { node, queue, timers, start } = setUp()
    timers.set(node, 'a', start + 500, 0)
    expect(queue.map(({ time }) => time)).toEqual([500])
    const entry = queue[0]?.pending as Entry
    expect(timers.expire(entry, 500)).toMatchObject({ name: 'a' })
    expect(timers.expire(entry, 500)).toBeNull()
  })

  it('keeps its queue entry when it moves later, and is queued again when that comes up', () => {
    const { node, queue, timers, start } = setUp()
    timers.set(node, 'a', start + 500, 0)
    timers.set(node, 'a', start + 900, 100)
    expect(queue).toHaveLength(1)
    expect(timers.expire(queue[0]?.pending as Entry, 500)).toBeNull()
    expect(queue.map(({ time }) => time)).toEqual([500, 900])
    expect(timers.expire(queue[1]?.pending as Entry, 900)).toMatchObject({ name: 'a' })
  })

  it('gets a new entry when it moves earlier, and the old one is void', () => {
    const { node, queue, timers, start } = setUp()
    timers.set(node, 'a', start + 500, 0)
    timers.set(node, 'a', start + 200, 0)
    expect(queue.map(({ time }) => time)).toEqual([500, 200])
    expect(timers.expire(queue[0]?.pending as Entry, 500)).toBeNull()
  })

  it('does not fire after it was stopped', () => {
    const { node, queue, timers, start } = setUp()
    timers.set(node, 'a', start + 500, 0)
    timers.stop(node, 'a', 100)
    timers.stop(node, 'unknown', 100)
    expect(timers.expire(queue[0]?.pending as Entry, 500)).toBeNull()
  })

  it('is drawn from a range', () => {
    const { node, queue, timers, start } = setUp()
    for (let each = 0; each < 50; each++) timers.set(node, `t${each}`, [start + 100, start + 200], 0)
    const times = queue.map(({ time }) => time)
    expect(Math.min(...times)).toBeGreaterThanOrEqual(100)
    expect(Math.max(...times)).toBeLessThanOrEqual(200)
    expect(new Set(times).size).toBeGreaterThan(10)
  })

  it('fires late by the lateness of the host, unless it is already due', () => {
    const { node, queue, timers, start } = setUp(3)
    timers.set(node, 'a', start + 500, 0)
    timers.set(node, 'b', start, 100)
    expect(queue.map(({ time }) => time)).toEqual([3500, 100])
  })
})

describe('a stall', () => {
  it('delays timers to its end, and releases the backlog after them', () => {
    const { node, queue, timers, start, push } = setUp()
    node.up = true
    timers.set(node, 'a', start + 500, 0)
    stall(node, 2000, 100, push)
    node.backlog.push({ type: 'command', node, command: { do: 'act' } })
    expect(timers.expire(queue[0]?.pending as Entry, 500)).toBeNull()
    const end = queue[1]?.pending as Pending & { type: 'resume' }
    expect(resume(end, 2100, push)).toBe(false)
    expect(queue.map(({ time, pending }) => [time, pending.type])).toEqual([
      [500, 'timer'],
      [2100, 'resume'],
      [2100, 'timer'],
      [2100, 'resume'],
    ])
    expect(resume(queue[3]?.pending as Pending & { type: 'resume' }, 2100, push)).toBe(true)
    expect(queue.at(-1)).toMatchObject({ time: 2100, pending: { type: 'command' } })
    expect([node.stalledUntil, node.backlog]).toEqual([0, []])
  })

  it('does not shorten a longer one, and does not begin at a node that is down', () => {
    const { node, queue, push } = setUp()
    stall(node, 1000, 0, push)
    expect(queue).toEqual([])
    node.up = true
    stall(node, 1000, 0, push)
    stall(node, 500, 0, push)
    expect(node.stalledUntil).toBe(1000)
    expect(queue).toHaveLength(1)
    expect(resume(queue[0]?.pending as Pending & { type: 'resume' }, 900, push)).toBe(false)
  })
})

it('a crash voids timers and returns the messages that waited', () => {
  const { node, queue, timers, start } = setUp()
  node.up = true
  timers.set(node, 'a', start + 500, 0)
  node.backlog.push({
    type: 'message',
    from: node,
    to: node,
    body: { kind: 'note' },
    id: 7,
    label: 0,
    sentAt: 0,
  })
  expect(takeDown(node, 100)).toEqual([7])
  expect(timers.expire(queue[0]?.pending as Entry, 500)).toBeNull()
  expect([node.up, node.state, node.timers.size, node.crashAfter]).toEqual([false, null, 0, NEVER])
})
