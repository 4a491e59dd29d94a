/** A store over an engine without workers, and a browser that remembers every call. */
import { createSession } from '../engine/session.ts'
import { createStore } from './store.ts'
import type { Engine, Host, State, Store } from './types.ts'

export type TestHost = Host & {
  readonly fragments: (string | null)[]
  /** The fragment that is set next. */
  nextFragment(): Promise<string | null>
  readonly kept: Map<string, string>
  readonly files: Map<string, string>
}

export function testHost(): TestHost {
  const fragments: (string | null)[] = []
  const waiting: ((fragment: string | null) => void)[] = []
  const kept = new Map<string, string>()
  const files = new Map<string, string>()
  return {
    fragments,
    kept,
    files,
    nextFragment: () => new Promise((resolve) => waiting.push(resolve)),
    address: () => 'https://example.org/playground/',
    setFragment: (fragment) => {
      fragments.push(fragment)
      for (const tell of waiting.splice(0)) tell(fragment)
    },
    readKept: (key) => kept.get(key) ?? null,
    keep: (key, value) => {
      kept.set(key, value)
    },
    fetchText: async (path) => {
      const text = files.get(path)
      if (text === undefined) throw new Error(`${path} is not there`)
      return text
    },
  }
}

export function testStore(host: Host = testHost(), engine: Engine = createSession()): Store {
  return createStore(engine, host)
}

/** Resolves with the first state for which the condition holds. */
export function until(store: Store, condition: (state: State) => boolean): Promise<State> {
  return new Promise((resolve) => {
    if (condition(store.get())) return resolve(store.get())
    const stop = store.subscribe((state) => {
      if (!condition(state)) return
      stop()
      resolve(state)
    })
  })
}

export const BULLY = {
  protocol: 'bully',
  nodes: [1, 2, 3],
  initial: { leader: 3 },
  network: { delayMs: 5 },
  untilMs: 1000,
}
/** Node 1 does not notice that it was suspended. */
export const TWO_LEADERS = {
  protocol: 'local-leader',
  nodes: [1, 2, 3],
  options: { misreading: 'no-suspend-check' },
  network: { delayMs: 1 },
  events: [{ atMs: 300, suspend: 1, forMs: 300 }],
  untilMs: 1000,
}

/** A store that shows this scenario. */
export async function opened(scenario: typeof BULLY | typeof TWO_LEADERS = BULLY): Promise<Store> {
  const store = testStore()
  await store.open(scenario)
  return store
}
