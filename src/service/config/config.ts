/**
 * The configuration of a process. Flags override the environment, which overrides the file, which overrides the
 * defaults. The result is checked as a whole, and all problems are reported at once, each with its place.
 */
import { equalPlain, type NodeId, sortIds } from '../../core/index.ts'
import { type LeaseFields, peerHosting } from '../../protocols/index.ts'
import { parseAddress } from './address.ts'
import { checked } from './checked.ts'
import { isInStore, NEEDS_STORE, TWO_ROLES } from './fields.ts'
import { type FileConfig, readConfigFile } from './file.ts'
import { type HttpTls, readHttpSecurity } from './http-security.ts'
import type { JoinOptions } from './join-options.ts'
import { type KeyFile, readKeyFile, readTokenFile } from './keys.ts'
import { chosenGroups, type Layered, mergeLayers, placeIn, type Sources } from './layers.ts'
import { peerListProblems } from './peer-list.ts'
import {
  type FieldProblem,
  InvalidConfigError,
  InvalidOptionsError,
  type Problem,
  pathText,
} from './problems.ts'
import { protocolOptions } from './protocol-options.ts'
import {
  NODE_FIELDS,
  type NodeConfig,
  nodeSchema,
  othersIn,
  PROCESS_FIELDS,
  type ProcessConfig,
  peerParts,
  processSchema,
  type StoreNodeConfig,
} from './schema.ts'
import { type StoreGroup, storeGroup } from './store-group.ts'
import type { StoreJoinOptions } from './store-join-options.ts'
import { type Warning, warningsAbout } from './warnings.ts'

export type GroupConfig = {
  readonly node: NodeConfig | StoreNodeConfig
  readonly join: JoinOptions | StoreJoinOptions
  /** The origin of each field: a flag, a variable, a place in the file, or `default`. */
  readonly from: { readonly [field: string]: string }
  /** The origin of each entry of `peers`. */
  readonly peersFrom?: readonly string[]
}

export type Config = {
  readonly process: ProcessConfig
  readonly from: { readonly [field: string]: string }
  readonly groups: readonly GroupConfig[]
  readonly adminToken: string | null
  readonly readToken: string | null
  /** Null: HTTP without TLS. */
  readonly tls: HttpTls | null
  readonly warnings: readonly Warning[]
}

export function configFrom(sources: Sources): Config {
  const file = sources.file === null ? null : readConfigFile(sources.file)
  const listed = (file?.fields['groups'] as readonly FileConfig['fields'][] | undefined) ?? null
  const problems: Problem[] = []
  const whole = mergeLayers(sources, file, PROCESS_FIELDS, null)
  const process = checked(processSchema, whole, problems, []) as ProcessConfig | null
  type Over = { readonly node: NodeConfig; readonly merged: Layered; readonly path: readonly PropertyKey[] }
  const groups = chosenGroups(sources, listed).flatMap((place): readonly (Over | StoreGroup)[] => {
    const path = place === null ? [] : ['groups', place]
    const merged = mergeLayers(sources, file, NODE_FIELDS, place)
    const isOwn = (field: string): boolean =>
      place === null || merged.from[field] !== file?.placeOf([field]) || merged.from[field] === 'default'
    if (isInStore(merged.values['protocol'])) return storeGroup(merged, path, isOwn, problems)
    if (merged.folderProblem !== undefined)
      problems.push({
        field: pathText([...path, 'group']),
        place: placeIn(merged.from, 'group'),
        message: merged.folderProblem,
      })
    const { store, fencing, ...values } = merged.values
    for (const [field, value] of Object.entries({ store, fencing })) {
      if (value === undefined || !isOwn(field)) continue
      problems.push({
        field: pathText([...path, field]),
        place: placeIn(merged.from, field),
        message: NEEDS_STORE,
      })
    }
    const node = checked(nodeSchema, { ...merged, values }, problems, path) as NodeConfig | null
    return node === null ? [] : [{ node, merged, path }]
  })
  refuse(problems)
  const keys = new Map<string, KeyFile>()
  const ready = groups.map((group): GroupConfig => {
    if ('join' in group) return group
    const { node, merged, path } = group
    const problem = (field: string, message: string): void => {
      const place = placeIn(merged.from, /^\w+/.exec(field)?.[0] ?? '')
      problems.push({ field: path.length === 0 ? field : `${pathText(path)}.${field}`, place, message })
    }
    for (const name of [node.keyFile].flat()) {
      const read = keys.get(name) ?? readKeyFile(name)
      keys.set(name, read)
      if (read.problem !== null) problem('keyFile', read.problem)
    }
    const join = joinOptionsOf(
      node,
      [node.keyFile].flat().map((name) => keys.get(name)?.key ?? new Uint8Array()),
    )
    for (const { field, message } of combinedProblems(node, join)) problem(field, message)
    return { node, join, from: merged.from, peersFrom: placesOfPeers(node, merged, file, path) }
  })
  problems.push(...clashes(ready))
  const admin = readTokenFile(process?.adminTokenFile)
  if (admin.problem !== null)
    problems.push({
      field: 'adminTokenFile',
      place: placeIn(whole.from, 'adminTokenFile'),
      message: admin.problem,
    })
  const security = readHttpSecurity(process ?? {})
  for (const { field, message } of security.problems)
    problems.push({ field, place: placeIn(whole.from, field), message })
  refuse(problems)
  const checkedProcess = process as ProcessConfig
  return {
    process: checkedProcess,
    from: whole.from,
    groups: ready,
    adminToken: admin.token,
    readToken: security.readToken,
    tls: security.tls,
    warnings: warningsAbout(
      ready.flatMap(({ node }) => ('store' in node ? [] : [node])),
      checkedProcess,
      [...keys.values(), admin, ...security.secrets],
    ),
  }
}

