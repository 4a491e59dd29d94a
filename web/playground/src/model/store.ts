/** The store of the page: one plain observable value and the actions that change it. */
import type { Engine, Host, State, Store } from './types.ts'

export * from './types.ts'

/** From a thousandth of true time to a hundred times as fast. */
export const SPEEDS: readonly number[] = [
  0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100,
]

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
  cursor: { at: 0, moment: -1 },
  isPlaying: false,
  pace: 'time',
  speed: 0.05,
  pausesAtViolation: true,
  selection: null,
  inspection: null,
  why: null,
  comparison: null,
  search: null,
  lesson: null,
  lessonsDone: [],
}

export declare function createStore(engine: Engine, host: Host): Store
