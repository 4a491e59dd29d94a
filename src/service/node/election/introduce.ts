/**
 * Introductions: peers that are given by address alone are asked for their ids before the election starts, because the
 * voters must be known before the first vote. The answers are stored in the data directory, so that a restarted node
 * need not wait for all peers.
 */
import type { NodeId } from '../../../core/index.ts'
import { nodeIdProblem, parseAddress, parsePeer } from '../../config/address.ts'
import type { JoinOptions } from '../../config/join-options.ts'
import {
  Endpoint,
  makeFolder,
  type Peer,
  readNote,
  sealer,
  showAddress,
  volatileStorage,
  writeNote,
} from '../../runtime/index.ts'
import { InvalidOptionsError, NodeClosedError } from '../api/errors.ts'
import { knownPeersAt } from './address-claims.ts'

const NOTE = 'peers.json'

/** The same options with an id for every peer. */
export async function withEveryId(options: JoinOptions): Promise<JoinOptions> {
  const shared = knownPeersAt(parseAddress(options.listen))
  const known = knownIn(options.data)
  const peers = options.peers.map((text): Peer => {
    const peer = parsePeer(text)
    const at = showAddress(peer.address)
    return { ...peer, id: peer.id ?? shared?.get(at) ?? known.get(at) ?? null }
  })
  const nameless = peers.findIndex(({ id }) => id === null)
  if (nameless < 0) return withPeers(options, peers)
  if (shared !== null) {
    const problem = `${options.peers[nameless]} is not known to the other groups of this process; use ID=HOST:PORT`
    throw new InvalidOptionsError(`peers[${nameless}]`, problem)
  }
  const learnt = await askForIds(options, peers)
  if (options.data !== undefined) {
    makeFolder(options.data)
    writeNote(options.data, NOTE, Object.fromEntries(learnt))
  }
  return withPeers(
    options,
    peers.map(({ id, address }) => ({ id: id ?? learnt.get(showAddress(address)) ?? null, address })),
  )
}

function withPeers(options: JoinOptions, peers: readonly Peer[]): JoinOptions {
  return { ...options, peers: peers.map(({ id, address }) => `${id}=${showAddress(address)}`) }
}

function knownIn(folder: string | undefined): ReadonlyMap<string, string> {
  const note =
    folder === undefined ? null : (readNote(folder, NOTE) as { readonly [address: string]: NodeId } | null)
  return new Map(Object.entries(note ?? {}).flatMap(([at, id]) => (isUsable(id) ? [[at, id] as const] : [])))
}

/** Whether a node can be configured with this id. Stored votes of another id could not be read again. */
function isUsable(id: NodeId): id is string {
  return typeof id === 'string' && nodeIdProblem(id) === null
}

/** Listens until all peers have answered, on the address on which the election will listen. */
async function askForIds(options: JoinOptions, peers: readonly Peer[]): Promise<ReadonlyMap<string, NodeId>> {
  const { id, key, secrecy = false, signal } = options
  const keys = key instanceof Uint8Array ? [key] : key
  const problems: string[] = []
  const conflict = new AbortController()
  const over = new AbortController()
  const end = (): void => over.abort()
  const endpoint = await Endpoint.open(
    {
      self: id,
      listen: parseAddress(options.listen),
      peers,
      sealer: sealer(keys, secrecy),
      storage: volatileStorage(),
    },
    {
      dropped: ({ reason, from }) => problems.push(`${from} was not understood (${reason})`),
      warning(what, detail) {
        problems.push(detail)
        if (what === 'conflict') conflict.abort()
      },
      failed: (error) => conflict.abort(error),
    },
  )
  // A signal may outlive many joins, so the listener is removed again.
  conflict.signal.addEventListener('abort', end)
  signal?.addEventListener('abort', end)
  if (conflict.signal.aborted || signal?.aborted === true) end()
  try {
    const ids = await endpoint.introduced(over.signal)
    if (ids !== null) {
      for (const [at, answer] of ids)
        if (!isUsable(answer)) {
          const problem = `the process at ${at} answered with the id ${JSON.stringify(answer)}, which no node can have; check what runs there`
          throw new InvalidOptionsError('peers', problem)
        }
      return ids
    }
    if (conflict.signal.aborted)
      throw new InvalidOptionsError('peers', problems.at(-1) ?? 'two peers have the same id')
    signal?.throwIfAborted()
    throw new NodeClosedError('the introduction of the peers ended without an answer')
  } finally {
    signal?.removeEventListener('abort', end)
    await endpoint.close()
  }
}
