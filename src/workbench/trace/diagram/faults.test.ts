import { describe, expect, it } from 'vitest'
import type { PlainObject } from '../../../core/index.ts'
import { faultOf } from './faults.ts'

describe('an event of a world', () => {
  it.each<[string, PlainObject, object | null]>([
    ['a crash of a scenario', { crash: 2 }, { type: 'crash', node: 2 }],
    ['a crash of a schedule', { do: 'crash', node: 'b' }, { type: 'crash', node: 'b' }],
    ['a crash that waits for its step', { crash: 2, afterEffects: 1 }, null],
    ['a pause', { pause: 2, forMs: 30 }, { type: 'stall', node: 2, length: 30_000, word: 'paused' }],
    ['a suspension', { suspend: 2, forMs: 1.5 }, { type: 'stall', node: 2, length: 1500, word: 'suspended' }],
    ['a pause without a length', { pause: 2 }, { type: 'stall', node: 2, length: 0, word: 'paused' }],
    ['a restart, which shows as a start', { recover: 2 }, null],
    ['a command, which shows as a step', { command: { node: 1, do: 'x' } }, null],
    ['a delivery, which shows as a step', { do: 'deliver', node: 1, from: 2 }, null],
  ])('is shown as %s', (_what, event, fault) => {
    expect(faultOf(event)).toEqual(fault)
  })

  it.each<[PlainObject, string]>([
    [{ partition: [[1, 2], [3]] }, 'partition 1 2 | 3'],
    [
      {
        cut: [
          [1, 2],
          [2, 3],
        ],
      },
      'cut 1–2, 2–3',
    ],
    [{ cutOneWay: [[1, 2]] }, 'cut 1→2'],
    [{ heal: 'all' }, 'heal all'],
    [{ links: 'full' }, 'links full'],
    [{ do: 'cut', node: 1, peer: 'b' }, 'cut 1–b'],
    [{ do: 'heal', node: 1, peer: 2 }, 'heal 1–2'],
    [{ loss: 0.5 }, 'loss 0.5'],
    [{ slow: [['a', 'b']], delayMs: 50 }, 'slow a–b'],
    [{ do: 'land', node: 1 }, 'do "land", node 1'],
    [{ drop: 7 }, 'message 7 is dropped'],
    [
      { drop: 7, ignored: 'message 7 is not in flight' },
      'message 7 is dropped (ignored: message 7 is not in flight)',
    ],
    [{ delay: 7, forMs: 1.5 }, 'message 7 is delayed by 1.5 ms'],
    [{ copy: 7 }, 'message 7 is copied'],
    [{ copy: 7, afterMs: 20 }, 'message 7 is copied, to arrive 20 ms after it'],
    [{ drift: 'b', ppm: 300 }, 'the clock of b drifts by +300 ppm'],
    [{ skew: 2, byMs: -40 }, 'the clock of 2 jumps by -40 ms'],
  ])('in the network is a notice: %j', (event, text) => {
    expect(faultOf(event)).toEqual({ type: 'notice', text })
  })
})
