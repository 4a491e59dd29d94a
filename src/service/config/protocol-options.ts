/** The options of a protocol, from what a node is configured with. */
import { type Definition, explain, type NodeId, type PlainObject, present } from '../../core/index.ts'
import { brokenBound, profileOptions, protocolNamed } from '../../protocols/index.ts'
import type { JoinOptions } from './join-options.ts'
import { fieldProblems, InvalidOptionsError, rejectOptions } from './problems.ts'
import type { StoreJoinOptions } from './store-join-options.ts'

/** Checked, with defaults. Throws InvalidOptionsError with all problems. */
export function protocolOptions(
  definition: Definition,
  ids: readonly NodeId[],
  options: JoinOptions,
): PlainObject {
  const given = definition.name === 'omega' ? omegaOptions(options, ids.length) : localLeaderOptions(options)
  const checked = checkedOptions(definition, ids, given)
  if (definition.name === 'omega') checkLinkTimes(options, checked)
  return checked
}

/** The same for a protocol whose nodes share a store. */
export function storeProtocolOptions({
  id,
  profile = 'lan',
  options,
}: Pick<StoreJoinOptions, 'id' | 'profile' | 'options'>): PlainObject {
  const given = { ...STORE_PROFILES[profile], ...options }
  const checked = checkedOptions(present(protocolNamed('epochs'), 'epochs'), [id], given)
  const { clock, epochs, ballots } = checked as { clock: string; epochs: unknown; ballots: unknown }
  if (clock !== 'own')
    throw new InvalidOptionsError(
      'options.clock',
      'is for searches only; remove it, because real nodes have clocks',
    )
  if (epochs !== null || ballots !== null)
    throw new InvalidOptionsError('options.epochs', 'and ballots limit searches only; remove them')
  return checked
}

/** The period T and the access time r of the paper. Single options override the profile. */
const STORE_PROFILES = {
  lan: { periodMs: 500, accessMs: 25 },
  region: { periodMs: 1000, accessMs: 50 },
  wan: { periodMs: 3000, accessMs: 150 },
} as const

function checkedOptions(definition: Definition, ids: readonly NodeId[], given: object): PlainObject {
  const schema = definition.options(ids)
  const result = schema.safeParse(given, { error: explain })
  if (result.success) return result.data
  const known = Object.keys((schema as { readonly shape?: object }).shape ?? {})
  const otherwise = `run "conclave protocols" for the options of ${definition.name}`
  rejectOptions(fieldProblems(result.error, known, { prefix: ['options'], otherwise }))
  throw new InvalidOptionsError('options', 'cannot work')
}

/** Options of the protocol that have a field of their own, would be ignored, or are for the workbench. */
const OWN_FIELDS: { readonly [option: string]: string } = {
  mode: 'use the field `mode` instead',
  profile: 'use the field `profile` instead',
  sticky: 'use the field `sticky` instead',
  priorities: 'use the field `priority` on each node instead',
  yieldWhenTold: 'is always on in real nodes; remove it',
  requests: 'is for searches only; remove it',
  link: 'is for the workbench only; remove it, because real nodes use fail-aware datagrams',
  hostedGroup: 'is written by recordings only; remove it',
}

function localLeaderOptions(options: JoinOptions): object {
  rejectOptions(
    Object.entries(OWN_FIELDS)
      .filter(([option]) => options.options?.[option] !== undefined)
      .map(([option, message]) => ({ field: `options.${option}`, message })),
  )
  const { id, mode = 'majority', profile = 'lan', sticky = true, priority = 0 } = options
  return {
    ...options.options,
    mode,
    profile,
    sticky,
    // Work ends before the leader releases its lease.
    yieldWhenTold: true,
    priorities: { [id]: priority },
    ...(options.observer === true ? { observers: withName(options.options?.['observers'], id) } : {}),
    ...(options.witness === true ? { witnesses: withName(options.options?.['witnesses'], id) } : {}),
  }
}

function omegaOptions(options: JoinOptions, nodes: number): object {
  const { mode = 'majority', profile = 'lan', priority = 0, data } = options
  if (data === undefined)
    throw new InvalidOptionsError('data', 'is required with omega, whose promises must survive a crash')
  if (nodes < 2) throw new InvalidOptionsError('peers', 'is empty; omega needs at least two nodes')
  if (priority !== 0)
    throw new InvalidOptionsError(
      'priority',
      'does not apply to omega, which compares weights that all nodes know; set options.weights on all nodes',
    )
  for (const role of ['observer', 'witness'] as const) {
    if (options[role] === true)
      throw new InvalidOptionsError(role, 'does not apply to omega, which has no such role; remove it')
  }
  const quorum = mode === 'local' ? 'none' : 'dynamic'
  return { quorum, ...options.options, ...profileOptions(profile, options.options), links: 'datagrams' }
}

/** Single times may be given, but only those that the network of the profile allows. */
function checkLinkTimes({ profile = 'lan' }: JoinOptions, checked: PlainObject): void {
  const broken = brokenBound(profile, checked as unknown as Parameters<typeof brokenBound>[1])
  if (broken !== null) throw new InvalidOptionsError(`options.${broken.field}`, broken.problem)
}

function withName(list: unknown, id: string): unknown {
  if (list === undefined) return [id]
  return Array.isArray(list) && !list.includes(id) ? [...(list as unknown[]), id] : list
}
