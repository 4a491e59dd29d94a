/** Looking for a violation: many seeds, or every interleaving. */
import type { Done, Found } from '../engine/messages.ts'
import { firstBranch } from './branches.ts'
import { type Context, problemsOf } from './context.ts'
import { cursorAt } from './playback.ts'
import type { Runner } from './runner.ts'
import { isObject } from './share.ts'
import { countText, timeText } from './text.ts'
import type { Actions, Problem, Search, Store } from './types.ts'

type Searching = Pick<Actions, 'trySeeds' | 'explore' | 'cancelSearch' | 'closeSearch' | 'openFound'>

const RECORDED: Problem = {
  place: null,
  message: 'This is a recorded run, without the scenario that a search starts from. Open a scenario first.',
}

export function createSearching(
  { engine, get, set }: Context,
  runner: Runner,
  play: Pick<Store, 'play' | 'setPace'>,
): Searching {
  let stop: AbortController | null = null

  async function search<T extends 'tryseeds' | 'explore'>(
    type: Search['type'],
    request: Parameters<typeof engine.ask<T>>[0],
    textOf: (result: Done[T]) => string,
  ): Promise<void> {
    stop?.abort()
    const mine = new AbortController()
    stop = mine
    const empty = { type, progress: null, text: '', found: null, problems: [] } as const
    if (get().source === 'trace') return set({ search: { ...empty, status: 'failed', problems: [RECORDED] } })
    const update = (patch: Partial<Search>): void => {
      if (stop === mine) set({ search: { ...(get().search ?? { ...empty, status: 'running' }), ...patch } })
    }
    set({ search: { ...empty, status: 'running' } })
    try {
      const result = await engine.ask<T>(request, {
        signal: mine.signal,
        onProgress: (progress) => update({ progress }),
      })
      update({ status: 'done', found: result.found, text: textOf(result) })
    } catch (error) {
      if (!mine.signal.aborted) update({ status: 'failed', problems: problemsOf(error) })
    }
  }

  return {
    async trySeeds({ seeds, swarm }) {
      const { scenario, module } = get()
      await search<'tryseeds'>('seeds', { type: 'tryseeds', scenario, module, seeds, swarm }, seedsText)
    },
    async explore(settings) {
      const { scenario, module, picture } = get()
      const options = scenario['options']
      const form = {
        ...settings,
        protocol: picture?.protocol ?? '',
        nodes: picture?.nodes ?? [],
        options: isObject(options) ? options : {},
      }
      await search<'explore'>('explore', { type: 'explore', settings: form, module }, exploreText)
    },
    cancelSearch() {
      const { search: present } = get()
      stop?.abort()
      stop = null
      if (present?.status === 'running') {
        set({ search: { ...present, status: 'cancelled', text: 'The search was cancelled.' } })
      }
    },
    closeSearch() {
      stop?.abort()
      stop = null
      set({ search: null })
    },
    async openFound() {
      const { search: present, module } = get()
      const found = present?.found ?? null
      if (found === null) return
      const base = found.scenario
      const branch = firstBranch(runner.freshId(), { name: foundName(found), base, module })
      const isShown = await runner.show(branch, {
        cursor: (picture) => cursorAt(picture, 0),
        patch: { selection: null, lesson: null, search: null },
      })
      if (!isShown) return
      play.setPace('film')
      play.play()
    },
  }
}

function foundName({ spec, seed }: Found): string {
  return seed === null ? `counterexample to ${spec}` : `${spec} violated, seed ${seed}`
}

function seedsText({ seeds, steps, tookMs, found }: Done['tryseeds']): string {
  const effort = `${countText(seeds, 'seed')}, ${countText(steps, 'step')}, ${timeText(tookMs * 1000)}`
  if (found === null) return `No violation in ${effort}.`
  return `${found.spec} is violated with seed ${found.seed}: ${found.why}. (${effort})`
}

function exploreText({ states, complete, cutShort, tookMs, found, progress }: Done['explore']): string {
  const effort = `${countText(states, 'state')}, ${timeText(tookMs * 1000)}`
  if (found !== null) return `${found.spec} is violated: ${found.why}. (${effort})`
  const extent = complete ? 'All interleavings were explored' : `The search ended early (${cutShort})`
  return [`${extent}: no violation in ${effort}.`, progress].filter((text) => text !== '').join(' ')
}
