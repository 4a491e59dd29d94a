import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { ids } from '../../test/support/run.ts'
import {
  type Definition,
  define,
  type Message,
  NOTHING,
  output,
  type PlainObject,
  type Protocol,
  send,
  stack,
} from '../core/index.ts'
import { parseScenario, runScenario } from '../workbench/sim/index.ts'
import type { TraceRecord } from '../workbench/trace/index.ts'
import { carriedKind, RELIABLE_KINDS, reliableLinks } from './reliable.ts'

/** Sends what a command lists, and outputs every message that it gets. */
const talker: Protocol = {
  start: () => ({ state: 0, effects: NOTHING }),
  step(state, input) {
    if (input.type === 'command') {
      const { to, text } = input.command as unknown as { to: number; text: string }
      return { state, effects: [send(to, { kind: 'word', text })] }
    }
    if (input.type !== 'message') return { state, effects: NOTHING }
    return { state, effects: [output({ type: 'heard', from: input.from, text: input.body['text'] ?? null })] }
  },
  view: () => ({ role: 'follower', leader: null, token: null, until: null, members: null, detail: null }),
  shift: (state) => state,
}

const talking: Definition = define({
  name: 'talking',
  title: 'words over reliable links',
  source: 'a test',
  kinds: ['word'],
  linkKinds: RELIABLE_KINDS,
  kindOf: carriedKind,
  commands: () => z.strictObject({ do: z.literal('say'), to: z.number(), text: z.string() }),
  create: (identity) => stack(reliableLinks(identity, { retransmitAfter: 40_000 }), talker),
  settlesWithin: () => 1_000_000,
})

function heard(events: readonly PlainObject[], network: PlainObject, seed: number) {
  const scenario = parseScenario(
    { protocol: 'talking', nodes: [1, 2], seed, network, events, untilMs: 30_000 },
    { names: ['talking'], find: () => talking },
  )
  const records: TraceRecord[] = []
  const report = runScenario(talking, scenario, { strict: true, record: (record) => records.push(record) })
  const words = records.flatMap((record) =>
    'effects' in record
      ? record.effects.flatMap((effect) =>
          effect.type === 'output' ? [`${record.node}<${effect.event['text'] as string}`] : [],
        )
      : [],
  )
  return { words, report }
}

const say = (atMs: number, node: number, to: number, text: string): PlainObject => ({
  atMs,
  command: { node, do: 'say', to, text },
})

describe('reliable links', () => {
  it('pass every message up once and in order, on a faulty network', () => {
    const events = ids(30).map((number) => say(Number(number) * 3, 1, 2, String(number)))
    for (const seed of ids(30)) {
      const network = { delayMs: [1, 50], loss: 0.35, duplicate: 0.3, fifo: false }
      const { words, report } = heard(events, network, Number(seed))
      expect(words).toEqual(ids(30).map((number) => `2<${number}`))
      expect(report.messages).toEqual({ total: 30, byKind: { word: 30 } })
      expect(report.linkMessages.total).toBeGreaterThan(30)
    }
  })

  it('start a new stream with a peer that restarts: it gets what was not acknowledged, and nothing older', () => {
    const events = [
      say(10, 1, 2, 'before'),
      { atMs: 100, crash: 2 },
      say(110, 1, 2, 'meanwhile'),
      { atMs: 500, recover: 2 },
      say(900, 1, 2, 'after'),
      say(910, 2, 1, 'back'),
    ]
    for (const seed of ids(20)) {
      const { words } = heard(events, { delayMs: [1, 30], loss: 0.2, fifo: false }, Number(seed))
      const second = words.filter((word) => word.startsWith('2<'))
      expect(second.slice(-2)).toEqual(['2<meanwhile', '2<after'])
      expect(second.filter((word) => word === '2<before').length).toBeLessThanOrEqual(2)
      expect(words.filter((word) => word === '1<back')).toHaveLength(1)
    }
  })

  it('start a new stream when the sender restarts: its first numbers do not count as duplicates', () => {
    const events = [
      say(10, 1, 2, 'a'),
      say(20, 1, 2, 'b'),
      { atMs: 300, crash: 1 },
      { atMs: 310, recover: 1 },
      say(400, 1, 2, 'c'),
    ]
    for (const seed of ids(20)) {
      const { words } = heard(events, { delayMs: [1, 30], duplicate: 0.3, fifo: false }, Number(seed))
      expect(words).toEqual(['2<a', '2<b', '2<c'])
    }
  })

  it('count what they carry the first time, and themselves when they repeat', () => {
    const word: Message = { kind: 'word' }
    const data = { kind: 'data', by: 1, for: 1, seq: 0, body: word, again: false }
    expect(carriedKind(data)).toBe('word')
    expect(carriedKind({ ...data, again: true })).toBe('data')
    expect(carriedKind({ kind: 'ack' })).toBe('ack')
  })
})
