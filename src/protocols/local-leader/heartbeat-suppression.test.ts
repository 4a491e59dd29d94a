/**
 * Heartbeat suppression while a leader renews: what it saves, and that all nodes send heartbeats in time when it stops.
 */
import { describe, expect, it } from 'vitest'
import { at, MAJORITY, run } from '../../../test/support/local-leader.ts'
import { ids, simulate } from '../../../test/support/run.ts'
import { sized } from '../../../test/support/sizes.ts'
import { type NodeId, type PlainObject, present } from '../../core/index.ts'
import type { Snapshot } from '../../workbench/sim/index.ts'
import type { TraceRecord } from '../../workbench/trace/index.ts'
import { timingOf } from './constants.ts'
import { givenBy, localLeaderOptions } from './options.ts'

const timing = timingOf(givenBy(localLeaderOptions(ids(5)).parse(MAJORITY), 5))
const { heartbeat, expires, renewalPeriod } = timing
const suppression = present(timing.suppression, 'quiet')
/** Time between two heartbeats of a named follower. */
const between = suppression.rounds * renewalPeriod

/** The messages of a run: sender, receiver, and time in microseconds of true time. */
type Sent = {
  readonly at: number
  readonly from: NodeId
  readonly to: NodeId
  readonly kind: string
  /** Whether the sender reports that it hears the receiver. */
  readonly heard: boolean
}

type Body = { readonly kind: string; readonly beacon: { readonly heard: boolean } }

function sentIn(file: PlainObject): readonly Sent[] {
  const sent: Sent[] = []
  const record = (happened: TraceRecord): void => {
    if (happened.type !== 'step') return
    for (const effect of happened.effects) {
      if (effect.type !== 'send') continue
      const { body = null } = effect.body as { readonly body?: Body | null }
      if (body === null) continue
      const { kind, beacon } = body
      sent.push({ at: happened.at, from: happened.node, to: effect.to, kind, heard: beacon.heard })
    }
  }
  simulate(
    { protocol: 'local-leader', nodes: ids(5), options: MAJORITY, network: { delayMs: [0.1, 2] }, ...file },
    { strict: false, record },
  )
  return sent
}

/** The heartbeats among these nodes in a span of time. */
function heartbeatsAmong(sent: readonly Sent[], among: readonly NodeId[], from: number, until: number) {
  return sent.filter(
    ({ at: when, from: by, to, kind }) =>
      kind === 'Heartbeat' && when >= from && when < until && among.includes(by) && among.includes(to),
  )
}

describe('the steady state', () => {
  it('of five nodes on a LAN costs less than 280 datagrams per second', () => {
    const report = run({ nodes: ids(5), options: MAJORITY, checkpointsMs: [1000], untilMs: 11_000 }, false)
    const all = ({ messages, linkMessages }: Snapshot): number => messages.total + linkMessages.total
    const perSecond = (all(report) - all(at(report, 1000))) / 10
    // A request to four with four answers every 40 ms, and twelve heartbeats between the others in every fourth round.
    expect(perSecond).toBeGreaterThan(270)
    expect(perSecond).toBeLessThan(280)
  })

  it('has heartbeats between followers in every fourth round, and none from or to the leader', () => {
    const sent = sentIn({ untilMs: 3000 })
    const each = (from: NodeId, to: NodeId): number =>
      sent.filter((one) => one.kind === 'Heartbeat' && one.at >= 1e6 && one.from === from && one.to === to)
        .length
    expect(suppression.rounds).toBe(4)
    expect(each(1, 2) + each(2, 1)).toBe(0)
    expect(Math.abs(each(2, 3) - 2e6 / between)).toBeLessThan(1.5)
  })

  it('suppresses nothing in local mode, under the equality rule, or where the leader renews too rarely', () => {
    const seldom = { mode: 'majority', renewalIntervalMs: 60 }
    for (const options of [{ mode: 'local' }, { mode: 'majority', rule: 'equality' }, seldom]) {
      const sent = sentIn({ options, untilMs: 3000 })
      const pair = heartbeatsAmong(sent, [2, 3], 1e6, 3e6).length / 2
      const period = timingOf(givenBy(localLeaderOptions(ids(5)).parse(options), 5)).heartbeat
      expect(pair).toBeGreaterThan(2e6 / period - 2)
    }
  })
})

