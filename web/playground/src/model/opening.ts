/** Loading something to look at: a scenario, a protocol, a lesson, files, a link. */

import { damaged } from '../../../src/data/link.ts'
import type { OwnModule, ScenarioFile } from '../engine/messages.ts'
import { lessonNamed } from '../lessons/index.ts'
import { firstBranch, isSchedule } from './branches.ts'
import { type Context, problemsOf } from './context.ts'
import { type Opening, openingOf, parseScenarioText, readFiles } from './files.ts'
import { openLesson } from './lesson-state.ts'
import { cursorAt, DEFAULT_SPEED } from './playback.ts'
import { PROTOCOLS } from './protocols.ts'
import type { Runner } from './runner.ts'
import { unpackLink } from './share.ts'
import type { Actions, Branch, State } from './types.ts'

type Openers = Pick<
  Actions,
  | 'open'
  | 'openText'
  | 'openProtocol'
  | 'openFiles'
  | 'openFragment'
  | 'openLesson'
  | 'closeLesson'
  | 'showHint'
  | 'openModule'
>

/** A world for a module that comes without a scenario. The engine adds the module's protocol. */
const MODULE_SCENARIO: ScenarioFile = { nodes: [1, 2, 3], untilMs: 2000 }

export function createOpeners({ engine, get, set, host }: Context, runner: Runner): Openers {
  /** Shows a first branch. Everything before it is gone: its branches, its selection, its lesson. */
  async function show(
    branch: Branch,
    settings: { readonly at?: number; readonly patch?: Partial<State>; readonly notice?: string | null } = {},
  ) {
    const { at = 0, patch = {}, notice = null } = settings
    const pace = isSchedule(branch.base)
      ? ({ pace: 'film', speed: 1 } as const)
      : ({ pace: 'time', speed: DEFAULT_SPEED } as const)
    return await runner.show(branch, {
      isFresh: true,
      cursor: (picture) => cursorAt(picture, at),
      notice,
      patch: { lesson: null, selection: null, search: null, isPlaying: false, ...pace, ...patch },
    })
  }

  async function open(
    scenario: ScenarioFile,
    settings: { readonly name?: string; readonly module?: OwnModule | null } = {},
  ): Promise<void> {
    const { name = 'first run', module = null } = settings
    await show(firstBranch(runner.freshId(), { name, base: scenario, module }))
  }

  async function openLessonNamed(id: string): Promise<void> {
    const lesson = lessonNamed(id)
    if (lesson === null) {
      return refuse(`There is no lesson "${id}". Choose one from the list of lessons.`)
    }
    const branch = firstBranch(runner.freshId(), { name: lesson.title, base: lesson.scenario, module: null })
    const speed = isSchedule(lesson.scenario) ? 1 : lesson.speed
    await show(branch, { patch: { lesson: openLesson(lesson), speed } })
  }

  async function openProtocol(name: string): Promise<void> {
    const card = PROTOCOLS.find((each) => each.name === name)
    if (card === undefined)
      return refuse(`There is no protocol "${name}". Choose one from the list of protocols.`)
    await open(card.scenario, { name: card.title })
  }

  function refuse(message: string): void {
    set({ problems: [{ place: null, message }] })
  }

  async function openModule(module: OwnModule): Promise<void> {
    const { module: present, scenario } = get()
    // The reader edits a module: its scenario stays.
    const base = present === null ? MODULE_SCENARIO : scenario
    await open(base, { name: module.name, module })
  }

  async function openAll(opening: Opening): Promise<void> {
    switch (opening.type) {
      case 'refused':
        return set({ problems: opening.problems })
      case 'not JSON': {
        const found = await engine.ask({ type: 'syntax', text: opening.text })
        return set({ problems: [found ?? { place: null, message: 'This is not JSON.' }] })
      }
      case 'module':
        return await openModule(opening.module)
      case 'scenario':
        return await open(opening.scenario, {
          name: opening.name,
          module: opening.module ?? moduleFor(opening.scenario),
        })
      case 'recording': {
        const [first] = opening.files
        const name = opening.files.length === 1 ? (first?.name ?? '') : `${opening.files.length} recordings`
        const branch = firstBranch(runner.freshId(), { name, base: {}, module: null, source: 'trace' })
        runner.keepFiles(branch.id, opening.files)
        await show(branch)
      }
    }
  }

  /** A scenario of the reader's own protocol belongs to the module that is open. */
  function moduleFor(scenario: ScenarioFile): OwnModule | null {
    const { module, picture } = get()
    return module !== null && picture?.protocol === scenario['protocol'] ? module : null
  }

  async function openServed(names: readonly string[]): Promise<void> {
    const files = await Promise.all(
      names.map(async (name) => ({ name, text: await host.fetchText(`file/${encodeURIComponent(name)}`) })),
    )
    await openAll(openingOf(files))
  }

  async function openLink(fragment: string): Promise<void> {
    const { name, base, made, untilMs, module, at, lesson: id } = await unpackLink(fragment)
    const lesson = id === null ? null : lessonNamed(id)
    const branch = firstBranch(runner.freshId(), { name, base, made, untilMs, module })
    const notice = `This link brought code of its own, ${module?.name}: it runs in a worker that cannot read this page or its storage.`
    await show(branch, {
      at,
      notice: module === null ? null : notice,
      patch: lesson === null ? {} : { lesson: openLesson(lesson), speed: lesson.speed },
    })
  }

  async function openAny(fragment: string): Promise<void> {
    const [, kind, value = ''] = /^(lesson|protocol|file)=(.+)$/s.exec(fragment) ?? []
    try {
      if (kind === 'lesson') await openLessonNamed(decoded(value))
      else if (kind === 'protocol') await openProtocol(decoded(value))
      else if (kind === 'file') await openServed(value.split('/').map(decoded))
      else await openLink(fragment)
    } catch (error) {
      set({ problems: problemsOf(error) })
    }
  }

  return {
    open,
    openProtocol,
    openModule,
    openLesson: openLessonNamed,
    closeLesson: () => set({ lesson: null }),
    showHint() {
      const { lesson } = get()
      if (lesson !== null) set({ lesson: { ...lesson, isHintShown: true } })
    },
    async openText(text, name) {
      const parsed = parseScenarioText(text)
      await openAll(parsed.type === 'scenario' ? { ...parsed, name, module: null } : parsed)
    },
    openFiles: async (files) => openAll(await readFiles(files)),
    async openFragment(fragment) {
      await openAny(fragment.replace(/^#/, ''))
      const { problems, picture } = get()
      const [first] = PROTOCOLS
      if (picture !== null || first === undefined) return
      // A fresh page with a bad link shows something to play with, and what is wrong.
      await openProtocol(first.name)
      set({ problems })
    },
  }
}

/** A name in a link. */
function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    throw damaged(`the name "${text}" cannot be read`)
  }
}
