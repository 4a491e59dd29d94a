/**
 * Which agent a request is meant for. A web page can make a browser send requests to a loopback address under a host
 * name of its own (DNS rebinding), and read the answers. Such a request gives itself away: its Host header carries that
 * name, and its Origin header the page's. Neither can be forged by a page, and neither can be an IP address, since an
 * address needs no DNS.
 */
import { lookup } from 'node:dns/promises'
import { BlockList, isIP } from 'node:net'
import type { MiddlewareHandler } from 'hono'
import { failure } from './admin.ts'

const LOOPBACK = new BlockList()
LOOPBACK.addSubnet('127.0.0.0', 8, 'ipv4')
LOOPBACK.addAddress('::1', 'ipv6')

/** Whether only this machine can reach a server that listens there. */
export async function isLoopbackHost(host: string): Promise<boolean> {
  try {
    // As the server itself resolves it.
    const { address, family } = await lookup(host)
    // BlockList also matches an IPv4 address that is mapped into IPv6.
    return LOOPBACK.check(address, family === 6 ? 'ipv6' : 'ipv4')
  } catch {
    // The server reports a name that cannot be resolved.
    return false
  }
}

/** Refuses requests that name another host, or that a page of another origin made. `names` come in addition. */
export function refuseOtherHosts(names: readonly string[]): MiddlewareHandler {
  const known = new Set(names.map((name) => name.toLowerCase()))
  return async (c, next) => {
    // HTTP/1.0 needs no Host, and browsers never leave it out.
    const host = c.req.header('Host') ?? ''
    const name = hostnameOf(host)
    if (host !== '' && !(isLocal(name) || known.has(name))) {
      const message = `the Host header names ${JSON.stringify(host)}, which is not this agent: send requests to its address or to localhost, or start it with --http-name NAME`
      return failure(c, 403, 'UnknownHost', message, 'Host')
    }
    const origin = c.req.header('Origin')
    if (origin !== undefined && !isOwn(origin, host, known)) {
      const message = `requests of pages from ${JSON.stringify(origin)} are refused: start the agent with --http-name NAME if that is its own name`
      return failure(c, 403, 'ForeignOrigin', message, 'Origin')
    }
    return next()
  }
}

/** Without its port, in lower case; an IPv6 address keeps its brackets. */
function hostnameOf(host: string): string {
  return host.replace(/:\d*$/, '').replace(/\.$/, '').toLowerCase()
}

/** Nothing that DNS decides about. */
function isLocal(name: string): boolean {
  return name === 'localhost' || name.endsWith('.localhost') || isIP(name.replace(/^\[(.*)\]$/, '$1')) !== 0
}

/** A page that this agent served itself, also through a proxy that has one of its names. */
function isOwn(origin: string, host: string, known: ReadonlySet<string>): boolean {
  if (!URL.canParse(origin)) return false
  const page = new URL(origin)
  return (host !== '' && page.host === host.toLowerCase()) || known.has(hostnameOf(page.host))
}
