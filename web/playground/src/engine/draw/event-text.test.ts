import { describe, expect, it } from 'vitest'
import { eventText } from './event-text.ts'

describe('eventText', () => {
  it.each([
    [{ crash: 3 }, '3 crashes'],
    [{ crash: 3, afterEffects: 1 }, '3 will crash after 1 effects of a step that has more'],
    [{ recover: 'a' }, 'a restarts'],
    [{ partition: [[1, 2], [3]] }, 'the network splits: 1, 2 | 3'],
    [{ heal: 'all' }, 'all links heal'],
    [{ heal: [[1, 2]] }, 'the link 1–2 heals'],
    [
      {
        cut: [
          [1, 2],
          [2, 3],
        ],
      },
      'the links 1–2, 2–3 are cut',
    ],
    [{ cutOneWay: [[1, 2]] }, 'the link 1→2 is cut, one way'],
    [{ slow: [[1, 3]], delayMs: [40, 60] }, 'messages on 1–3 take 40 to 60 ms'],
    [{ loss: 0.1 }, '10 % of all messages are lost'],
    [{ loss: 0 }, 'no message is lost by chance any more'],
    [{ pause: 2, forMs: 700 }, '2 pauses for 700 ms'],
    [{ suspend: 2, forMs: 5000 }, '2 is suspended for 5 s, and its clock stops'],
    [{ drift: 1, ppm: -200 }, 'the clock of 1 runs 200 ppm slow from now on'],
    [{ drift: 1, ppm: 200_000 }, 'the clock of 1 runs 20 % fast from now on'],
    [{ skew: 1, byMs: -500 }, 'the clock of 1 jumps by -500 ms'],
    [{ load: [1, 2], lateMs: [0, 60] }, 'load on 1, 2: late by 0 to 60 ms'],
    [{ load: 'all', lateMs: 5, delayMs: 2 }, 'load on all nodes: late by 5 ms, messages longer by 2 ms'],
    [{ load: ['a'], lateMs: 0 }, 'the load on a ends'],
    [{ drop: 12 }, 'message 12 is dropped'],
    [{ drop: 12, ignored: 'message 12 is not in flight' }, 'nothing happens: message 12 is not in flight'],
    [{ command: { node: 2, do: 'detect', of: 5 } }, '2 receives the command detect(of 5)'],
    [{ do: 'cut', node: 1, peer: 2 }, 'the link 1–2 is cut'],
    [{ strange: 1 }, 'strange 1'],
  ])('describes %j', (event, text) => {
    expect(eventText(event)).toBe(text)
  })
})
