import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  type Definition,
  define,
  hashPlain,
  type Input,
  type LayerStep,
  type Message,
  NOTHING,
  output,
  type PlainObject,
  type Protocol,
  present,
  send,
  setTimer,
  stack,
} from '../../core/index.ts'
import { parseScenario, runScenario } from '../../workbench/sim/index.ts'
import type { TraceRecord } from '../../workbench/trace/index.ts'
import { atLeast, atMost, delayBound } from './bound.ts'
import {
  FAIL_AWARE_KINDS,
  type FailAwareState,
  failAware,
  failAwareKind,
  type Receipt,
} from './fail-aware.ts'
import { better, withNumber } from './session.ts'

const SETTINGS = { leastDelay: 20, fast: 10_000, rho: 0.0001, stampAge: 95_000, agreed: {}, echo: true }

/** Says something to everybody, itself too, every 30 ms, and puts out what it knows of each delivery. */
function chatter(nodes: readonly number[]): Protocol {
  return {
    start: (_stable, now) => ({ state: 0, effects: [setTimer('talk', now)] }),
    step(state, input, now) {
      if (input.type === 'timer') {
        const words = nodes.map((id) => send(id, { kind: 'word' }))
        return { state, effects: [...words, setTimer('talk', now + 30_000)] }
      }
      if (input.type !== 'message') return { state, effects: NOTHING }
      return { state, effects: [output({ type: 'heard', from: input.from, receipt: input.receipt })] }
    },
    view: () => ({ role: 'follower', leader: null, token: null, until: null, members: null, detail: null }),
    shift: (state) => state,
  }
}

const NODES: readonly number[] = [1, 2, 3]

function chatting(rho: number, echo = true): Definition {
  return define({
    name: 'chatting',
    title: 'words over fail-aware datagrams',
    source: 'a test',
    kinds: ['word'],
    linkKinds: FAIL_AWARE_KINDS,
    kindOf: failAwareKind,
    create: (identity) => stack(failAware(identity, { ...SETTINGS, rho, echo }), chatter(NODES)),
    settlesWithin: () => 1_000_000,
  })
}

type Heard = {
  readonly at: number
  readonly from: number
  readonly to: number
  readonly took: number
  readonly receipt: Receipt
}

/** Every delivery of a run: its true delay, and its receipt. */
function deliveries(definition: Definition, file: PlainObject, strictly = false): readonly Heard[] {
  const scenario = parseScenario(
    { protocol: 'chatting', nodes: NODES, untilMs: 2000, ...file },
    { names: ['chatting'], find: () => definition },
  )
  const records: TraceRecord[] = []
  runScenario(definition, scenario, { strict: strictly, record: (record) => records.push(record) })
  const sentAt = new Map<number, number>()
  return records.flatMap((record): Heard[] => {
    if (record.type !== 'step' && record.type !== 'start') return []
    for (const id of record.sent) sentAt.set(id, record.at)
    const message = record.type === 'step' ? record.message : null
    if (message === null) return []
    return record.effects.flatMap((effect): Heard[] => {
      if (effect.type !== 'output' || effect.event.type !== 'heard') return []
      const { from, receipt } = effect.event as unknown as { from: number; receipt: Receipt }
      const took = record.at - (sentAt.get(message) as number)
      return [{ at: record.at, from, to: record.node as number, took, receipt }]
    })
  })
}

