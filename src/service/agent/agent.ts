/**
 * The long-running process: a node in each of its groups that campaigns for ever, and answers over HTTP who leads.
 * Whatever acts on the lead asks it; the agent itself does nothing with a term but hold it.
 */
import { randomBytes } from 'node:crypto'
import type { AgentEvent } from '../client/index.ts'
import { type JoinOptions, join, type Member, type StoreJoinOptions } from '../node/index.ts'
import type { Address } from '../runtime/index.ts'
import { agentApp, type Served } from './app.ts'
import { Claims } from './claims.ts'
import { History } from './history.ts'
import { isLoopbackHost } from './hosts.ts'
import { type HttpLimits, listening } from './listen.ts'
import { Observer } from './observer.ts'
import { saveTrace } from './trace-file.ts'

export type AgentOptions = {
  /** At least one; each with a name of its own. */
  readonly groups: readonly (JoinOptions | StoreJoinOptions)[]
  readonly http: Address
  /** Host names that requests may use for this agent, in addition to its addresses and localhost. */
  readonly httpNames?: readonly string[]
  readonly adminToken: string | null
  readonly version: string
  /** For each thing that happens; for whoever keeps the log. */
  readonly log: (event: AgentEvent) => void
  readonly limits?: Partial<HttpLimits>
}

export type Agent = {
  readonly url: string
  /** The nodes, in the order of the groups. */
  readonly nodes: readonly Member[]
  /** Kept when the agent has ended by itself, because a node could not go on; never after `close`. */
  readonly failed: Promise<Error>
  /** Writes the black box of each node to a file in its data folder, or in `folder` where it has none; says which. */
  saveTraces(folder: string): Promise<readonly string[]>
  /** Hands over what it leads, and ends. */
  close(): Promise<void>
}

/**
 * How long the thread that answers HTTP may have no turn before the lead is given up: an agent that answers nobody leads
 * for nobody. Many connections with many requests each are answered in one turn, so it is long.
 */
const LONGEST_STALL_MS = 10_000

export async function startAgent(options: AgentOptions): Promise<Agent> {
  const { http, httpNames = [], adminToken, version, log, limits } = options
  const joined: Served[] = []
  const nodes: Member[] = []
  const ending = new AbortController()
  try {
    // Anyone who can reach the address can send requests: answering them must never delay a renewal.
    for (const group of options.groups) {
      // oxlint-disable-next-line no-await-in-loop -- when one fails, those before it are closed again
      const node = await join({ isolation: 'worker', maxStallMs: LONGEST_STALL_MS, ...group })
      nodes.push(node)
      joined.push(served(node, log))
    }
    const groups = new Map(joined.map((each) => [each.node.group, each]))
    const isLoopback = await isLoopbackHost(http.host)
    const hosts = isLoopback || httpNames.length > 0 ? httpNames : null
    const app = agentApp({ groups, adminToken, isLoopback, hosts, version, ending: ending.signal })
    const server = await listening(app.fetch, http, limits)
    const leading = joined.map(({ claims }, index) =>
      (nodes[index] as Member).lead(claims.during, { signal: ending.signal }),
    )
    const failed = new Promise<Error>((resolve) => {
      for (const [index, each] of leading.entries()) {
        const stopped = `the node in ${nodes[index]?.group} stopped by itself: the warning before says why`
        each.then(
          () => ending.signal.aborted || resolve(new Error(stopped)),
          (error: Error) => resolve(error),
        )
      }
    })
    const end = async (): Promise<void> => {
      ending.abort()
      // Answers go on while the lead is handed over.
      await Promise.all(nodes.map((node) => node.close()))
      await Promise.allSettled(leading)
      await server.close()
    }
    let ended: Promise<void> | null = null
    return {
      url: server.url,
      nodes,
      failed,
      saveTraces: (folder) =>
        Promise.all(nodes.map((node, index) => saveTrace(node, dataOf(options.groups[index]) ?? folder))),
      close() {
        ended ??= end()
        return ended
      },
    }
  } catch (error) {
    await Promise.all(nodes.map((node) => node.close()))
    throw error
  }
}

function dataOf(group: JoinOptions | StoreJoinOptions | undefined): string | undefined {
  return group !== undefined && 'data' in group ? group.data : undefined
}

/** A node with its history, its observer, and whoever keeps the log. */
function served(node: Member, log: (event: AgentEvent) => void): Served {
  const history = new History(randomBytes(6).toString('hex'))
  const tell = (event: AgentEvent['event'], about: Partial<AgentEvent>): void => {
    const whole: AgentEvent = {
      at: new Date().toISOString(),
      group: node.group,
      self: node.id,
      event,
      leader: null,
      token: null,
      term: null,
      reason: null,
      ...about,
    }
    history.add(whole)
    log(whole)
  }
  const observer = new Observer((reason) => tell('alarm', { reason }))
  node.on('elected', ({ token, cause }) => {
    observer.elected()
    tell('elected', { leader: node.id, token, term: observer.leaderships, reason: cause })
  })
  node.on('revoked', ({ token, reason }) => tell('revoked', { token, term: observer.leaderships, reason }))
  node.on('change', ({ leader }) => {
    observer.see(leader)
    tell('change', { leader: leader?.id ?? null, token: leader?.token ?? null })
  })
  node.on('view', (view) => {
    observer.installed()
    tell('view', { leader: view.id[1], view })
  })
  node.on('warning', ({ what, detail }) => tell('warning', { reason: `${what}: ${detail}` }))
  return { node, history, observer, claims: new Claims() }
}
