/** An election in the thread that asks for it. It is late whenever this thread is. */
import { randomBytes } from 'node:crypto'
import { type Command, type NodeId, type Plain, sortIds } from '../core/index.ts'
import { forgetfulStable, type GroupSpec } from '../protocols/index.ts'
import {
  type Address,
  BadGroup,
  BlackBox,
  clockName,
  Endpoint,
  forOneGroup,
  type HostClock,
  memoryStorage,
  openHostClock,
  openStorage,
  type Storage,
  sealer,
} from '../runtime/index.ts'
import type { TraceHeader } from '../trace/index.ts'
import { BadJoin } from './errors.ts'
import { type PeerCommand, type Seat, type SeatHooks, type SeatSettings, viewOf } from './seat.ts'

export type ThreadHooks = SeatHooks & {
  /** A step was taken; within it. */
  stepped?(): void
}

/** What a seat has besides when it is in one's own thread. */
export type ThreadSeat = Seat & {
  /** When each was last heard, on this process's clock. */
  readonly heard: ReadonlyMap<NodeId, number>
}

/** `clock` is closed with the seat. */
export async function openThreadSeat(
  settings: SeatSettings,
  hooks: ThreadHooks,
  clock: HostClock = openHostClock(),
): Promise<ThreadSeat> {
  const { group, id: self, options } = settings
  let spec: GroupSpec = { protocol: settings.protocol, nodes: settings.nodes, options }
  let refusal: string | null = null
  let isClosed = false
  /** Nothing is seen before the election runs. */
  let look = (): void => {}
  const election = await startElection(settings, spec, clock, {
    ...hooks,
    output(event) {
      if (event.type === 'refused') refusal = event['why'] as string
      hooks.output(event)
      queueMicrotask(() => look())
    },
  })
  const { endpoint } = election
  look = () => hooks.changed(viewOf(endpoint.view(group)))

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
        await endpoint.addPeer({ id, address })
        regroup([...spec.nodes, id])
      } else {
        regroup(spec.nodes.filter((node) => node !== command.id))
        endpoint.removePeer(command.id)
      }
      return null
    } catch (error) {
      if (error instanceof BadGroup) return error.message
      throw error
    }
  }

  return {
    heard: endpoint.heard,
    view: () => viewOf(endpoint.view(group)),
    lease() {
      const { role, until, token } = endpoint.view(group)
      return { until: role === 'leader' && !isClosed ? until : null, now: endpoint.now(), token }
    },
    standing() {
      const shown = endpoint.view(group)
      const view = viewOf(shown)
      const now = endpoint.now()
      const insight = endpoint.insight(group)
      const isLed = view.leader !== null && insight.leadUntil !== null
      const { sent, received, dropped } = endpoint.counts
      return {
        view: isLed ? view : { ...view, leader: null },
        leadUntil: isLed ? insight.leadUntil : null,
        membersUntil: shown.until,
        now,
        voters: insight.voters,
        nodes: spec.nodes.map((id) => {
          if (id === self) return { id, there: !isClosed, heardMsAgo: 0 }
          const at = endpoint.heard.get(id)
          const heardMsAgo = at === undefined ? null : Math.max(0, (now - at) / 1000)
          return { id, there: insight.heard.includes(id), heardMsAgo }
        }),
        isSilent: insight.silentUntil !== null,
        membership: insight.membership,
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
      const view = endpoint.view(group)
      if (view.role === 'leader' && view.token === token) endpoint.command(group, { do: 'stepDown' })
    },
    spoil: (faults) => endpoint.spoil(faults),
    trace: () => election.trace(),
    async close() {
      if (isClosed) return
      isClosed = true
      await endpoint.close()
    },
  }
}

const FIXED_NODES = 'under omega the nodes stay as they are: name all of them from the start'

type Election = {
  readonly endpoint: Endpoint
  trace(): AsyncIterable<string>
}

/** Everything that makes an election run for real: an endpoint with this one group. */
async function startElection(
  settings: SeatSettings,
  spec: GroupSpec,
  clock: HostClock,
  hooks: ThreadHooks,
): Promise<Election> {
  const { group, id, listen, peers, keys, secrecy } = settings
  const box = settings.traceSteps > 0 ? new BlackBox(id, settings.traceSteps) : null
  const run = randomBytes(6).toString('hex')
  const storage = await storageFor(settings).catch((error: unknown) => {
    clock.close()
    throw error
  })
  const endpoint = await Endpoint.open(
    { self: id, listen, peers, sealer: sealer(keys, secrecy), storage: forOneGroup(storage, group), clock },
    {
      dropped: ({ reason, count, from, detail }) =>
        hooks.warn('dropped', `${count} datagrams from ${from} and others (${reason}: ${detail})`),
      warning: (what, detail) => hooks.warn(what, detail),
      failed: (error) => hooks.failed(error),
      record(record, before) {
        box?.record(record, before)
        hooks.stepped?.()
      },
    },
  ).catch((error: NodeJS.ErrnoException) => {
    throw error.syscall === 'bind' ? cannotListen(listen, error) : error
  })
  try {
    endpoint.join(group, spec, {
      output: (event) => hooks.output(event),
      trouble: (error) => hooks.warn('storage', `${error.message}: no vote was given`),
    })
    // Nobody leads who would not do anything with it: that begins with `lead`.
    endpoint.command(group, { do: 'campaign', willing: false, lapse: false })
  } catch (error) {
    await endpoint.close()
    throw error
  }
  return {
    endpoint,
    async *trace() {
      if (box === null) return
      yield* box.text((skipped): TraceHeader => {
        const takenAt = clock.now()
        const wallAhead = Date.now() * 1000 - takenAt
        const recording = { group, node: id, run, skipped, clock: clockName(), takenAt, wallAhead }
        const options = { ...spec.options, [spec.protocol === 'omega' ? 'links' : 'link']: 'hosted' }
        return { trace: 1, protocol: spec.protocol, nodes: spec.nodes, options, seed: 0, recording }
      })
    },
  }
}

function cannotListen({ host, port }: Address, { code, message }: NodeJS.ErrnoException): BadJoin {
  const why = code === 'EADDRINUSE' ? 'another process listens there' : message
  return new BadJoin('listen', `cannot listen at ${host}:${port}: ${why}; choose another`)
}

/** A process that keeps nothing begins as if it had just been restarted, and had promised everything up to now. */
async function storageFor({ data, id, nodes, options }: SeatSettings): Promise<Storage> {
  if (data !== null) return openStorage(data)
  const storage = memoryStorage()
  const moment = Date.now()
  const voters = votersAmong(nodes, options)
  storage.save({ layer: moment, upper: forgetfulStable(id, voters, moment) } satisfies Plain)
  return storage
}

function votersAmong(nodes: readonly NodeId[], options: SeatSettings['options']): readonly NodeId[] {
  const { voters, observers } = options as {
    readonly voters: readonly NodeId[] | null
    readonly observers: readonly NodeId[]
  }
  return voters ?? nodes.filter((node) => !observers.includes(node))
}
