/** Carries out the actions of the page. Each resolves to null, or to the reason why it was not done. */
import { signal } from '@preact/signals'
import { type Action, describeHandOver, isAdmin, type LocalAction, localRequest } from '../view/actions.ts'
import { parseLocal } from './parse.ts'
import { AgentError, errorOf, request } from './requests.ts'
import { group, local, note, refresh, status, token } from './store.ts'

/** The action that waits for its confirmation. */
export const proposed = signal<Action | null>(null)
/** Whether the dialog for a partition is open. */
export const isPartitioning = signal(false)

/** `entered`: an admin token that was typed for this action; kept if it is right. */
export async function perform(action: Action, entered: string | null = null): Promise<string | null> {
  const known = token.value
  try {
    if (entered !== null) token.value = entered
    if (!isAdmin(action)) await performLocally(action)
    else if (action.what === 'step-down') await stepDown(action.to)
    else await downloadBlackBox()
    refresh()
    return null
  } catch (error) {
    if (entered !== null) token.value = known
    if (error instanceof AgentError && error.status === 401)
      return 'the admin token is missing, wrong or expired: enter the token of this agent'
    return (error as Error).message
  }
}

async function performLocally(action: LocalAction): Promise<void> {
  const known = local.value
  if (known === null) throw new Error('only conclave up can do this')
  const { path, body } = localRequest(action)
  const response = await fetch(new URL(path, known.url), {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  }).catch(() => {
    throw new Error('conclave up does not answer: it has ended')
  })
  if (!response.ok) throw await errorOf(response)
  note(`${describeDone(action)}: done`)
  await readSupervisor(known.url)
}

function describeDone(action: LocalAction): string {
  if ('id' in action) return `${action.what} ${action.id}`
  return action.what === 'yield' ? 'step-down' : action.what
}

/** The supervisor also answers while the agent that served this page is down. */
async function readSupervisor(url: string): Promise<void> {
  const response = await fetch(new URL('/v1/local', url), { cache: 'no-store' }).catch(() => null)
  if (response?.ok !== true) return
  const state = parseLocal(await response.json().catch(() => null))
  if (state !== null) local.value = state
}

async function stepDown(to: string | null): Promise<void> {
  const leader = status.value?.leader?.id
  const response = await request(
    '/v1/step-down',
    { group: group.value, token: token.value },
    {
      method: 'POST',
      ...(to === null
        ? {}
        : { headers: { 'content-type': 'application/json' }, body: JSON.stringify({ to }) }),
    },
  )
  if (to === null) {
    note(`${leader} stepped down`)
    return
  }
  const said: unknown = await response.json().catch(() => null)
  note(describeHandOver(`${leader}`, to, said))
}

async function downloadBlackBox(): Promise<void> {
  const response = await request('/v1/trace', { group: group.value, token: token.value })
  const file = URL.createObjectURL(await response.blob())
  const anchor = document.createElement('a')
  anchor.href = file
  anchor.download = `${status.value?.group ?? 'group'}-${status.value?.self.id ?? 'node'}.ndjson`
  anchor.click()
  setTimeout(() => URL.revokeObjectURL(file), 10_000)
}
