/** Epochs in timed worlds: liveness, leases and why they end, faults of the store, membership, the primary partition. */
import { describe, expect, it } from 'vitest'
import { simulate } from '../../../test/support/run.ts'
import type { Input, Plain, PlainObject, RegisterCall } from '../../core/index.ts'
import type { Report } from '../../workbench/sim/index.ts'
import type { Observation } from '../../workbench/trace/index.ts'
import { epochs } from './epochs.ts'
import type { EpochsCommand } from './options.ts'
import { RULES } from './rules.ts'
import type { EpochsState } from './state.ts'
import { timingOf } from './timing.ts'
import { rankOf } from './watching.ts'

function run(more: PlainObject, observe: (seen: Observation) => void = () => undefined): Report {
  const file = { protocol: 'epochs', nodes: [1, 2, 3], clocks: { driftPpm: 500 }, untilMs: 3000, ...more }
  return simulate(file, { strict: true, observe })
}

const held = ({ specs }: Report): boolean => specs.every(({ verdict }) => verdict !== 'violated')

describe('a stable period', () => {
  it('has followers that poll and do not tick: only the leader writes', () => {
    const report = run({})
    expect(held(report)).toBe(true)
    expect(report.leaderships).toHaveLength(1)
    expect(report.leaders).toEqual([1])
    expect(report.groups).toEqual([[1, 2, 3]])
    expect(report.registers?.['2']).toEqual([0, 0, 0, 0])
    // One renewal per period, after the first election.
    const led = Object.keys(report.leadersByEpoch ?? {}).length
    expect(led).toBeGreaterThanOrEqual(14)
    expect(led).toBeLessThanOrEqual(16)
  })

  it('ends with a crash of the leader, and the next node in order leads one lease later', () => {
    const report = run({
      events: [
        { atMs: 1000, crash: 1 },
        { atMs: 2000, recover: 1 },
      ],
    })
    expect(held(report)).toBe(true)
    const [first, second] = report.leaderships
    expect(first).toMatchObject({ node: 1, ended: 'crashed' })
    expect(second).toMatchObject({ node: 2, cause: 'elected', ended: null })
    // A lease of 230 ms, its drift, a look and an election, but not more.
    expect((second?.fromMs ?? 0) - 1000).toBeLessThan(400)
    // The restarted node is far behind, and does not interrupt the leader.
    expect(report.nodes['1']).toMatchObject({ role: 'follower', leader: 2 })
  })

  it('has a circular order of succession', () => {
    expect([1, 2, 3].map((id) => rankOf(id, 2, [1, 2, 3]))).toEqual([1, 2, 0])
    expect([1, 2, 3].map((id) => rankOf(id, null, [1, 2, 3]))).toEqual([0, 1, 2])
  })
})

describe('the end of a term has a cause', () => {
  it.each([
    ['it stepped down', { atMs: 1000, command: { node: 1, do: 'stepDown' } }],
    ['its lease ran out', { atMs: 1000, hang: 'store', forMs: 600 }],
    ['its clock stood still for too long', { atMs: 1000, suspend: 1, forMs: 900 }],
  ])('%s', (cause, event) => {
    const report = run({ events: [event], registers: { timeoutMs: 2000 } })
    expect(held(report)).toBe(true)
    expect(report.leaderships[0]).toMatchObject({ node: 1, ended: cause })
    expect(report.leaderships.length).toBeGreaterThan(1)
  })

  it('the outcome of a write is unknown if the store hangs for longer than the timeout', () => {
    const report = run({ events: [{ atMs: 1010, hang: 'store', forMs: 500 }], registers: { timeoutMs: 15 } })
    expect(held(report)).toBe(true)
    expect(report.leaderships[0]).toMatchObject({ ended: 'the outcome of its write is unknown' })
    expect(report.leaders).toHaveLength(1)
  })
})

