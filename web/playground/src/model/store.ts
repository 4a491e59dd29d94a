/** The store of the page: one plain observable value and the actions that change it. */
import { lessonNamed } from '../lessons/index.ts'
import { createActing } from './acting.ts'
import { createContext } from './context.ts'
import { createInquiry } from './inquiry.ts'
import { followLesson } from './lesson-state.ts'
import { createOpeners } from './opening.ts'
import { DEFAULT_SPEED, START } from './playback.ts'
import { createRunner } from './runner.ts'
import { createSearching } from './searching.ts'
import { createSharing } from './sharing.ts'
import { createTransport } from './transport.ts'
import type { Engine, Host, State, Store } from './types.ts'

export { SPEEDS } from './playback.ts'
export * from './types.ts'

const DONE_KEY = 'conclave-lessons'

export const INITIAL_STATE: State = {
  branches: [],
  branch: 0,
  scenario: {},
  module: null,
  source: 'scenario',
  picture: null,
  isRunning: false,
  problems: [],
  notice: null,
  cursor: START,
  isPlaying: false,
  pace: 'time',
  speed: DEFAULT_SPEED,
  pausesAtViolation: true,
  selection: null,
  inspection: null,
  why: null,
  comparison: null,
  search: null,
  lesson: null,
  lessonsDone: [],
}

export function createStore(engine: Engine, host: Host): Store {
  const lessonsDone = readDone(host)
  const { context, subscribe } = createContext(
    engine,
    host,
    { ...INITIAL_STATE, lessonsDone },
    followOpenLesson,
  )
  const runner = createRunner(context)
  const inquiry = createInquiry(context, runner)
  const transport = createTransport(context, runner, inquiry)
  const sharing = createSharing(context, runner)

  let kept = lessonsDone
  subscribe((state) => {
    const done = state.lessonsDone
    if (done !== kept) {
      kept = done
      // Another tab may have kept lessons since.
      host.keep(DONE_KEY, [...new Set([...readDone(host), ...done])].join(' '))
    }
    void sharing.followRun(state)
    if (!state.isPlaying) inquiry.followCursor()
  })

  const { followCursor: _, ...questions } = inquiry
  return {
    get: context.get,
    subscribe,
    ...transport,
    ...questions,
    ...createOpeners(context, runner),
    ...createActing(context, runner),
    ...createSearching(context, runner, transport),
    copy: sharing.copy,
    dismissProblems: () => context.set({ problems: [] }),
  }
}

/** The open lesson belongs to the cursor and the run: it changes with them. */
function followOpenLesson(state: State): State {
  const { lesson: shown, lessonsDone } = state
  const lesson = shown === null ? null : lessonNamed(shown.id)
  if (shown === null || lesson === null) return state
  const next = followLesson(lesson, shown, state)
  const isNew = next.check.isDone && !lessonsDone.includes(lesson.id)
  if (next === shown && !isNew) return state
  return { ...state, lesson: next, lessonsDone: isNew ? [...lessonsDone, lesson.id] : lessonsDone }
}

function readDone(host: Host): readonly string[] {
  const kept = host.readKept(DONE_KEY) ?? ''
  return kept.split(' ').filter((id) => lessonNamed(id) !== null)
}
