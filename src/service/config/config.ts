/**
 * The configuration of a process: what flags say, then the environment, then the file, then the defaults; checked as a
 * whole. Everything that is wrong is said at once, each with the place where it was said.
 */
import { equalPlain, type NodeId, sortIds } from '../../core/index.ts'
import { protocolNamed } from '../../protocols/index.ts'
import { addressOf, whyApart } from '../node/api/address.ts'
import { protocolOptions } from '../node/api/join-options.ts'
import { InvalidOptionsError, type JoinOptions, type StoreJoinOptions } from '../node/index.ts'
import { checked } from './checked.ts'
import { type FileConfig, readConfigFile } from './file.ts'
import { type KeyFile, readAdminToken, readKeyFile } from './keys.ts'
import { chosenGroups, type Layered, layered, placeIn, type Sources } from './layers.ts'
import { InvalidConfigError, type Problem, pathText } from './problems.ts'
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
import { type Warning, warningsAbout } from './warnings.ts'

export type GroupConfig = {
  readonly node: NodeConfig | StoreNodeConfig
  readonly join: JoinOptions | StoreJoinOptions
  /** Who said each field: a flag, a variable, a place in the file, or `default`. */
  readonly from: { readonly [field: string]: string }
}

export type Config = {
  readonly process: ProcessConfig
  readonly from: { readonly [field: string]: string }
  readonly groups: readonly GroupConfig[]
  readonly adminToken: string | null
  readonly warnings: readonly Warning[]
}

export function configFrom(sources: Sources): Config {
  const file = sources.file === null ? null : readConfigFile(sources.file)
  const listed = (file?.said['groups'] as readonly FileConfig['said'][] | undefined) ?? null
  const problems: Problem[] = []
  const whole = layered(sources, file, PROCESS_FIELDS, null)
  const process = checked(processSchema, whole, problems, []) as ProcessConfig | null
  type Over = { readonly node: NodeConfig; readonly said: Layered; readonly path: readonly PropertyKey[] }
  const groups = chosenGroups(sources, listed).flatMap((place): readonly (Over | StoreGroup)[] => {
    const path = place === null ? [] : ['groups', place]
    const said = layered(sources, file, NODE_FIELDS, place)
    const isOwn = (field: string): boolean =>
      place === null || said.from[field] !== file?.placeOf([field]) || said.from[field] === 'default'
    if (said.values['protocol'] === 'epochs') return storeGroup(said, path, isOwn, problems)
    const { store, fencing, ...values } = said.values
    for (const [field, value] of Object.entries({ store, fencing })) {
      if (value === undefined || !isOwn(field)) continue
      const message = 'has no meaning without the protocol epochs: take it out, or give --protocol epochs'
      problems.push({ field: pathText([...path, field]), place: placeIn(said.from, field), message })
    }
    const node = checked(nodeSchema, { ...said, values }, problems, path) as NodeConfig | null
    return node === null ? [] : [{ node, said, path }]
  })
  refuse(problems)
  const keys = new Map<string, KeyFile>()
  const ready = groups.map((group): GroupConfig => {
    if ('join' in group) return group
    const { node, said, path } = group
    const problem = (field: keyof NodeConfig, more: readonly PropertyKey[], message: string): void => {
      const place = placeIn(said.from, field)
      problems.push({ field: pathText([...path, field, ...more]), place, message })
    }
    for (const name of [node.keyFile].flat()) {
      const read = keys.get(name) ?? readKeyFile(name)
      keys.set(name, read)
      if (read.problem !== null) problem('keyFile', [], read.problem)
    }
    const join = joining(
      node,
      [node.keyFile].flat().map((name) => keys.get(name)?.key ?? new Uint8Array()),
    )
    const bad = whyImpossible(node, join)
    if (bad !== null) problem(bad.field, bad.path, bad.message)
    return { node, join, from: said.from }
  })
  problems.push(...clashes(ready))
  const admin = readAdminToken(process?.adminTokenFile)
  if (admin.problem !== null)
    problems.push({
      field: 'adminTokenFile',
      place: placeIn(whole.from, 'adminTokenFile'),
      message: admin.problem,
    })
  refuse(problems)
  const checkedProcess = process as ProcessConfig
  return {
    process: checkedProcess,
    from: whole.from,
    groups: ready,
    adminToken: admin.token,
    warnings: warningsAbout(
      ready.flatMap(({ node }) => ('store' in node ? [] : [node])),
      checkedProcess,
      [...keys.values(), admin],
    ),
  }
}

