/** Accepts the configuration file of an agent in `conclave plan`: the card is about the group that the agent would join. */
import { type PlainObject, sortIds } from '../../core/index.ts'
import { DEFAULT_PROTOCOL, hostingOf } from '../../protocols/index.ts'
import { readConfigFile } from '../../service/config/file.ts'
import { protocolOptions } from '../../service/config/protocol-options.ts'
import { type NodeConfig, othersIn } from '../../service/config/schema.ts'
import { UsageError } from '../errors.ts'

/** Fields that only the file of an agent has. */
const AGENT_FIELDS = ['group', 'id', 'peers', 'listen', 'keyFile', 'groups', 'http', 'data', 'adminTokenFile']

/** How real nodes are connected. A plan simulates that, and has no option for it. */
const CONNECTION_OPTIONS = ['link', 'links', 'hostedGroup', 'requests']

export function isAgentFile(content: PlainObject): boolean {
  return AGENT_FIELDS.some((field) => content[field] !== undefined)
}

/**
 * The same group as the content of a plan's own file. `group`: which one, if the file has several. All nodes may share a
 * file, each with its id in its environment.
 */
export function planOfAgent(
  file: string,
  group: string | null,
  environment: { readonly [name: string]: string | undefined } = process.env,
): PlainObject {
  const { groups, ...shared } = readConfigFile(file).fields as PlainObject & {
    readonly groups?: readonly PlainObject[]
  }
  const all = groups === undefined ? [shared] : groups.map((each) => ({ ...shared, ...each }))
  const chosen = group === null ? all : all.filter((each) => each['group'] === group)
  const [first, second] = chosen
  if (first === undefined || second !== undefined)
    throw new UsageError(
      `${file} has ${first === undefined ? `no group ${group}` : 'several groups'}; choose one of ${all.map((each) => each['group'] as string).join(', ')} with --group`,
      '--group',
    )
  const protocol = (first['protocol'] as string | undefined) ?? DEFAULT_PROTOCOL
  if (hostingOf(protocol)?.needs === 'store') {
    const { profile, store, options } = first
    return pick({ protocol, profile, store, options })
  }
  const id = environment['CONCLAVE_ID'] ?? first['id']
  if (id === undefined)
    throw new UsageError(`${file}: id is missing: set CONCLAVE_ID to the id of a node that uses this file`)
  return planOfNode({ peers: [], options: {}, ...first, id, protocol } as unknown as NodeConfig)
}

function planOfNode(node: NodeConfig): PlainObject {
  const others = othersIn(node)
  const nodes = sortIds([node.id, ...others.map(({ id }) => id)])
  const having = (role: 'observer' | 'witness'): readonly string[] => [
    ...(node[role] ? [node.id] : []),
    ...others.flatMap((peer) => (peer[role] ? [peer.id] : [])),
  ]
  const roles = { observers: having('observer'), witnesses: having('witness') }
  const listed = Object.fromEntries(Object.entries(roles).filter(([, ids]) => ids.length > 0))
  const { id, profile, mode, sticky, priority, data } = node
  const { timing, leaseMinMs, leaseMaxMs, leaseLossPerDay } = node
  const asked = {
    id,
    ...pick({ profile, mode, sticky, priority, data, timing, leaseMinMs, leaseMaxMs, leaseLossPerDay }),
    options: { ...node.options, ...listed },
  }
  const options = Object.entries(protocolOptions(node.protocol, nodes, asked)).filter(
    ([name]) => !CONNECTION_OPTIONS.includes(name),
  )
  return { protocol: node.protocol, nodes, options: Object.fromEntries(options) }
}

/** Without the fields that are missing. */
function pick(fields: { readonly [field: string]: unknown }): PlainObject {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as PlainObject
}
