/** What runs, and everything that is not part of the run: lessons, search, share, files, theme. */
import { useRef } from 'preact/hooks'
import { Mark } from '../../../../src/parts/mark.tsx'
import { ThemeButton } from '../../../../src/parts/theme-button.tsx'
import { PROTOCOLS } from '../../model/protocols.ts'
import type { ProtocolCard } from '../../model/store.ts'
import { type DialogName, dialog, isRunning, lesson, ownModule, picture, scenario, store } from '../state.ts'

export function Header() {
  return (
    <header class="top">
      <h1>
        <Mark />
        <span>
          Conclave <small>playground</small>
        </span>
      </h1>
      <ProtocolSelect />
      <SeedField />
      <span class={isRunning.value ? 'running is-running' : 'running'} role="status">
        {isRunning.value ? 'Running …' : ''}
      </span>
      <div class="tools">
        <DialogButton name="lessons" title="Lessons" isStrong />
        <DialogButton name="search" title="Search" />
        <DialogButton name="scenario" title="Scenario" />
        <DialogButton name="module" title="Your protocol" />
        <OpenButton />
        <DialogButton name="share" title="Share" />
        <DialogButton name="keys" title="Keys" />
        <ThemeButton />
      </div>
    </header>
  )
}

/** The card of a protocol whose options are all part of the scenario's: the most specific of them. */
function cardOf(protocol: string, given: unknown): ProtocolCard | undefined {
  const options = { ...(given as object | undefined) } as { readonly [name: string]: unknown }
  const size = ({ scenario: { options: own } }: ProtocolCard): number => Object.keys(own ?? {}).length
  return PROTOCOLS.filter((card) => card.scenario['protocol'] === protocol)
    .filter(({ scenario: { options: own } }) =>
      Object.entries(own ?? {}).every(
        ([name, value]) => JSON.stringify(options[name]) === JSON.stringify(value),
      ),
    )
    .toSorted((a, b) => size(b) - size(a))[0]
}

function ProtocolSelect() {
  const name = picture.value?.protocol ?? ''
  const card = cardOf(name, scenario.value['options'])
  const isKnown = card !== undefined && ownModule.value === null
  const group = (isPrinted: boolean) =>
    PROTOCOLS.filter((each) => each.isPrinted === isPrinted).map((each) => (
      <option key={each.name} value={each.name} title={each.summary}>
        {each.title} ({each.name})
      </option>
    ))
  return (
    <label class="protocol">
      <span class="only-read">Protocol</span>
      <select
        value={isKnown ? card.name : ''}
        onChange={(event) => void store().openProtocol(event.currentTarget.value)}
      >
        {isKnown ? null : (
          <option value="">
            {name}
            {ownModule.value === null ? '' : ` (${ownModule.value.name})`}
          </option>
        )}
        <optgroup label="Protocols">{group(false)}</optgroup>
        <optgroup label="As printed, with their mistakes">{group(true)}</optgroup>
      </select>
    </label>
  )
}

function SeedField() {
  const shown = picture.value
  if (shown === null || shown.isUntimed) return null
  return (
    <label class="seed">
      Seed
      <input
        type="number"
        min={0}
        step={1}
        value={shown.seed}
        onChange={(event) => {
          const seed = event.currentTarget.valueAsNumber
          if (Number.isInteger(seed) && seed >= 0) void store().setSeed(seed)
        }}
      />
    </label>
  )
}

type DialogButtonProps = { readonly name: DialogName; readonly title: string; readonly isStrong?: boolean }

function DialogButton({ name, title, isStrong = false }: DialogButtonProps) {
  const isOpen = name === 'lessons' && lesson.value !== null
  return (
    <button
      type="button"
      class={isStrong ? 'strong' : 'quiet'}
      aria-haspopup="dialog"
      aria-pressed={isOpen ? true : undefined}
      onClick={() => (dialog.value = name)}
    >
      {title}
    </button>
  )
}

/** Files can also be dropped anywhere on the page. */
function OpenButton() {
  const input = useRef<HTMLInputElement>(null)
  return (
    <>
      <button type="button" class="quiet" onClick={() => input.current?.click()}>
        Open
      </button>
      <input
        ref={input}
        type="file"
        multiple
        hidden
        aria-label="Open a scenario, a trace, black boxes or a module"
        onChange={(event) => {
          const files = [...(event.currentTarget.files ?? [])]
          if (files.length > 0) void store().openFiles(files)
          event.currentTarget.value = ''
        }}
      />
    </>
  )
}
