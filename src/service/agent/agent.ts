/**
 * The long-running process: a node in each of its groups that is always a candidate, and an HTTP interface that says who
 * leads. The agent does nothing with its terms but hold them; other processes claim them over HTTP.
 */
import { randomBytes } from 'node:crypto'
import type { AgentEvent, LocalResponse } from '../client/index.ts'
import type { HttpTls } from '../config/index.ts'
import { type ConclaveNode, type JoinOptions, join, type StoreJoinOptions } from '../node/index.ts'
import type { Address } from '../runtime/index.ts'
import { createApp } from './app.ts'
import { EventLog } from './event-log.ts'
import { isLoopbackHost } from './hosts.ts'
import { LeaderMonitor } from './leader-monitor.ts'
import { type HttpLimits, listen } from './listen.ts'
import { OtlpExporter } from './otlp.ts'
import { measureGroup } from './responses.ts'
import { createServedGroup, type ServedGroup, warnOfAgent } from './served-group.ts'
import { saveTrace } from './trace-file.ts'

export type AgentOptions = {
  /** At least one; names must differ. */
  readonly groups: readonly (JoinOptions | StoreJoinOptions)[]
  readonly http: Address
  /** Host names that requests may use for this agent, in addition to its addresses and localhost. */
  readonly httpNames?: readonly string[]
  readonly adminToken: string | null
  /** If given, reading the state needs this token or the admin token. */
  readonly readToken?: string | null
  /** If given, HTTPS instead of HTTP. */
  readonly tls?: HttpTls | null
  /** URL of an OpenTelemetry collector that receives metrics and traces. */
  readonly otlp?: string | null
  readonly version: string
  /** Called with every event. */
  readonly log: (event: AgentEvent) => void
  readonly limits?: Partial<HttpLimits>
}

export type Agent = {
  readonly url: string
  /** The nodes, in the order of the groups. */
  readonly nodes: readonly ConclaveNode[]
  /** Resolves when a node fails and the agent must end. Never resolves after `close`. */
  readonly failed: Promise<Error>
  /** Under `conclave up`: records what its supervisor says, for the page and for the causes of gaps. */
  supervise(local: LocalResponse): void
  /** Writes the black box of each node to its data directory, or to `folder` if it has none. Returns the paths. */
  saveTraces(folder: string): Promise<readonly string[]>
  /** Ends all terms, leaves the groups and stops the HTTP server. */
  close(): Promise<void>
}

/**
 * The agent ends its terms when the HTTP thread makes no progress for this long: an agent that does not respond must not
 * lead. The limit is generous because Node answers many requests of many connections in one turn of the event loop.
 */
const MAX_STALL_MS = 10_000

export async function startAgent(options: AgentOptions): Promise<Agent> {
  const { http, httpNames = [], adminToken, version, log, limits } = options
  const served: ServedGroup[] = []
  const nodes: ConclaveNode[] = []
  const closing = new AbortController()
  let local: LocalResponse | null = null
  try {
    // The elections run in worker threads: anyone who can reach the address can send requests, and responding must
    // never delay a renewal.
    for (const group of options.groups) {
      // oxlint-disable-next-line no-await-in-loop -- if one fails, the nodes before it are closed
      const node = await join({ isolation: 'worker', maxStallMs: MAX_STALL_MS, ...group })
      nodes.push(node)
      served.push(serveGroup(node, log, { version, address: addressOf(group) }))
    }
    const groups = new Map(served.map((each) => [each.node.group, each]))
    const isLoopback = await isLoopbackHost(http.host)
    const hosts = isLoopback || httpNames.length > 0 ? httpNames : null
    const app = createApp({
      groups,
      adminToken,
      readToken: options.readToken ?? null,
      isLoopback,
      hosts,
      version,
      local: () => local,
      closing: closing.signal,
    })
    const server = await listen(app.fetch, http, { ...limits, tls: options.tls ?? null })
    for (const [index, node] of nodes.entries())
      node.announce({ page: pageOf(server.url, served[index]?.address ?? null) })
    const exporter = startExporter(options, served)
    const leading = served.map(({ claims }, index) =>
      (nodes[index] as ConclaveNode).lead(claims.holdTerm, { signal: closing.signal }),
    )
    const failed = new Promise<Error>((resolve) => {
      for (const [index, each] of leading.entries()) {
        const message = `the node in ${nodes[index]?.group} stopped; see the preceding warning for the reason`
        each.then(
          () => closing.signal.aborted || resolve(new Error(message)),
          (error: Error) => resolve(error),
        )
      }
    })
    const closeAll = async (): Promise<void> => {
      closing.abort()
      for (const { history } of served) history.stop()
      exporter?.stop()
      // The server keeps responding while the terms end.
      await Promise.all(nodes.map((node) => node.close()))
      await Promise.allSettled(leading)
      await server.close()
    }
    let closed: Promise<void> | null = null
    return {
      url: server.url,
      nodes,
      failed,
      supervise(response) {
        local = response
        for (const { history } of served) history.supervise(response)
      },
      saveTraces: (folder) =>
        Promise.all(
          nodes.map((node, index) => saveTrace(node, dataFolderOf(options.groups[index]) ?? folder)),
        ),
      close() {
        closed ??= closeAll()
        return closed
      },
    }
  } catch (error) {
    await Promise.all(nodes.map((node) => node.close()))
    throw error
  }
}