describe('speaking up', () => {
  it('when the leader is down: all nodes have heard each other before any gives it up', () => {
    for (let seed = 1; seed <= 20; seed++) {
      const sent = sentIn({ seed, events: [{ atMs: 1000 + 3 * seed, crash: 1 }], untilMs: 1400 })
      const crash = (1000 + 3 * seed) * 1000
      const stood = sent.find(({ at: when, kind }) => kind === 'Election' && when > crash)?.at ?? 0
      const heard = heartbeatsAmong(sent, [2, 3, 4, 5], crash, stood - 2000)
      expect(new Set(heard.map(({ from, to }) => `${from} to ${to}`)).size).toBe(12)
      expect(stood - crash).toBeLessThan(1.1 * expires)
    }
  })

  it.each([
    ['its priority changes', { do: 'setPriority', priority: -1 }],
    ['it withdraws', { do: 'campaign', willing: false, lapse: false }],
  ])('when %s: all nodes learn it at once', (_, command) => {
    const change = { atMs: 1000, command: { node: 4, ...command } }
    const sent = sentIn({ events: [change], untilMs: 1100 })
    const notices = heartbeatsAmong(sent, [2, 3, 4, 5], 1e6, 1e6 + 1000).filter(({ from }) => from === 4)
    expect(new Set(notices.map(({ to }) => to))).toEqual(new Set([2, 3, 5]))
  })

  it('when the leader does not name it, because its answers are lost', () => {
    const sent = sentIn({ events: [{ atMs: 1000, cutOneWay: [[4, 1]] }], untilMs: 2000 })
    const own = heartbeatsAmong(sent, [2, 3, 4, 5], 1.5e6, 2e6).filter(({ from }) => from === 4)
    expect(own.length / 3).toBeGreaterThan(0.5e6 / heartbeat - 2)
  })
})

describe('handing over', () => {
  it('takes three message delays at any renewal interval: no named node was given up', () => {
    for (const renewalIntervalMs of [40, 50, 60, 200]) {
      for (let seed = 1; seed <= sized(12, 40); seed++) {
        const { leaderships } = simulate(
          {
            protocol: 'local-leader',
            nodes: ids(5),
            seed,
            options: { ...MAJORITY, renewalIntervalMs },
            network: { delayMs: 5 },
            clocks: { driftPpm: 100, lateMs: 10 },
            events: [{ atMs: 1000 + 7 * seed, command: { node: 1, do: 'stepDown' } }],
            untilMs: 1500,
          },
          { strict: false },
        )
        const next = leaderships[leaderships.findIndex(({ ended }) => ended === 'stepped down') + 1]
        expect(next?.fromMs, `${renewalIntervalMs} ${seed}`).toBeLessThanOrEqual(1000 + 7 * seed + 15)
      }
    }
  })
})

describe('a lost renewal', () => {
  const lost = {
    untilMs: 2000,
    events: [
      { atMs: 1000, cutOneWay: [[1, 4]] },
      { atMs: 1045, heal: 'all' },
    ],
  }

  it('makes the follower send a heartbeat, which the leader answers', () => {
    for (let seed = 1; seed <= 20; seed++) {
      const sent = sentIn({ seed, ...lost })
      const asked = heartbeatsAmong(sent, [1, 4], 1e6, 1.1e6).filter(({ from }) => from === 4)
      const answers = heartbeatsAmong(sent, [1, 4], 1e6, 1.1e6).filter(({ from }) => from === 1)
      expect(asked.length).toBeGreaterThan(0)
      for (const { at: when } of asked) {
        expect(answers.some(({ at: then }) => then > when && then <= when + 2000)).toBe(true)
      }
      // The leader sends nothing else to the other nodes.
      expect(heartbeatsAmong(sent, [1, 2, 3, 5], 1e6, 1.1e6).filter(({ from }) => from === 1)).toEqual([])
    }
  })

  it('makes no node give up the leader', () => {
    for (let seed = 1; seed <= 20; seed++) {
      const sent = sentIn({ seed, ...lost })
      expect(sent.some(({ kind, from, at: when }) => kind === 'Election' && from !== 1 && when > 0.5e6)).toBe(
        false,
      )
    }
  })

  it('makes an observer send a heartbeat to its leader only', () => {
    const sent = sentIn({ options: { ...MAJORITY, observers: [4] }, ...lost })
    const asked = sent.filter(({ kind, from }) => kind === 'Heartbeat' && from === 4)
    expect(asked.length).toBeGreaterThan(0)
    expect(new Set(asked.map(({ to }) => to))).toEqual(new Set([1]))
    expect(heartbeatsAmong(sent, [1, 4], 1e6, 1.1e6).some(({ from }) => from === 1)).toBe(true)
  })
})

