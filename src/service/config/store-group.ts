/** A group whose nodes meet in a store: what it is told, checked, and what has no meaning for it. */

import { storeSettingsOf } from '../node/api/join-store-options.ts'
import { InvalidOptionsError, type StoreJoinOptions } from '../node/index.ts'
import { checked } from './checked.ts'
import { type Layered, placeIn } from './layers.ts'
import { type Problem, pathText } from './problems.ts'
import { type StoreNodeConfig, storeNodeSchema } from './schema.ts'

export type StoreGroup = {
  readonly node: StoreNodeConfig
  readonly join: StoreJoinOptions
  readonly from: Layered['from']
}

/** `isOwn`: whether a field was said for this group, and not for all groups of the file. */
export function storeGroup(
  said: Layered,
  path: readonly PropertyKey[],
  isOwn: (field: string) => boolean,
  problems: Problem[],
): readonly StoreGroup[] {
  const meant = Object.keys(storeNodeSchema.shape)
  const values: { [field: string]: unknown } = {}
  const from: { [field: string]: string } = {}
  for (const [field, value] of Object.entries(said.values)) {
    if (meant.includes(field)) {
      values[field] = value
      from[field] = said.from[field] ?? ''
    } else if (value !== undefined && said.from[field] !== 'default' && isOwn(field)) {
      const message = 'has no meaning with the protocol epochs, whose nodes meet in a store: take it out'
      problems.push({ field: pathText([...path, field]), place: placeIn(said.from, field), message })
    }
  }
  const node = checked(storeNodeSchema, { values, from }, problems, path) as StoreNodeConfig | null
  if (node === null) return []
  const { group, id, protocol, profile, options, fencing = [] } = node
  const join: StoreJoinOptions = { group, id, protocol, profile, options, store: node.store, fencing }
  try {
    const { store } = storeSettingsOf(join)
    return [{ node: { ...node, store }, join: { ...join, store }, from }]
  } catch (error) {
    if (!(error instanceof InvalidOptionsError)) throw error
    const [field = '', ...more] = error.field.split('.').filter(Boolean)
    problems.push({
      field: pathText([...path, field, ...more]),
      place: placeIn(from, field),
      message: error.problem,
    })
    return []
  }
}