/** The URL under which others reach the page; null if the agent listens on all addresses and the node says no other. */
function pageOf(url: string, address: string | null): string | null {
  const isUnspecified = (host: string): boolean => host === '0.0.0.0' || host === '[::]'
  const page = new URL(url)
  if (!isUnspecified(page.hostname)) return url
  const host = address?.slice(0, address.lastIndexOf(':')) ?? null
  if (host === null || isUnspecified(host)) return null
  page.hostname = host
  return page.origin
}

/** Null without a collector. */
function startExporter(
  { otlp = null, version, log }: AgentOptions,
  served: readonly ServedGroup[],
): OtlpExporter | null {
  if (otlp === null) return null
  const exporter = new OtlpExporter({
    url: otlp,
    version,
    groups: served.map((group) => ({
      measure: () => measureGroup(group),
      terms: () => group.history.terms(),
    })),
    onFailure(reason) {
      for (const group of served.slice(0, 1)) {
        const warning = eventOf(group.node, 'warning', { reason: `otlp: ${reason}` })
        warnOfAgent(group, 'otlp', reason)
        group.events.add(warning)
        log(warning)
      }
    },
  })
  exporter.start()
  return exporter
}

function eventOf(
  { group, id }: Pick<ConclaveNode, 'group' | 'id'>,
  event: AgentEvent['event'],
  fields: Partial<AgentEvent>,
): AgentEvent {
  const at = new Date().toISOString()
  return { at, group, self: id, event, leader: null, token: null, term: null, reason: null, ...fields }
}

function dataFolderOf(group: JoinOptions | StoreJoinOptions | undefined): string | undefined {
  return group !== undefined && 'data' in group ? group.data : undefined
}

/** Null in a store, and for a port that the system chooses. */
function addressOf(group: JoinOptions | StoreJoinOptions): string | null {
  return 'listen' in group && typeof group.listen === 'string' && !group.listen.endsWith(':0')
    ? group.listen
    : null
}

/** Connects a node to its event log, its monitor and the agent's log. */
function serveGroup(
  node: ConclaveNode,
  log: (event: AgentEvent) => void,
  about: Pick<ServedGroup, 'version' | 'address'>,
): ServedGroup {
  const events = new EventLog(randomBytes(6).toString('hex'))
  const report = (event: AgentEvent['event'], fields: Partial<AgentEvent>): void => {
    const complete = eventOf(node, event, fields)
    events.add(complete)
    log(complete)
  }
  const monitor = new LeaderMonitor((reason) => report('alarm', { reason }))
  const group = createServedGroup({ node, events, monitor, ...about })
  const { history } = group
  node.on('elected', ({ token, cause }) => {
    monitor.countTerm()
    report('elected', { leader: node.id, token, term: monitor.terms, reason: cause })
  })
  node.on('revoked', ({ token, reason, detail, cause }) => {
    history.handleRevoked(token, cause)
    report('revoked', { leader: node.id, token, term: monitor.terms, reason: detail ?? reason, cause })
  })
  node.on('change', ({ leader }) => {
    monitor.observeLeader(leader)
    history.observe({ ...node.status(), leader })
    const cause = history.takeEnd()
    const ended = cause === null ? {} : { cause }
    report('change', { leader: leader?.id ?? null, token: leader?.token ?? null, ...ended })
    group.watchers.sendStatus()
  })
  node.on('level', ({ text, ...change }) => {
    monitor.countLevelChange(change.cause)
    report('level', {
      leader: node.id,
      token: node.view().leader?.token ?? null,
      reason: text,
      level: change,
    })
    group.watchers.sendStatus()
  })
  node.on('view', (view) => {
    monitor.countView()
    report('view', { leader: view.id[1], view })
  })
  node.on('warning', ({ what, detail }) => {
    monitor.countWarning()
    report('warning', { reason: `${what}: ${detail}` })
  })
  history.start()
  return group
}
