/** The open lesson as the page shows it at the cursor. */
import type { Check, Lesson } from '../lessons/lesson.ts'
import type { OpenLesson, State } from './types.ts'

const NOT_RUN: Check = { isDone: false, text: 'The scenario is running.' }

export function openLesson(lesson: Lesson): OpenLesson {
  const { id, title, summary, source, protocol, captions, task, hint, afterwards } = lesson
  return {
    id,
    title,
    summary,
    source,
    protocol,
    captions,
    caption: null,
    task,
    hint,
    isHintShown: false,
    check: NOT_RUN,
    afterwards,
  }
}

/**
 * The lesson after a change of the state. A task that was done stays done while the lesson is open. In a schedule the
 * task is to stop at a moment: a film that passes it does not count.
 */
export function followLesson(lesson: Lesson, shown: OpenLesson, state: State): OpenLesson {
  const made = state.branches.find(({ id }) => id === state.branch)?.made ?? []
  const caption = captionAt(lesson, state.cursor.at, made[0]?.atMs ?? Infinity)
  const { picture, isPlaying, cursor } = state
  const isFixed = shown.check.isDone || picture === null || (isPlaying && picture.isUntimed)
  const check = isFixed ? shown.check : lesson.check({ picture, made, cursor })
  const isSame =
    caption === shown.caption && check.isDone === shown.check.isDone && check.text === shown.check.text
  return isSame ? shown : { ...shown, caption, check }
}

/** Captions describe the run as it was prepared: they end where the reader acted. */
function captionAt({ captions }: Lesson, at: number, actedAtMs: number): string | null {
  const atMs = at / 1000
  const found = captions.findLast((caption) => caption.atMs <= atMs && caption.atMs < actedAtMs)
  return atMs >= actedAtMs ? null : (found?.text ?? null)
}
