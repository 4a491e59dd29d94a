/** A node that lies about what it measures, or asks for absurd locks: it has no more weight than a node that is down. */
import { describe, expect, it } from 'vitest'
import { ids } from '../../../test/support/run.ts'
import type { Definition, Effect, Output, Plain, PlainObject, Protocol, Step } from '../../core/index.ts'
import { present } from '../../core/index.ts'
import { parseScenario, runScenario } from '../../workbench/sim/index.ts'
import { catalogue, protocolNamed } from '../index.ts'
import { HIGHEST_LEVEL, LONGEST_LOCK, levelFor } from './levels.ts'
import { type LocalLeaderMessage, NO_LOSS } from './messages.ts'

const definition = present(protocolNamed('local-leader'), 'local-leader')
const LOWEST = levelFor(60_000)

type Change = (message: LocalLeaderMessage) => LocalLeaderMessage

/** Changes every message that the last node sends. */
function withLiar(liar: number, change: Change): Definition {
  const tampered = (effect: Effect): Effect => {
    if (effect.type !== 'send' || effect.body.kind !== 'datagram') return effect
    const inner = (effect.body as PlainObject)['body'] ?? null
    if (inner === null) return effect
    const body = { ...effect.body, body: change(inner as unknown as LocalLeaderMessage) as unknown as Plain }
    return { ...effect, body }
  }
  const lying = ({ state, effects }: Step<Plain>): Step<Plain> => ({ state, effects: effects.map(tampered) })
  const wrapped = (protocol: Protocol): Protocol => ({
    ...protocol,
    start: (stable, now) => lying(protocol.start(stable, now)),
    step: (state, input, now) => lying(protocol.step(state, input, now)),
  })
  return {
    ...definition,
    create(identity, options) {
      const protocol = definition.create(identity, options)
      return identity.self === liar ? wrapped(protocol) : protocol
    },
  }
}

function run(nodes: number, change: Change, more: object = {}) {
  const file = {
    protocol: 'local-leader',
    nodes: ids(nodes),
    options: { timing: 'adaptive' },
    network: { delayMs: [0.05, 0.5] },
    untilMs: 15_000,
    ...more,
  }
  const events: Output[] = []
  const report = runScenario(withLiar(nodes, change), parseScenario(file, catalogue), {
    observe(seen) {
      if (seen.type === 'output') events.push(seen.event)
    },
  })
  return { report, events, levels: events.flatMap(({ type, level }) => (type === 'level' ? [level] : [])) }
}

/** The last node reports this in all its votes. */
function votes(change: PlainObject): Change {
  return (message) =>
    message.kind === 'Reply'
      ? { ...message, votes: message.votes.map((vote) => ({ ...vote, ...change })) }
      : message
}

const ABSURD = { late: HIGHEST_LEVEL, delay: HIGHEST_LEVEL, loss: 0, least: 0, most: HIGHEST_LEVEL }

describe('a node that lies', () => {
  it.each([3, 5])('about its evidence does not change the level of %d nodes', (nodes) => {
    const { levels, report } = run(nodes, votes({ evidence: ABSURD }))
    expect(levels).toEqual([11, 10, LOWEST])
    expect(report.leaderships).toHaveLength(1)
  })

  it('about its evidence counts as soon as the leader depends on its vote', () => {
    const { levels } = run(3, votes({ evidence: { ...ABSURD, loss: 15 } }), {
      events: [{ atMs: 8000, crash: 2 }],
    })
    expect(levels.at(-1)).toBe(levelFor(4_235_415))
  })

  it('about its bounds is left out', () => {
    const bounds = { shortest: 5_000_000, longest: 5_000_000 }
    const { levels, report } = run(5, votes({ support: false, bounds }))
    expect(levels).toEqual([11, 10, LOWEST])
    expect(report.nodes['1']?.members).toEqual([1, 2, 3, 4])
  })

  it('about the levels that it grants is left out', () => {
    const { levels, report } = run(5, votes({ evidence: { ...ABSURD, least: HIGHEST_LEVEL } }))
    expect(levels).toEqual([11, 10, LOWEST])
    expect(report.leaderships).toHaveLength(1)
  })

  it.each([
    ['votes', { evidence: { late: 0, delay: 0, loss: NO_LOSS, least: 28, most: 28 } }],
    ['refusals', { support: false, bounds: { shortest: 4_000_000, longest: 5_000_000 } }],
  ])('about the levels that it grants, in its %s, does not choose the lease of a new leader', (_how, lie) => {
    const { levels, report } = run(5, votes(lie), {
      events: [
        { atMs: 8000, crash: 1 },
        { atMs: 10_000, recover: 1 },
        { atMs: 25_000, crash: 1 },
      ],
      untilMs: 30_000,
    })
    // Node 2 takes over, hands over to node 1, and takes over again.
    expect(report.leaderships.length).toBeGreaterThan(2)
    expect(Math.max(...levels.map(Number))).toBeLessThan(13)
  })

  it('about the lock of its requests binds no other node for longer than the bounds of that node', () => {
    const greedy: Change = (message) =>
      message.kind === 'Election' ? { ...message, lock: LONGEST_LOCK } : message
    const { report } = run(3, greedy, { options: { timing: 'adaptive', priorities: { 3: 1 } } })
    expect(report.leaders).toEqual([1])
  })

  it('and sends requests without a lock is not heard, and the event names the field', () => {
    const { events, report } = run(
      3,
      (message) => {
        if (message.kind !== 'Election') return message
        const { lock: _lock, ...rest } = message
        return rest
      },
      { options: { timing: 'adaptive', priorities: { 3: 1 } } },
    )
    expect(events).toContainEqual({
      type: 'implausible',
      peer: 3,
      field: 'Election.lock',
      problem: 'does not belong to this timing',
    })
    expect(report.leaders).toEqual([1])
  })
})
