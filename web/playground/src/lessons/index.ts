/** All lessons, in the order in which they teach. */
import type { LessonCard } from '../model/types.ts'
import type { Lesson } from './lesson.ts'

const ALL: readonly Lesson[] = []

export const LESSONS: readonly LessonCard[] = ALL

export function lessonNamed(id: string): Lesson | null {
  return ALL.find((lesson) => lesson.id === id) ?? null
}
