/** An election backend in the thread of the caller. It is late whenever this thread is blocked. */
import { type Command, type NodeId, type Plain, sortIds } from '../../../core/index.ts'
import { type GroupSpec, peerHosting } from '../../../protocols/index.ts'
import type { NetworkElectionSettings } from '../../config/election-settings.ts'
import {
  type HostClock,
  InvalidGroupError,
  memoryStorage,
  NOTHING_MEASURED,
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
  ownStatus,
  type PeerCommand,
  viewOf,
} from './election.ts'
import { openSharedEndpoint, type SharedEndpoint } from './shared-endpoint.ts'

/** A backend that runs in this thread. */
export type LocalElection = ElectionBackend & {
  /** When each node was last heard, on the clock of this process. */
  readonly heard: ReadonlyMap<NodeId, number>
}

/** `openClock` is called when the endpoint is not open yet; the endpoint closes the clock. */
export async function openElectionInThread(
  settings: NetworkElectionSettings,
  events: ElectionEvents,
  openClock: () => HostClock = openHostClock,
): Promise<LocalElection> {
  const { group, id: self, options } = settings
  let spec: GroupSpec = { protocol: settings.protocol, nodes: settings.nodes, options }
  let refusal: string | null = null
  let isClosed = false
  /** Reports the view, once the election runs. */
  let reportView = (): void => {}
  const shared = await startElection(settings, spec, openClock, {
    ...events,
    output(event) {
      if (event.type === 'refused') refusal = event['why'] as string
      events.output(event)
      queueMicrotask(() => reportView())
    },
  })
  const { endpoint } = shared
  reportView = () => {
    if (!isClosed) events.changed(viewOf(endpoint.view(group)))
  }

  function regroup(nodes: readonly NodeId[]): void {
    const next: GroupSpec = { ...spec, nodes: sortIds(nodes) }
    endpoint.regroup(group, next)
    spec = next
  }

  /** The protocol does not know addresses: the endpoint adds and removes peers. */
  async function changePeers(command: PeerCommand): Promise<string | null> {
    try {
      if (command.do === 'addPeer') {
        const { id, address } = command
        const { fixedNodes } = peerHosting(spec.protocol)
        if (fixedNodes !== null) return fixedNodes
        if (spec.nodes.includes(id)) return `${id} is already in the group`
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

  /** The status at the time of closing. */
  let last: ElectionStatus | null = null
  const backend: LocalElection = {
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
          if (id === self) return ownStatus(id, true)
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
        measured: NOTHING_MEASURED,
      }
    },
    async command(command: Command) {
      if (isClosed) return 'this node is closed'
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
    announce() {},
    trace: () => shared.trace(group, spec),
    async close() {
      if (isClosed) return
      const current = backend.status()
      last = {
        ...current,
        view: NO_VIEW,
        leadUntil: null,
        membersUntil: null,
        nodes: current.nodes.map((node) => (node.id === self ? { ...node, reachable: false } : node)),
      }
      isClosed = true
      await shared.leave(group)
    },
  }
  return backend
}

/** Joins the group at the endpoint of its address. */
async function startElection(
  settings: NetworkElectionSettings,
  spec: GroupSpec,
  openClock: () => HostClock,
  events: ElectionEvents,
): Promise<SharedEndpoint> {
  const { group } = settings
  const { shared, stable } = await openSharedEndpoint(settings, await storageFor(settings), openClock, events)
  try {
    shared.endpoint.join(group, spec, events, stable)
    // A node does not become a candidate until `lead` is called.
    shared.endpoint.command(group, { do: 'campaign', willing: false, lapse: false })
    return shared
  } catch (error) {
    await shared.leave(group)
    throw error instanceof InvalidGroupError ? new InvalidOptionsError(error.field, error.problem) : error
  }
}

/** A node without a data directory starts as if it had restarted and had promised every epoch up to now. */
async function storageFor({ data, protocol, id, nodes, options }: NetworkElectionSettings): Promise<Storage> {
  if (data !== null) return openStorage(data)
  const storage = memoryStorage()
  const upper = peerHosting(protocol).forgetfulStable({ self: id, nodes }, options, Date.now())
  storage.save({ layer: 0, upper } satisfies Plain)
  return storage
}
