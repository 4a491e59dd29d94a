/**
 * Checks the configured addresses of the peers, whether the agent runs or not. A running agent keeps the addresses that it
 * found at its start, so it can work with a configuration that a restart would not survive.
 */
import { isIP } from 'node:net'
import { networkInterfaces } from 'node:os'
import type { NodeId } from '../../core/index.ts'
import type { StatusResponse } from '../../service/client/index.ts'
import { type Address, type Lookup, lookupAll, showAddress } from '../../service/runtime/index.ts'
import { type Finding, failed, ok, warning } from './findings.ts'

export type ConfiguredPeer = {
  readonly id: NodeId
  readonly address: Address
  /** Its entry in the configuration, such as `peers[1] in /etc/conclave/a.yaml:7:5`. */
  readonly entry: string
}

export type AddressCheck = {
  readonly self: NodeId
  readonly listen: Address
  readonly peers: readonly ConfiguredPeer[]
  /** What the running agent says; null if none runs. */
  readonly status: StatusResponse | null
  /** Whether names that cannot be resolved are reported elsewhere. */
  readonly isProbed: boolean
  readonly lookup?: Lookup
}

type ResolvedPeer = ConfiguredPeer & {
  readonly found: readonly string[]
  /** Why its name cannot be resolved; null if it can. */
  readonly problem: string | null
}

/** One finding per wrong entry; one line if all are right. */
export async function checkAddresses(check: AddressCheck): Promise<readonly Finding[]> {
  const { peers, status, isProbed, lookup = lookupAll } = check
  const resolved = await Promise.all(peers.map((peer) => resolvePeer(peer, lookup)))
  const wrong = [
    ...(isProbed ? [] : resolved.flatMap((peer) => judgeName(peer, status))),
    ...resolved.flatMap((peer) => (status === null ? [] : compareWithAgent(peer, status))),
    ...judgeOwn(resolved, check),
    ...judgeShared(resolved),
    ...(status === null ? [] : judgeUnlisted(check, status)),
  ]
  const isIncomplete = peers.length === 0 || resolved.some(({ problem }) => problem !== null)
  if (wrong.length > 0 || isIncomplete) return wrong
  const used = status === null ? '' : ', and the running agent uses them'
  const count = peers.length === 1 ? 'the address of 1 peer' : `the addresses of ${peers.length} peers`
  return [ok('address', `${count} in the configuration can be resolved${used}`)]
}

async function resolvePeer(peer: ConfiguredPeer, lookup: Lookup): Promise<ResolvedPeer> {
  const { host } = peer.address
  if (isIP(host) !== 0) return { ...peer, found: [host], problem: null }
  try {
    const found = await lookup(host)
    return { ...peer, found, problem: found.length === 0 ? 'it has no address' : null }
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    return { ...peer, found: [], problem: code ?? message }
  }
}

function judgeName({ id, address, entry, problem }: ResolvedPeer, status: StatusResponse | null): Finding[] {
  if (problem === null) return []
  const used = nodeOf(status, id)?.resolvedAddress ?? null
  const stale = used === null ? '' : `; the running agent still sends to ${used}`
  const text = `${id}: the name ${address.host} cannot be resolved (${problem})${stale}`
  return [failed('address', text, `correct ${entry}, or the DNS`)]
}

/** The agent may run with an older configuration, or resolve names in another way. */
function compareWithAgent(peer: ResolvedPeer, status: StatusResponse): Finding[] {
  const { id, address, entry, found, problem } = peer
  const node = nodeOf(status, id)
  const configured = showAddress(address)
  if (node === null) {
    const text = `${id} at ${configured} is in the configuration, but the running agent does not know it`
    return [failed('address', text, `restart the agent with this configuration, or remove ${entry}`)]
  }
  // A node in the list whose address the agent does not say: an agent of an earlier version.
  if (node.address !== null && node.address !== configured) {
    const text = `${id} is at ${configured} in the configuration, but the running agent uses ${node.address}`
    const fix = `correct ${entry} if ${node.address} is right; otherwise restart the agent with this configuration`
    return [failed('address', text, fix)]
  }
  const used = node.resolvedAddress ?? null
  if (problem !== null || used === null) return []
  const here = found.map((host) => showAddress({ host, port: address.port }))
  if (here.includes(used)) return []
  const text = `${id}: ${address.host} is ${found.join(', ')} for the doctor, but the running agent sends to ${used}`
  const fix = `run the doctor again after 30 s, when the agent has resolved the name again; if this stays, give both the same DNS and /etc/hosts, or an IP address in ${entry}`
  return [failed('address', text, fix)]
}

function judgeOwn(peers: readonly ResolvedPeer[], { listen, self }: AddressCheck): Finding[] {
  const own = ownHosts(listen.host)
  return peers
    .filter(({ address, found }) => address.port === listen.port && found.some((host) => own.has(host)))
    .map(({ id, address, entry }) =>
      failed(
        'address',
        `${id} is at ${showAddress(address)}, where ${self} itself listens`,
        `correct ${entry}: give ${id} its own address`,
      ),
    )
}

/** The addresses under which a socket on this host can be reached. */
function ownHosts(host: string): ReadonlySet<string> {
  if (host !== '0.0.0.0' && host !== '::') return new Set([host])
  const all = Object.values(networkInterfaces()).flatMap((each) => each ?? [])
  return new Set(all.map(({ address }) => address))
}

function judgeShared(peers: readonly ResolvedPeer[]): Finding[] {
  return peers.flatMap((peer, index) => {
    const first = peers
      .slice(0, index)
      .find(({ address, found }) => address.port === peer.address.port && found.some(isOneOf(peer.found)))
    if (first === undefined) return []
    const both = `${first.id} (${showAddress(first.address)}) and ${peer.id} (${showAddress(peer.address)})`
    const text = `${both} are the same address, but only one node can be there`
    return [failed('address', text, `correct ${first.entry} or ${peer.entry}`)]
  })
}

const isOneOf =
  (hosts: readonly string[]) =>
  (host: string): boolean =>
    hosts.includes(host)

/** Peers that were added to the running agent: a restart would forget them. */
function judgeUnlisted({ self, peers }: AddressCheck, { nodes }: StatusResponse): Finding[] {
  return nodes
    .filter(({ id }) => id !== self && !peers.some((peer) => peer.id === id))
    .map(({ id, address }) =>
      warning(
        'address',
        `the running agent has the peer ${id}${address === null ? '' : ` at ${address}`}, which is not in the configuration`,
        'add it to peers; otherwise the agent forgets it at its next start',
      ),
    )
}

function nodeOf(status: StatusResponse | null, id: NodeId): StatusResponse['nodes'][number] | null {
  return status?.nodes.find((node) => node.id === id) ?? null
}
