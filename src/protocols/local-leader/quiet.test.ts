/** Keeping quiet while a leader renews: what it saves, and that all speak up in time. */
import { describe, expect, it } from 'vitest'
import { at, MAJORITY, run } from '../../../test/support/local-leader.ts'
import { ids, simulate } from '../../../test/support/run.ts'
import type { NodeId, PlainObject } from '../../core/index.ts'
import type { Snapshot } from '../../sim/index.ts'
import type { TraceRecord } from '../../trace/index.ts'
import { timingOf } from './constants.ts'
import { givenBy, localLeaderOptions } from './options.ts'

const { heartbeat, quiet, expires } = timingOf(givenBy(localLeaderOptions(ids(5)).parse(MAJORITY), 5))

/** Who sent what to whom, and when, in microseconds of true time. */
type Sent = {
  readonly at: number
  readonly from: NodeId
  readonly to: NodeId
  readonly kind: string
  /** Whether the sender says that it hears the receiver. */
  readonly heard: boolean
}

type Body = { readonly kind: string; readonly herald: { readonly heard: boolean } }

function sentIn(file: PlainObject): readonly Sent[] {
  const sent: Sent[] = []
  const record = (happened: TraceRecord): void => {
    if (happened.type !== 'step') return
    for (const effect of happened.effects) {
      if (effect.type !== 'send') continue
      const { body = null } = effect.body as { readonly body?: Body | null }
      if (body === null) continue
      const { kind, herald } = body
      sent.push({ at: happened.at, from: happened.node, to: effect.to, kind, heard: herald.heard })
    }
  }
  simulate(
    { protocol: 'local-leader', nodes: ids(5), options: MAJORITY, network: { delayMs: [0.1, 2] }, ...file },
    { strict: false, record },
  )
  return sent
}

/** The heartbeats among these, from one to another, in a span of time. */
function beats(sent: readonly Sent[], among: readonly NodeId[], from: number, until: number) {
  return sent.filter(
    ({ at: when, from: by, to, kind }) =>
      kind === 'Heartbeat' && when >= from && when < until && among.includes(by) && among.includes(to),
  )
}

describe('the steady state', () => {
  it('of five on a LAN costs less than 420 datagrams a second', () => {
    const report = run({ nodes: ids(5), options: MAJORITY, checkpointsMs: [1000], untilMs: 11_000 }, false)
    const all = ({ messages, linkMessages }: Snapshot): number => messages.total + linkMessages.total
    const perSecond = (all(report) - all(at(report, 1000))) / 10
    // A request to four with four answers every 40 ms, which count as messages; four heartbeats of the leader every
    // 34.5 ms; twelve between the others every 138 ms, and a few for the leader.
    expect(perSecond).toBeGreaterThan(400)
    expect(perSecond).toBeLessThan(420)
  })

  it('has a beat between equals every `quiet`, and one of the leader every `heartbeat`', () => {
    const sent = sentIn({ untilMs: 3000 })
    const each = (from: NodeId, to: NodeId): number =>
      sent.filter((one) => one.kind === 'Heartbeat' && one.at >= 1e6 && one.from === from && one.to === to)
        .length
    expect(quiet).toBe(4 * heartbeat)
    expect(each(1, 2)).toBeCloseTo(2e6 / heartbeat, -1)
    expect(each(2, 3)).toBeCloseTo(2e6 / quiet, -1)
    expect(each(2, 3)).toBeLessThan(2e6 / quiet + 2)
  })

  it('of local mode, or where all must support a leader, is as loud as ever', () => {
    for (const options of [{ mode: 'local' }, { mode: 'majority', rule: 'equality' }]) {
      const sent = sentIn({ options, untilMs: 3000 })
      const pair = beats(sent, [2, 3], 1e6, 3e6).length / 2
      const period = timingOf(givenBy(localLeaderOptions(ids(5)).parse(options), 5)).heartbeat
      expect(pair).toBeGreaterThan(2e6 / period - 2)
    }
  })
})

describe('speaking up', () => {
  it('when the leader is gone: all have heard each other before anybody gives it up', () => {
    for (let seed = 1; seed <= 20; seed++) {
      const sent = sentIn({ seed, events: [{ atMs: 1000 + 3 * seed, crash: 1 }], untilMs: 1400 })
      const crash = (1000 + 3 * seed) * 1000
      const stood = sent.find(({ at: when, kind }) => kind === 'Election' && when > crash)?.at ?? 0
      const heard = beats(sent, [2, 3, 4, 5], crash, stood - 2000)
      expect(new Set(heard.map(({ from, to }) => `${from} to ${to}`)).size).toBe(12)
      expect(stood - crash).toBeLessThan(1.1 * expires)
    }
  })

  it('when its rank has changed: all know at the next beat', () => {
    const change = { atMs: 1000, command: { node: 4, do: 'setPriority', priority: -1 } }
    const sent = sentIn({ events: [change], untilMs: 1100 })
    const told = beats(sent, [2, 3, 4, 5], 1e6, 1e6 + 1.05 * heartbeat).filter(({ from }) => from === 4)
    expect(new Set(told.map(({ to }) => to))).toEqual(new Set([2, 3, 5]))
  })

  it('when the leader does not name it, since its answers do not get there', () => {
    const sent = sentIn({ events: [{ atMs: 1000, cutOneWay: [[4, 1]] }], untilMs: 2000 })
    const own = beats(sent, [2, 3, 4, 5], 1.5e6, 2e6).filter(({ from }) => from === 4)
    expect(own.length / 3).toBeGreaterThan(0.5e6 / heartbeat - 2)
  })
})

describe('what the leader vouches for', () => {
  it('is believed of those only that were heard themselves of late', () => {
    // 2 and 3 no longer hear each other; the leader hears both.
    const sent = sentIn({ events: [{ atMs: 1000, cut: [[2, 3]] }], untilMs: 2000 })
    const said = (from: number, until: number): ReadonlySet<boolean> =>
      new Set(beats(sent, [2, 3], from, until).map(({ heard }) => heard))
    expect(said(1e6, 1e6 + quiet)).toEqual(new Set([true]))
    expect(said(1e6 + 3 * quiet + expires, 2e6)).toEqual(new Set([false]))
  })

  it('lets one be taken for there that has not beaten lately', () => {
    const sent = sentIn({ untilMs: 3000 })
    expect(quiet).toBeGreaterThan(expires)
    expect(beats(sent, ids(5), 1e6, 3e6).every(({ heard }) => heard)).toBe(true)
  })
})
