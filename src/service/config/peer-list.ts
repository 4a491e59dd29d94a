/** Checks the list of peers as a whole: duplicate ids and addresses, mixed address families. */
import { type Address, showAddress } from '../runtime/index.ts'
import { familyMismatch } from './address.ts'
import type { FieldProblem } from './problems.ts'

type Listed = { readonly id: string; readonly address: Address }

/** All nodes may share one list: `self` may be in it, with the port on which it listens. */
export function peerListProblems(
  self: { readonly id: string; readonly listen: Address },
  peers: readonly Listed[],
): readonly FieldProblem[] {
  const addresses = peers.map(({ address }) => showAddress(address))
  return peers.flatMap(({ id, address }, index) => {
    const problem =
      repeatedId(peers, index) ??
      repeatedAddress(peers, addresses, index) ??
      (id === self.id ? wrongSelf(self, address) : familyMismatch(self.listen, address))
    return problem === null ? [] : [{ field: `peers[${index}]`, message: problem }]
  })
}

function repeatedId(peers: readonly Listed[], index: number): string | null {
  const id = peers[index]?.id
  const isFirst = peers.findIndex((peer) => peer.id === id) === index
  return isFirst ? null : `${id} is listed twice; every node needs its own id`
}

function repeatedAddress(
  peers: readonly Listed[],
  addresses: readonly string[],
  index: number,
): string | null {
  const first = addresses.indexOf(addresses[index] as string)
  if (first === index) return null
  return `${peers[index]?.id} has the same address as ${peers[first]?.id}, ${addresses[index]}; every node needs its own address`
}

function wrongSelf(
  self: { readonly id: string; readonly listen: Address },
  { port }: Address,
): string | null {
  if (port === self.listen.port) return null
  return `${self.id} is this node, but it listens on ${showAddress(self.listen)}; check its id`
}
