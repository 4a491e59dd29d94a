/** Looks for a violation: many seeds, or all interleavings. */
import { useState } from 'preact/hooks'
import type { Search } from '../../model/store.ts'
import { canAct, search, store } from '../state.ts'
import { closeDialog, Frame } from './frame.tsx'

export function SearchDialog() {
  const known = search.value
  return (
    <Frame name="search" title="Search for a violation">
      {known === null ? <Forms /> : <Result known={known} />}
    </Frame>
  )
}

function numberOf(data: FormData, name: string): number {
  return Number(data.get(name))
}

function Forms() {
  const [swarm, setSwarm] = useState(true)
  const trySeeds = (event: SubmitEvent): void => {
    event.preventDefault()
    const data = new FormData(event.currentTarget as HTMLFormElement)
    void store().trySeeds({ seeds: numberOf(data, 'seeds'), swarm })
  }
  const explore = (event: SubmitEvent): void => {
    event.preventDefault()
    const data = new FormData(event.currentTarget as HTMLFormElement)
    void store().explore({
      crashes: numberOf(data, 'crashes'),
      recoveries: numberOf(data, 'recoveries'),
      cuts: numberOf(data, 'cuts'),
      depth: numberOf(data, 'depth'),
      maxStates: numberOf(data, 'maxStates'),
    })
  }
  return (
    <div class="search-forms">
      <form onSubmit={trySeeds}>
        <h3>Try many seeds</h3>
        <p>
          Runs this scenario with other seeds until a specification is violated. The violation is then shrunk.
        </p>
        <div class="fields-row">
          <Field name="seeds" label="Seeds" initial={10_000} most={1_000_000} />
          <label class="check">
            <input
              type="checkbox"
              checked={swarm}
              onChange={(event) => setSwarm(event.currentTarget.checked)}
            />
            draw the network, clocks and faults too, instead of the scenario’s own
          </label>
        </div>
        <button type="submit" class="primary" disabled={!canAct.value}>
          Try seeds
        </button>
      </form>
      <form onSubmit={explore}>
        <h3>Explore all interleavings</h3>
        <p>Visits every order of messages and timers, without time, for these nodes and this many faults.</p>
        <div class="fields-row">
          <Field name="crashes" label="Crashes" initial={1} most={5} />
          <Field name="recoveries" label="Recoveries" initial={1} most={5} />
          <Field name="cuts" label="Cuts" initial={0} most={5} />
          <Field name="depth" label="Depth" initial={100} most={10_000} />
          <Field name="maxStates" label="Most states" initial={500_000} most={5_000_000} />
        </div>
        <button type="submit" class="primary">
          Explore
        </button>
      </form>
    </div>
  )
}

type FieldProps = {
  readonly name: string
  readonly label: string
  readonly initial: number
  readonly most: number
}

function Field({ name, label, initial, most }: FieldProps) {
  return (
    <label>
      {label}
      <input type="number" name={name} min={0} max={most} step={1} required defaultValue={String(initial)} />
    </label>
  )
}

function Result({ known }: { readonly known: Search }) {
  const { status, progress, text, found } = known
  return (
    <div class="search-result">
      <p role="status">{status === 'running' ? (progress?.text ?? 'Starting …') : text}</p>
      {status === 'running' ? (
        <progress
          aria-label="Progress"
          {...(progress === null || progress.of === null ? {} : { value: progress.done, max: progress.of })}
        />
      ) : null}
      {known.problems.map(({ place, message }) => (
        <p key={message} class="problem">
          {place === null ? '' : `${place}: `}
          {message}
        </p>
      ))}
      {found === null ? null : (
        <div class="found">
          <p>
            <b>{found.spec}</b>: {found.why}
          </p>
          <p class="hint">
            {found.schedule === null
              ? 'The smallest scenario that was found for it'
              : `The shortest run: ${found.schedule.length} steps`}
            {found.seed === null ? '' : `, seed ${found.seed}`}
          </p>
        </div>
      )}
      <div class="buttons">
        {status === 'running' ? (
          <button type="button" onClick={() => store().cancelSearch()}>
            Cancel
          </button>
        ) : (
          <button type="button" onClick={() => store().closeSearch()}>
            Search again
          </button>
        )}
        {found === null ? null : (
          <button
            type="button"
            class="primary"
            onClick={() => {
              closeDialog()
              void store().openFound()
            }}
          >
            Play the violation
          </button>
        )}
      </div>
    </div>
  )
}
