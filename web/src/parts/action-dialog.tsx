/** Confirms an action once, and shows the command that does the same. */
import { useEffect, useRef, useState } from 'preact/hooks'
import { perform, proposed } from '../data/act.ts'
import { status, token } from '../data/store.ts'
import { describeAction, isAdmin } from '../view/actions.ts'
import { useDialog } from './hooks.ts'

/** The page may be behind a proxy that serves it under a path of its own. */
const agentUrl = (): string => new URL('.', location.href).href.replace(/\/$/, '')

export function ActionDialog() {
  const [problem, setProblem] = useState<string | null>(null)
  const [isBusy, setBusy] = useState(false)
  const entered = useRef<HTMLInputElement>(null)
  const action = proposed.value
  const close = (): void => {
    proposed.value = null
  }
  const dialog = useDialog(action !== null, close)
  useEffect(() => setProblem(null), [action])
  const submit = async (event: Event): Promise<void> => {
    event.preventDefault()
    if (action === null || isBusy) return
    setBusy(true)
    const typed = entered.current?.value.trim() ?? ''
    const why = await perform(action, typed === '' ? null : typed)
    setBusy(false)
    if (why === null) close()
    else setProblem(why)
  }
  return (
    <dialog {...dialog} aria-labelledby="action-title">
      {action === null ? null : (
        <form onSubmit={(event) => void submit(event)}>
          <ActionText />
          {isAdmin(action) && (token.value === null || problem !== null) ? (
            <label>
              Admin token
              <input ref={entered} type="password" autocomplete="off" spellcheck={false} />
            </label>
          ) : null}
          {problem === null ? null : (
            <p class="problem" role="alert">
              Not done: {problem}
            </p>
          )}
          <div class="buttons">
            <button type="button" onClick={close}>
              Cancel
            </button>
            <button
              type="submit"
              class={action.what === 'kill' ? 'primary danger' : 'primary'}
              disabled={isBusy}
            >
              {describeNow()?.verb}
            </button>
          </div>
        </form>
      )}
    </dialog>
  )
}

function describeNow() {
  const action = proposed.value
  if (action === null) return null
  const leader = status.value?.leader?.id
  // Only the agent of the leader can end the term.
  const page = status.value?.nodes.find(({ id }) => id === leader)?.page ?? null
  return describeAction(action, {
    agent: action.what === 'yield' && page !== null ? page.replace(/\/$/, '') : agentUrl(),
    group: status.value?.group ?? '',
    leader: leader === undefined ? null : String(leader),
  })
}

function ActionText() {
  const text = describeNow()
  if (text === null) return null
  return (
    <>
      <h2 id="action-title">{text.title}</h2>
      <p>{text.effect}</p>
      <p class="hint">{text.where}:</p>
      <pre>
        <code>{text.command}</code>
      </pre>
    </>
  )
}
