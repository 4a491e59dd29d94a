import { describe, expect, it } from 'vitest'
import guide from '../../../../docs/how-to/use-the-playground.md?raw'
import epochsTie from '../../../../examples/papers/epochs-tie.json?raw'
import release from '../../../../examples/papers/local-leader-release.json?raw'
import staleAccept from '../../../../examples/papers/omega-stale-accept.json?raw'
import { testHost, testStore } from '../model/fixture.ts'
import type { Store } from '../model/store.ts'
import { LESSONS, lessonNamed } from './index.ts'
import { EPOCHS_TIE, LOCAL_LEADER_RELEASE, OMEGA_STALE_ACCEPT } from './schedules.ts'
import { type Move, SOLUTIONS } from './solutions.ts'

async function perform(store: Store, move: Move): Promise<void> {
  const { picture } = store.get()
  if (picture === null) throw new Error('the lesson did not run')
  if ('moment' in move) return store.seekMoment(move.moment(picture))
  store.seek(move.atMs * 1000)
  await store.act(typeof move.event === 'function' ? move.event(picture) : move.event)
}

const ids = LESSONS.map(({ id }) => id)

describe('lessons', () => {
  it('are at least fourteen, each with a name of its own and a solution', () => {
    expect(ids.length).toBeGreaterThanOrEqual(14)
    expect(new Set(ids).size).toBe(ids.length)
    expect(Object.keys(SOLUTIONS).sort()).toEqual(ids.toSorted())
  })

  it('are listed in the guide, in the same order', () => {
    const listed = [...guide.matchAll(/^\| `([a-z-]+)` /gm)].map(([, id]) => id)
    expect(listed).toEqual(ids)
  })

  it.each(ids)('%s is completed by its solution, and not before', async (id) => {
    const host = testHost()
    const store = testStore(host)
    await store.openLesson(id)
    expect(store.get().problems).toEqual([])
    expect(store.get().lesson?.check).toMatchObject({ isDone: false })
    for (const move of SOLUTIONS[id] ?? []) {
      expect(store.get().lesson?.check.isDone).toBe(false)
      // oxlint-disable-next-line no-await-in-loop -- moves build on each other
      await perform(store, move)
      expect(store.get().problems).toEqual([])
    }
    expect(store.get().lesson?.check).toMatchObject({ isDone: true })
    expect(host.kept.get('conclave-lessons')).toBe(id)
  })

  it.each(ids)('%s has captions of one sentence each, in the order of time', (id) => {
    const lesson = lessonNamed(id)
    const captions = lesson?.captions ?? []
    expect(captions.length).toBeGreaterThan(1)
    expect(captions.map(({ atMs }) => atMs)).toEqual(
      captions.map(({ atMs }) => atMs).toSorted((a, b) => a - b),
    )
    for (const { text } of captions) {
      expect(text.endsWith('.')).toBe(true)
      expect(text).not.toMatch(/\. [A-Z]/)
    }
  })

  it.each([
    ['local-leader-release', LOCAL_LEADER_RELEASE, release],
    ['omega-stale-accept', OMEGA_STALE_ACCEPT, staleAccept],
    ['epochs-tie', EPOCHS_TIE, epochsTie],
  ])('show the same schedule as examples/papers/%s.json', (_, scenario, file) => {
    expect(scenario).toEqual(JSON.parse(file))
  })
})