describe('the bound of a delay', () => {
  it('is never below the true delay, for any clocks within their drift', () => {
    const rate = fc.double({ min: 0.995, max: 1.005, noNaN: true })
    const span = fc.integer({ min: 20, max: 2_000_000 })
    const offset = fc.integer({ min: 0, max: 1_000_000_000 })
    fc.assert(
      fc.property(
        rate,
        rate,
        span,
        span,
        span,
        fc.tuple(offset, offset),
        (p, q, there, held, back, [op, oq]) => {
          const onP = (time: number): number => op + Math.floor(time * p)
          const onQ = (time: number): number => oq + Math.floor(time * q)
          const trip = {
            outward: onQ(0),
            received: onP(there),
            answered: onP(there + held),
            arrived: onQ(there + held + back),
          }
          expect(delayBound(trip, 0.005, 20)).toBeGreaterThanOrEqual(back)
        },
      ),
      { numRuns: 5000, seed: 4 },
    )
  })

  it('counts every reading and the drift against the message', () => {
    expect([atMost(0, 0), atMost(1_000_000, 0.0001), atLeast(0, 0), atLeast(1_000_000, 0.0001)]).toEqual([
      1, 1_000_102, 0, 999_899,
    ])
  })

  it('holds for every delivery in worlds with loss, duplicates, restarts, pauses, sleeps and slow links', () => {
    let checked = 0
    for (let seed = 1; seed <= 60; seed++) {
      const driftPpm = seed % 2 === 0 ? 100 : 5000
      const heard = deliveries(chatting(driftPpm / 1_000_000), {
        seed,
        network: { delayMs: [0.02, seed % 3 === 0 ? 40 : 5], loss: 0.1, duplicate: 0.1 },
        clocks: { driftPpm, lateMs: [0, 5] },
        events: [
          { atMs: 300, suspend: 1, forMs: 200 },
          { atMs: 600, crash: 2 },
          { atMs: 610 + seed, recover: 2 },
          { atMs: 900, pause: 3, forMs: 100 },
          { atMs: 1200, slow: [[1, 2]], delayMs: [20, 60] },
          { atMs: 1500, heal: 'all' },
        ],
      })
      for (const { took, receipt } of heard) {
        if (receipt.bound === null) continue
        checked += 1
        expect(receipt.bound).toBeGreaterThanOrEqual(took)
      }
    }
    expect(checked).toBeGreaterThan(10_000)
  })
})

describe('fast messages', () => {
  const timely = { network: { delayMs: [0.02, 5] }, clocks: { driftPpm: 100 } }
  it('are all those between timely processes, once there has been a round trip', () => {
    const heard = deliveries(chatting(0.0001), timely, true)
    expect(heard.filter(({ at, receipt }) => at > 40_000 && !receipt.fast)).toEqual([])
    // Nobody knows anybody at first: what is said then is answered with an Echo, and not heard.
    expect(heard.filter(({ at, from, to }) => from !== to && at < 30_000)).toEqual([])
    expect(heard.length).toBeGreaterThan(300)
  })

  it('are none where one side only ever listens, unless it answers with an Echo', () => {
    const oneWay = { ...timely, events: [] }
    const listener = (echo: boolean) => {
      const mute: Protocol = { ...chatter([]), start: () => ({ state: 0, effects: NOTHING }) }
      const definition: Definition = {
        ...chatting(0.0001),
        create: (identity) =>
          stack(
            failAware(identity, { ...SETTINGS, echo }),
            identity.self === 1 ? chatter(NODES.slice(0, 2)) : mute,
          ),
      }
      return deliveries(definition, oneWay)
    }
    expect(listener(true).filter(({ to, receipt }) => to === 2 && receipt.fast).length).toBeGreaterThan(50)
    expect(listener(false).filter(({ to, receipt }) => to === 2 && receipt.fast)).toEqual([])
  })

  it('never took longer than Δ', () => {
    const heard = deliveries(chatting(0.0001), { network: { delayMs: [0.02, 30] } })
    const fast = heard.filter(({ receipt }) => receipt.fast)
    expect(fast.length).toBeGreaterThan(20)
    expect(fast.filter(({ took }) => took > 10_000)).toEqual([])
  })

  it('come back after a sleep of either side, when the old stamps have aged', () => {
    const heard = deliveries(chatting(0.0001), { ...timely, events: [{ atMs: 500, suspend: 1, forMs: 300 }] })
    expect(heard.filter(({ at, receipt }) => at > 1_000_000 && !receipt.fast)).toEqual([])
  })
})

