/** `join`: checks the options, starts the election on a backend, and returns the node. */
import { resolve as resolvePath } from 'node:path'
import { parseAddress } from '../../config/address.ts'
import {
  type JoinOptions,
  maxStallOf,
  modeOf,
  networkSettings,
  workSettings,
} from '../../config/join-options.ts'
import { checkJoinOptions } from '../../config/join-schema.ts'
import { isStoreJoin, type StoreJoinOptions, storeSettings } from '../../config/store-join-options.ts'
import { claimAddress, queueAt, trackTeardown, waitUntilFree } from '../election/address-claims.ts'
import type { ElectionBackend, ElectionEvents } from '../election/election.ts'
import { openElectionInStore } from '../election/in-store.ts'
import { openElectionInThread } from '../election/in-thread.ts'
import { openElectionInWorker } from '../election/in-worker.ts'
import { withEveryId } from '../election/introduce.ts'
import { leaseTiming } from '../election/lease-timing.ts'
import { REAL_TIMERS } from '../election/timers.ts'
import { type ConclaveNode, type NodeSettings, openNode } from './node.ts'

type OpenBackend = (events: ElectionEvents) => Promise<ElectionBackend>

/** How far an attempt to join has come. */
type Attempt = {
  phase: 'waiting' | 'introducing' | 'opening'
  /** What only one election can use at a time: an aborted attempt may hold it for a moment longer. */
  readonly resources: readonly string[]
}

/**
 * Joins a group. Resolves when this node listens and takes part; who leads is known later. Groups joined on one address
 * share its socket, its sessions and its thread. Rejects with `signal.reason` when the signal is aborted.
 */
export async function join(options: JoinOptions | StoreJoinOptions): Promise<ConclaveNode> {
  checkJoinOptions(options)
  const { signal } = options
  signal?.throwIfAborted()
  const attempt: Attempt = { phase: 'waiting', resources: resourcesOf(options) }
  const joining = isStoreJoin(options)
    ? joinInStore(options, attempt)
    : queueAt(parseAddress(options.listen), () => joinByNetwork(options, attempt))
  return signal === undefined ? joining : unlessAborted(joining, signal, attempt)
}

async function joinByNetwork(asked: JoinOptions, attempt: Attempt): Promise<ConclaveNode> {
  await waitUntilFree(attempt.resources)
  asked.signal?.throwIfAborted()
  attempt.phase = 'introducing'
  const options = await withEveryId(asked)
  const settings = networkSettings(options)
  const { isolation = 'worker' } = options
  asked.signal?.throwIfAborted()
  const release = claimAddress(settings, isolation)
  const node: NodeSettings = {
    group: settings.group,
    id: settings.id,
    mode: modeOf(settings),
    lease: leaseTiming(settings),
    work: workSettings(options),
    role: options.observer === true ? 'observer' : options.witness === true ? 'witness' : null,
    timers: REAL_TIMERS,
  }
  const open: OpenBackend = (events) =>
    isolation === 'worker'
      ? openElectionInWorker(settings, maxStallOf(options), events)
      : openElectionInThread(settings, events)
  attempt.phase = 'opening'
  return openJoined(node, open, { resources: attempt.resources, signal: asked.signal, release })
}

async function joinInStore(options: StoreJoinOptions, attempt: Attempt): Promise<ConclaveNode> {
  const settings = storeSettings(options)
  await waitUntilFree(attempt.resources)
  options.signal?.throwIfAborted()
  const node: NodeSettings = {
    group: settings.group,
    id: settings.id,
    mode: 'store',
    lease: leaseTiming(settings),
    work: workSettings(options),
    role: null,
    timers: REAL_TIMERS,
  }
  const open: OpenBackend = (events) =>
    (options.isolation ?? 'worker') === 'worker'
      ? openElectionInWorker(settings, maxStallOf(options), events)
      : openElectionInStore(settings, events)
  attempt.phase = 'opening'
  return openJoined(node, open, { resources: attempt.resources, signal: options.signal, release() {} })
}

type Claims = {
  readonly resources: readonly string[]
  /** Closes the node later on. */
  readonly signal: AbortSignal | undefined
  /** Called when the election is closed. */
  release(): void
}

async function openJoined(
  settings: NodeSettings,
  open: OpenBackend,
  { resources, signal, release }: Claims,
): Promise<ConclaveNode> {
  let stopListening = (): void => {}
  const opening = openNode(settings, async (events) => {
    const backend = await open(events)
    const close = async (): Promise<void> => {
      stopListening()
      try {
        const closing = backend.close()
        // A `join` of the same group waits until it is closed.
        trackTeardown(resources, closing)
        await closing
      } finally {
        release()
      }
    }
    return withClose(backend, close)
  })
  opening.catch(release)
  const node = await opening
  if (signal === undefined) return node
  const onAbort = (): void => trackTeardown(resources, node.close())
  if (signal.aborted) {
    await node.close()
    signal.throwIfAborted()
  }
  signal.addEventListener('abort', onAbort)
  stopListening = () => signal.removeEventListener('abort', onAbort)
  return node
}

/** Rejects as soon as the signal is aborted. A node that opens all the same is closed, and the next attempt waits for it. */
function unlessAborted(
  joining: Promise<ConclaveNode>,
  signal: AbortSignal,
  attempt: Attempt,
): Promise<ConclaveNode> {
  return new Promise((resolve, reject) => {
    const onAbort = (): void => {
      // Introductions watch the signal themselves, and close their socket before they reject.
      if (attempt.phase === 'introducing') return
      if (attempt.phase === 'opening') trackTeardown(attempt.resources, joining)
      reject(signal.reason as Error)
    }
    signal.addEventListener('abort', onAbort)
    joining.then(resolve, reject).finally(() => signal.removeEventListener('abort', onAbort))
  })
}

function resourcesOf(options: JoinOptions | StoreJoinOptions): readonly string[] {
  if (isStoreJoin(options)) return [`store ${JSON.stringify([options.store, options.group, options.id])}`]
  const address = `address ${JSON.stringify([options.listen, options.group])}`
  return options.data === undefined ? [address] : [address, `data ${resolvePath(options.data)}`]
}

/** The same backend with another way to close it. */
function withClose(backend: ElectionBackend, close: () => Promise<void>): ElectionBackend {
  return {
    view: () => backend.view(),
    status: () => backend.status(),
    lease: () => backend.lease(),
    command: (command) => backend.command(command),
    stepDown: (token, to) => backend.stepDown(token, to),
    handOverProblem: (to) => backend.handOverProblem(to),
    injectFaults: (faults) => backend.injectFaults(faults),
    explain: (late) => backend.explain(late),
    announce: (news) => backend.announce(news),
    trace: () => backend.trace(),
    close,
  }
}
