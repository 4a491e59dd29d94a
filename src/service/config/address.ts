/** HOST:PORT and ID=HOST:PORT: one grammar for `join`, configuration files, flags and the environment. */
import { isIP } from 'node:net'
import type { Address, Peer } from '../runtime/index.ts'

/** A host is a name or an address; an IPv6 address is in brackets. */
export const ADDRESS_PATTERN = /^(?:\[[^\]\s]+\]|[^:=,[\]\s]+):\d{1,5}$/
export const PEER_PATTERN = /^[^=,\s]+=(?:\[[^\]\s]+\]|[^:=,[\]\s]+):\d{1,5}$/
/** An id that a list of peers can hold. */
export const NODE_ID_PATTERN = /^[^=,\s]+$/
/** Names of nodes and groups are not longer. */
export const MAX_ID_LENGTH = 200

const MAX_PORT = 65_535
const ADDRESS_FORM = 'HOST:PORT, for example 10.0.0.1:7400 or [::1]:7400'
const PEER_FORM = 'ID=HOST:PORT, for example b=10.0.0.2:7400'
const HAS_NO_PORT = /^(?:\[[^\]\s]+\]|[^:=,[\]\s]+)$/

/** What is wrong with HOST:PORT; null when nothing is. */
export function addressProblem(text: string): string | null {
  return problemWith(text, text, ADDRESS_FORM)
}

/** What is wrong with ID=HOST:PORT; null when nothing is. */
export function peerProblem(text: string): string | null {
  const at = text.indexOf('=')
  const shown = JSON.stringify(text)
  if (at === 0) return `${shown} has no id before the "="; use ${PEER_FORM}`
  if (at < 0)
    return text.includes(':') ? `${shown} has no id; use ${PEER_FORM}` : `${shown} is not ${PEER_FORM}`
  const id = nodeIdProblem(text.slice(0, at))
  if (id !== null) return id
  const address = text.slice(at + 1)
  const problem = problemWith(text, address, PEER_FORM)
  if (problem !== null) return problem
  return unreachablePort(text)
}

/** What is wrong with ID=HOST:PORT or HOST:PORT; null when nothing is. */
export function peerOrAddressProblem(text: string): string | null {
  if (text.includes('=') || !text.includes(':')) return peerProblem(text)
  return addressProblem(text) ?? unreachablePort(text)
}

export function nodeIdProblem(id: string): string | null {
  if (id.length > MAX_ID_LENGTH)
    return `${JSON.stringify(`${id.slice(0, 20)}…`)} has ${id.length} characters; an id has at most ${MAX_ID_LENGTH}`
  if (NODE_ID_PATTERN.test(id)) return null
  return `${JSON.stringify(id)} contains a space, a comma or "="; use other characters, because lists of peers have the form ID=HOST:PORT,...`
}

export function unreachablePort(text: string): string | null {
  if (!/:0+$/.test(text)) return null
  return `${JSON.stringify(text)} has port 0, which no node can reach; use the port on which the peer listens`
}

/** Parses HOST:PORT that `addressProblem` accepts. */
export function parseAddress(text: string): Address {
  const colon = text.lastIndexOf(':')
  const host = text.slice(0, colon).replace(/^\[(.*)\]$/, '$1')
  return { host, port: Number(text.slice(colon + 1)) }
}

/** Parses ID=HOST:PORT or HOST:PORT that `peerOrAddressProblem` accepts. The id is null where none is given. */
export function parsePeer(text: string): Peer & { readonly id: string | null } {
  const at = text.indexOf('=')
  return { id: at < 0 ? null : text.slice(0, at), address: parseAddress(text.slice(at + 1)) }
}

/** Why a node that listens on one address cannot send to the other: IPv4 and IPv6 do not mix. Null when it can. */
export function familyMismatch(listen: Address, peer: Address): string | null {
  const [ours, theirs] = [isIP(listen.host), isIP(peer.host)]
  if (ours === 0 || theirs === 0 || ours === theirs || listen.host === '::') return null
  return `${peer.host} is an IPv${theirs} address, but this node listens on the IPv${ours} address ${listen.host}; use one address family, or listen on [::], which accepts both`
}

function problemWith(whole: string, address: string, form: string): string | null {
  const shown = JSON.stringify(whole)
  if (HAS_NO_PORT.test(address)) return `${shown} has no port; use ${form}`
  if (!ADDRESS_PATTERN.test(address)) return `${shown} is not ${form}`
  const { port } = parseAddress(address)
  return port > MAX_PORT ? `${shown} has port ${port}; a port is at most ${MAX_PORT}` : null
}