describe('what a process sends to itself', () => {
  it('comes back after the step, and is slow when the process was held up', () => {
    const layer = failAware({ self: 1, nodes: NODES }, SETTINGS)
    const { state } = layer.start(null, 1000)
    const sent = layer.above(state, send(1, { kind: 'word' }), 2000)
    expect(sent.inputs).toEqual([])
    const at = (now: number) =>
      receiptIn(layer.below(sent.state, { type: 'timer', name: 'fail-aware/self' }, now))
    expect(at(2000)?.fast).toBe(true)
    expect(at(2000 + 10_100)?.fast).toBe(false)
  })

  it('has no bound when the process slept in between, however little its clock shows', () => {
    const layer = failAware({ self: 1, nodes: NODES }, SETTINGS)
    const sent = layer.above(layer.start(null, 1000).state, send(1, { kind: 'word' }), 2000)
    const woken = layer.below(sent.state, { type: 'suspended', by: 5_000_000 }, 2000)
    const step = layer.below(woken.state, { type: 'timer', name: 'fail-aware/self' }, 2000)
    expect(receiptIn(step)).toEqual({ fast: false, bound: null, overtaken: false })
  })
})

function receiptIn({ inputs }: LayerStep<FailAwareState>): Receipt | null {
  const input = inputs[0]
  return input?.type === 'message' ? (input.receipt as Receipt) : null
}

