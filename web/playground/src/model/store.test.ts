import { describe, expect, it } from 'vitest'
import { BULLY, opened, TWO_LEADERS, testHost, testStore, until } from './fixture.ts'
import type { State } from './types.ts'

function leadersAtEnd({ picture }: State): readonly unknown[] {
  return (picture?.lanes ?? []).filter(({ roles }) => roles.at(-1)?.leads).map(({ node }) => node)
}

describe('opening', () => {
  it('runs the scenario and stands at its start', async () => {
    const { get } = await opened()
    expect(get()).toMatchObject({ isRunning: false, problems: [], source: 'scenario', branch: 1 })
    expect(get().cursor.at).toBe(0)
    expect(get().picture?.nodes).toEqual([1, 2, 3])
  })

  it('a scenario with errors says where they are, and keeps what was shown', async () => {
    const store = await opened()
    const { picture } = store.get()
    await store.openText(
      '{"protocol":"bully","nodes":[1,2],"untilMs":10,"events":[{"atMs":1,"crash":9}]}',
      'a',
    )
    expect(store.get().problems).toEqual([
      expect.objectContaining({ place: 'events[0].crash', message: expect.stringContaining('9') }),
    ])
    expect(store.get().picture).toBe(picture)
    await store.openText(
      '{"protocol":"bully","nodes":[1,2],"untilMs":10,"events":[{"atMs":5,"crash":9},{"atMs":1,"crash":1}]}',
      'not in the order of time',
    )
    expect(store.get().problems).toMatchObject([{ place: 'events[0].crash' }])
    await store.openText('{"protocol":"bully","nodes":[1,2],"untilMs":10,"events":[null,{"atMs":1}]}', 'c')
    expect(store.get().problems[0]).toMatchObject({ place: 'events[0]' })
    store.dismissProblems()
    expect(store.get().problems).toEqual([])
  })

  it.each([
    ['{"protocol":', 'line 1, column 13'],
    ['{\n  "nodes": [1, 2,],\n  "untilMs": 10\n}', 'line 2, column 18'],
    ['{\n  "protocol": bully\n}', 'line 2, column 15'],
    ['', 'line 1, column 1'],
  ])('a text that is not JSON says where: %j', async (text, place) => {
    const store = testStore()
    await store.openText(text, 'a.json')
    expect(store.get().problems).toEqual([{ place, message: expect.stringMatching(/^This is not JSON: /) }])
    if (text === '') return
    await store.openFiles([{ name: 'a.json', size: text.length, text: async () => text }])
    expect(store.get().problems).toMatchObject([{ place }])
  })

  it('a protocol or a lesson by its name works, and an unknown name is said', async () => {
    const store = testStore()
    await store.openProtocol('ring')
    expect(store.get().picture?.protocol).toBe('ring')
    await store.openProtocol('paxos')
    expect(store.get().problems).toMatchObject([{ message: expect.stringContaining('"paxos"') }])
    await store.openFragment('#lesson=nothing')
    expect(store.get().problems).toMatchObject([{ message: expect.stringContaining('"nothing"') }])
  })

  it('the files that the command line serves works by their names', async () => {
    const host = testHost()
    host.files.set('file/my%20run.json', JSON.stringify(BULLY))
    const store = testStore(host)
    await store.openFragment('#file=my%20run.json')
    expect(store.get().branches).toMatchObject([{ name: 'my run.json' }])
    await store.openFragment('#file=other.json')
    expect(store.get().problems).toMatchObject([{ message: expect.stringContaining('not there') }])
  })

  it('a bad link on a fresh page says what is wrong, and shows something to play with', async () => {
    const store = testStore()
    await store.openFragment('#2.x.y')
    expect(store.get().problems).toMatchObject([{ message: expect.stringContaining('newer version') }])
    expect(store.get().picture?.protocol).toBe('local-leader')
  })
})

