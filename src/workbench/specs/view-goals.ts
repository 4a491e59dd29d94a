import { isAlive, type ViewState, viewStateOf, viewStates } from './memory/view-states.ts'
import type { Goal } from './spec.ts'

const stateBefore = (memory: readonly ViewState[], node: ViewState['node']): ViewState | undefined =>
  memory.find((standing) => standing.node === node)

export const viewInstalled: Goal<readonly ViewState[]> = {
  name: 'view-installed',
  title: 'a process that is alive goes from one view to the next',
  fold: viewStates,
  reached(memory, seen) {
    if (seen.type !== 'view') return false
    const was = stateBefore(memory, seen.node)
    const is = viewStateOf(seen)
    return was !== undefined && isAlive(was) && isAlive(is) && was.view?.id.join() !== is.view?.id.join()
  },
}

export const released: Goal<readonly ViewState[]> = {
  name: 'released',
  title: 'a process that was dead is alive again, in a view that names its new life',
  fold: viewStates,
  reached(memory, seen) {
    if (seen.type !== 'view') return false
    const was = stateBefore(memory, seen.node)
    return was !== undefined && was.up && !isAlive(was) && isAlive(viewStateOf(seen))
  },
}
