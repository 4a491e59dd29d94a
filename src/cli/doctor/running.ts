/** Checks a node whose agent is running: what it measured itself, and what its peers reported. */
import { AgentUnreachableError, getStatus, type StatusResponse } from '../../service/client/index.ts'
import type { Config } from '../../service/config/index.ts'
import { createFetch } from '../fetch.ts'
import { type Finding, failed, formatMs, ok, warning } from './findings.ts'

const TIMEOUT_MS = 2000
/** A node that was not heard for this long does not hear. */
const SILENT_MS = 5000

export type AgentAnswer =
  | { readonly status: StatusResponse }
  /** `fix`: what to do about it, if that is known. */
  | { readonly refused: string; readonly fix: string | null }
  /** No agent answers. */
  | null

/** Where the agent of this configuration answers, and what it demands. */
export function agentOf({ process: { http }, tls, readToken, adminToken }: Config) {
  return {
    url: `${tls === null ? 'http' : 'https'}://${http}`,
    token: readToken ?? adminToken,
    // The doctor reads the certificate from the agent's configuration, and shows it where the agent demands one.
    fetch: createFetch(tls === null ? {} : { pinned: tls.cert, cert: tls.cert, key: tls.key }),
  }
}

export async function askAgent(
  { url, token, fetch }: ReturnType<typeof agentOf>,
  group: string,
): Promise<AgentAnswer> {
  try {
    const signal = AbortSignal.timeout(TIMEOUT_MS)
    return { status: await getStatus({ agent: url, group, signal, token, fetch }) }
  } catch (error) {
    const { message } = error as Error
    // Something listens there if the connection is not refused, for example with another certificate.
    if (!(error instanceof AgentUnreachableError)) return { refused: message, fix: null }
    if (/ECONNREFUSED|EADDRNOTAVAIL|ENETUNREACH/.test(message)) return null
    const { cause } = error
    if (cause instanceof Error && cause.name === 'AbortError')
      return { refused: `it has not answered for ${TIMEOUT_MS / 1000} s`, fix: 'restart it if it hangs' }
    return { refused: cause instanceof Error ? cause.message : message, fix: null }
  }
}

export function judgeStatus(status: StatusResponse): readonly Finding[] {
  return [judgeBanner(status), ...judgePeers(status), ...judgeVersions(status), ...judgeWarnings(status)]
}

function judgeBanner({ level, banner, nodes }: StatusResponse): Finding {
  if (level === 'healthy') return ok('group', banner)
  if (level !== 'degraded' && level !== 'at-risk')
    return failed('group', banner, 'see docs/troubleshooting.md')
  return nodes.every(({ reachable }) => reachable)
    ? warning('group', banner, 'add voters: the group has none to lose')
    : warning('group', banner, 'bring the unreachable nodes back')
}

/** Both directions: what this node hears, and what the peer reports that it hears. */
function judgePeers({ self, nodes, mode }: StatusResponse): readonly Finding[] {
  // Nodes in a store exchange no messages.
  if (mode === 'store') return []
  return nodes
    .filter(({ id }) => id !== self.id)
    .map((node): Finding => {
      const { id, address, heardMsAgo, rttMs } = node
      const name = address === null ? `${id}` : `${id} at ${address}`
      const hearsUs = node.hears?.[`${self.id}`]?.heardMsAgo
      const isHeard = heardMsAgo !== null && heardMsAgo < SILENT_MS
      if (!isHeard)
        return warning(
          'peer',
          `${name} is not heard${heardMsAgo === null ? '' : ` since ${formatMs(heardMsAgo)}`}`,
          `start it; if it runs, let UDP through from it to this node`,
        )
      if (hearsUs === null || (hearsUs !== undefined && hearsUs >= SILENT_MS))
        return failed(
          'peer',
          `${name} is heard, but does not hear this node`,
          `let UDP through to ${address ?? id}`,
        )
      const trip = rttMs === null ? '' : `, round trip ${formatMs(rttMs)}`
      return ok('peer', `${name} is heard${hearsUs === undefined ? '' : ', and hears this node'}${trip}`)
    })
}

function judgeVersions({ version, nodes }: StatusResponse): readonly Finding[] {
  const others = nodes.filter((node) => node.version !== null && node.version !== version)
  if (others.length > 0)
    return [
      warning(
        'version',
        `this agent runs ${version}, ${others.map(({ id, version: other }) => `${id} ${other}`).join(', ')}`,
        'update all nodes to one version, one after the other: docs/how-to/update-without-downtime.md',
      ),
    ]
  const isKnown = nodes.some((node) => node.version !== null)
  return isKnown ? [ok('version', `all nodes that reported their version run ${version}`)] : []
}

function judgeWarnings({ warnings }: StatusResponse): readonly Finding[] {
  return warnings
    .slice(0, 5)
    .map(({ what, detail, count, at }) =>
      warning(
        'warning',
        `${what}: ${detail}${count > 1 ? ` (${count} times, last at ${at})` : ` (at ${at})`}`,
        'the agent said so itself; docs/troubleshooting.md explains each warning',
      ),
    )
}