describe('a node whose store fails', () => {
  /** A node whose register calls the test answers. */
  function createNode() {
    const protocol = epochs(
      { self: 1, nodes: [1, 2] },
      {
        timing: timingOf({ period: 200_000, access: 5000, drift: 0.001, lease: null }),
        start: 'stamps',
        order: 'succession',
        rules: RULES,
        ballots: null,
        keepsRead: false,
      },
    )
    let { state, effects } = protocol.start(null, 0)
    const take = (input: Input<never, EpochsCommand>, now: number): void => {
      ;({ state, effects } = protocol.step(state, input, now))
    }
    const called = (): RegisterCall => {
      const call = effects.flatMap((effect) => (effect.type === 'register' ? [effect.call] : []))[0]
      if (call === undefined) throw new Error('no call')
      return call
    }
    const answer = (value: Plain, now: number, outcome: 'ok' | 'unknown' = 'ok'): RegisterCall => {
      const call = called()
      take({ type: 'register', call, outcome, value }, now)
      return call
    }
    return { protocol, take, answer, called, state: (): EpochsState => state, effects: () => effects }
  }
  const more = { inc: 1, lctr: 0, lbal: 0, led: 0, term: 0, gone: false }
  const block = (ctr: number, pbal: number): Plain => ({ ctr, pbal, bal: 0, val: null, more })

  it('raises the alarm and stops when a register goes back', () => {
    const node = createNode()
    node.answer(null, 0)
    node.answer(null, 1)
    node.take({ type: 'timer', name: 'look' }, 25_000)
    node.answer(block(5, 3), 26_000)
    node.take({ type: 'timer', name: 'look' }, 50_000)
    node.answer(block(5, 2), 51_000)
    expect(node.state().status).toBe('Stopped')
    expect(node.effects()).toContainEqual(
      expect.objectContaining({
        type: 'output',
        event: expect.objectContaining({ type: 'alarm' }) as object,
      }),
    )
    expect(node.protocol.view(node.state(), 52_000)).toMatchObject({ role: 'dead', leader: null })
    const before = node.state()
    node.take({ type: 'command', command: { do: 'tick' } }, 60_000)
    expect(node.state()).toBe(before)
  })

  it.each([
    ['text'],
    [[1, 2]],
    [{ ctr: -1, pbal: 0, bal: 0, val: null, more: null }],
    [{ ctr: 1 }],
  ] as Plain[][])('stops when a register does not hold a valid block: %j', (value) => {
    const node = createNode()
    node.answer(value ?? null, 0)
    expect(node.state().status).toBe('Stopped')
  })

  it('drops a late reply of an earlier round', () => {
    const node = createNode()
    node.answer(null, 0)
    node.answer(null, 1)
    node.take({ type: 'timer', name: 'look' }, 25_000)
    const late = node.called()
    node.take({ type: 'command', command: { do: 'tick' } }, 26_000)
    node.answer(null, 27_000)
    expect(node.state().status).toBe('Participant')
    const before = node.state()
    node.take({ type: 'register', call: late, outcome: 'ok', value: block(0, 0) }, 28_000)
    expect(node.state()).toBe(before)
  })

  it('reads its register again and takes it over after a write of unknown outcome', () => {
    const node = createNode()
    node.answer(null, 0)
    node.answer(null, 1)
    node.take({ type: 'command', command: { do: 'tick' } }, 10)
    node.answer(null, 20, 'unknown')
    expect(node.state().status).toBe('Starting')
    node.take({ type: 'timer', name: 'again' }, 6000)
    expect(node.answer(block(1, 0), 6001)).toMatchObject({ op: 'read', of: 1 })
    expect(node.called()).toMatchObject({ op: 'write', value: { ctr: 1, more: { inc: 2 } } })
    node.answer(null, 6002)
    expect(node.state()).toMatchObject({ status: 'Suspended', ctr: 1 })
  })

  it('retries a failed read in the same round, but never at once', () => {
    const node = createNode()
    node.answer(null, 0)
    node.answer(null, 1)
    node.take({ type: 'timer', name: 'look' }, 25_000)
    const first = node.answer(null, 26_000, 'unknown')
    expect(node.effects()).toEqual([{ type: 'setTimer', name: 'again', at: [28_500, 31_000] }])
    node.take({ type: 'timer', name: 'again' }, 29_000)
    expect(node.called()).toEqual(first)
    node.answer(block(0, 0), 30_000)
    node.take({ type: 'timer', name: 'again' }, 31_000)
    expect(node.effects()).toEqual([])
  })

  it('limits the rate of retries to a store that fails at once', () => {
    const node = createNode()
    let calls = 0
    let now = 0
    const due = new Map<string, number>()
    const carryOut = (): void => {
      for (const effect of node.effects()) {
        if (effect.type === 'setTimer')
          due.set(effect.name, typeof effect.at === 'number' ? effect.at : effect.at[0])
        if (effect.type === 'stopTimer') due.delete(effect.name)
      }
      const call = node.effects().find(({ type }) => type === 'register')
      if (call === undefined) return
      calls += 1
      // Every third call succeeds, so that the node reads, writes and looks.
      if (calls % 3 === 0) node.answer(null, now)
      else node.answer(null, now, 'unknown')
      carryOut()
    }
    carryOut()
    while (now < 1_000_000 && due.size > 0) {
      const [[name, at] = ['', 0]] = [...due].sort(([, a], [, b]) => a - b)
      due.delete(name)
      now = Math.max(now, at)
      node.take({ type: 'timer', name }, now)
      carryOut()
    }
    expect(now).toBeGreaterThanOrEqual(1_000_000)
    // An access takes 5 ms, and a pause at least half of that: at most 400 pauses per second. Only calls that follow an
    // answer come without a pause.
    expect(calls).toBeLessThan(2 * 400)
  })

  const former = { ctr: 3, pbal: 1, bal: 1, val: 1, more: { ...more, lctr: 3, lbal: 1, led: 2, term: 1 } }
  const { wait, lease } = timingOf({ period: 200_000, access: 5000, drift: 0.001, lease: null })

  it('counts the lease of its previous incarnation, even if it had to retry the read', () => {
    const node = createNode()
    node.answer(null, 0, 'unknown')
    node.take({ type: 'timer', name: 'again' }, 5000)
    node.answer(former, 6000)
    expect(node.state().time?.seen).toMatchObject([{ of: 1, lctr: 3, lbal: 1, at: 6000 }])
  })

  it.each([
    ['keeps the stamp of its previous incarnation while that lease may last', 20, 3],
    ['removes the stamp when that lease is over', wait + 1000, 0],
  ])('%s, if it steps down after a restart', (_name, at, lctr) => {
    const node = createNode()
    node.answer(former, 0)
    node.answer(null, 1)
    node.take({ type: 'command', command: { do: 'tick' } }, 10)
    node.answer(null, 11)
    expect(node.state().status).toBe('Participant')
    node.take({ type: 'command', command: { do: 'campaign', willing: false, lapse: false } }, at)
    expect(node.state()).toMatchObject({ status: 'Suspended', own: { ctr: 4, more: { lctr } } })
  })

  it('does not start to act when START comes after the end of its lease', () => {
    const node = createNode()
    node.answer(former, 0)
    node.answer(null, 1)
    node.take({ type: 'command', command: { do: 'tick' } }, 10)
    node.answer(null, 11)
    node.answer(null, 12)
    for (const now of [13, 16]) {
      node.take({ type: 'timer', name: 'write' }, now)
      node.answer(null, now + 1)
      node.answer(null, now + 2)
    }
    expect(node.state().status).toBe('Leader')
    expect(wait).toBeGreaterThan(lease)
    node.take({ type: 'timer', name: 'start' }, wait + 1000)
    expect(node.effects()).toEqual([])
    expect(node.state().time?.lease).toMatchObject({ acting: false })
  })

  it('continues to lead and to remove a node when a tombstone is refused', () => {
    const node = createNode()
    node.answer(null, 0)
    node.answer(null, 1)
    node.take({ type: 'command', command: { do: 'tick' } }, 10)
    node.answer(null, 11)
    node.answer(null, 12)
    for (const now of [13, 16]) {
      node.take({ type: 'timer', name: 'write' }, now)
      node.answer(null, now + 1)
      node.answer(null, now + 2)
    }
    expect(node.state()).toMatchObject({ status: 'Leader', time: { lease: { acting: true } } })
    node.take({ type: 'command', command: { do: 'remove', of: 2 } }, 20)
    const renew = (at: number, ctr: number): void => {
      node.take({ type: 'timer', name: 'renew' }, at)
      node.answer(null, at + 1)
      node.answer(block(ctr, 0), at + 2)
      expect(node.state().status).toBe('Leader')
    }
    renew(30, 0)
    expect(node.answer(block(0, 0), 33)).toMatchObject({ op: 'read', of: 2 })
    expect(node.called()).toMatchObject({ op: 'bury', of: 2, value: { ctr: 1, more: { gone: true } } })
    node.answer(null, 34, 'unknown')
    expect(node.state()).toMatchObject({
      status: 'Leader',
      writing: null,
      time: { lease: { acting: true }, removal: { of: 2, stage: 'read' } },
    })
    // At the next renewal the node finds the tombstone of another node, and uses it.
    renew(40, 1)
    node.answer({ ctr: 1, pbal: 0, bal: 0, val: null, more: { ...more, gone: true } }, 43)
    expect(node.state().time?.removal).toEqual({ of: 2, stage: 'wait', to: 1, since: 43 })
    expect(node.state()).toMatchObject({ status: 'Leader', writing: null, time: { lease: { acting: true } } })
  })

  it('stops if it was removed from the group', () => {
    const node = createNode()
    node.answer({ ctr: 9, pbal: 1, bal: 0, val: null, more: { ...more, gone: true } }, 0)
    expect(node.state()).toMatchObject({
      status: 'Stopped',
      time: { alarm: '1 was removed from this group' },
    })
  })
})

