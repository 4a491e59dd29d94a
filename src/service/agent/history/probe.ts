/**
 * Whether the process of an unreachable node is gone. A host that is up refuses connections to a port on which nothing
 * listens. A host that is down or cut off does not answer at all. Only a connection is made; nothing is sent.
 */
import { connect, isIP } from 'node:net'

const TIMEOUT_MS = 500

/** Whether nothing listens at the host and port of this URL. False if that is unknown. */
export function probeListener(url: string): Promise<boolean> {
  const { hostname, port, protocol } = new URL(url)
  const host = hostname.replace(/^\[(.*)\]$/, '$1')
  return new Promise((resolve) => {
    const socket = connect({
      host,
      port: Number(port || (protocol === 'https:' ? 443 : 80)),
      timeout: TIMEOUT_MS,
    })
    const end = (isRefused: boolean): void => {
      socket.destroy()
      resolve(isRefused)
    }
    socket.once('connect', () => end(false))
    socket.once('timeout', () => end(false))
    socket.once('error', (error: NodeJS.ErrnoException) => end(error.code === 'ECONNREFUSED'))
  })
}

type Reported = { readonly page: string | null; readonly address: string | null }

/**
 * Whether a refused connection to the page says something about the node. The page must be at an IP address, at the one
 * where the node receives its datagrams: the loopback address of another host is not ours.
 */
export function canProbe<Node extends Reported>(node: Node): node is Node & { readonly page: string } {
  const { page, address } = node
  if (page === null || address === null || !URL.canParse(page)) return false
  const { hostname, protocol } = new URL(page)
  const host = hostname.replace(/^\[(.*)\]$/, '$1')
  const own = address.slice(0, address.lastIndexOf(':')).replace(/^\[(.*)\]$/, '$1')
  return (protocol === 'http:' || protocol === 'https:') && isIP(host) !== 0 && host === own
}
