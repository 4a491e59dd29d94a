/** What the actions of the store share: the state, the engine and the browser. */
import type { Engine, Host, Problem, State } from './types.ts'

export type Context = {
  readonly engine: Engine
  readonly host: Host
  get(): State
  set(patch: Partial<State>): void
}

/** The problems of a failed request, or the error itself as one. */
export function problemsOf(error: unknown): readonly Problem[] {
  const problems = (error as { readonly problems?: unknown } | null)?.problems
  if (Array.isArray(problems) && problems.length > 0) return problems as readonly Problem[]
  return [{ place: null, message: error instanceof Error ? error.message : String(error) }]
}

/** Keeps the state and calls listeners after each change. `follow`: adjusts what depends on other parts of the state. */
export function createContext(engine: Engine, host: Host, initial: State, follow: (state: State) => State) {
  let state = initial
  const listeners = new Set<(state: State) => void>()
  const context: Context = {
    engine,
    host,
    get: () => state,
    set(patch) {
      state = follow({ ...state, ...patch })
      for (const listener of listeners) listener(state)
    },
  }
  const subscribe = (listener: (state: State) => void): (() => void) => {
    listeners.add(listener)
    return () => {
      listeners.delete(listener)
    }
  }
  return { context, subscribe }
}
