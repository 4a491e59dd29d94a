/**
 * Asks the peers of a node that is not running. The doctor takes the node's own address and id for a few seconds, because
 * peers answer only configured addresses. It takes part in no election: it sends introductions only, which every running
 * node answers, and reads what the peers send to this node anyway.
 */
import { randomInt } from 'node:crypto'
import { setTimeout } from 'node:timers/promises'
import type { Message, NodeId } from '../../core/index.ts'
import { peerHosting } from '../../protocols/index.ts'
import {
  type Address,
  ANY_NODE,
  Codec,
  type DroppedDatagrams,
  INTRODUCTION,
  INTRODUCTION_REQUEST,
  lookupAll,
  sealer,
  showAddress,
  Udp,
} from '../../service/runtime/index.ts'
import type { ConfiguredPeer } from './addresses.ts'
import { type Finding, failed, formatMs, ok, type Spread, spreadOf, warning } from './findings.ts'

export type ProbedPeer = Pick<ConfiguredPeer, 'id' | 'address'> & Partial<ConfiguredPeer>

export type ProbeSettings = {
  readonly self: NodeId
  readonly listen: Address
  readonly keys: readonly Uint8Array[]
  readonly secrecy: boolean
  readonly group: string
  readonly protocol: string
  readonly peers: readonly ProbedPeer[]
}

export type ProbeResult = {
  readonly peer: ProbedPeer
  /** Why the name of its host cannot be resolved; null if it can. */
  readonly unresolved: string | null
  readonly asked: number
  readonly roundTrips: Spread | null
  /** The id that it answers with; null if it does not answer. */
  readonly answersAs: NodeId | null
  /** Whether any authentic datagram of it arrived. */
  readonly isHeard: boolean
  /** Datagrams from its address that were refused, by reason. */
  readonly refused: readonly DroppedDatagrams[]
}

/** A peer answers at most every 100 ms. */
const ASK_INTERVAL_MS = 120

/** Asks for about this long, or until the signal is aborted. */
export async function probePeers(
  settings: ProbeSettings,
  durationMs: number,
  signal: AbortSignal,
): Promise<readonly ProbeResult[]> {
  const found = await Promise.all(settings.peers.map(({ address }) => resolvePeer(address.host)))
  const states = settings.peers.map(
    (peer, index) => new PeerState(peer, found[index] ?? { problem: 'unknown' }),
  )
  const codec = new Codec()
  codec.learn(settings.group, peerHosting(settings.protocol).wire)
  const refused: DroppedDatagrams[] = []
  const udp = await Udp.open(
    { self: settings.self, listen: settings.listen, sealer: sealer(settings.keys, settings.secrecy), codec },
    {
      isPeer: (host, port) => states.some((state) => state.isAt(host, port)),
      message(from, _to, body, at) {
        for (const state of states) state.hear(from, body, at)
        return null
      },
      dropped: (each) => refused.push(each),
    },
  )
  try {
    const until = performance.now() + durationMs
    while (performance.now() < until && !signal.aborted) {
      for (const state of states) state.ask((address, body) => udp.send(ANY_NODE, address, body))
      // oxlint-disable-next-line no-await-in-loop -- one round of questions after the other
      await setTimeout(ASK_INTERVAL_MS, undefined, { signal }).catch(() => {})
    }
  } finally {
    await udp.close()
  }
  return states.map((state) => state.result(refused))
}

type Resolved = { readonly host: string } | { readonly problem: string }

async function resolvePeer(host: string): Promise<Resolved> {
  try {
    const [first] = await lookupAll(host)
    return first === undefined ? { problem: 'it has no address' } : { host: first }
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    return { problem: code ?? message }
  }
}

class PeerState {
  readonly #peer: ProbedPeer
  readonly #resolved: Resolved
  readonly #askedAt = new Map<number, number>()
  readonly #roundTrips: number[] = []
  #answersAs: NodeId | null = null
  #isHeard = false

  constructor(peer: ProbedPeer, resolved: Resolved) {
    this.#peer = peer
    this.#resolved = resolved
  }

  isAt(host: string, port: number): boolean {
    return 'host' in this.#resolved && this.#resolved.host === host && this.#peer.address.port === port
  }

  ask(send: (address: Address, body: Message) => void): void {
    if (!('host' in this.#resolved)) return
    const number = randomInt(2 ** 47)
    this.#askedAt.set(number, performance.now())
    send({ host: this.#resolved.host, port: this.#peer.address.port }, { kind: INTRODUCTION_REQUEST, number })
  }

  hear(from: NodeId, body: Message, at: Address): void {
    const askedAt = body.kind === INTRODUCTION ? this.#askedAt.get(body['number'] as number) : undefined
    if (askedAt !== undefined) {
      this.#askedAt.delete(body['number'] as number)
      this.#roundTrips.push(performance.now() - askedAt)
      this.#answersAs = from
    }
    if (from === this.#peer.id || this.isAt(at.host, at.port)) this.#isHeard = true
  }

  result(refused: readonly DroppedDatagrams[]): ProbeResult {
    const where =
      'host' in this.#resolved ? { host: this.#resolved.host, port: this.#peer.address.port } : null
    return {
      peer: this.#peer,
      unresolved: 'problem' in this.#resolved ? this.#resolved.problem : null,
      asked: this.#askedAt.size + this.#roundTrips.length,
      roundTrips: spreadOf(this.#roundTrips),
      answersAs: this.#answersAs,
      isHeard: this.#isHeard,
      refused: where === null ? [] : refused.filter(({ from }) => from === showAddress(where)),
    }
  }
}

export function judgePeer({
  peer,
  unresolved,
  roundTrips,
  answersAs,
  isHeard,
  refused,
}: ProbeResult): Finding {
  const { id } = peer
  const where = showAddress(peer.address)
  if (unresolved !== null)
    return failed(
      'peer',
      `${id}: the name ${peer.address.host} cannot be resolved (${unresolved})`,
      `correct the address of ${id} in ${peer.entry ?? 'peers'}, or the DNS`,
    )
  if (answersAs !== null && answersAs !== id)
    return failed(
      'peer',
      `the process at ${where} is ${answersAs}, not ${id}`,
      `correct the id or the address in ${peer.entry ?? 'peers'}`,
    )
  if (answersAs !== null && roundTrips !== null)
    return ok('peer', `${id} at ${where} answers, round trip ${formatMs(roundTrips.p50)}`)
  const [first] = refused
  if (first !== undefined)
    return failed(
      'peer',
      `${id} at ${where} sends datagrams that this node refuses: ${first.reason} (${first.detail})`,
      remedyFor(first.reason),
    )
  if (isHeard)
    return failed(
      'peer',
      `${id} at ${where} is heard, but does not answer: datagrams to it get lost, or it does not list this node`,
      `let UDP through to ${where}, and check that ${id} has this node and its address in its peers, and the same key`,
    )
  return warning(
    'peer',
    `${id} at ${where} does not answer`,
    `start it; if it runs, let UDP through to ${where} and back, and check that it lists this node and has the same key`,
  )
}

function remedyFor(reason: string): string {
  if (reason === 'unknown key' || reason === 'not authentic') return 'give all nodes the same key file'
  if (reason === 'unknown format') return 'set secrecy to the same value on all nodes'
  if (reason === 'another receiver') return 'give each address one id, the same on all nodes'
  return 'run the same version on all nodes'
}
