/** What can be done to the selected node, link or message. Each button names its key. */
import { useLayoutEffect, useRef, useState } from 'preact/hooks'
import type { NodeId } from '../../../../../src/core/index.ts'
import type { CommandForm, Picture } from '../../engine/picture.ts'
import { interventionText } from '../../model/interventions.ts'
import type { Selection } from '../../model/store.ts'
import { type Choice, choicesFor, readCommand, usualMs } from '../actions.ts'
import {
  act,
  asked,
  branch,
  branches,
  calmCursor,
  canAct,
  dialog,
  flights,
  selection,
  store,
} from '../state.ts'

export function choose(choice: Choice): void {
  if (choice.amount === null) act(choice.event(0))
  else asked.value = asked.value === choice.id ? null : choice.id
}

export function choicesNow(picture: Picture): readonly Choice[] {
  if (!canAct.value) return []
  return choicesFor(selection.value, { picture, cursor: calmCursor.value, defaultMs: usualMs(picture) })
}

export function ActionBar({ picture }: { readonly picture: Picture }) {
  const chosen = selection.value
  const choices = choicesNow(picture)
  const open = choices.find(({ id }) => id === asked.value)
  const command = picture.commands.find((_, order) => `command ${order}` === asked.value)
  return (
    <div class="action-bar" role="group" aria-label="Actions">
      <div class="action-row">
        <strong>{titleOf(chosen, picture)}</strong>
        {choices.map((choice) => (
          <button
            type="button"
            key={choice.id}
            class={choice.isDanger ? 'choice danger' : 'choice'}
            aria-expanded={choice.amount === null ? undefined : asked.value === choice.id}
            onClick={() => choose(choice)}
          >
            {choice.title}
            {choice.amount === null ? '' : ' …'}
            {choice.key === null ? null : <kbd aria-hidden="true">{choice.key}</kbd>}
          </button>
        ))}
        {chosen?.type === 'node' && canAct.value ? <NodeExtras picture={picture} node={chosen.node} /> : null}
        {choices.length === 0 ? <GeneralActions chosen={chosen} /> : null}
        <UndoButton />
      </div>
      {open?.amount === undefined || open.amount === null ? null : <AmountForm key={open.id} choice={open} />}
      {command === undefined || chosen?.type !== 'node' ? null : (
        <CommandFields key={command.name} form={command} node={chosen.node} nodes={picture.nodes} />
      )}
    </div>
  )
}

function UndoButton() {
  const last = branches.value.find(({ id }) => id === branch.value)?.made.at(-1)
  if (last === undefined) return null
  return (
    <button
      type="button"
      class="quiet undo"
      title={interventionText(last)}
      onClick={() => void store().undo()}
    >
      Undo
      <kbd aria-hidden="true"> z</kbd>
    </button>
  )
}

function titleOf(chosen: Selection | null, picture: Picture): string {
  if (chosen?.type === 'node') return `Node ${chosen.node}`
  if (chosen?.type === 'link') return `Link ${chosen.from} – ${chosen.to}`
  if (chosen?.type !== 'message') return 'Network'
  const flight = picture.flights.find(
    ({ message, copy }) => message === chosen.message && copy === chosen.copy,
  )
  return flight === undefined ? 'Message' : `${flight.kind} ${flight.from} → ${flight.to}`
}

/** A command may have several forms, with other fields. */
const commandTitle = ({ name, title, fields }: CommandForm): string =>
  `${name}${fields.length === 0 ? '' : ` (${fields.map((field) => field.name).join(', ')})`}: ${title}`

function NodeExtras({ picture, node }: { readonly picture: Picture; readonly node: NodeId }) {
  return (
    <>
      {picture.commands.length === 0 ? null : (
        <label class="link-to">
          Command
          <select
            value="none"
            onChange={(event) => {
              const form = picture.commands[Number(event.currentTarget.value)]
              if (form === undefined) return
              if (form.fields.length === 0) act({ command: { do: form.name, node } })
              else asked.value = `command ${event.currentTarget.value}`
            }}
          >
            <option value="none">…</option>
            {picture.commands.map((form, order) => (
              <option key={commandTitle(form)} value={order}>
                {commandTitle(form)}
              </option>
            ))}
          </select>
        </label>
      )}
      <label class="link-to">
        Link to
        <select
          value=""
          onChange={(event) => {
            const to = picture.nodes.find((each) => String(each) === event.currentTarget.value)
            if (to !== undefined) store().select({ type: 'link', from: node, to })
          }}
        >
          <option value="">…</option>
          {picture.nodes
            .filter((each) => each !== node)
            .map((each) => (
              <option key={String(each)} value={String(each)}>
                {each}
              </option>
            ))}
        </select>
      </label>
    </>
  )
}

