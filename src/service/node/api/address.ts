import { isIP } from 'node:net'
import type { Address, Peer } from '../../runtime/index.ts'
import { InvalidOptionsError } from './errors.ts'

/** Reads HOST:PORT; a host may be a name, or an address of either kind, IPv6 in brackets. */
export function addressOf(text: string, field: string): Address {
  const match = /^(?:\[(?<six>[^\]]+)\]|(?<host>[^:[\]]+)):(?<port>\d{1,5})$/.exec(text)
  const host = match?.groups?.['six'] ?? match?.groups?.['host']
  const port = Number(match?.groups?.['port'])
  if (host === undefined || port > 65_535) {
    throw new InvalidOptionsError(
      field,
      `${JSON.stringify(text)} is not HOST:PORT, as in 10.0.0.1:7400 or [::1]:7400`,
    )
  }
  return { host, port }
}

/** Reads ID=HOST:PORT, or HOST:PORT alone: then the process there is asked for its id. */
export function peerOf(text: string, field: string): Peer & { readonly id: string | null } {
  if (typeof text !== 'string')
    throw new InvalidOptionsError(field, `${JSON.stringify(text)} is no text: give ID=HOST:PORT`)
  const at = text.indexOf('=')
  if (at === 0)
    throw new InvalidOptionsError(
      field,
      `${JSON.stringify(text)} has no id before the =, as in b=10.0.0.2:7400`,
    )
  if (at < 0 && !text.includes(':')) {
    throw new InvalidOptionsError(
      field,
      `${JSON.stringify(text)} is not ID=HOST:PORT, as in b=10.0.0.2:7400, nor HOST:PORT`,
    )
  }
  const address = addressOf(text.slice(at + 1), field)
  if (address.port === 0)
    throw new InvalidOptionsError(field, `${JSON.stringify(text)} has port 0, at which nobody can be reached`)
  return { id: at < 0 ? null : text.slice(0, at), address }
}

/** Why whoever listens there cannot send to a peer, as far as numbers tell; null when it can. */
export function whyApart(listen: Address, peer: Address): string | null {
  const [ours, theirs] = [isIP(listen.host), isIP(peer.host)]
  if (ours === 0 || theirs === 0 || ours === theirs || listen.host === '::') return null
  return `${peer.host} is an address of IPv${theirs}, and this node listens at one of IPv${ours}, ${listen.host}: use one kind, or listen at [::], which is both`
}
