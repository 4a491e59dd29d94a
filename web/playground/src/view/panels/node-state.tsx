/** What a node knows after the moment of the cursor. Fields that its last step changed are marked. */
import type { Picture } from '../../engine/picture.ts'
import { colourNumber } from '../colours.ts'
import { placeOf, timersAt } from '../look-up.ts'
import { conditionAt, wordOf } from '../node-words.ts'
import { calmCursor, inspection, panel, selection, selectNode, store } from '../state.ts'
import { formatInstant, instantOf } from '../time/scale.ts'

export function NodeState({ picture }: { readonly picture: Picture }) {
  const chosen = selection.value
  if (chosen?.type === 'message')
    return <MessageText picture={picture} message={chosen.message} copy={chosen.copy} />
  if (chosen?.type !== 'node') return <ChooseNode picture={picture} />
  const place = placeOf(picture, chosen.node)
  const lane = picture.lanes[place]
  if (lane === undefined) return <ChooseNode picture={picture} />
  const now = calmCursor.value
  const seen = inspection.value?.node === chosen.node ? inspection.value : null
  return (
    <div class={`node-state c${colourNumber(place)}`}>
      <p class="node-title">
        <b class="node-colour">Node {lane.node}</b> <span>{wordOf(conditionAt(lane, now))}</span>
        {seen === null || picture.isUntimed ? null : (
          <span class="own-clock">own clock {formatInstant(seen.clock, 1)}</span>
        )}
      </p>
      {seen === null ? null : (
        <>
          <h3>
            Last step
            {seen.input === null ? null : (
              <button type="button" class="quiet" onClick={() => void store().askWhy(seen.moment)}>
                Why?
              </button>
            )}
          </h3>
          {seen.input === null ? <p class="empty">It has taken no step yet.</p> : <p>{seen.input}</p>}
          <ul class="effects">
            {seen.effects.map((text, order) => (
              // oxlint-disable-next-line react/no-array-index-key -- effects have an order, and no identity
              <li key={order}>{text}</li>
            ))}
          </ul>
        </>
      )}
      <Timers picture={picture} place={place} />
      {seen === null ? (
        <p class="empty">Reading the state …</p>
      ) : (
        <>
          <h3>
            State <span class="hint">changed fields are marked</span>
          </h3>
          {seen.state === null ? (
            <p class="empty">The node is down.</p>
          ) : (
            <Fields value={seen.state} path="" changed={new Set(seen.changed)} />
          )}
          {seen.stable === null || seen.stable === undefined ? null : (
            <>
              <h3>Persisted</h3>
              <Fields value={seen.stable} path="" changed={new Set()} />
            </>
          )}
        </>
      )}
    </div>
  )
}

function ChooseNode({ picture }: { readonly picture: Picture }) {
  return (
    <>
      <p class="empty">Select a node to see its state, its timers and its last step.</p>
      <ul class="choose">
        {picture.lanes.map((lane, place) => (
          <li key={String(lane.node)}>
            <button
              type="button"
              class={`quiet node-colour c${colourNumber(place)}`}
              onClick={() => selectNode(lane.node)}
            >
              Node {lane.node}
            </button>
            <span class="hint">{wordOf(conditionAt(lane, calmCursor.value))}</span>
          </li>
        ))}
      </ul>
    </>
  )
}

function Timers({ picture, place }: { readonly picture: Picture; readonly place: number }) {
  const { at } = calmCursor.value
  const lane = picture.lanes[place]
  const timers = lane === undefined ? [] : timersAt(lane, at)
  if (timers.length === 0) return null
  return (
    <>
      <h3>Timers</h3>
      <ul class="timers">
        {timers.map(({ name, due, from }) => (
          <li key={`${name} ${from}`}>
            <code>{name}</code>
            <span>
              {due >= at ? `in ${formatInstant(due - at, 1)}` : `late by ${formatInstant(at - due, 1)}`}
            </span>
          </li>
        ))}
      </ul>
    </>
  )
}

type MessageTextProps = { readonly picture: Picture; readonly message: number; readonly copy: number }

function MessageText({ picture, message, copy }: MessageTextProps) {
  const flight = picture.flights.find((each) => each.message === message && each.copy === copy)
  if (flight === undefined) return <p class="empty">This run has no such message.</p>
  const { kind, from, to, text, sentAt, endedAt, lost, sentIn, endedIn } = flight
  const ask = (moment: number): void => {
    panel.value = 'why'
    void store().askWhy(moment)
  }
  return (
    <div class="node-state">
      <p class="node-title">
        <b>{kind}</b>{' '}
        <span>
          message {message}
          {copy > 0 ? `, copy ${copy}` : ''}, from {from} to {to}
        </span>
      </p>
      <p>{text}</p>
      <ul class="timers">
        <li>
          <button type="button" class="quiet" onClick={() => store().seekMoment(sentIn)}>
            sent
          </button>
          <span>{instantOf(picture, sentAt, 1)}</span>
        </li>
        <li>
          {endedAt === null || endedIn === null ? (
            'in flight at the end of the run'
          ) : (
            <>
              <button type="button" class="quiet" onClick={() => store().seekMoment(endedIn)}>
                {lost === null ? 'arrived' : `lost (${lost})`}
              </button>
              <span>
                {instantOf(picture, endedAt, 1)}
                {picture.isUntimed ? '' : `, after ${formatInstant(endedAt - sentAt, 1)}`}
              </span>
            </>
          )}
        </li>
      </ul>
      <button type="button" onClick={() => ask(sentIn)}>
        Why was it sent?
      </button>
    </div>
  )
}

type FieldsProps = { readonly value: unknown; readonly path: string; readonly changed: ReadonlySet<string> }

const isSimple = (value: unknown): boolean =>
  value === null ||
  typeof value !== 'object' ||
  (Array.isArray(value) && value.every((each) => each === null || typeof each !== 'object')) ||
  Object.keys(value).length === 0

/** A longer list is shown by its first entries. */
const MOST_ENTRIES = 10

function textOf(value: unknown): string {
  if (!Array.isArray(value)) return typeof value === 'string' ? value : JSON.stringify(value)
  const more = value.length > MOST_ENTRIES ? `, … ${value.length - MOST_ENTRIES} more` : ''
  return `[${value.slice(0, MOST_ENTRIES).map(textOf).join(', ')}${more}]`
}

function Fields({ value, path, changed }: FieldsProps) {
  if (isSimple(value)) return <code>{textOf(value)}</code>
  return (
    <ul class="fields">
      {Object.entries(value as object).map(([name, field]) => {
        const here = path === '' ? name : `${path}.${name}`
        const isChanged = changed.has(here)
        return (
          <li key={name} class={isChanged ? 'is-changed' : ''}>
            <span class="name">
              {name}
              {isChanged ? <span class="only-read"> (changed)</span> : null}
            </span>
            {isSimple(field) ? (
              <code>{textOf(field)}</code>
            ) : (
              <Fields value={field} path={here} changed={changed} />
            )}
          </li>
        )
      })}
    </ul>
  )
}
