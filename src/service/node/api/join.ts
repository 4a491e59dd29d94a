/** Joining a group for real: what was asked for is checked, the election begins, and a member stands for it. */
import { resolve as resolvePath } from 'node:path'
import type { ElectionBackend, SeatHooks } from '../election/election.ts'
import { claimAddress, queueAt, trackTeardown, waitUntilFree } from '../election/endpoints.ts'
import { openElectionInStore } from '../election/in-store.ts'
import { openElectionInThread } from '../election/in-thread.ts'
import { openElectionInWorker } from '../election/in-worker.ts'
import { withEveryId } from '../election/introduce.ts'
import { leaseTiming } from '../election/lease-terms.ts'
import { REAL_TIMERS } from '../election/timers.ts'
import { NodeClosedError } from './errors.ts'
import { checkFields } from './join-fields.ts'
import {
  isolationOf,
  type JoinOptions,
  listenOf,
  maxStallOf,
  modeOf,
  settingsOf,
  workOf,
} from './join-options.ts'
import { isStoreJoin, type StoreJoinOptions, storeSettingsOf } from './join-store-options.ts'
import { ConclaveNode, type NodeSettings } from './node.ts'

/** How far an attempt to join has come. */
type Attempt = { phase: 'waiting' | 'introducing' | 'opening' }

/**
 * Joins a group. The promise is kept once this process listens and takes part; who leads shows later. Groups that are
 * joined at one address share its socket, its sessions and its thread.
 */
export async function join(asked: JoinOptions | StoreJoinOptions): Promise<ConclaveNode> {
  checkFields(asked)
  const { signal } = asked
  if (signal?.aborted === true) throw new NodeClosedError(NOT_BEGUN)
  const attempt: Attempt = { phase: 'waiting' }
  const used = usedBy(asked)
  const joining = isStoreJoin(asked)
    ? joinInStore(asked, used, attempt)
    : queueAt(listenOf(asked), () => joinByNetwork(asked, used, attempt))
  return signal === undefined ? joining : unlessAborted(joining, used, signal, attempt)
}

const NOT_BEGUN = 'joining was given up before it began'

async function joinByNetwork(
  asked: JoinOptions,
  used: readonly string[],
  attempt: Attempt,
): Promise<ConclaveNode> {
  await waitUntilFree(used)
  refuseIfAborted(asked)
  attempt.phase = 'introducing'
  const options = await withEveryId(asked)
  const settings = settingsOf(options)
  const work = workOf(options)
  const isolation = isolationOf(options)
  const maxStallMs = maxStallOf(options)
  refuseIfAborted(asked)
  const vacate = claimAddress(settings, isolation)
  const { group, id } = settings
  const mode = modeOf(settings)
  const part = options.observer === true ? 'observer' : options.witness === true ? 'witness' : null
  const about: NodeSettings = {
    group,
    id,
    mode,
    lease: leaseTiming(settings),
    work,
    part,
    timers: REAL_TIMERS,
  }
  const open = (hooks: SeatHooks): Promise<ElectionBackend> =>
    isolation === 'worker'
      ? openElectionInWorker(settings, maxStallMs, hooks)
      : openElectionInThread(settings, hooks)
  attempt.phase = 'opening'
  return seated(about, open, { used, signal: asked.signal, vacate })
}

async function joinInStore(
  options: StoreJoinOptions,
  used: readonly string[],
  attempt: Attempt,
): Promise<ConclaveNode> {
  const settings = storeSettingsOf(options)
  const work = workOf(options)
  const isolation = isolationOf(options)
  const maxStallMs = maxStallOf(options)
  await waitUntilFree(used)
  refuseIfAborted(options)
  const open = (hooks: SeatHooks): Promise<ElectionBackend> =>
    isolation === 'worker'
      ? openElectionInWorker(settings, maxStallMs, hooks)
      : openElectionInStore(settings, hooks)
  const { group, id } = settings
  const lease = leaseTiming(settings)
  const about: NodeSettings = { group, id, mode: 'store', lease, work, part: null, timers: REAL_TIMERS }
  attempt.phase = 'opening'
  return seated(about, open, { used, signal: options.signal, vacate() {} })
}

function refuseIfAborted({ signal }: Pick<JoinOptions, 'signal'>): void {
  if (signal?.aborted === true) throw new NodeClosedError(NOT_BEGUN)
}

type Tenancy = {
  readonly used: readonly string[]
  /** Closes the member later on. */
  readonly signal: AbortSignal | undefined
  /** Called when nothing of it is left. */
  vacate(): void
}

/** A member whose election runs. */
async function seated(
  about: NodeSettings,
  open: (hooks: SeatHooks) => Promise<ElectionBackend>,
  { used, signal, vacate }: Tenancy,
): Promise<ConclaveNode> {
  let forget = (): void => {}
  const opening = ConclaveNode.open(about, async (hooks) => {
    const seat = await open(hooks)
    const close = async (): Promise<void> => {
      forget()
      try {
        const closing = seat.close()
        // Whoever joins again before it is closed waits for that.
        trackTeardown(used, closing)
        await closing
      } finally {
        vacate()
      }
    }
    return closedBy(seat, close)
  })
  opening.catch(vacate)
  const member = await opening
  if (signal === undefined) return member
  const onAbort = (): void => trackTeardown(used, member.close())
  if (signal.aborted) {
    await member.close()
    throw new NodeClosedError('joining was given up')
  }
  signal.addEventListener('abort', onAbort)
  forget = () => signal.removeEventListener('abort', onAbort)
  return member
}

/** Callers that give up do not wait. What opens all the same is closed, and the next attempt waits for that. */
function unlessAborted(
  joining: Promise<ConclaveNode>,
  used: readonly string[],
  signal: AbortSignal,
  attempt: Attempt,
): Promise<ConclaveNode> {
  return new Promise((resolve, reject) => {
    const onAbort = (): void => {
      // Introductions end by themselves, and name those that have not answered.
      if (attempt.phase === 'introducing') return
      if (attempt.phase === 'opening') trackTeardown(used, joining)
      reject(new NodeClosedError(attempt.phase === 'waiting' ? NOT_BEGUN : 'joining was given up'))
    }
    signal.addEventListener('abort', onAbort)
    joining.then(resolve, reject).finally(() => signal.removeEventListener('abort', onAbort))
  })
}

/** What only one election can use: an attempt that was given up may have it for a moment longer. */
function usedBy(asked: JoinOptions | StoreJoinOptions): readonly string[] {
  if (isStoreJoin(asked)) return [`store ${JSON.stringify([asked.store, asked.group, asked.id])}`]
  const place = `place ${JSON.stringify([asked.listen, asked.group])}`
  return asked.data === undefined ? [place] : [place, `data ${resolvePath(asked.data)}`]
}

/** The same seat, closed in another way. */
function closedBy(seat: ElectionBackend, close: () => Promise<void>): ElectionBackend {
  return {
    view: () => seat.view(),
    status: () => seat.status(),
    lease: () => seat.lease(),
    command: (command) => seat.command(command),
    stepDown: (token) => seat.stepDown(token),
    injectFaults: (faults) => seat.injectFaults(faults),
    trace: () => seat.trace(),
    close,
  }
}
