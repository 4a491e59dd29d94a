/** Lines above the pictures: what holds now, what went wrong, and the lesson. */
import { Glyph } from '../../../../src/parts/glyph.tsx'
import type { Picture } from '../../engine/picture.ts'
import { WELCOME_NAME } from '../../welcome.ts'
import { headlineAt } from '../node-words.ts'
import { branches, calmCursor, dialog, isWelcome, lesson, notice, problems, store } from '../state.ts'

export function Headline({ picture }: { readonly picture: Picture }) {
  const { level, word, rest } = headlineAt(picture, calmCursor.value)
  return (
    <div class={`banner level-${level}`} data-level={level}>
      <Glyph name={level} />
      <p>
        <strong>{word}</strong> <span>{rest}</span>
      </p>
      {level === 'alarm' ? (
        <button type="button" class="banner-why" onClick={() => askAboutViolation(picture)}>
          Why?
        </button>
      ) : null}
      <p class="notice-text" role="status">
        {level === 'alarm' ? '' : notice.value}
      </p>
    </div>
  )
}

function askAboutViolation(picture: Picture): void {
  const first = picture.verdicts.find(
    ({ verdict, moment }) => verdict === 'violated' && moment !== null && moment <= calmCursor.value.moment,
  )
  if (first?.moment !== null && first !== undefined) void store().askWhy(first.moment)
}

export function Problems() {
  const known = problems.value
  if (known.length === 0) return null
  return (
    <div class="problems" role="alert">
      <ul>
        {known.slice(0, 6).map(({ place, message }) => (
          <li key={`${place} ${message}`}>
            {place === null ? null : <code>{place}</code>} {message}
          </li>
        ))}
        {known.length > 6 ? <li>and {known.length - 6} more</li> : null}
      </ul>
      <button type="button" class="quiet" onClick={() => store().dismissProblems()}>
        Dismiss
      </button>
    </div>
  )
}

export function CutShort({ picture }: { readonly picture: Picture }) {
  if (picture.cutShort === null) return null
  return (
    <div class="problems">
      <p>The run ended early: {picture.cutShort}</p>
    </div>
  )
}

/** A caption that is longer gets two lines. The place for it stays, so that the pictures do not move. */
const ONE_LINE = 84

/** For a reader who sees the page for the first time. */
export function Welcome() {
  const isSame = branches.value.some(({ name }) => name === WELCOME_NAME)
  if (!isWelcome.value || lesson.value !== null || !isSame) return null
  const leave = (): void => {
    isWelcome.value = false
  }
  return (
    <section class="lesson welcome" aria-label="Introduction">
      <div class="lesson-text">
        <h2>A leader that sleeps through its lease</h2>
        <p class="caption">
          Node 1 was suspended: its clock stopped, so it believes in a lease that has ended for all others.
          Node 2 leads.
        </p>
      </div>
      <div class="lesson-buttons">
        <button
          type="button"
          class="strong"
          onClick={() => {
            store().seekStart()
            store().play()
          }}
        >
          Play from the start
        </button>
        <button type="button" class="quiet" onClick={() => (dialog.value = 'lessons')}>
          Choose a lesson
        </button>
        <button type="button" class="quiet" onClick={leave}>
          Close
        </button>
      </div>
    </section>
  )
}

export function LessonStrip() {
  const open = lesson.value
  if (open === null) return null
  const { title, caption, task, hint, isHintShown, check, afterwards } = open
  const isLong = open.captions.some(({ text }) => text.length > ONE_LINE)
  return (
    <section class={check.isDone ? 'lesson is-done' : 'lesson'} aria-label="Lesson">
      <div class="lesson-text">
        <h2>{title}</h2>
        <p class={isLong ? 'caption is-long' : 'caption'} role="status">
          {caption ?? open.summary}
        </p>
      </div>
      <div class="task">
        <p>
          <b>Task</b> {task}
        </p>
        <p class="check-text" role="status">
          {check.isDone ? (
            <>
              <Glyph name="healthy" /> Done. {afterwards}
            </>
          ) : (
            check.text
          )}
        </p>
        {isHintShown && !check.isDone ? <p class="hint-text">{hint}</p> : null}
      </div>
      <div class="lesson-buttons">
        {check.isDone || isHintShown ? null : (
          <button type="button" class="quiet" onClick={() => store().showHint()}>
            Hint
          </button>
        )}
        <button
          type="button"
          class={check.isDone ? 'strong' : 'quiet'}
          onClick={() => (dialog.value = 'lessons')}
        >
          {check.isDone ? 'Next lesson' : 'Lessons'}
        </button>
        <button type="button" class="quiet" onClick={() => store().closeLesson()}>
          Leave
        </button>
      </div>
    </section>
  )
}
