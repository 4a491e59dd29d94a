import { describe, expect, it } from 'vitest'
import { probeDefinition } from '../../../test/support/probe.ts'
import { send } from '../../core/index.ts'
import { parseScenario } from '../scenario/index.ts'
import type { Scenario } from '../scenario/scenario.ts'
import type { Spec } from '../specs/index.ts'
import { NO_ERROR, shrink, violates } from './shrink.ts'

const lookup = { names: ['probe'], find: () => probeDefinition }

/** Violated once a node has received the text "bad". */
const noBadNews: Spec<null> = {
  name: 'no-bad-news',
  title: 'no node receives bad news',
  source: 'a test',
  when: 'always',
  fold: { begin: () => null, next: (memory) => memory },
  judge(_memory, seen) {
    if (seen.type !== 'output') return 'not concerned'
    return JSON.stringify(seen.event).includes('"bad"') ? { violated: 'bad news' } : 'held'
  },
}
const options = { specs: [noBadNews], goals: [] }

function scenario(more: object = {}): Scenario {
  const act = (atMs: number, node: number, text: string): object => ({
    atMs,
    command: { node, do: 'act', effects: [send(2, { kind: 'note', text })] },
  })
  return parseScenario(
    {
      protocol: 'probe',
      nodes: [1, 2, 3, 4],
      network: { delayMs: [1, 9], duplicate: 0.1 },
      untilMs: 100,
      events: [
        act(10.123, 3, 'fine'),
        { atMs: 11, pause: 4, forMs: 3 },
        act(20.456, 1, 'bad'),
        { atMs: 30, crash: 3 },
        act(31, 4, 'fine'),
      ],
      ...more,
    },
    lookup,
  )
}

describe('shrinking', () => {
  const small = shrink(probeDefinition, scenario(), 'no-bad-news', options)

  it('keeps only the events and nodes that the violation needs', () => {
    expect(violates(probeDefinition, small, 'no-bad-news', options)).toBe(true)
    expect(small.events).toHaveLength(1)
    expect(small.nodes).toEqual([1, 2])
  })

  it('simplifies the network and rounds times', () => {
    expect(small.network.duplicate).toBe(0)
    expect(small.events[0]?.atMs).toBe(20)
  })

  it('is deterministic', () => {
    expect(shrink(probeDefinition, scenario(), 'no-bad-news', options)).toEqual(small)
  })

  it('returns a scenario that does not violate as it is', () => {
    const fine = scenario({ events: [] })
    expect(violates(probeDefinition, fine, 'no-bad-news', options)).toBe(false)
    expect(shrink(probeDefinition, fine, 'no-bad-news', options)).toBe(fine)
  })

  it('treats an exception in a step as a violation of its own', () => {
    const failing = {
      ...probeDefinition,
      create: () => ({
        ...probeDefinition.create({ self: 1, nodes: [1] }, {}),
        step: () => {
          throw new Error('broken')
        },
      }),
    }
    expect(violates(failing, scenario(), NO_ERROR, options)).toBe(true)
    expect(violates(probeDefinition, scenario(), NO_ERROR, options)).toBe(false)
    expect(shrink(failing, scenario(), NO_ERROR, options).events).toHaveLength(1)
  })
})

describe('shrinking with events of clocks and messages', () => {
  const sends = (atMs: number, text: string): object => ({
    atMs,
    command: { node: 1, do: 'act', effects: [send(2, { kind: 'note', text })] },
  })
  const events = [
    { atMs: 1, drift: 4, ppm: 500_000 },
    { atMs: 2, skew: 3, byMs: 5 },
    sends(10, 'fine'),
    sends(20, 'bad'),
    { atMs: 20.5, delay: 1, forMs: 30 },
    { atMs: 21, copy: 1 },
    { atMs: 60, drop: 7 },
  ]

  it('leaves out events that the violation does not need, and events of nodes that are gone', () => {
    const small = shrink(probeDefinition, scenario({ events }), 'no-bad-news', options)
    expect(small.nodes).toEqual([1, 2])
    expect(small.events).toHaveLength(1)
    expect(violates(probeDefinition, small, 'no-bad-news', options)).toBe(true)
  })

  it('keeps a smaller scenario only if the violation remains, though its numbers may mean other messages', () => {
    // Only the delay makes the bad news late; without the first message its number would be another.
    const late: Spec<null> = {
      ...noBadNews,
      judge: (memory, seen, facts) =>
        seen.at < 40_000 ? 'not concerned' : noBadNews.judge(memory, seen, facts),
    }
    const small = shrink(probeDefinition, scenario({ events }), 'no-bad-news', { specs: [late], goals: [] })
    expect(violates(probeDefinition, small, 'no-bad-news', { specs: [late], goals: [] })).toBe(true)
    expect(small.events.some((event) => 'delay' in event)).toBe(true)
    expect(small.events.length).toBeLessThan(events.length)
  })
})