describe('acting', () => {
  it('at the cursor changes the run from there on, and only from there', async () => {
    const store = await opened()
    const before = store.get().picture
    store.seek(512_000)
    await store.act({ crash: 3 })
    const { picture, cursor, scenario } = store.get()
    expect(cursor.at).toBe(512_000)
    expect(scenario['events']).toEqual([{ atMs: 512, crash: 3 }])
    expect(picture?.moments.filter(({ at }) => at < 512_000)).toEqual(
      before?.moments.filter(({ at }) => at < 512_000),
    )
    expect(leadersAtEnd(store.get())).toEqual([2])
  })

  it('in the past forks; both branches stay and can be compared', async () => {
    const store = await opened()
    store.seek(800_000)
    store.seek(212_000)
    await store.act({ crash: 3 })
    expect(store.get().branches.map(({ name, parent }) => [name, parent])).toEqual([
      ['first run', null],
      ['crash 3 at 212 ms', 1],
    ])
    const fork = store.get().branch
    await store.compare(1)
    const { comparison } = store.get()
    expect(comparison?.differsAt).toBe(212_000)
    expect(comparison?.sentences.join(' ')).toContain(
      'At the end 2 leads in “crash 3 at 212 ms”, and 3 leads in “first run”.',
    )
    await store.switchBranch(1)
    expect(leadersAtEnd(store.get())).toEqual([3])
    await store.switchBranch(fork)
    expect(leadersAtEnd(store.get())).toEqual([2])
    store.renameBranch(fork, ' mine ')
    expect(store.get().branches[1]?.name).toBe('mine')
    store.removeBranch(1)
    expect(store.get().branches.map(({ id, parent }) => [id, parent])).toEqual([[fork, null]])
  })

  it('can be taken back', async () => {
    const store = await opened()
    store.seek(512_000)
    await store.act({ crash: 3 })
    await store.undo()
    expect(store.get().scenario['events']).toBeUndefined()
    expect(leadersAtEnd(store.get())).toEqual([3])
    await store.undo()
    expect(store.get().notice).toMatch(/nothing to take back/)
  })

  it('does not replace what was opened after it', async () => {
    const store = await opened()
    const acts = [1, 2, 3].map((node) => store.act({ pause: node, forMs: 10 }))
    await Promise.all([...acts, store.openProtocol('ring')])
    expect(store.get()).toMatchObject({ isRunning: false, picture: { protocol: 'ring' } })
    expect(store.get().branches).toHaveLength(1)
  })

  it('twice at one instant keeps the order', async () => {
    const store = await opened()
    store.seek(512_000)
    await Promise.all([store.act({ crash: 3 }), store.act({ crash: 2 })])
    expect(store.get().scenario['events']).toEqual([
      { atMs: 512, crash: 3 },
      { atMs: 512.001, crash: 2 },
    ])
    expect(store.get().branches).toHaveLength(1)
  })

  it('wrongly says why, and changes nothing', async () => {
    const store = await opened()
    await store.act({ crash: 9 })
    expect(store.get().problems).toHaveLength(1)
    expect(store.get().branches).toMatchObject([{ made: [] }])
    await store.openLesson('ballot-tie')
    await store.act({ crash: 1 })
    expect(store.get().problems).toMatchObject([{ message: expect.stringContaining('schedule') }])
  })

  it('with another seed forks, and longer continues', async () => {
    const store = await opened()
    await store.setSeed(7)
    expect(store.get().picture?.seed).toBe(7)
    await store.extend(500)
    expect(store.get().picture?.endsAt).toBe(1_500_000)
  })
})

describe('the transport', () => {
  it('plays until the first violation, and says why it happened', async () => {
    const store = await opened(TWO_LEADERS)
    store.setSpeed(100)
    store.play()
    for (let frames = 0; store.get().isPlaying && frames < 1000; frames++) store.tick(16)
    const { cursor, notice, selection } = store.get()
    expect(cursor.at).toBe(600_000)
    expect(notice).toMatch(/violated/)
    expect(selection).toMatchObject({ type: 'spec' })
    const { why } = await until(store, (state) => state.why !== null)
    expect(why?.chain.length).toBeGreaterThan(1)
    store.closeWhy()
    expect(store.get().why).toBeNull()
  })

  it('goes on from there to the end, and then begins again', async () => {
    const store = await opened()
    store.seekEnd()
    expect(store.get().cursor.at).toBe(1_000_000)
    store.play()
    expect(store.get().cursor).toEqual({ at: 0, moment: -1 })
    store.togglePlay()
    expect(store.get().isPlaying).toBe(false)
  })

  it('does not move while a run is computed', async () => {
    const store = await opened()
    store.seek(100_000)
    store.play()
    const acting = store.act({ crash: 3 })
    await until(store, ({ isRunning }) => isRunning)
    store.tick(1000)
    expect(store.get().cursor.at).toBe(100_000)
    await acting
    expect(store.get().isPlaying).toBe(true)
  })

  it('says when there is nothing to step to', async () => {
    const store = await opened()
    store.step('violation', 1)
    expect(store.get().notice).toBe('There is no later violation.')
    store.step('leadership', 1)
    expect(store.get().cursor.moment).toBeGreaterThanOrEqual(0)
  })

  it('keeps the speed of true time while a film has its own', async () => {
    const store = await opened()
    store.setSpeed(0.2)
    store.setPace('film')
    expect(store.get().speed).toBe(1)
    store.changeSpeed(1)
    expect(store.get().speed).toBe(2)
    store.setPace('time')
    expect(store.get().speed).toBe(0.2)
  })
})
