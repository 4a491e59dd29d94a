/**
 * Peers that are given by their address alone are asked who they are before anything else happens: whose votes count must
 * be known before the first is given. What they answered is kept beside the stable data, so that a restarted process
 * need not wait for all the others.
 */
import { mkdirSync } from 'node:fs'
import type { NodeId } from '../core/index.ts'
import {
  Endpoint,
  type Peer,
  passingStorage,
  readNote,
  sealer,
  showAddress,
  writeNote,
} from '../runtime/index.ts'
import { addressOf, peerOf } from './address.ts'
import { BadJoin, NodeClosed } from './errors.ts'
import type { JoinOptions } from './options.ts'

const NOTE = 'peers.json'

/** The same options with an id for every peer. */
export async function withEveryId(options: JoinOptions): Promise<JoinOptions> {
  if (!Array.isArray(options.peers))
    throw new BadJoin('peers', 'is no list: name the others, or give [] when there are none')
  const known = knownIn(options.data)
  const peers = options.peers.map((text, index): Peer => {
    const peer = peerOf(text, `peers[${index}]`)
    return { ...peer, id: peer.id ?? known.get(showAddress(peer.address)) ?? null }
  })
  if (peers.every(({ id }) => id !== null)) return withPeers(options, peers)
  const learnt = await introduced(options, peers)
  if (options.data !== undefined) {
    mkdirSync(options.data, { recursive: true, mode: 0o700 })
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
    folder === undefined ? null : (readNote(folder, NOTE) as { readonly [address: string]: string } | null)
  return new Map(Object.entries(note ?? {}))
}

/** Listens for as long as it takes; the election will listen at the same place. */
async function introduced(
  { id, listen, key, secrecy = false, signal }: JoinOptions,
  peers: readonly Peer[],
): Promise<ReadonlyMap<string, NodeId>> {
  const keys = key instanceof Uint8Array ? [key] : key
  const problems: string[] = []
  const conflict = new AbortController()
  const endpoint = await Endpoint.open(
    {
      self: id,
      listen: addressOf(listen, 'listen'),
      peers,
      sealer: sealer(keys, secrecy),
      storage: passingStorage(),
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
  try {
    const given = signal === undefined ? conflict.signal : AbortSignal.any([conflict.signal, signal])
    const ids = await endpoint.introduced(given)
    if (ids !== null) return ids
    if (conflict.signal.aborted) throw new BadJoin('peers', problems.at(-1) ?? 'cannot be told apart')
    const missing = endpoint.unknown().map(showAddress).join(', ')
    const why = problems.map((problem) => `; ${problem}`).join('')
    throw new NodeClosed(`joining was given up before ${missing} had said who is there${why}`)
  } finally {
    await endpoint.close()
  }
}
