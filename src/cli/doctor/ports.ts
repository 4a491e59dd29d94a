/** Checks whether this process could use the addresses of a node. It holds each for a moment only. */
import { createSocket } from 'node:dgram'
import { lookup } from 'node:dns/promises'
import { createServer, isIP } from 'node:net'
import { type Address, showAddress } from '../../service/runtime/index.ts'
import { type Finding, failed, ok, warning } from './findings.ts'

/** `code`: why the address cannot be used; null if it can. */
type Tried = { readonly code: string | null; readonly bufferBytes: number | null }

/** A node asks for a receive buffer of this size, for datagrams that arrive while it is busy. */
const WANTED_BUFFER = 1024 * 1024

async function resolveHost(host: string): Promise<string> {
  return isIP(host) === 0 ? (await lookup(host)).address : host
}

async function tryUdp({ host, port }: Address): Promise<Tried> {
  const address = await resolveHost(host)
  return new Promise((resolve) => {
    const socket = createSocket(isIP(address) === 6 ? 'udp6' : 'udp4')
    socket.once('error', ({ code }: NodeJS.ErrnoException) => {
      socket.close()
      resolve({ code: code ?? 'unknown', bufferBytes: null })
    })
    socket.bind(port, address, () => {
      let bufferBytes: number | null = null
      try {
        socket.setRecvBufferSize(WANTED_BUFFER)
        bufferBytes = socket.getRecvBufferSize()
      } catch {
        // The system does not say.
      }
      socket.close(() => resolve({ code: null, bufferBytes }))
    })
  })
}

async function tryTcp({ host, port }: Address): Promise<Tried> {
  const address = await resolveHost(host)
  return new Promise((resolve) => {
    const server = createServer()
    server.once('error', ({ code }: NodeJS.ErrnoException) =>
      resolve({ code: code ?? 'unknown', bufferBytes: null }),
    )
    server.listen(port, address, () => server.close(() => resolve({ code: null, bufferBytes: null })))
  })
}

/** `isFree`: this process could use the address now. */
export type PortCheck = { readonly findings: readonly Finding[]; readonly isFree: boolean }

/**
 * `isRunning`: an agent of this node answers, so the address is in use by the node itself. Null: a server answers that
 * does not say which node it is.
 */
export async function checkPort(
  kind: 'UDP' | 'HTTP',
  address: Address,
  isRunning: boolean | null,
): Promise<PortCheck> {
  const where = `${kind} ${showAddress(address)}`
  let tried: Tried
  try {
    tried = await (kind === 'UDP' ? tryUdp(address) : tryTcp(address))
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    const text = `${where}: the name ${address.host} cannot be resolved (${code})`
    return { findings: [failed('port', text, 'use an address of this host')], isFree: false }
  }
  const { code, bufferBytes } = tried
  if (code === null)
    return { findings: [ok('port', `${where} is free`), ...bufferFinding(bufferBytes)], isFree: true }
  if (code === 'EADDRINUSE')
    return {
      findings: [judgeUse(where, address.port, isRunning)],
      isFree: false,
    }
  const fix =
    code === 'EADDRNOTAVAIL'
      ? 'use an address of this host: "ip addr" lists them'
      : code === 'EACCES'
        ? 'use a port from 1024 on, or give the process the right (CAP_NET_BIND_SERVICE)'
        : 'use another address'
  return { findings: [failed('port', `${where} cannot be used (${code})`, fix)], isFree: false }
}

function judgeUse(where: string, port: number, isRunning: boolean | null): Finding {
  if (isRunning === true) return ok('port', `${where} is used by the running agent`)
  const list = `ss -lpn | grep :${port}`
  return isRunning === null
    ? warning(
        'port',
        `${where} is in use, perhaps by the agent of this node, which does not say its status`,
        `find out which process uses it: ${list}`,
      )
    : failed(
        'port',
        `${where} is in use, and no agent of this node answers`,
        `stop the process that uses it (${list}), or use another port`,
      )
}

function bufferFinding(bytes: number | null): readonly Finding[] {
  if (bytes === null || bytes >= WANTED_BUFFER) return []
  return [
    warning(
      'port',
      `the system grants a receive buffer of ${Math.floor(bytes / 1024)} kB instead of 1024 kB`,
      'sysctl -w net.core.rmem_max=1048576, so that datagrams survive a busy moment of this process',
    ),
  ]
}
