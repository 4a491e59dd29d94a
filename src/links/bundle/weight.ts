/** Estimates the encoded size of a message, seldom too low. It need not be exact, only the same in a replay. */
import { canonical, isList, type Message, type Plain } from '../../core/index.ts'
import type { Part } from './group.ts'

/** The bytes of group, configuration, kind and length. */
const HEAD = 15

/** Cached, because one message object is sent to several processes. */
const weighed = new WeakMap<Message, number>()

export function weightOf({ body }: Part): number {
  let weight = weighed.get(body)
  if (weight === undefined) {
    weight = HEAD + (body.kind === 'Settings' ? canonical(body).length : weightOfPlain(body))
    weighed.set(body, weight)
  }
  return weight
}

function weightOfPlain(value: Plain): number {
  switch (typeof value) {
    case 'number':
      return 8
    case 'string':
      return 5 + value.length
    case 'boolean':
      return 1
    default:
  }
  if (value === null) return 1
  let sum = 1
  if (isList(value)) for (const each of value) sum += weightOfPlain(each)
  else for (const field in value) if (field !== 'kind') sum += weightOfPlain(value[field] as Plain)
  return sum
}