describe('leases that tune themselves', () => {
  /** The inputs of the followers in the last ten seconds of a quiet run, whose timers fire up to 2 ms late. */
  function inputsOfFollowers(): readonly string[] {
    const inputs: string[] = []
    const record = (happened: TraceRecord): void => {
      if (happened.type !== 'step' || happened.at < 20e6 || happened.node === 1) return
      const { input } = happened
      if (input.type === 'timer') inputs.push(input.name)
      else if (input.type === 'message')
        inputs.push((input.body as unknown as { readonly body: Body | null }).body?.kind ?? 'Echo')
    }
    simulate(
      {
        protocol: 'local-leader',
        nodes: ids(3),
        options: { timing: 'adaptive' },
        network: { delayMs: [0.1, 0.4] },
        clocks: { lateMs: 2 },
        untilMs: 30_000,
      },
      { strict: false, record },
    )
    return inputs
  }

  it('wake a quiet follower some sixty times per second, by renewals and one timer', () => {
    const inputs = inputsOfFollowers()
    const renewals = inputs.filter((input) => input === 'Election').length
    const timers = inputs.filter((input) => input === 'overdue').length
    // Two followers, ten seconds.
    expect(renewals + timers).toBeLessThan(2 * 10 * 65)
    expect(renewals).toBeGreaterThan(500)
    expect(timers).toBeLessThanOrEqual(renewals)
    expect(timers).toBeGreaterThan(0.2 * renewals)
    expect(inputs.every((input) => ['Election', 'Heartbeat', 'overdue'].includes(input))).toBe(true)
  })
})

describe('a node that has lost its vote', () => {
  it('sends nothing more, and the run ends', () => {
    // At any moment between two of its heartbeats.
    for (let atMs = 1000; atMs < 1200; atMs += 5) {
      const remove = { atMs, command: { node: 1, do: 'removeVoter', voter: 4 } }
      const sent = sentIn({ seed: atMs, events: [remove], untilMs: 1500 })
      expect(sent.some(({ kind, from }) => kind === 'Reply' && from === 4)).toBe(true)
      expect(sent.filter(({ at: when, from }) => from === 4 && when > (atMs + 200) * 1000)).toEqual([])
    }
  })
})

describe('a new leader', () => {
  it('announces itself to all nodes at once', () => {
    const sent = sentIn({ events: [{ atMs: 1000, crash: 1 }], untilMs: 1400 })
    const stood = sent.find(({ at: when, kind }) => kind === 'Election' && when > 1e6)?.at ?? 0
    const first = heartbeatsAmong(sent, [2, 3, 4, 5], stood + 1, stood + 4001).filter(
      ({ from }) => from === 2,
    )
    expect(new Set(first.map(({ to }) => to))).toEqual(new Set([3, 4, 5]))
  })
})

describe('a named node', () => {
  it('counts as reachable only if this node has heard it lately', () => {
    // 2 and 3 no longer hear each other; the leader hears both.
    const sent = sentIn({ events: [{ atMs: 1000, cut: [[2, 3]] }], untilMs: 2000 })
    const said = (from: number, until: number): ReadonlySet<boolean> =>
      new Set(heartbeatsAmong(sent, [2, 3], from, until).map(({ heard }) => heard))
    expect(said(1e6, 1e6 + suppression.longest)).toEqual(new Set([true]))
    expect(said(1e6 + 3 * suppression.longest + expires, 2e6)).toEqual(new Set([false]))
  })

  it('counts as reachable even if it has sent no heartbeat lately', () => {
    const sent = sentIn({ untilMs: 3000 })
    expect(between).toBeGreaterThan(expires)
    expect(heartbeatsAmong(sent, ids(5), 1e6, 3e6).every(({ heard }) => heard)).toBe(true)
  })
})
