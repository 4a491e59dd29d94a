/** Checks a node as it is configured, beside or instead of its agent. It creates nothing, and takes part in no election. */
import { type NodeId, sortIds } from '../../core/index.ts'
import { peerHosting } from '../../protocols/index.ts'
import type { StatusResponse } from '../../service/client/index.ts'
import { parseAddress } from '../../service/config/address.ts'
import type { Config, GroupConfig } from '../../service/config/index.ts'
import { othersIn, peerParts } from '../../service/config/schema.ts'
import type { JoinOptions } from '../../service/node/index.ts'
import { type ConfiguredPeer, checkAddresses } from './addresses.ts'
import { checkData, checkSecret } from './files.ts'
import { type Finding, failed, ok, type Spread, warning } from './findings.ts'
import { checkClocks, judgeHost, sampleHost } from './host.ts'
import { judgePeer, type ProbeResult, probePeers } from './peers.ts'
import { checkPort } from './ports.ts'
import { type AgentAnswer, agentOf, askAgent, judgeStatus } from './running.ts'
import { type StoreCheck, storeFindings } from './store.ts'
import { judgeDelay, judgeLateness, judgeProfile, timingOf } from './timing.ts'

type NodeGroup = GroupConfig & { readonly node: Extract<GroupConfig['node'], { readonly listen: string }> }

/** What was measured, for `--json`. */
export type NodeMeasurements = {
  latenessMs: Spread | null
  /** By group and peer. */
  readonly roundTripMs: { [group: string]: { [peer: string]: Spread | null } }
}

export type NodeCheck = {
  readonly report: (finding: Finding) => void
  readonly signal: AbortSignal
  /** How long lateness and round trips are measured. */
  readonly measuredMs: number
  /** How the store of a node is checked. */
  readonly store: StoreCheck
}

/** What a check of one node cannot find out. */
export const CANNOT_KNOW = [
  'the drift of this clock against those of the other hosts (ρ)',
  'lateness and delays under another load than now: run this again when the host is busy',
  'whether the peers have the same constants: a running node compares them and says so',
]

export async function checkNode(
  config: Config,
  { report, signal, measuredMs, store }: NodeCheck,
): Promise<NodeMeasurements> {
  const add = (findings: readonly Finding[]): void => {
    for (const finding of findings) if (!signal.aborted) report(finding)
  }
  const measurements: NodeMeasurements = { latenessMs: null, roundTripMs: {} }
  add(checkConfiguration(config))
  add(checkFiles(config))
  add(checkClocks())
  for (const { join } of config.groups) {
    if (!('store' in join) || signal.aborted) continue
    // oxlint-disable-next-line no-await-in-loop -- one store after the other, so that the latencies are true
    const { findings, access } = await storeFindings(join.store, store)
    const timing = timingOf(join, [])
    add(findings)
    if (timing !== null && access !== null) add([judgeDelay('writes to the store', access, timing)])
  }
  const agent = agentOf(config)
  const groups = config.groups.filter(isOverNetwork)
  const sampling = sampleHost(measuredMs, signal)
  const answers = new Map(
    await Promise.all(
      config.groups.map(async ({ node }) => [node.group, await askAgent(agent, node.group)] as const),
    ),
  )
  const statusOf = (group: string): StatusResponse | null => {
    const answer = answers.get(group) ?? null
    return answer !== null && 'status' in answer ? answer.status : null
  }
  const all = [...answers.values()].map(isOwn)
  const isRunning = all.includes(true) || (all.includes(null) ? null : false)
  add((await checkPort('HTTP', parseAddress(config.process.http), isRunning)).findings)
  for (const { node, join, peersFrom } of groups) {
    if (signal.aborted) break
    const status = statusOf(node.group)
    // oxlint-disable-next-line no-await-in-loop -- one group after the other, in the order of the report
    const port = await checkPort('UDP', parseAddress(node.listen), isOwn(answers.get(node.group)))
    add(port.findings)
    add(judgeAnswer(agent.url, node.id, answers.get(node.group) ?? null))
    const peers = configuredPeers(node, peersFrom)
    const isProbed = status === null && port.isFree
    // oxlint-disable-next-line no-await-in-loop -- one group after the other, in the order of the report
    add(await checkAddresses({ self: node.id, listen: parseAddress(node.listen), peers, status, isProbed }))
    const timing = timingOf(join, idsOf(node))
    let delay: Spread | null = null
    let lateness: Spread | null = null
    if (status !== null) {
      // The agent has measured for longer, in the thread that runs the election.
      delay = status.measured?.delayMs ?? null
      lateness = status.measured?.latenessMs ?? null
    } else if (port.isFree) {
      // oxlint-disable-next-line no-await-in-loop -- groups may share an address
      const probed = await probe({ node, join } as NodeGroup, peers, measuredMs, signal)
      add(probed.map(judgePeer))
      measurements.roundTripMs[node.group] = Object.fromEntries(
        probed.map(({ peer, roundTrips }) => [`${peer.id}`, roundTrips]),
      )
      delay = slowest(probed)
    }
    // oxlint-disable-next-line no-await-in-loop -- the same promise
    const sample = await sampling
    lateness ??= sample.lateness
    measurements.latenessMs = lateness
    if (timing !== null) add(judgeTiming(timing, lateness, delay, node.profile))
  }
  const sample = await sampling
  for (const { node, join } of config.groups) {
    if (!('store' in join)) continue
    add(judgeAnswer(agent.url, node.id, answers.get(node.group) ?? null))
    const lateness = statusOf(node.group)?.measured?.latenessMs ?? sample.lateness
    measurements.latenessMs ??= lateness
    const timing = timingOf(join, [])
    if (timing !== null) add(judgeTiming(timing, lateness, null, join.profile))
  }
  measurements.latenessMs ??= sample.lateness
  add(judgeHost(sample))
  return measurements
}

