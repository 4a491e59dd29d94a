/** All lessons, in the order in which they teach. */
import type { LessonCard } from '../model/types.ts'
import { BULLY_LESSONS } from './bully.ts'
import { GROUP_LESSONS } from './groups.ts'
import { LEASE_LESSONS } from './leases.ts'
import type { Lesson } from './lesson.ts'
import { REGISTER_LESSONS } from './registers.ts'
import { RING_LESSONS } from './ring.ts'
import { VIEW_LESSONS } from './views.ts'

const ALL: readonly Lesson[] = [
  ...LEASE_LESSONS,
  ...RING_LESSONS,
  ...BULLY_LESSONS,
  ...GROUP_LESSONS,
  ...VIEW_LESSONS,
  ...REGISTER_LESSONS,
]

export const LESSONS: readonly LessonCard[] = ALL

export function lessonNamed(id: string): Lesson | null {
  return ALL.find((lesson) => lesson.id === id) ?? null
}
