/**
 * The fault manager: a pure state machine on top of a protocol that reports views with a leader and a token.
 *
 * The leader of a view in quorum fences all members and reads their tables (steps 2 to 4 of the notes), makes the newest
 * entries the table of the view, and then decides every change of the table: it sends a new version of one entry to all
 * members, and acts on it once a majority of all nodes has persisted it. Views with a quorum of all nodes intersect, so
 * the next leader finds every decided entry. All requests go to the leader, which answers them idempotently: nodes ask
 * again in every view, and whenever a link came up again.
 */
import type { Effect, Micros, NodeId } from '../../core/index.ts'
import { manageJobs } from './assign.ts'
import { handleCommand } from './commands.ts'
import { beginLeading, gather, handleAdopted, handleHave, WAIT } from './leader.ts'
import {
  acceptPut,
  adoptTable,
  answerFence,
  becomeReady,
  beginRecode,
  beginRepair,
  failUploads,
  forgetJob,
  handleDecided,
  handleRefusal,
  stopAll,
} from './member.ts'
import { sourcesOf, withEntry } from './placement.ts'
import { handleRequest } from './requests.ts'
import {
  type GroupView,
  type ManagerMessage,
  type ManagerStable,
  type ManagerState,
  NOTHING_STORED,
} from './state.ts'
import type { JobView, ManagerCommand } from './types.ts'
import { type ManagerSettings, Work } from './work.ts'

export const QUORUM = 'manager/quorum'
export const MANAGER_TIMERS: readonly string[] = [WAIT, QUORUM]

export type ManagerInput =
  | { readonly type: 'view'; readonly view: GroupView | null; readonly life: number }
  | { readonly type: 'linkUp'; readonly peer: NodeId }
  | { readonly type: 'message'; readonly from: NodeId; readonly body: ManagerMessage }
  | { readonly type: 'command'; readonly command: ManagerCommand }
  | { readonly type: 'timer'; readonly name: string }

export type ManagerStep = {
  readonly state: ManagerState
  readonly effects: readonly Effect<ManagerMessage, never>[]
}

export function startManager(stable: ManagerStable | null, life: number): ManagerState {
  return {
    stable: stable ?? NOTHING_STORED,
    life,
    view: null,
    slots: 0,
    unrecorded: [],
    running: [],
    uploads: [],
    submits: [],
    cancels: [],
    ends: [],
    incoming: [],
    isReady: false,
    leader: null,
    step: 0,
  }
}

/** `links`: peers to which messages can be sent now. The caller persists `state.stable` before it performs effects. */
export function stepManager(
  settings: ManagerSettings,
  state: ManagerState,
  input: ManagerInput,
  links: readonly NodeId[],
  now: Micros,
): ManagerStep {
  const work = new Work(settings, state, links, now)
  handleInput(work, input)
  let managed = state
  for (;;) {
    const body = work.loopback.shift()
    if (body !== undefined) {
      handleMessage(work, settings.self, body)
      continue
    }
    const { leader, view, stable, unrecorded } = work.state
    const isManaged =
      leader === managed.leader &&
      view === managed.view &&
      stable.table === managed.stable.table &&
      unrecorded === managed.unrecorded
    managed = work.state
    if (!isManaged) manageJobs(work)
    if (work.loopback.length === 0) break
  }
  return { state: work.state, effects: work.effects }
}

function handleInput(work: Work, input: ManagerInput): void {
  switch (input.type) {
    case 'view':
      changeView(work, input.view, input.life)
      break
    case 'linkUp':
      if (work.state.leader !== null && isMember(work, input.peer)) beginLeading(work)
      break
    case 'message':
      handleMessage(work, input.from, input.body)
      break
    case 'command':
      handleCommand(work, input.command)
      break
    case 'timer':
      if (input.name === WAIT) work.setLeader({ hasWaited: true })
      else if (work.state.view?.inQuorum !== true) stopAll(work, 'not in quorum')
      break
    default:
      input satisfies never
  }
}

function isMember({ state }: Work, node: NodeId): boolean {
  return state.view?.members.some(([id]) => id === node) === true
}

