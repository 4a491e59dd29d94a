/** A lesson: a scenario, captions of one sentence, and a task whose solution is checked on the picture of the run. */
import type { ScenarioEvent } from '../../../../src/workbench/scenario/index.ts'
import type { ScenarioFile } from '../engine/messages.ts'
import type { Picture } from '../engine/picture.ts'
import type { Caption, Cursor, LessonCard } from '../model/types.ts'

/** What a reader has achieved so far. */
export type Attempt = {
  readonly picture: Picture
  /** What the reader did to the world. */
  readonly made: readonly ScenarioEvent[]
  readonly cursor: Cursor
}

/** `text`: what is done, or how far the run is from it; one sentence. */
export type Check = { readonly isDone: boolean; readonly text: string }

export type Lesson = LessonCard & {
  readonly scenario: ScenarioFile
  /** The speed at which its messages can be followed. A schedule plays as a film instead. */
  readonly speed: number
  readonly captions: readonly Caption[]
  readonly task: string
  readonly hint: string
  readonly afterwards: string
  check(attempt: Attempt): Check
}
