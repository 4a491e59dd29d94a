import { describe, expect, it } from 'vitest'
import { createSession } from '../engine/session.ts'
import { BULLY, opened, TWO_LEADERS, testHost, testStore, until } from './fixture.ts'
import { PROTOCOLS } from './protocols.ts'
import type { Engine } from './types.ts'

describe('the inspector', () => {
  it('follows the selected node to every moment', async () => {
    const store = await opened()
    store.seek(10_000)
    store.select({ type: 'node', node: 1 })
    const first = await until(store, ({ inspection }) => inspection !== null)
    expect(first.inspection).toMatchObject({ node: 1, moment: first.cursor.moment })
    store.step('record', 1)
    const { moment } = store.get().cursor
    await until(store, ({ inspection }) => inspection?.moment === moment)
    store.select(null)
    expect(store.get().inspection).toBeNull()
  })

  it('asks about the run that is shown, even after a comparison ran another', async () => {
    const asked: string[] = []
    const session = createSession()
    const engine: Engine = {
      ask: (request, settings) => {
        asked.push(request.type)
        return session.ask(request, settings)
      },
    }
    const store = testStore(testHost(), engine)
    await store.open(BULLY)
    store.seek(800_000)
    store.seek(212_000)
    await store.act({ crash: 3 })
    expect(await store.copy('trace')).toContain('"crash":3')
    await store.switchBranch(1)
    expect(await store.copy('trace')).not.toContain('"crash":3')
    expect(asked).toEqual(['run', 'run', 'trace', 'run', 'trace'])
  })
})

describe('a search', () => {
  it('finds a violation among seeds, and plays it as a film', async () => {
    const store = await opened(TWO_LEADERS)
    await store.trySeeds({ seeds: 3, swarm: false })
    expect(store.get().search).toMatchObject({ type: 'seeds', status: 'done' })
    expect(store.get().search?.found?.spec).toBeDefined()
    await store.openFound()
    expect(store.get()).toMatchObject({ pace: 'film', isPlaying: true, search: null })
    expect(store.get().branches).toHaveLength(2)
  })

  it('says that it found nothing', async () => {
    const store = await opened()
    await store.trySeeds({ seeds: 2, swarm: false })
    expect(store.get().search).toMatchObject({ status: 'done', found: null })
    expect(store.get().search?.text).toMatch(/^No violation in 2 seeds, /)
  })

  it('of all interleavings finds the crossed coordinators', async () => {
    const store = testStore()
    await store.openProtocol('bully-printed')
    await store.explore({ crashes: 1, recoveries: 1, cuts: 0, depth: 20, maxStates: 100_000 })
    expect(store.get().search?.problems).toEqual([])
    expect(store.get().search?.found?.schedule?.length).toBeGreaterThan(2)
    await store.openFound()
    expect(store.get().picture?.isUntimed).toBe(true)
  })

  it('can be cancelled', async () => {
    const session = createSession()
    const engine: Engine = {
      ask: (request, settings) =>
        request.type === 'tryseeds'
          ? new Promise((_, reject) => {
              settings?.signal?.addEventListener('abort', () => reject(new Error('cancelled')))
            })
          : session.ask(request, settings),
    }
    const store = testStore(testHost(), engine)
    await store.open(BULLY)
    const search = store.trySeeds({ seeds: 100_000, swarm: true })
    expect(store.get().search?.status).toBe('running')
    store.cancelSearch()
    await search
    expect(store.get().search).toMatchObject({ status: 'cancelled', problems: [] })
    store.closeSearch()
    expect(store.get().search).toBeNull()
  })
})

describe('sharing', () => {
  it('brings the same run to another page, bytes and place', async () => {
    const store = await opened()
    store.seek(512_000)
    await store.act({ crash: 3 })
    const link = await store.copy('link')
    const other = testStore()
    await other.openFragment(new URL(link).hash)
    expect(other.get().problems).toEqual([])
    expect(other.get().cursor).toEqual(store.get().cursor)
    expect(other.get().picture).toEqual(store.get().picture)
    expect(await other.copy('trace')).toBe(await store.copy('trace'))
  })

  it('keeps the address at the run', async () => {
    const host = testHost()
    const store = testStore(host)
    await store.openProtocol('bully')
    expect(host.fragments.at(-1)).toBe('protocol=bully')
    await store.openLesson('lease')
    expect(host.fragments.at(-1)).toBe('lesson=lease')
    store.seek(512_000)
    await store.act({ crash: 1 })
    expect(await host.nextFragment()).toMatch(/^1\./)
  })

  it('says what is wrong with a link, and keeps what was shown', async () => {
    const store = await opened()
    await store.openFragment('#9.x.y')
    expect(store.get().problems).toMatchObject([{ message: expect.stringContaining('newer version') }])
    expect(store.get().picture).not.toBeNull()
  })

  it('opens a copied scenario and a copied trace again', async () => {
    const store = await opened()
    store.seek(512_000)
    await store.act({ crash: 3 })
    const scenario = await store.copy('scenario')
    const trace = await store.copy('trace')
    const { picture } = store.get()
    const drop = (name: string, text: string) => [{ name, size: text.length, text: async () => text }]
    await store.openFiles(drop('run.json', scenario))
    expect(store.get().picture).toEqual(picture)
    await store.openFiles(drop('run.ndjson', trace))
    expect(store.get()).toMatchObject({ source: 'trace', problems: [] })
    expect(store.get().picture?.moments.length).toBe(picture?.moments.length)
    await store.act({ crash: 1 })
    expect(store.get().problems).toMatchObject([{ message: expect.stringContaining('recorded run') }])
    await store.explore({ crashes: 0, recoveries: 0, cuts: 0, depth: 5, maxStates: 100 })
    expect(store.get().search).toMatchObject({
      status: 'failed',
      problems: [{ message: expect.stringContaining('recorded run') }],
    })
    await expect(store.copy('scenario')).rejects.toThrow('no scenario')
  })
})

describe('the state', () => {
  it('tells listeners of each change until they stop', async () => {
    const store = await opened()
    let calls = 0
    const stop = store.subscribe(() => {
      calls += 1
    })
    store.setSpeed(1)
    stop()
    store.setSpeed(2)
    expect(calls).toBe(1)
  })

  it('begins with a protocol that is in the list', () => {
    expect(PROTOCOLS[0]?.name).toBe('local-leader')
  })
})
