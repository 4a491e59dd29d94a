/** The keyboard. Fields, open dialogs and controls keep their own keys. */
import { choicesNow, choose, selectNextMessage } from './panels/action-bar.tsx'
import {
  act,
  asked,
  calmCursor,
  canAct,
  dialog,
  picture,
  selection,
  selectNode,
  showAll,
  showsRoutine,
  store,
  zoomBy,
} from './state.ts'

const PLAIN: { readonly [key: string]: () => void } = {
  ' ': () => store().togglePlay(),
  ArrowLeft: () => store().step('event', -1),
  ArrowRight: () => store().step('event', 1),
  'Shift ArrowLeft': () => store().step('message', -1),
  'Shift ArrowRight': () => store().step('message', 1),
  'Alt ArrowLeft': () => store().step('record', -1),
  'Alt ArrowRight': () => store().step('record', 1),
  l: () => store().step('leadership', 1),
  'Shift L': () => store().step('leadership', -1),
  v: () => store().step('violation', 1),
  'Shift V': () => store().step('violation', -1),
  Home: () => store().seekStart(),
  End: () => store().seekEnd(),
  '[': () => store().changeSpeed(-1),
  ']': () => store().changeSpeed(1),
  '+': () => zoomBy(1 / 1.6),
  '=': () => zoomBy(1 / 1.6),
  '-': () => zoomBy(1.6),
  '0': showAll,
  m: selectNextMessage,
  r: () => {
    showsRoutine.value = !showsRoutine.value
  },
  w: () => {
    if (calmCursor.value.moment >= 0) void store().askWhy(calmCursor.value.moment)
  },
  z: () => void store().undo(),
  g: () => {
    if (canAct.value) dialog.value = 'partition'
  },
  h: () => {
    if (canAct.value) act({ heal: 'all' })
  },
  Escape: () => {
    if (asked.value === null) store().select(null)
    else asked.value = null
  },
  '?': () => {
    dialog.value = 'keys'
  },
}

function nameOf({ key, shiftKey, altKey }: KeyboardEvent): string {
  if (altKey) return `Alt ${key}`
  return shiftKey && (key.startsWith('Arrow') || /^[A-Z]$/.test(key)) ? `Shift ${key}` : key
}

/** Whether the focused element uses this key itself. */
function isTaken(target: EventTarget | null, key: string): boolean {
  if (!(target instanceof HTMLElement)) return false
  if (target.closest('dialog, select, textarea') !== null) return true
  if (target instanceof HTMLInputElement)
    return target.type !== 'range' || /^(?:Arrow|Home|End|Page)/.test(key)
  return key === ' ' && target.closest('button, a, summary') !== null
}

export function handleKey(event: KeyboardEvent): void {
  if (event.ctrlKey || event.metaKey || event.defaultPrevented || dialog.value !== null) return
  if (event.key === 'Escape' && asked.value !== null) {
    asked.value = null
    return
  }
  if (isTaken(event.target, event.key)) return
  const name = nameOf(event)
  const shown = picture.value
  if (shown === null) return
  const node = /^[1-9]$/.test(name) ? shown.nodes[Number(name) - 1] : undefined
  const choice = selection.value === null ? undefined : choicesNow(shown).find(({ key }) => key === name)
  const plain = PLAIN[name]
  if (choice !== undefined) choose(choice)
  else if (node !== undefined) selectNode(node)
  else if (plain !== undefined) plain()
  else return
  event.preventDefault()
}