describe('a session', () => {
  it('passes each message up once, in any order of arrival, and drops very late ones as duplicates', () => {
    const later = Array.from({ length: 32 }, (_, place) => 10 + place)
    const order = [1, 3, 2, 3, 9, 2, 8, ...later, 1]
    let recent: readonly number[] = []
    const passed = order.filter((number) => {
      const next = withNumber(recent, number)
      recent = next ?? recent
      return next !== null
    })
    expect(passed).toEqual([1, 3, 2, 9, 8, ...later])
    expect(recent).toEqual(later.toReversed())
  })

  it('keeps the stamps of the quickest message, until they are old', () => {
    const kept = { sent: 0, received: 100 }
    const slower = { sent: 1000, received: 1150 }
    expect(better(kept, { sent: 1000, received: 1090 }, 0.0001, 10_000)).toEqual({
      sent: 1000,
      received: 1090,
    })
    expect(better(kept, slower, 0.0001, 10_000)).toBe(kept)
    expect(better(kept, slower, 0.0001, 1000)).toBe(slower)
    expect(better(kept, slower, 0.1, 10_000)).toBe(slower)
  })

  it('gives up stamps from before its peer slept, and takes none from before that come late', () => {
    const kept = { sent: 500, received: 600 }
    const slower = { sent: 1000, received: 9000 }
    expect(better(kept, slower, 0.0001, 1e6, 501)).toBe(slower)
    expect(better(kept, slower, 0.0001, 1e6, 500)).toBe(kept)
    expect(better(slower, kept, 0.0001, 1e6, 1000)).toBe(slower)
  })

  const layers = [1, 2].map((self) => failAware({ self, nodes: NODES }, SETTINGS))
  const [sender, receiver] = layers as [ReturnType<typeof failAware>, ReturnType<typeof failAware>]

  type Sent = LayerStep<FailAwareState>
  const word = (state: FailAwareState, now: number): Sent =>
    sender.above(state, send(2, { kind: 'word' }), now)

  const inputOf = (step: Sent, from: number): Input => {
    const effect = step.effects[0]
    if (effect?.type !== 'send') throw new Error('nothing was sent')
    return { type: 'message', from, body: effect.body, receipt: null }
  }

  /** The sender's state once it knows the receiver, for any incarnations. */
  function acquainted(former: number | null, receivers: FailAwareState): FailAwareState {
    const first = word(sender.start(former, 0).state, 5)
    const echo = receiver.below(receivers, inputOf(first, 1), 6)
    expect(echo.inputs).toEqual([])
    return sender.below(first.state, inputOf(echo, 2), 7).state
  }

  it('does not use a stamp of the very instant at which its clock stood still', () => {
    const started = receiver.start(null, 0).state
    const asked = word(acquainted(null, started), 100)
    const heard = receiver.below(started, inputOf(asked, 1), 110)
    // Its first number was that of the Echo.
    const lost = receiver.above(heard.state, send(1, { kind: 'word' }), 110)
    const answer = receiver.above(lost.state, send(1, { kind: 'word' }), 110)
    expect(receiptIn(sender.below(asked.state, inputOf(answer, 2), 100))?.fast).toBe(true)
    const woken = sender.below(asked.state, { type: 'suspended', by: 5_000_000 }, 100)
    expect(receiptIn(sender.below(woken.state, inputOf(answer, 2), 100))).toMatchObject({ bound: null })
  })

  it('tells its peer that it slept, in every message; with the next one the peer has usable stamps', () => {
    const started = receiver.start(null, 0).state
    const before = word(acquainted(null, started), 100)
    const kept = receiver.below(started, inputOf(before, 1), 110)
    const woken = sender.below(before.state, { type: 'suspended', by: 300_000 }, 200).state
    const after = word(woken, 210)
    const heard = receiver.below(kept.state, inputOf(after, 1), 300_220)
    const answer = receiver.above(heard.state, send(1, { kind: 'word' }), 300_220)
    expect(receiptIn(sender.below(after.state, inputOf(answer, 2), 220))?.fast).toBe(true)
  })

  it('says what was overtaken by a later message', () => {
    const started = receiver.start(null, 0).state
    const first = word(acquainted(null, started), 10)
    const second = word(first.state, 20)
    const later = receiver.below(started, inputOf(second, 1), 100)
    const earlier = receiver.below(later.state, inputOf(first, 1), 110)
    expect([receiptIn(later)?.overtaken, receiptIn(earlier)?.overtaken]).toEqual([false, true])
  })

  it('drops what a former incarnation sent', () => {
    const started = receiver.start(null, 0).state
    const met = receiver.below(started, inputOf(word(acquainted(1, started), 10), 1), 100)
    expect(met.inputs).toHaveLength(1)
    const old = receiver.below(met.state, inputOf(word(acquainted(null, started), 10), 1), 200)
    expect(old.inputs).toEqual([])
    expect(old.state).toBe(met.state)
  })

  it('hands up only what was sent to the present incarnation; the rest gets an Echo, at most one in Δ', () => {
    const started = receiver.start(null, 0).state
    const recorded = inputOf(word(acquainted(null, started), 10), 1)
    expect(receiver.below(started, recorded, 100).inputs).toHaveLength(1)
    const again = receiver.start(1, 0).state
    const echo = receiver.below(again, recorded, 100)
    expect(echo.inputs).toEqual([])
    expect(inputOf(echo, 2)).toMatchObject({ body: { by: 2, for: 1, body: null } })
    expect(receiver.below(echo.state, recorded, 10_099)).toMatchObject({ inputs: [], effects: [] })
    expect(receiver.below(echo.state, recorded, 10_100).effects).toHaveLength(1)
    // Nothing was learnt from it: what the sender says next is for an incarnation that it does not know.
    expect(echo.state.sessions).toEqual(again.sessions)
  })
})

