/** The column on the right: the state of a node, all events, or why something happened. */
import type { Picture } from '../../engine/picture.ts'
import { type Panel, panel } from '../state.ts'
import { Events } from './events.tsx'
import { NodeState } from './node-state.tsx'
import { WhyChain } from './why.tsx'

const TABS: readonly (readonly [Panel, string])[] = [
  ['state', 'State'],
  ['events', 'Events'],
  ['why', 'Why?'],
]

export function Inspector({ picture }: { readonly picture: Picture }) {
  const shown = panel.value
  const move = (event: KeyboardEvent): void => {
    const by = event.key === 'ArrowRight' ? 1 : event.key === 'ArrowLeft' ? -1 : 0
    if (by === 0) return
    event.preventDefault()
    event.stopPropagation()
    const place = (TABS.findIndex(([name]) => name === shown) + by + TABS.length) % TABS.length
    const next = TABS[place]
    if (next === undefined) return
    panel.value = next[0]
    document.querySelector<HTMLElement>(`#tab-${next[0]}`)?.focus()
  }
  return (
    <section class="card inspector" aria-label="Inspector">
      <div class="tabs" role="tablist" aria-label="Inspector" onKeyDown={move}>
        {TABS.map(([name, title]) => (
          <button
            type="button"
            role="tab"
            key={name}
            id={`tab-${name}`}
            aria-selected={shown === name}
            aria-controls="inspected"
            tabIndex={shown === name ? 0 : -1}
            onClick={() => (panel.value = name)}
          >
            {title}
          </button>
        ))}
      </div>
      <div class="inspected" id="inspected" role="tabpanel" aria-labelledby={`tab-${shown}`}>
        {shown === 'state' ? <NodeState picture={picture} /> : null}
        {shown === 'events' ? <Events picture={picture} /> : null}
        {shown === 'why' ? <WhyChain picture={picture} /> : null}
      </div>
    </section>
  )
}
