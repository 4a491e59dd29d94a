/** The configuration of a group whose nodes share a store, checked; fields that do not apply to it are problems. */
import { checked } from './checked.ts'
import { NEEDS_NETWORK } from './fields.ts'
import { type Layered, placeIn } from './layers.ts'
import { InvalidOptionsError, type Problem, pathText } from './problems.ts'
import { type StoreNodeConfig, storeNodeSchema } from './schema.ts'
import { type StoreJoinOptions, storeSettings } from './store-join-options.ts'

export type StoreGroup = {
  readonly node: StoreNodeConfig
  readonly join: StoreJoinOptions
  readonly from: Layered['from']
}

/** `isOwn`: whether a field was given for this group, and not for all groups of the file. */
export function storeGroup(
  merged: Layered,
  path: readonly PropertyKey[],
  isOwn: (field: string) => boolean,
  problems: Problem[],
): readonly StoreGroup[] {
  const meant = Object.keys(storeNodeSchema.shape)
  const values: { [field: string]: unknown } = {}
  const from: { [field: string]: string } = {}
  for (const [field, value] of Object.entries(merged.values)) {
    if (meant.includes(field)) {
      values[field] = value
      from[field] = merged.from[field] ?? ''
    } else if (value !== undefined && merged.from[field] !== 'default' && isOwn(field)) {
      problems.push({
        field: pathText([...path, field]),
        place: placeIn(merged.from, field),
        message: NEEDS_NETWORK,
      })
    }
  }
  const node = checked(storeNodeSchema, { values, from }, problems, path) as StoreNodeConfig | null
  if (node === null) return []
  const { group, id, protocol, profile, options, fencing = [] } = node
  const join: StoreJoinOptions = { group, id, protocol, profile, options, store: node.store, fencing }
  try {
    const { store } = storeSettings(join)
    return [{ node: { ...node, store }, join: { ...join, store }, from }]
  } catch (error) {
    if (!(error instanceof InvalidOptionsError)) throw error
    for (const { field, message } of error.problems) {
      const [first = '', ...more] = field.split('.').filter(Boolean)
      problems.push({ field: pathText([...path, first, ...more]), place: placeIn(from, first), message })
    }
    return []
  }
}
