/** An election in the thread that asks for it. It is late whenever this thread is. */
import { type Command, type NodeId, type Plain, sortIds } from '../../../core/index.ts'
import { forgetfulStable, type GroupSpec } from '../../../protocols/index.ts'
import type { NetworkElectionSettings } from '../../config/election-settings.ts'
import {
  type HostClock,
  InvalidGroupError,
  memoryStorage,
  openHostClock,
  openStorage,
  type Storage,
} from '../../runtime/index.ts'
import { InvalidOptionsError } from '../api/errors.ts'
import {
  type ElectionBackend,
  type ElectionEvents,
  type ElectionStatus,
  NO_VIEW,
  nodeStatusOf,
  type PeerCommand,
  viewOf,
} from './election.ts'
import { openSharedEndpoint, type SharedEndpoint, type TenantHooks } from './shared-endpoint.ts'

export type ThreadHooks = ElectionEvents & {
  /** A step was taken; within it. */
  stepped?(): void
}

/** What a seat has besides when it is in one's own thread. */
export type LocalElection = ElectionBackend & {
  /** When each was last heard, on this process's clock. */
  readonly heard: ReadonlyMap<NodeId, number>
}

/** `openClock` is asked when the endpoint is not open yet; the clock is closed with that. */
export async function openElectionInThread(
  settings: NetworkElectionSettings,
  hooks: ThreadHooks,
  openClock: () => HostClock = openHostClock,
): Promise<LocalElection> {
  const { group, id: self, options } = settings
  let spec: GroupSpec = { protocol: settings.protocol, nodes: settings.nodes, options }
  let refusal: string | null = null
  let isClosed = false
  /** Nothing is seen before the election runs. */
  let look = (): void => {}
  const shared = await startElection(settings, spec, openClock, {
    ...hooks,
    output(event) {
      if (event.type === 'refused') refusal = event['why'] as string
      hooks.output(event)
      queueMicrotask(() => look())
    },
  })
  const { endpoint } = shared
  look = () => {
    if (!isClosed) hooks.changed(viewOf(endpoint.view(group)))
  }

  function regroup(nodes: readonly NodeId[]): void {
    const next: GroupSpec = { ...spec, nodes: sortIds(nodes) }
    endpoint.regroup(group, next)
    spec = next
  }

  /** Who may speak in the group is not the protocol's business, but that of whoever runs it. */
  async function changePeers(command: PeerCommand): Promise<string | null> {
    try {
      if (command.do === 'addPeer') {
        const { id, address } = command
        if (spec.protocol === 'omega') return FIXED_NODES
        if (spec.nodes.includes(id)) return `peers: ${id} is named twice`
        await shared.claim(group, { id, address })
        regroup([...spec.nodes, id])
      } else {
        regroup(spec.nodes.filter((node) => node !== command.id))
        shared.release(group, command.id)
      }
      return null
    } catch (error) {
      if (error instanceof InvalidGroupError) return error.message
      throw error
    }
  }

  /** How things stood when it was closed. */
  let last: ElectionStatus | null = null
  const seat: LocalElection = {
    heard: endpoint.heard,
    view: () => last?.view ?? viewOf(endpoint.view(group)),
    lease() {
      if (isClosed) return { until: null, now: endpoint.now(), token: null, reason: null }
      const { role, until, token } = endpoint.view(group)
      return { until: role === 'leader' ? until : null, now: endpoint.now(), token, reason: null }
    },
    status() {
      if (last !== null) return last
      const shown = endpoint.view(group)
      const view = viewOf(shown)
      const now = endpoint.now()
      const insight = endpoint.insight(group)
      const evidence = new Map(insight.evidence?.of.map(({ id, at }) => [id, at]))
      const evidenceFor = insight.evidence?.lasts ?? null
      const isLed = view.leader !== null && insight.leadUntil !== null
      const { sent, received, dropped } = endpoint.counts
      return {
        view: isLed ? view : { ...view, leader: null },
        leadUntil: isLed ? insight.leadUntil : null,
        membersUntil: shown.until,
        now,
        voters: insight.voters,
        nodes: spec.nodes.map((id) => {
          if (id === self) return { id, reachable: true, evidenceMsAgo: 0, heardMsAgo: 0 }
          return nodeStatusOf(id, {
            heardAt: endpoint.heard.get(id) ?? null,
            evidenceAt: evidence.get(id) ?? null,
            evidenceFor,
            isReachable: insight.heard.includes(id),
            now,
          })
        }),
        evidenceFor,
        isSilent: insight.silentUntil !== null,
        membership: insight.membership,
        primary: null,
        datagrams: { sent, received, dropped },
      }
    },
    async command(command: Command) {
      if (isClosed) return 'this node has ended'
      if (command.do === 'addPeer' || command.do === 'removePeer') {
        return changePeers(command as unknown as PeerCommand)
      }
      refusal = null
      endpoint.command(group, command)
      return refusal
    },
    async stepDown(token) {
      if (isClosed) return
      const view = endpoint.view(group)
      if (view.role === 'leader' && view.token === token) endpoint.command(group, { do: 'stepDown' })
    },
    injectFaults: (faults) => endpoint.injectFaults(faults),
    trace: () => shared.trace(group, spec),
    async close() {
      if (isClosed) return
      const standing = seat.status()
      last = {
        ...standing,
        view: NO_VIEW,
        leadUntil: null,
        membersUntil: null,
        nodes: standing.nodes.map((node) => (node.id === self ? { ...node, reachable: false } : node)),
      }
      isClosed = true
      await shared.leave(group)
    },
  }
  return seat
}

const FIXED_NODES = 'under omega the nodes stay as they are: name all of them from the start'

/** Everything that makes an election run for real: a group at the endpoint of its address. */
async function startElection(
  settings: NetworkElectionSettings,
  spec: GroupSpec,
  openClock: () => HostClock,
  hooks: ThreadHooks,
): Promise<SharedEndpoint> {
  const { group } = settings
  const tenant: TenantHooks = {
    output: (event) => hooks.output(event),
    trouble: (error: Error) => hooks.warn('storage', `${error.message}: no vote was given`),
    warn: (what, detail) => hooks.warn(what, detail),
    failed: (error) => hooks.failed(error),
    stepped: hooks.stepped === undefined ? null : () => hooks.stepped?.(),
  }
  const { shared, stable } = await openSharedEndpoint(settings, await storageFor(settings), openClock, tenant)
  try {
    shared.endpoint.join(group, spec, tenant, stable)
    // Nobody leads who would not do anything with it: that begins with `lead`.
    shared.endpoint.command(group, { do: 'campaign', willing: false, lapse: false })
    return shared
  } catch (error) {
    await shared.leave(group)
    throw error instanceof InvalidGroupError ? new InvalidOptionsError(error.field, error.problem) : error
  }
}

/** A process that keeps nothing begins as if it had just been restarted, and had promised everything up to now. */
async function storageFor({ data, id, nodes, options }: NetworkElectionSettings): Promise<Storage> {
  if (data !== null) return openStorage(data)
  const storage = memoryStorage()
  const moment = Date.now()
  const voters = votersAmong(nodes, options)
  storage.save({ layer: 0, upper: forgetfulStable(id, voters, moment) } satisfies Plain)
  return storage
}

function votersAmong(
  nodes: readonly NodeId[],
  options: NetworkElectionSettings['options'],
): readonly NodeId[] {
  const { voters, observers } = options as {
    readonly voters: readonly NodeId[] | null
    readonly observers: readonly NodeId[]
  }
  return voters ?? nodes.filter((node) => !observers.includes(node))
}
