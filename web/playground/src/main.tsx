/** The playground: the protocols of the package, simulated in this page. */
// oxlint-disable-next-line import/no-unassigned-import -- the style sheet
import './style/index.css'
import { render } from 'preact'
import { startTheme } from '../../src/data/theme.ts'
import { startEngine } from './engine/client.ts'
import { createStore, type Host, type Store } from './model/store.ts'
import { startColours } from './view/colours.ts'
import { Page } from './view/page.tsx'
import { isWelcome, startView } from './view/state.ts'
import { WELCOME, WELCOME_AT, WELCOME_NAME } from './welcome.ts'

const host: Host = {
  address: () => location.href.replace(/#.*$/, ''),
  setFragment: (fragment) =>
    history.replaceState(null, '', fragment === null ? location.pathname : `#${fragment}`),
  readKept: (key) => {
    try {
      return localStorage.getItem(key)
    } catch {
      return null
    }
  },
  keep: (key, value) => {
    try {
      localStorage.setItem(key, value)
    } catch {
      // The browser keeps nothing for this page.
    }
  },
  fetchText: async (path) => {
    const answer = await fetch(path)
    if (!answer.ok) throw new Error(`${path}: the server answered ${answer.status}`)
    return answer.text()
  },
}

const root = document.querySelector('#page')
if (root !== null) {
  startTheme()
  startColours()
  const store = createStore(startEngine(), host)
  startView(store)
  // For the console, and for tests.
  ;(globalThis as { playground?: Store }).playground = store
  root.replaceChildren()
  render(<Page />, root)
  const open = async (): Promise<void> => {
    if (location.hash.length > 1) return store.openFragment(location.hash)
    await store.open(WELCOME, { name: WELCOME_NAME })
    isWelcome.value = true
    store.seek(WELCOME_AT)
    store.select({ type: 'node', node: 1 })
  }
  addEventListener('hashchange', () => void store.openFragment(location.hash))
  void open()
}
