/** All lessons, and which of them are done in this browser. */
import { Glyph } from '../../../../src/parts/glyph.tsx'
import { LESSONS } from '../../lessons/index.ts'
import { lesson, lessonsDone, store } from '../state.ts'
import { closeDialog, Frame } from './frame.tsx'

export function LessonsDialog() {
  const done = new Set(lessonsDone.value)
  return (
    <Frame name="lessons" title="Lessons" isWide>
      <p class="hint">
        {LESSONS.filter(({ id }) => done.has(id)).length} of {LESSONS.length} done. Each is a run, a few
        captions and a task.
      </p>
      <ol class="lesson-list">
        {LESSONS.map(({ id, title, summary, source, protocol }, place) => (
          <li key={id}>
            <button
              type="button"
              aria-current={lesson.value?.id === id ? 'true' : undefined}
              onClick={() => {
                closeDialog()
                void store().openLesson(id)
              }}
            >
              <span class="lesson-number">{done.has(id) ? <Glyph name="healthy" /> : place + 1}</span>
              <span>
                <b>{title}</b>
                {done.has(id) ? <span class="only-read"> (done)</span> : null}
                <span class="summary">{summary}</span>
                <span class="hint">
                  {protocol} · {source}
                </span>
              </span>
            </button>
          </li>
        ))}
      </ol>
    </Frame>
  )
}
