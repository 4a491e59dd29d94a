import { describe, expect, it } from 'vitest'
import { testHost, testStore } from '../model/fixture.ts'
import type { Intervention, Store } from '../model/store.ts'

type Choice = readonly [atMs: number, event: Intervention]

async function attempt(lesson: string, choices: readonly Choice[]): Promise<Store> {
  const store = testStore()
  await store.openLesson(lesson)
  for (const [atMs, event] of choices) {
    store.seek(atMs * 1000)
    // oxlint-disable-next-line no-await-in-loop -- choices build on each other
    await store.act(event)
  }
  expect(store.get().problems).toEqual([])
  return store
}

const isolate: Intervention = { partition: [[1], [2, 3]] }
const slow: Intervention = { drift: 1, ppm: -500_000 }

describe('the check of a lesson', () => {
  it.each<[string, string, readonly Choice[]]>([
    [
      'a crash of another node before',
      'lease',
      [
        [300, { crash: 3 }],
        [310, { recover: 3 }],
        [500, { crash: 1 }],
      ],
    ],
    [
      'a pause before that was too short',
      'paused-leader',
      [
        [300, { pause: 1, forMs: 30 }],
        [600, { pause: 1, forMs: 400 }],
      ],
    ],
    ['a link that is cut one way', 'partial-connectivity', [[700, { cutOneWay: [[1, 5]] }]]],
  ])('accepts %s (%s)', async (_, lesson, choices) => {
    const { get } = await attempt(lesson, choices)
    expect(get().lesson?.check).toMatchObject({ isDone: true })
  })

  it.each<[string, string, readonly Choice[]]>([
    [
      'a pause of a follower',
      'paused-leader',
      [
        [300, { pause: 3, forMs: 1200 }],
        [310, { crash: 1 }],
      ],
    ],
    [
      'a pause of a node beside the slow clock',
      'slow-clock',
      [
        [505, { pause: 2, forMs: 1 }],
        [510, isolate],
        [511, slow],
      ],
    ],
    [
      'two cuts beside the slow clock',
      'slow-clock',
      [
        [500, { cut: [[1, 2]] }],
        [501, { cut: [[1, 3]] }],
        [511, slow],
      ],
    ],
    ['a slow clock in place of restarted voters', 'quick-restart', [[501, { drift: 1, ppm: -800_000 }]]],
    [
      'two links at once',
      'partial-connectivity',
      [
        [
          700,
          {
            cut: [
              [1, 5],
              [2, 3],
            ],
          },
        ],
      ],
    ],
    ['a crash in place of a cut', 'five-cycle', [[7000, { crash: 1 }]]],
  ])('refuses %s (%s)', async (_, lesson, choices) => {
    const { get } = await attempt(lesson, choices)
    expect(get().lesson?.check).toMatchObject({ isDone: false })
  })

  it('does not count a moment that a film passes', async () => {
    const store = await attempt('stale-accept', [])
    store.play()
    for (let frame = 0; frame < 1000 && store.get().isPlaying; frame++) store.tick(100)
    expect(store.get()).toMatchObject({ isPlaying: false, lessonsDone: [] })
  })

  it('is kept once, together with what another tab has kept', async () => {
    const host = testHost()
    const first = testStore(host)
    const second = testStore(host)
    await first.openLesson('phi-table')
    await second.openLesson('merge')
    first.seek(50_000)
    await first.act({ cut: [[2, 4]] })
    second.seek(1_000_000)
    await second.act({ heal: 'all' })
    expect(host.kept.get('conclave-lessons')).toBe('phi-table merge')
    host.kept.clear()
    second.seek(0)
    expect(host.kept.size).toBe(0)
  })
})