function GeneralActions({ chosen }: { readonly chosen: Selection | null }) {
  if (!canAct.value) return <span class="hint">This run can be looked at, but not changed.</span>
  if (chosen?.type === 'message') return <span class="hint">It is not in flight at this moment.</span>
  const flying = flights.value.after(calmCursor.value.moment, calmCursor.value.at)
  return (
    <>
      <button type="button" class="choice" onClick={() => (dialog.value = 'partition')}>
        Partition …<kbd aria-hidden="true">g</kbd>
      </button>
      <button type="button" class="choice" onClick={() => act({ heal: 'all' })}>
        Heal all
        <kbd aria-hidden="true">h</kbd>
      </button>
      <button type="button" class="choice" onClick={() => (dialog.value = 'network')}>
        Loss …
      </button>
      <button type="button" class="choice" disabled={flying.length === 0} onClick={selectNextMessage}>
        Next message
        <kbd aria-hidden="true">m</kbd>
      </button>
    </>
  )
}

/** Selects the messages in flight one after another. */
export function selectNextMessage(): void {
  const { at, moment } = calmCursor.value
  const flying = flights.value.after(moment, at).toSorted((a, b) => Number(a.isRoutine) - Number(b.isRoutine))
  const chosen = selection.value
  const place =
    chosen?.type === 'message'
      ? flying.findIndex(({ message, copy }) => message === chosen.message && copy === chosen.copy)
      : -1
  const next = flying[(place + 1) % Math.max(1, flying.length)]
  if (next !== undefined) store().select({ type: 'message', message: next.message, copy: next.copy })
}

function AmountForm({ choice }: { readonly choice: Choice }) {
  const input = useRef<HTMLInputElement>(null)
  useLayoutEffect(() => input.current?.select(), [])
  const { amount } = choice
  if (amount === null) return null
  return (
    <form
      class="amount"
      onSubmit={(event) => {
        event.preventDefault()
        const value = input.current?.valueAsNumber ?? Number.NaN
        if (Number.isFinite(value)) act(choice.event(value))
      }}
    >
      <label>
        {amount.label}
        <input
          ref={input}
          type="number"
          step="any"
          required
          min={amount.least}
          max={amount.most}
          defaultValue={String(amount.initial)}
        />
        {amount.unit}
      </label>
      <button type="submit" class="primary">
        {choice.title}
      </button>
      <button type="button" class="quiet" onClick={() => (asked.value = null)}>
        Cancel
      </button>
    </form>
  )
}

type CommandFieldsProps = {
  readonly form: CommandForm
  readonly node: NodeId
  readonly nodes: readonly NodeId[]
}

function CommandFields({ form, node, nodes }: CommandFieldsProps) {
  const [problem, setProblem] = useState<string | null>(null)
  const submit = (event: SubmitEvent): void => {
    event.preventDefault()
    const data = new FormData(event.currentTarget as HTMLFormElement)
    const typed = Object.fromEntries(
      [...data].map(([name, value]) => [name, typeof value === 'string' ? value : '']),
    )
    const read = readCommand(form, node, typed, nodes)
    if (typeof read === 'string') setProblem(read)
    else act(read)
  }
  return (
    <form class="amount" onSubmit={submit}>
      {form.fields.map(({ name, type }, place) => (
        <label key={name}>
          {name}
          {type === 'boolean' ? (
            <select name={name}>
              <option value="true">yes</option>
              <option value="false">no</option>
            </select>
          ) : (
            <input
              name={name}
              // oxlint-disable-next-line jsx-a11y/no-autofocus -- the reader just asked for this form
              autofocus={place === 0}
              placeholder={
                type === 'nodes' ? nodes.slice(0, 3).join(', ') : type === 'node' ? String(nodes[0]) : ''
              }
            />
          )}
        </label>
      ))}
      <button type="submit" class="primary">
        {form.name}
      </button>
      <button type="button" class="quiet" onClick={() => (asked.value = null)}>
        Cancel
      </button>
      {problem === null ? null : (
        <p class="problem" role="alert">
          {problem}
        </p>
      )}
    </form>
  )
}
