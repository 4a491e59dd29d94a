/** An election in the thread that asks for it. It is late whenever this thread is. */
import { randomBytes } from 'node:crypto'
import { type Command, type Message, type NodeId, type Output, type Plain, present } from '../core/index.ts'
import { forgetfulStable, insightOf, protocolNamed } from '../protocols/index.ts'
import {
  BlackBox,
  clockName,
  type HostClock,
  Loop,
  memoryStorage,
  monotonicNow,
  type NetworkFaults,
  openHostClock,
  openStorage,
  type Storage,
  sealer,
  Udp,
} from '../runtime/index.ts'
import type { TraceHeader } from '../trace/index.ts'
import { BadJoin } from './errors.ts'
import { type Seat, type SeatHooks, type SeatSettings, viewOf } from './seat.ts'

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
  const { nodes, id: self } = settings
  const heard = new Map<NodeId, number>()
  let refusal: string | null = null
  let isClosed = false
  /** Nothing is seen before the election runs. */
  let look = (): void => {}
  const election = await startElection(settings, clock, {
    ...hooks,
    output(event) {
      if (event.type === 'refused') refusal = event['why'] as string
      hooks.output(event)
      queueMicrotask(() => look())
    },
    heard: (from) => void heard.set(from, monotonicNow()),
  })
  const { loop, counts } = election
  look = () => hooks.changed(viewOf(loop.view()))
  return {
    heard,
    view: () => viewOf(loop.view()),
    lease() {
      const { role, until, token } = loop.view()
      return { until: role === 'leader' && !isClosed ? until : null, now: loop.now(), token }
    },
    standing() {
      const shown = loop.view()
      const view = viewOf(shown)
      const now = loop.now()
      const insight = loop.inspect((state, at) => insightOf(state, nodes, at))
      const isLed = view.leader !== null && insight.leadUntil !== null
      return {
        view: isLed ? view : { ...view, leader: null },
        leadUntil: isLed ? insight.leadUntil : null,
        membersUntil: shown.until,
        now,
        voters: insight.voters,
        nodes: nodes.map((id) => {
          if (id === self) return { id, there: !isClosed, heardMsAgo: 0 }
          const at = heard.get(id)
          const heardMsAgo = at === undefined ? null : Math.max(0, (now - at) / 1000)
          return { id, there: insight.heard.includes(id), heardMsAgo }
        }),
        isSilent: insight.silentUntil !== null,
        datagrams: { ...counts },
      }
    },
    async command(command: Command) {
      if (isClosed) return 'this node has ended'
      refusal = null
      loop.command(command)
      return refusal
    },
    async stepDown(token) {
      const view = loop.view()
      if (view.role === 'leader' && view.token === token) loop.command({ do: 'stepDown' })
    },
    spoil: (faults) => election.spoil(faults),
    trace: () => election.trace(),
    async close() {
      if (isClosed) return
      isClosed = true
      await election.close()
    },
  }
}

type Election = {
  readonly loop: Loop
  readonly counts: { readonly sent: number; readonly received: number; readonly dropped: number }
  spoil(faults: NetworkFaults): void
  trace(): AsyncIterable<string>
  close(): Promise<void>
}

/** Everything that makes an election run for real: a socket, a clock, storage, and the loop between them. */
async function startElection(
  settings: SeatSettings,
  clock: HostClock,
  hooks: ThreadHooks & { heard(from: NodeId): void },
): Promise<Election> {
  const { group, id, listen, peers, nodes, keys, secrecy, options } = settings
  const definition = present(protocolNamed(settings.protocol), settings.protocol)
  const protocol = definition.create({ self: id, nodes }, options)
  const box = settings.traceSteps > 0 ? new BlackBox(id, settings.traceSteps) : null
  const run = randomBytes(6).toString('hex')
  const storage = await storageFor(settings).catch((error: unknown) => {
    clock.close()
    throw error
  })
  let socket: Udp | null = null
  try {
    const udp = await Udp.open(
      { group, self: id, listen, peers, sealer: sealer(keys, secrecy) },
      {
        message(from: NodeId, body: Message) {
          hooks.heard(from)
          loop.message(from, body)
        },
        dropped: (reason, count, from, detail) =>
          hooks.warn(
            'dropped',
            `${count} datagrams from ${from.host}:${from.port} and others (${reason}: ${detail})`,
          ),
      },
    ).catch((error: NodeJS.ErrnoException) => {
      const why = error.code === 'EADDRINUSE' ? 'another process listens there' : error.message
      throw new BadJoin('listen', `cannot listen at ${listen.host}:${listen.port}: ${why}; choose another`)
    })
    socket = udp
    const loop = new Loop(protocol, clock, storage, {
      send: (to, body) => udp.send(to, body),
      output: (event: Output) => hooks.output(event),
      trouble: (error) => hooks.warn('storage', `${error.message}: no vote was given`),
      failed: (error) => hooks.failed(error),
      record(record, before) {
        box?.record(record, before)
        hooks.stepped?.()
      },
    })
    loop.start()
    // Nobody leads who would not do anything with it: that begins with `lead`.
    loop.command({ do: 'campaign', willing: false, lapse: false })
    return {
      loop,
      counts: udp.counts,
      spoil: (faults) => udp.network.set(faults),
      async *trace() {
        if (box === null) return
        yield* box.text((skipped): TraceHeader => {
          const takenAt = clock.now()
          const wallAhead = Date.now() * 1000 - takenAt
          const recording = { group, node: id, run, skipped, clock: clockName(), takenAt, wallAhead }
          return { trace: 1, protocol: definition.name, nodes, options, seed: 0, recording }
        })
      },
      async close() {
        loop.stop()
        await udp.close()
        storage.close()
        clock.close()
      },
    }
  } catch (error) {
    await socket?.close()
    storage.close()
    clock.close()
    throw error
  }
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