describe('a removal', () => {
  it('writes a tombstone, and deletes the register when all nodes have reached it', () => {
    const removed: Plain[] = []
    const report = run(
      {
        untilMs: 6000,
        events: [
          { atMs: 1000, crash: 1 },
          { atMs: 2000, command: { node: 3, do: 'remove', of: 1 } },
        ],
      },
      (seen) => {
        if (seen.type === 'output' && seen.event.type === 'removed') removed.push(seen.event['node'] ?? null)
      },
    )
    expect(removed).toEqual([1])
    expect(held(report)).toBe(true)
    expect(report.registers?.['1']).toEqual([0, 0, 0, 0])
    expect(report.leaders).toHaveLength(1)
    // Followers raised their counters for it, which elected none of them.
    const [ctr] = (report.registers?.['3'] ?? []) as readonly number[]
    expect(ctr).toBeGreaterThan(0)
  })

  it('also works on a former leader that was restarted', () => {
    const report = run({
      untilMs: 6000,
      events: [
        { atMs: 1000, crash: 1 },
        { atMs: 2000, crash: 2 },
        { atMs: 2010, recover: 2 },
        { atMs: 3000, command: { node: 2, do: 'remove', of: 1 } },
      ],
    })
    expect(report.leaderships.map(({ node }) => node)).toContain(2)
    expect(held(report)).toBe(true)
    expect(report.registers?.['1']).toEqual([0, 0, 0, 0])
  })

  /** Live and crashed nodes are removed while they renew, in a store that is often late. */
  function runRace(seed: number, misreading: string | null): Report {
    const at = (least: number, spread: number, salt: number): number =>
      least + ((seed * 7919 + salt * 104_729) % spread)
    const of = seed % 4 === 0 ? 2 : 1
    const by = seed % 4 === 0 ? 1 : 2
    const crash = seed % 3 === 0 ? [{ atMs: at(700, 400, 1), crash: of }] : []
    return run({
      seed,
      options: { misreading },
      registers: { delayMs: [0.2, 5], late: 0.15, lateMs: [5, 400], timeoutMs: 500 },
      events: [
        ...crash,
        { atMs: at(700, 400, 2), command: { node: by, do: 'remove', of } },
        { atMs: at(700, 400, 3), command: { node: 3, do: 'remove', of } },
        { atMs: at(800, 300, 4), pause: of, forMs: at(20, 300, 5) },
      ].sort((a, b) => a.atMs - b.atMs),
      untilMs: 2500,
    })
  }

  /** Seeds in which tombstones without compare-and-swap elect two leaders. */
  const RACES = [70, 166, 220]

  it('never elects two leaders in a race with the renewals of a live leader', () => {
    const seeds = [...RACES, ...Array.from({ length: 30 }, (_, index) => index + 1)]
    for (const seed of seeds) expect(held(runRace(seed, null))).toBe(true)
  })

  it('elects two leaders in such a race without compare-and-swap', () => {
    for (const seed of RACES) {
      const broken = runRace(seed, 'blind-burial').specs.filter(({ verdict }) => verdict === 'violated')
      expect(broken.map(({ name }) => name)).toContain('one-leader-an-epoch')
    }
  })

  it('interrupts neither of two nodes that remove a third at the same time', () => {
    for (let seed = 1; seed <= 10; seed++) {
      const removed: Plain[] = []
      const report = run(
        {
          seed,
          untilMs: 6000,
          events: [
            { atMs: 1000, crash: 1 },
            { atMs: 2000, command: { node: 2, do: 'remove', of: 1 } },
            { atMs: 2000 + (seed % 10) * 5, command: { node: 3, do: 'remove', of: 1 } },
          ],
        },
        (seen) => {
          if (seen.type === 'output' && seen.event.type === 'removed')
            removed.push(seen.event['node'] ?? null)
        },
      )
      expect(held(report)).toBe(true)
      expect(removed).toContain(1)
      expect(report.registers?.['1']).toEqual([0, 0, 0, 0])
      expect(report.leaderships.map(({ node, ended }) => [node, ended])).toEqual([
        [1, 'crashed'],
        [2, null],
      ])
      // No node has stopped.
      expect(Object.values(report.nodes).some(({ role }) => role === 'dead')).toBe(false)
    }
  })
})

describe('the primary partition', () => {
  it('has a leader that fences nodes outside its view, and acts once that is confirmed', () => {
    const events: PlainObject[] = []
    const report = run(
      {
        untilMs: 1500,
        events: [
          { atMs: 1, command: { node: 1, do: 'view', members: [1, 2] } },
          { atMs: 500, command: { node: 1, do: 'fenced', of: 3, token: 1 } },
        ],
      },
      (seen) => {
        if (seen.type === 'output' && ['fence', 'elected'].includes(seen.event.type)) {
          events.push({ ...seen.event, atMs: Math.floor(seen.at / 1000) })
        }
      },
    )
    expect(events[0]).toMatchObject({ type: 'fence', targets: [3], token: 1 })
    expect(events[1]).toMatchObject({ type: 'elected', atMs: 500 })
    expect(report.nodes['1']).toMatchObject({ role: 'leader', primary: true })
    expect(held(report)).toBe(true)
  })
})
