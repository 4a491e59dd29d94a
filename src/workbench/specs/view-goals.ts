import { isAlive, type Standing, standingOf, standings } from './memory/view-states.ts'
import type { Goal } from './spec.ts'

const standingBefore = (memory: readonly Standing[], node: Standing['node']): Standing | undefined =>
  memory.find((standing) => standing.node === node)

export const viewInstalled: Goal<readonly Standing[]> = {
  name: 'view-installed',
  title: 'a process that is alive goes from one view to the next',
  fold: standings,
  reached(memory, seen) {
    if (seen.type !== 'view') return false
    const was = standingBefore(memory, seen.node)
    const is = standingOf(seen)
    return was !== undefined && isAlive(was) && isAlive(is) && was.view?.id.join() !== is.view?.id.join()
  },
}

export const released: Goal<readonly Standing[]> = {
  name: 'released',
  title: 'a process that was dead is alive again, in a view that names its new life',
  fold: standings,
  reached(memory, seen) {
    if (seen.type !== 'view') return false
    const was = standingBefore(memory, seen.node)
    return was !== undefined && was.up && !isAlive(was) && isAlive(standingOf(seen))
  },
}