function checkConfiguration({ groups, warnings }: Config): readonly Finding[] {
  const named = groups.map(({ node }) => `${node.id} in ${node.group} (${node.protocol})`)
  return [
    ok('configuration', `the configuration is valid: ${named.join(', ')}`),
    // Rights of files are checked below, with a line each.
    ...warnings
      .filter(({ message }) => !message.includes('can be read by'))
      .map(({ field, message }) => {
        const [what = message, fix] = message.split(/(?<=\w): (?=add |chmod |use )/)
        return warning('configuration', `${field}: ${what}`, fix ?? 'see docs/reference/configuration.md')
      }),
  ]
}

function checkFiles({ groups, process }: Config): readonly Finding[] {
  const keys = new Set(groups.flatMap(({ node }) => ('keyFile' in node ? [node.keyFile].flat() : [])))
  const { adminTokenFile } = process
  const folders = groups.flatMap(({ node }) => ('data' in node && node.data !== undefined ? [node.data] : []))
  return [
    ...[...keys].map((file) => checkSecret('key', file)),
    ...(adminTokenFile === undefined ? [] : [checkSecret('token', adminTokenFile)]),
    ...folders.flatMap(checkData),
  ]
}

function isOverNetwork(group: GroupConfig): group is NodeGroup {
  return 'listen' in group.node
}

function idsOf(node: NodeGroup['node']): readonly NodeId[] {
  return sortIds(othersIn(node).map(({ id }) => id))
}

/** Whether the agent of this node runs. Null: a server answers, but does not say its status. */
function isOwn(answer: AgentAnswer | undefined): boolean | null {
  if (answer === null || answer === undefined) return false
  return 'status' in answer ? true : null
}

/** What the agent says about a group; nothing if no agent answers. */
function judgeAnswer(url: string, id: NodeId, answer: AgentAnswer): readonly Finding[] {
  if (answer === null) return []
  if ('refused' in answer)
    return [
      warning(
        'group',
        `the agent at ${url} does not say its status: ${answer.refused}`,
        answer.fix ?? 'give the doctor the configuration of that agent',
      ),
    ]
  const { status } = answer
  return status.self.id === id ? judgeStatus(status) : [anotherNode(url, id, status.self.id)]
}

function anotherNode(url: string, expected: NodeId, found: NodeId): Finding {
  return failed(
    'group',
    `the agent at ${url} is node ${found}, not ${expected}`,
    'give the doctor the configuration of that agent, or another http address',
  )
}

/** The other nodes, each with its entry in the configuration. */
function configuredPeers(
  node: NodeGroup['node'],
  peersFrom: readonly string[] | undefined,
): readonly ConfiguredPeer[] {
  return node.peers
    .map((given, index) => {
      const { id, address } = peerParts(given)
      const place = peersFrom?.[index]
      const entry = `peers[${index}]${place === undefined ? '' : ` in ${place}`}`
      return { id, address: parseAddress(address), entry }
    })
    .filter(({ id }) => id !== node.id)
}

function probe(
  { node, join }: NodeGroup,
  peers: readonly ConfiguredPeer[],
  durationMs: number,
  signal: AbortSignal,
) {
  const { key } = join as JoinOptions
  return probePeers(
    {
      self: node.id,
      listen: parseAddress(node.listen),
      keys: [key].flat(),
      secrecy: node.secrecy ?? false,
      group: node.group,
      protocol: peerHosting(node.protocol).name,
      peers,
    },
    durationMs,
    signal,
  )
}

/** Half of the slowest round trip: the two directions cannot be measured separately. */
function slowest(probed: readonly ProbeResult[]): Spread | null {
  const trips = probed.flatMap(({ roundTrips }) => (roundTrips === null ? [] : [roundTrips]))
  if (trips.length === 0) return null
  const most = (field: keyof Spread): number => Math.max(...trips.map((trip) => trip[field])) / 2
  return { p50: most('p50'), p99: most('p99'), max: most('max') }
}

function judgeTiming(
  timing: NonNullable<ReturnType<typeof timingOf>>,
  lateness: Spread | null,
  delay: Spread | null,
  profile: string | undefined,
): readonly Finding[] {
  const fit =
    lateness === null || delay === null
      ? null
      : judgeProfile(profile, { latenessMs: lateness.max, delayMs: delay.max }, timing)
  return [
    ...(lateness === null ? [] : [judgeLateness(lateness, timing)]),
    ...(delay === null ? [] : [judgeDelay('messages to the slowest peer', delay, timing)]),
    ...(fit === null ? [] : [fit]),
  ]
}
