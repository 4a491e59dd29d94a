import { type Belief, beliefs } from './memory/beliefs.ts'
import type { Goal } from './spec.ts'

export const elected: Goal<readonly Belief[]> = {
  name: 'elected',
  title: 'a process becomes the leader',
  fold: beliefs,
  reached: (memory, seen) =>
    seen.type === 'view' &&
    seen.view.role === 'leader' &&
    memory.some(({ node, role }) => node === seen.node && role !== null && role !== 'leader'),
}

export const leaderChanged: Goal<readonly Belief[]> = {
  name: 'leader-changed',
  title: 'a process that led stops leading, by demotion or by a crash',
  fold: beliefs,
  reached: (memory, seen) =>
    (seen.type === 'down' || (seen.type === 'view' && seen.view.role !== 'leader')) &&
    memory.some(({ node, role }) => node === seen.node && role === 'leader'),
}