/** The place of each entry in the file; for flags and variables, their name. */
function placesOfPeers(
  { peers }: NodeConfig,
  { from }: Layered,
  file: FileConfig | null,
  path: readonly PropertyKey[],
): readonly string[] {
  const given = from['peers'] ?? 'default'
  const list = [[...path, 'peers'], ['peers']].find((each) => file?.placeOf(each) === given)
  return peers.map((_, index) => (list === undefined ? given : (file?.placeOf([...list, index]) ?? given)))
}

function refuse(problems: readonly Problem[]): void {
  if (problems.length > 0) throw new InvalidConfigError(problems)
}

/** The options of `join` for a node. */
function joinOptionsOf(node: NodeConfig, key: readonly Uint8Array[]): JoinOptions {
  const { group, id, listen, protocol, mode, profile, sticky, priority, secrecy, data } = node
  const peers = othersIn(node)
  const having = (role: 'observer' | 'witness'): readonly string[] => [
    ...(node[role] ? [id] : []),
    ...node.peers.map(peerParts).flatMap((peer) => (peer[role] ? [peer.id] : [])),
  ]
  const roles = { observers: having('observer'), witnesses: having('witness') }
  const listed = (name: keyof typeof roles): object =>
    roles[name].length === 0 ? {} : { [name]: [...new Set([...listIn(node.options[name]), ...roles[name]])] }
  return {
    group,
    id,
    listen,
    peers: peers.map((peer) => `${peer.id}=${peer.address}`),
    key,
    secrecy,
    protocol,
    mode,
    profile,
    sticky,
    priority,
    // Otherwise the lists in the options contain the roles, equal on all nodes.
    ...(peerHosting(protocol).listsRoles ? {} : { observer: node.observer, witness: node.witness }),
    options: { ...node.options, ...listed('observers'), ...listed('witnesses') },
    ...(data === undefined ? {} : { data }),
    ...leaseFieldsOf(node),
  }
}

/** The fields that are given. */
function leaseFieldsOf({ timing, leaseMinMs, leaseMaxMs, leaseLossPerDay }: NodeConfig): LeaseFields {
  return {
    ...(timing === undefined ? {} : { timing }),
    ...(leaseMinMs === undefined ? {} : { leaseMinMs }),
    ...(leaseMaxMs === undefined ? {} : { leaseMaxMs }),
    ...(leaseLossPerDay === undefined ? {} : { leaseLossPerDay }),
  }
}

const listIn = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : [])

/** Problems that show only when all fields are known: a duplicate id, options that cannot work together. */
function combinedProblems(node: NodeConfig, join: JoinOptions): readonly FieldProblem[] {
  const listed = node.peers.map(peerParts).map(({ id, address }) => ({ id, address: parseAddress(address) }))
  const inList = peerListProblems({ id: node.id, listen: parseAddress(node.listen) }, listed)
  if (inList.length > 0) return inList
  if (node.observer && node.witness) return [TWO_ROLES]
  const ids: readonly NodeId[] = [node.id, ...listed.map(({ id }) => id).filter((id) => id !== node.id)]
  try {
    protocolOptions(node.protocol, sortIds(ids), join)
    return []
  } catch (error) {
    if (error instanceof InvalidOptionsError) return error.problems
    throw error
  }
}

/** Conflicts between the groups of a process: names and data directories are not shared, addresses are. */
function clashes(groups: readonly GroupConfig[]): readonly Problem[] {
  const problems: Problem[] = groups.flatMap((group, index) => {
    const { node, from } = group
    if ('store' in node || node.listen.endsWith(':0')) return []
    const first = groups.findIndex((other) => 'listen' in other.node && other.node.listen === node.listen)
    if (first === index) return []
    return disagreements(groups[first]?.node as NodeConfig, first, { node, from }, index)
  })
  for (const field of ['group', 'data'] as const) {
    const first = new Map<string, number>()
    for (const [index, { node, from }] of groups.entries()) {
      const value = (node as Partial<NodeConfig>)[field]
      if (value === undefined) continue
      const before = first.get(value)
      if (before === undefined) first.set(value, index)
      else
        problems.push({
          field: `groups[${index}].${field}`,
          place: placeIn(from, field),
          message: `${value} is also used by groups[${before}]; every group of a process needs its own`,
        })
    }
  }
  return problems
}

/** The disagreements of two groups that listen on one address. */
function disagreements(
  one: NodeConfig,
  place: number,
  { node: other, from }: { readonly node: NodeConfig; readonly from: GroupConfig['from'] },
  index: number,
): readonly Problem[] {
  const problem = (field: string, ours: string, theirs: string): Problem => ({
    field: `groups[${index}].${field}`,
    place: placeIn(from, field),
    message: `is ${ours} here but ${theirs} in groups[${place}], which listens on the same address, ${one.listen}; use the same value, or another address`,
  })
  const fields = (['id', 'keyFile', 'secrecy'] as const)
    .filter((field) => !equalPlain(one[field] ?? null, other[field] ?? null))
    .map((field) => problem(field, JSON.stringify(other[field]), JSON.stringify(one[field])))
  const known = new Map(othersIn(one).map(({ id, address }) => [id, address]))
  const peers = othersIn(other).flatMap(({ id, address }) => {
    const there = known.get(id)
    return there === undefined || there === address
      ? []
      : [problem('peers', `${id}=${address}`, `${id}=${there}`)]
  })
  return [...fields, ...peers]
}
