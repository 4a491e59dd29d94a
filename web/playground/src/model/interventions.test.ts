import { describe, expect, it } from 'vitest'
import { interventionText } from './interventions.ts'
import type { Intervention } from './types.ts'

const TEXTS: readonly (readonly [Intervention, string])[] = [
  [{ crash: 2 }, 'crash 2'],
  [{ crash: 2, afterEffects: 1 }, 'crash 2 after 1 effects'],
  [{ recover: 2 }, 'restart 2'],
  [{ partition: [[1, 2], [3]] }, 'partition 1 2 | 3'],
  [{ heal: 'all' }, 'heal all links'],
  [{ heal: [[1, 2]] }, 'heal 1-2'],
  [
    {
      cut: [
        [1, 2],
        [2, 3],
      ],
    },
    'cut 1-2 and 2-3',
  ],
  [{ cutOneWay: [[1, 2]] }, 'cut 1→2'],
  [{ links: 'full' }, 'connect all'],
  [{ links: [[1, 2]] }, 'links 1-2'],
  [{ loss: 0.125 }, 'lose 12.5 % of messages'],
  [{ duplicate: 0.5 }, 'duplicate 50 % of messages'],
  [{ slow: [[1, 3]], delayMs: [40, 60] }, 'slow 1-3 to 40 to 60 ms'],
  [{ late: 1 }, '100 % of register operations are late'],
  [{ hang: 'store', forMs: 10 }, 'the store hangs for 10 ms'],
  [{ pause: 1, forMs: 400 }, 'pause 1 for 400 ms'],
  [{ suspend: 1, forMs: 400 }, 'suspend 1 for 400 ms'],
  [{ rules: [] }, '0 network rules'],
  [{ unwritable: 3 }, 'storage of 3 fails'],
  [{ writable: 3 }, 'storage of 3 works'],
  [{ command: { node: 1, do: 'setPriority', priority: 5 } }, 'tell 1 to setPriority priority 5'],
  [{ drift: 1, ppm: 200 }, 'clock of 1 runs at +200 ppm'],
  [{ skew: 1, byMs: -300 }, 'clock of 1 jumps by -300 ms'],
  [{ drop: 17 }, 'drop message 17'],
  [{ delay: 17, forMs: 30 }, 'delay message 17 by 30 ms'],
  [{ copy: 17 }, 'copy message 17'],
]

describe('an intervention', () => {
  it.each(TEXTS)('%j has words', (event, text) => {
    expect(interventionText(event)).toBe(text)
  })
})
