/** Which groups there are, whose view this is, and how old the data is. */
import { proposed } from '../data/act.ts'
import { clockMs, group, groups, junk, levels, link, selectGroup, status, statusAtMs } from '../data/store.ts'
import { LEVEL_NAMES } from '../view/banner.ts'
import { formatMs } from '../view/format.ts'
import { Glyph } from './glyph.tsx'
import { Mark } from './mark.tsx'
import { ThemeButton } from './theme-button.tsx'
import { TokenButton } from './token-button.tsx'

export function Header() {
  return (
    <header class="top">
      <h1>
        <Mark />
        <span>Conclave</span>
      </h1>
      <GroupTabs />
      <Observer />
      <div class="tools">
        <button type="button" class="quiet" onClick={() => (proposed.value = { what: 'black-box' })}>
          Black box …
        </button>
        <TokenButton />
        <ThemeButton />
      </div>
    </header>
  )
}

function GroupTabs() {
  const shown = status.value?.group ?? group.value
  const names = groups.value.length > 0 ? groups.value : shown === null ? [] : [shown]
  return (
    <nav aria-label="Groups">
      <ul class="groups">
        {names.map((name) => {
          const level = levels.value[name]
          return (
            <li key={name}>
              <a
                href={`?group=${encodeURIComponent(name)}`}
                aria-label={level === undefined ? name : `${name}, ${LEVEL_NAMES[level]}`}
                aria-current={name === shown ? 'page' : undefined}
                class={level === undefined ? '' : `level-${level}`}
                onClick={(event) => {
                  event.preventDefault()
                  selectGroup(name)
                }}
              >
                {level === undefined ? null : <Glyph name={level} />}
                <span class="name" title={name}>
                  {name}
                </span>
              </a>
            </li>
          )
        })}
      </ul>
    </nav>
  )
}

function Observer() {
  const seen = status.value
  const ageMs = Math.max(0, clockMs.value - statusAtMs.value)
  const state = link.value.state
  return (
    <p class={`observer is-${state}`}>
      {seen === null ? null : (
        <span>
          seen by <b>{seen.self.id}</b> ({seen.self.role}
          {seen.version === '' ? '' : `, ${seen.version}`})
        </span>
      )}
      <span class="age" title="Age of the data">
        <i aria-hidden="true" />
        {state === 'live' ? 'live' : state} {seen === null ? '' : `· data ${formatMs(ageMs)} old`}
      </span>
      {junk.value === 0 ? null : <span>{junk.value} unreadable messages</span>}
    </p>
  )
}