describe('a number that cannot have been its sender’s', () => {
  const layer = failAware({ self: 2, nodes: NODES }, SETTINGS)
  const started = layer.start(null, 0).state
  const datagram = (by: number, number: number, sent: number, echoed: number): PlainObject => ({
    kind: 'datagram',
    config: hashPlain(SETTINGS.agreed),
    by,
    for: 1,
    number,
    sent,
    echo: { sent: echoed, received: echoed + 1 },
    body: { kind: 'word' },
  })
  const gets = (state: FailAwareState, body: PlainObject, now: number): LayerStep<FailAwareState> =>
    layer.below(state, { type: 'message', from: 1, body: body as Message, receipt: null }, now)

  it.each([
    ['incarnation', datagram(2 ** 51, 1, 10, 5), datagram(3, 8, 300, 250)],
    ['number', datagram(3, 2 ** 51, 10, 5), datagram(3, 8, 300, 250)],
  ])('an %s does not silence it: what answers something later holds', (_, mistake, right) => {
    const misled = gets(gets(started, datagram(3, 7, 9, 4), 90).state, mistake, 100)
    // Recorded before, and sent again: it answers nothing that was sent since.
    const replayed = gets(misled.state, datagram(3, 6, 9, 4), 200)
    expect(receiptIn(replayed)?.overtaken ?? true).toBe(true)
    const healed = gets(misled.state, right, 310)
    expect(receiptIn(healed)?.overtaken).toBe(false)
    expect(receiptIn(gets(healed.state, datagram(3, 9, 320, 300), 330))?.overtaken).toBe(false)
  })

  it('does not silence two nodes that were both misled about each other', () => {
    const layers = [1, 2].map((self) => failAware({ self, nodes: [1, 2] }, SETTINGS))
    const misled = { ...datagram(2 ** 51, 1, 10, 5), body: { kind: 'word' } } as unknown as Message
    const states = layers.map(
      (each, place) =>
        each.below(
          each.start(null, 0).state,
          { type: 'message', from: 2 - place, body: misled, receipt: null },
          100,
        ).state,
    )
    const heard = new Set<number>()
    const carry = (
      from: number,
      now: number,
      { state, effects, inputs }: LayerStep<FailAwareState>,
    ): void => {
      states[from] = state
      if (inputs.length > 0) heard.add(from)
      const to = 1 - from
      for (const effect of effects) {
        if (effect.type !== 'send') continue
        const input = { type: 'message', from: from + 1, body: effect.body, receipt: null } as const
        carry(to, now + 1, present(layers[to], 'layer').below(present(states[to], 'state'), input, now + 1))
      }
    }
    for (const now of [20_000, 40_000, 60_000]) {
      for (const [place, each] of layers.entries())
        carry(place, now, each.above(present(states[place], 'state'), send(2 - place, { kind: 'word' }), now))
    }
    expect(heard).toEqual(new Set([0, 1]))
  })

  it('is never corrected by what was recorded, nor by stamps of the future', () => {
    const restarted = gets(gets(started, datagram(3, 7, 9, 4), 90).state, datagram(4, 1, 10, 5), 100)
    expect(gets(restarted.state, datagram(3, 8, 20, 99), 400).inputs).toEqual([])
    expect(gets(restarted.state, datagram(3, 8, 20, 401), 400).inputs).toEqual([])
  })
})

describe('processes that are configured differently', () => {
  it('ignore the messages of each other, and each reports once which setting differs', () => {
    // What follows from a setting is listed after it.
    const agreedBy = (self: number): PlainObject => ({
      mode: 'majority',
      lockTime: self === 1 ? 100 : 200,
      expires: self === 1 ? 110 : 210,
    })
    const outputs: PlainObject[] = []
    const definition: Definition = {
      ...chatting(0.0001),
      create: (identity) =>
        stack(
          failAware(identity, { ...SETTINGS, agreed: agreedBy(identity.self as number) }),
          chatter([1, 2]),
        ),
    }
    const scenario = parseScenario(
      { protocol: 'chatting', nodes: [1, 2], untilMs: 5000 },
      { names: ['chatting'], find: () => definition },
    )
    runScenario(definition, scenario, {
      strict: true,
      observe: (seen) => {
        if (seen.type === 'output') outputs.push({ node: seen.node, ...seen.event })
      },
    })
    const reported = outputs.filter(({ type }) => type === 'mismatch')
    expect(reported).toEqual([
      { node: 1, type: 'mismatch', peer: 2, field: 'lockTime', ours: 100, theirs: 200 },
      { node: 2, type: 'mismatch', peer: 1, field: 'lockTime', ours: 200, theirs: 100 },
    ])
    expect(outputs.filter(({ type, node, from }) => type === 'heard' && node !== from)).toEqual([])
  })
})
