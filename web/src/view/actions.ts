/** What the page can do, with the words of its confirmation, and the command that does the same. */

export type LocalAction =
  | { readonly what: 'kill' | 'restart' | 'pause' | 'resume'; readonly id: string }
  | { readonly what: 'partition'; readonly sides: readonly (readonly string[])[] }
  | { readonly what: 'cut'; readonly hearer: string; readonly sender: string }
  | { readonly what: 'heal' }
  /** Under `conclave up`, which knows the admin token. */
  | { readonly what: 'yield'; readonly to: string | null }

export type AdminAction =
  | { readonly what: 'step-down'; readonly to: string | null }
  | { readonly what: 'black-box' }

export type Action = LocalAction | AdminAction

export type ActionText = {
  readonly title: string
  readonly effect: string
  readonly verb: string
  /** Where the command is typed. */
  readonly where: string
  readonly command: string
}

export type ActionPlace = { readonly agent: string; readonly group: string; readonly leader: string | null }

const IN_UP = 'In the terminal of conclave up (press ":" first)'
const IN_SHELL = 'In a shell'

export const isAdmin = (action: Action): action is AdminAction =>
  action.what === 'step-down' || action.what === 'black-box'

/** Arguments that contain anything unusual are quoted. */
const quote = (word: string): string =>
  /^[\w./:=-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`

export function describeAction(action: Action, place: ActionPlace): ActionText {
  switch (action.what) {
    case 'kill':
    case 'restart':
    case 'pause':
    case 'resume':
      return describeProcess(action.what, action.id, place)
    case 'partition':
      return {
        title: `Partition ${action.sides.map((side) => side.join(', ')).join(' from ')}`,
        effect: 'The sides no longer hear each other until you heal the links.',
        verb: 'Partition',
        where: IN_UP,
        command: `partition ${action.sides.map((side) => side.join(',')).join(' ')}`,
      }
    case 'cut':
      return {
        title: `Cut the link from ${action.sender} to ${action.hearer}`,
        effect: `${action.hearer} no longer hears ${action.sender}. The other direction stays.`,
        verb: 'Cut',
        where: IN_UP,
        command: `cut ${action.sender}>${action.hearer}`,
      }
    case 'heal':
      return {
        title: 'Heal all links',
        effect: 'Every node hears every other node again.',
        verb: 'Heal',
        where: IN_UP,
        command: 'heal',
      }
    case 'yield':
      return {
        ...describeAdmin({ what: 'step-down', to: action.to }, place),
        ...(action.to === null ? { where: IN_UP, command: 'step-down' } : {}),
      }
    case 'step-down':
    case 'black-box':
    default:
      return describeAdmin(action, place)
  }
}

function describeProcess(
  what: 'kill' | 'restart' | 'pause' | 'resume',
  id: string,
  { leader }: ActionPlace,
): ActionText {
  const leads = id === leader ? ' It leads: another node takes over.' : ''
  const effect = {
    kill: `The process of ${id} ends at once (kill -9).${leads}`,
    restart: `The process of ${id} starts again, with its data.`,
    pause: `The process of ${id} stops (SIGSTOP) until you resume it.${leads}`,
    resume: `The process of ${id} continues (SIGCONT).`,
  }[what]
  const verb = `${what.charAt(0).toUpperCase()}${what.slice(1)}`
  return { title: `${verb} ${id}`, effect, verb, where: IN_UP, command: `${what} ${id}` }
}

function describeAdmin(action: AdminAction, { agent, group, leader }: ActionPlace): ActionText {
  if (action.what === 'black-box') {
    const url = `${agent}/v1/trace?group=${encodeURIComponent(group)}`
    return {
      title: 'Download the black box',
      effect: 'The recording of the last steps of this node. Inspect it with conclave replay.',
      verb: 'Download',
      where: IN_SHELL,
      command: `curl -H "Authorization: Bearer $TOKEN" ${quote(url)} > black-box.ndjson`,
    }
  }
  const to = action.to === null ? '' : ` --to ${quote(action.to)}`
  const successor = action.to === null ? 'Another node takes over.' : `${action.to} takes over.`
  return {
    title:
      action.to === null ? `Step ${leader ?? 'the leader'} down` : `Hand leadership over to ${action.to}`,
    effect: `${leader ?? 'The leader'} ends its term when its work has ended. ${successor}`,
    verb: action.to === null ? 'Step down' : 'Hand over',
    where: IN_SHELL,
    command: `conclave step-down --agent ${quote(agent)} --group ${quote(group)} --admin-token-file FILE${to}`,
  }
}

/** The request of a local action: its path at the supervisor, and its body. */
export function localRequest(action: LocalAction): { readonly path: string; readonly body: unknown } {
  switch (action.what) {
    case 'partition':
      return { path: '/v1/local/partition', body: { sides: action.sides } }
    case 'cut':
      return { path: '/v1/local/partition', body: { cut: [[action.hearer, action.sender]] } }
    case 'heal':
      return { path: '/v1/local/heal', body: {} }
    case 'yield':
      return { path: '/v1/local/step-down', body: action.to === null ? {} : { to: action.to } }
    case 'kill':
    case 'restart':
    case 'pause':
    case 'resume':
    default:
      return { path: `/v1/local/${action.what}`, body: { id: action.id } }
  }
}

/** Moves a node to the other side of a partition. */
export function moveNode(
  sides: readonly [readonly string[], readonly string[]],
  id: string,
): readonly [readonly string[], readonly string[]] {
  const [left, right] = sides
  return left.includes(id)
    ? [left.filter((each) => each !== id), [...right, id].sort()]
    : [[...left, id].sort(), right.filter((each) => each !== id)]
}

/** A first proposal: the leader alone, so that the effect can be seen. */
export function proposeSides(
  ids: readonly string[],
  leader: string | null,
): readonly [readonly string[], readonly string[]] {
  const first = leader ?? ids[0] ?? ''
  return [ids.filter((id) => id === first), ids.filter((id) => id !== first)]
}

/** What a hand-over led to, in one line. An agent of an earlier version does not say who leads next. */
export function describeHandOver(from: string, to: string, response: unknown): string {
  const { successor, problem } = (response ?? {}) as {
    readonly successor?: { readonly id: unknown; readonly token: unknown; readonly afterMs: unknown } | null
    readonly problem?: unknown
  }
  if (typeof problem === 'string') return `${from} stepped down, but ${problem}`
  const leads =
    typeof successor?.token === 'number' && typeof successor.afterMs === 'number'
      ? `, which leads with token ${successor.token} after ${successor.afterMs} ms`
      : ''
  return `${from} handed leadership over to ${to}${leads}`
}
