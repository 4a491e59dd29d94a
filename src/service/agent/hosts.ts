/**
 * Protection against DNS rebinding. A web page can resolve its own host name to a loopback address, make the browser
 * send requests there, and read the responses. Such a request carries the page's name in its Host header and the page's
 * origin in its Origin header. A page can forge neither, and neither can be an IP address, which needs no DNS.
 */
import { lookup } from 'node:dns/promises'
import { BlockList, isIP } from 'node:net'
import type { Context, MiddlewareHandler } from 'hono'
import { errorResponse } from './admin.ts'

const LOOPBACK = new BlockList()
LOOPBACK.addSubnet('127.0.0.0', 8, 'ipv4')
LOOPBACK.addAddress('::1', 'ipv6')

/** Whether only this machine can reach a server that listens on this host. */
export async function isLoopbackHost(host: string): Promise<boolean> {
  try {
    // The same resolver that the server uses.
    const { address, family } = await lookup(host)
    // BlockList also matches an IPv4 address that is mapped into IPv6.
    return LOOPBACK.check(address, family === 6 ? 'ipv6' : 'ipv4')
  } catch {
    // The server reports a name that cannot be resolved.
    return false
  }
}

/** Refuses requests for another host and requests of pages from another origin. `names` are allowed in addition. */
export function refuseOtherHosts(names: readonly string[]): MiddlewareHandler {
  const known = new Set(names.map((name) => name.toLowerCase()))
  return async (c, next) => {
    // HTTP/1.0 does not need a Host header. Browsers always send one.
    const host = c.req.header('Host') ?? ''
    const name = hostnameOf(host)
    if (host !== '' && !(isLocal(name) || known.has(name))) {
      const message = `the Host header ${JSON.stringify(host)} is not a name of this agent: use its address or localhost, or start the agent with --http-name NAME`
      return errorResponse(c, 403, 'UnknownHost', message, 'Host')
    }
    return refuseOtherOrigins(c, known) ?? next()
  }
}

/** Null unless a page of another origin sent the request. Browsers add the Origin header; other clients need none. */
export function refuseOtherOrigins(c: Context, known: ReadonlySet<string>): Response | null {
  const origin = c.req.header('Origin')
  if (origin === undefined || isOwnOrigin(origin, c.req.header('Host') ?? '', known)) return null
  const message = `requests from the origin ${JSON.stringify(origin)} are refused: if it is a name of this agent, start the agent with --http-name NAME`
  return errorResponse(c, 403, 'ForeignOrigin', message, 'Origin')
}

/** Strips the port and converts to lower case. An IPv6 address keeps its brackets. */
function hostnameOf(host: string): string {
  return host.replace(/:\d*$/, '').replace(/\.$/, '').toLowerCase()
}

/** Whether the name is an address or localhost, which DNS cannot redirect. */
function isLocal(name: string): boolean {
  return name === 'localhost' || name.endsWith('.localhost') || isIP(name.replace(/^\[(.*)\]$/, '$1')) !== 0
}

/** Whether this agent served the page itself, or a proxy with one of its names did. */
function isOwnOrigin(origin: string, host: string, known: ReadonlySet<string>): boolean {
  if (!URL.canParse(origin)) return false
  const page = new URL(origin)
  return (host !== '' && page.host === host.toLowerCase()) || known.has(hostnameOf(page.host))
}
