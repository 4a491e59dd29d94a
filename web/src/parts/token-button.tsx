/** Enters or forgets the token. It stays in the memory of this page only. */
import { useRef } from 'preact/hooks'
import { link, setToken, token } from '../data/store.ts'

export function TokenButton() {
  const dialog = useRef<HTMLDialogElement>(null)
  const input = useRef<HTMLInputElement>(null)
  const known = link.value
  const isNeeded = known.state === 'lost' && known.problem.status === 401
  const submit = (event: Event): void => {
    event.preventDefault()
    const entered = input.current?.value.trim() ?? ''
    setToken(entered === '' ? null : entered)
    dialog.current?.close()
  }
  return (
    <>
      <button
        type="button"
        class={isNeeded ? 'primary' : 'quiet'}
        onClick={() => dialog.current?.showModal()}
      >
        {token.value === null ? 'Enter token' : 'Token entered'}
      </button>
      <dialog ref={dialog} aria-labelledby="token-title">
        <form onSubmit={submit}>
          <h2 id="token-title">Token of this agent</h2>
          <p>
            Stepping down and handing over need the admin token of the agent (<code>--admin-token-file</code>
            ). Reading needs the read token (<code>--read-token-file</code>) or the admin token, if the agent
            has a read token. The page keeps the token until you reload.
          </p>
          <label>
            Token
            <input ref={input} type="password" autocomplete="off" spellcheck={false} />
          </label>
          <div class="buttons">
            <button type="button" onClick={() => dialog.current?.close()}>
              Cancel
            </button>
            <button type="submit" class="primary">
              Use token
            </button>
          </div>
        </form>
      </dialog>
    </>
  )
}
