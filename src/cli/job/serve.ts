/** `conclave job serve`: a node that runs module jobs, with an HTTP interface. */

import { isLoopbackHost } from '../../service/agent/hosts.ts'
import { CannotListenError } from '../../service/agent/index.ts'
import { type HttpServer, listen } from '../../service/agent/listen.ts'
import { parseAddress } from '../../service/config/address.ts'
import type { Config } from '../../service/config/index.ts'
import type { JoinOptions } from '../../service/node/index.ts'
import type { Cluster } from '../../service/recovery/cluster/cluster.ts'
import { openCluster } from '../../service/recovery/cluster/open.ts'
import { PROTOCOL } from '../../service/recovery/cluster/options.ts'
import { openDirectorySink } from '../../service/recovery/sink/index.ts'
import { EXIT, UsageError } from '../errors.ts'
import { type NodeFlags, readConfig, type ServiceFlags } from '../node-flags.ts'
import { printNote } from '../output.ts'
import { parseWholeNumber } from '../values.ts'
import { createJobApp } from './app.ts'

export type ServeFlags = Partial<NodeFlags> &
  ServiceFlags & { readonly slots?: string; readonly outputs?: string }

type Log = (event: string, fields: { readonly [field: string]: unknown }) => void

/** Resolves to the exit code when the node ends. */
export async function serveJobs(flags: ServeFlags): Promise<number> {
  const config = readConfig({ peer: [], keyFile: [], option: [], ...flags, protocol: PROTOCOL })
  const [group, other] = config.groups
  if (group === undefined || other !== undefined)
    throw new UsageError('the configuration file has several groups; choose one with --group', '--group')
  const slots = flags.slots === undefined ? undefined : parseWholeNumber('--slots', flags.slots, 0)
  const stopped = firstSignal()
  const log = createLog(group.join.id)
  for (const { field, message } of config.warnings) log('warning', { reason: `${field}: ${message}` })
  const {
    id,
    listen: address,
    peers,
    key,
    secrecy = false,
    profile = 'lan',
    options = {},
    data = '',
    group: name,
  } = group.join as JoinOptions
  const cluster = await openCluster({
    group: name,
    id,
    listen: address,
    peers,
    key,
    secrecy,
    profile,
    options,
    data,
    ...(slots === undefined ? {} : { slots }),
    ...(flags.outputs === undefined ? {} : { sink: openDirectorySink(flags.outputs) }),
  })
  logEvents(cluster, log)
  const server = await serve(cluster, config).catch(async (error: unknown) => {
    await cluster.close()
    if (error instanceof CannotListenError) throw new UsageError(`--http: ${error.message}`, '--http')
    throw error
  })
  log('started', { http: server.url })
  const cause = await Promise.race([stopped, cluster.failed])
  log('ending', { reason: typeof cause === 'string' ? cause : cause.message })
  await server.close()
  await cluster.close()
  return typeof cause === 'string' ? EXIT.ok : EXIT.failure
}

async function serve(cluster: Cluster, { process: settings, adminToken }: Config): Promise<HttpServer> {
  const http = parseAddress(settings.http)
  const isLoopback = await isLoopbackHost(http.host)
  const hosts = isLoopback || settings.httpNames.length > 0 ? settings.httpNames : null
  // A submission is answered when the group has stored the definition.
  return listen(createJobApp({ cluster, adminToken, hosts }).fetch, http, { requestMs: 60_000 })
}

function logEvents(cluster: Cluster, log: Log): void {
  cluster.on('view', ({ token, leader, members }) => log('view', { token, leader, members }))
  cluster.on('log', ({ job, text }) => log('log', { job, text }))
  cluster.on('warning', ({ what, detail }) => log('warning', { reason: `${what}: ${detail}` }))
  let before = ''
  cluster.on('jobs', () => {
    void cluster.jobs().then((jobs) => {
      const shown = JSON.stringify(
        jobs.map(({ name, status, node, reason }) => ({ name, status, node, reason })),
      )
      if (shown !== before) log('jobs', { jobs: JSON.parse(shown) as unknown })
      before = shown
    })
  })
}

/** One JSON object per line, to standard error. */
function createLog(id: string): Log {
  return (event, fields) =>
    printNote(JSON.stringify({ time: new Date().toISOString(), id, event, ...fields }))
}

/** Resolves with the first signal. A second signal ends the process at once. */
function firstSignal(): Promise<string> {
  return new Promise((resolve) => {
    let received = 0
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
      process.on(signal, () => {
        received += 1
        if (received > 1) process.exit(EXIT.failure)
        resolve(signal)
      })
    }
  })
}