function changeView(work: Work, view: GroupView | null, life: number): void {
  const { view: before, life: last } = work.state
  if (view === null || life !== last) {
    stopAll(work, 'this node left the group')
    failUploads(work, () => true, 'this node left the group')
    // The leader knows from the new life that tasks of the old one are gone.
    work.set({ ends: [], life, step: 0 })
  }
  const isNew = view === null || view.token !== before?.token
  if (isNew) {
    stopLeading(work)
    work.set({ view, isReady: false, incoming: [], unrecorded: [] })
    failUploads(work, ({ columns }) => columns === null, 'the view has changed')
  } else work.set({ view })
  const wasIn = before?.inQuorum === true
  const isIn = view?.inQuorum === true
  if (wasIn && !isIn && view !== null) work.setTimer(QUORUM, work.settings.stopMs)
  if (isIn && !wasIn && before !== null) work.stopTimer(QUORUM)
  const shouldLead = isIn && view.leader === work.settings.self
  if (!shouldLead) stopLeading(work)
  if (shouldLead && work.state.leader === null) beginLeading(work)
}

/** A wait that is left from this view must not end that of the next. */
function stopLeading(work: Work): void {
  const { leader } = work.state
  if (leader === null) return
  if (!leader.hasWaited && work.settings.waitMs > 0) work.stopTimer(WAIT)
  work.set({ leader: null })
}

function handleMessage(work: Work, from: NodeId, body: ManagerMessage): void {
  const { view, stable } = work.state
  if (view === null || body.token !== view.token || body.token < stable.fence || !isMember(work, from)) return
  if (isForLeader(body)) {
    if (work.state.leader !== null) leaderHandles(work, from, body)
  } else if (from === view.leader) memberHandles(work, from, body)
}

type ForLeader = Extract<
  ManagerMessage,
  {
    readonly kind:
      | 'entry'
      | 'column'
      | 'runs'
      | 'inventory'
      | 'slots'
      | 'adopted'
      | 'have'
      | 'submit'
      | 'cancelJob'
      | 'store'
      | 'ended'
  }
>

const FOR_LEADER: readonly string[] = [
  'entry',
  'column',
  'runs',
  'inventory',
  'slots',
  'adopted',
  'have',
  'submit',
  'cancelJob',
  'store',
  'ended',
] satisfies readonly ForLeader['kind'][]

function isForLeader(body: ManagerMessage): body is ForLeader {
  return FOR_LEADER.includes(body.kind)
}

function leaderHandles(work: Work, from: NodeId, body: ForLeader): void {
  switch (body.kind) {
    case 'adopted':
      handleAdopted(work, from, body)
      break
    case 'have':
      handleHave(work, from, body)
      break
    case 'submit':
    case 'cancelJob':
    case 'store':
    case 'ended':
      handleRequest(work, from, body)
      break
    default:
      gather(work, from, body)
  }
}

function memberHandles(work: Work, from: NodeId, body: Exclude<ManagerMessage, ForLeader>): void {
  switch (body.kind) {
    case 'fence':
      answerFence(work, from, body)
      break
    case 'transfer':
      work.set({ incoming: withEntry(work.state.incoming, body.entry) })
      break
    case 'adopt':
      adoptTable(work, from, body)
      break
    case 'ready':
      becomeReady(work)
      break
    case 'put':
      acceptPut(work, from, body)
      break
    case 'decided':
      handleDecided(work, body)
      break
    case 'refusal':
      handleRefusal(work, body)
      break
    case 'recode':
      beginRecode(work, body)
      break
    case 'mend':
      beginRepair(work, body)
      break
    case 'forget':
      forgetJob(work, body)
      break
    default:
      body satisfies never
  }
}

/** The table for people and tests. `tolerated` is known to the leader only. */
export function jobsOf(state: ManagerState): readonly JobView[] {
  const { stable, leader } = state
  return state.unrecorded.reduce(withEntry, stable.table).map(({ record, commit }) => {
    const isKnown = commit !== null && leader !== null && leader.phase === 'ready'
    const tolerated = isKnown
      ? Math.max(0, sourcesOf(leader.columns, commit).length - commit.code.data)
      : null
    return { ...record, epoch: commit === null ? null : commit.id.epoch, commit, tolerated }
  })
}