function refuse(problems: readonly Problem[]): void {
  if (problems.length > 0) throw new InvalidConfigError(problems)
}

/** What the library is told. */
function joining(node: NodeConfig, key: readonly Uint8Array[]): JoinOptions {
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
    // Under local-leader the lists of the options say so, for all nodes alike.
    ...(protocol === 'omega' ? { observer: node.observer, witness: node.witness } : {}),
    options: { ...node.options, ...listed('observers'), ...listed('witnesses') },
    ...(data === undefined ? {} : { data }),
  }
}

const listIn = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : [])

type Impossible = {
  readonly field: keyof NodeConfig
  readonly path: readonly PropertyKey[]
  readonly message: string
}

/** What only shows when everything is known: an id named twice, constants that cannot work together. */
function whyImpossible(node: NodeConfig, join: JoinOptions): Impossible | null {
  const listed = node.peers.map(peerParts)
  const names = listed.map(({ id }) => id)
  const twice = names.findIndex((id, index) => names.indexOf(id) !== index)
  if (twice >= 0) {
    const message = `${names[twice]} is named twice: every node needs an id of its own`
    return { field: 'peers', path: [twice], message }
  }
  const self = names.indexOf(node.id)
  const portOf = (address: string): string => address.slice(address.lastIndexOf(':'))
  const there = listed[self]?.address ?? node.listen
  if (portOf(there) !== portOf(node.listen)) {
    const message = `${node.id} is this node itself, but it listens at ${node.listen}: is its id right?`
    return { field: 'peers', path: [self], message }
  }
  const listen = addressOf(node.listen, 'listen')
  const aparts = listed.map(({ id, address }) =>
    id === node.id ? null : whyApart(listen, addressOf(address, 'peers')),
  )
  const apart = aparts.findIndex((why) => why !== null)
  if (apart >= 0) return { field: 'peers', path: [apart], message: aparts[apart] as string }
  const places = listed.map(({ address }) => address)
  const shared = places.findIndex((address, index) => places.indexOf(address) !== index)
  if (shared >= 0) {
    const first = names[places.indexOf(places[shared] as string)]
    const message = `${names[shared]} has the address of ${first}, ${places[shared]}: every node listens at one of its own`
    return { field: 'peers', path: [shared], message }
  }
  if (node.observer && node.witness)
    return { field: 'witness', path: [], message: 'a witness votes, an observer does not: choose one' }
  const ids: readonly NodeId[] = [node.id, ...names.filter((id) => id !== node.id)]
  const definition = protocolNamed(node.protocol)
  if (definition === null) return { field: 'protocol', path: [], message: 'is not known' }
  try {
    protocolOptions(definition, sortIds(ids), join)
    return null
  } catch (error) {
    if (!(error instanceof InvalidOptionsError)) throw error
    const [field = '', ...path] = error.field.split('.').filter(Boolean)
    return { field: field as 'options', path, message: error.problem }
  }
}

/** Groups of one process: names and folders are theirs alone; those at one address share what is there. */
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
          message: `${value} is that of groups[${before}] too: every group of a process needs its own`,
        })
    }
  }
  return problems
}

/** What two groups that listen at one address must have in common. */
function disagreements(
  one: NodeConfig,
  place: number,
  { node: other, from }: { readonly node: NodeConfig; readonly from: GroupConfig['from'] },
  index: number,
): readonly Problem[] {
  const problem = (field: string, ours: string, theirs: string): Problem => ({
    field: `groups[${index}].${field}`,
    place: placeIn(from, field),
    message: `${ours} here and ${theirs} in groups[${place}], which listens at the same address, ${one.listen}: say the same, or listen elsewhere`,
  })
  const fields = (['id', 'keyFile', 'secrecy'] as const)
    .filter((field) => !equalPlain(one[field] ?? null, other[field] ?? null))
    .map((field) => problem(field, JSON.stringify(other[field]), JSON.stringify(one[field])))
  const known = new Map(othersIn(one).map(({ id, address }) => [id, address]))
  const peers = othersIn(other).flatMap(({ id, address }) => {
    const there = known.get(id)
    return there === undefined || there === address
      ? []
      : [problem('peers', `${id} is at ${address}`, `at ${there}`)]
  })
  return [...fields, ...peers]
}
