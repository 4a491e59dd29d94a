/**
 * Plain data: the only kind of value that states, messages, inputs and effects are made of.
 *
 * One function each can print, compare, hash, freeze, store and show it, and it means the same in every world.
 * `undefined`, NaN and -0 are excluded because they do not survive serialization; Map, Date and class instances because
 * they hide their content.
 */
export type Plain = null | boolean | number | string | readonly Plain[] | PlainObject
export type PlainObject = { readonly [field: string]: Plain }

/** Describes where `value` is not plain data; null if it is plain data. */
export function whyNotPlain(value: unknown, place = 'value'): string | null {
  switch (typeof value) {
    case 'boolean':
    case 'string':
      return null
    case 'number':
      if (Number.isNaN(value)) return `${place} is NaN`
      if (Object.is(value, -0)) return `${place} is -0`
      return Number.isFinite(value) ? null : `${place} is infinite`
    case 'object':
      break
    default:
      return `${place} is ${typeof value}`
  }
  if (value === null) return null
  if (Array.isArray(value)) return firstFault(value.entries(), (index) => `${place}[${index}]`)
  if (Object.getPrototypeOf(value) !== Object.prototype) return `${place} is not a plain object`
  return firstFault(Object.entries(value), (field) => `${place}.${field}`)
}

function firstFault<K>(entries: Iterable<[K, unknown]>, placeOf: (key: K) => string): string | null {
  for (const [key, inner] of entries) {
    const fault = whyNotPlain(inner, placeOf(key))
    if (fault !== null) return fault
  }
  return null
}

/**
 * The canonical text of a value: fields are sorted, so two values are equal exactly when their texts are. (JSON.stringify
 * keeps the insertion order of fields, which would inflate state counts.)
 */
export function canonical(value: Plain): string {
  if (typeof value === 'string') return JSON.stringify(value)
  if (value === null || typeof value !== 'object') return String(value)
  let text = ''
  if (isList(value)) {
    for (let place = 0; place < value.length; place++) {
      text += place === 0 ? canonical(value[place] as Plain) : `,${canonical(value[place] as Plain)}`
    }
    return `[${text}]`
  }
  const fields = Object.keys(value)
  for (let place = 1; place < fields.length; place++) {
    if ((fields[place - 1] as string) < (fields[place] as string)) continue
    fields.sort()
    break
  }
  for (let place = 0; place < fields.length; place++) {
    const field = fields[place] as string
    text += `${place === 0 ? '' : ','}${JSON.stringify(field)}:${canonical(value[field] as Plain)}`
  }
  return `{${text}}`
}

/** `Array.isArray` does not narrow readonly arrays. */
export function isList(value: Plain): value is readonly Plain[] {
  return Array.isArray(value)
}

/** The list with one value replaced. Twice as fast as `with`; almost every step needs it. */
export function replaced<T>(list: readonly T[], place: number, value: T): readonly T[] {
  const next = list.slice()
  next[place] = value
  return next
}

/** Whether two values are equal, regardless of the order of their fields. */
export function equalPlain(a: Plain, b: Plain): boolean {
  if (a === b) return true
  if (a === null || b === null || typeof a !== 'object' || typeof b !== 'object') return false
  if (isList(a)) {
    if (!isList(b) || a.length !== b.length) return false
    for (let index = 0; index < a.length; index++) {
      if (!equalPlain(a[index] as Plain, b[index] as Plain)) return false
    }
    return true
  }
  if (isList(b)) return false
  // Equal values of all fields of `a`, and the same number of fields: faster than to look up the fields of `b`, too.
  let more = 0
  let field: string
  for (field in a) {
    const own = a[field] as Plain
    const other = b[field] as Plain
    if (own !== other && !equalPlain(own, other)) return false
    more -= 1
  }
  for (field in b) more += 1
  return more === 0
}

/** A 32-bit hash of the canonical text (FNV-1a): for short names of things, never for identity. */
export function hashPlain(value: Plain): number {
  let hash = 0x811c9dc5
  for (const char of canonical(value)) {
    hash = Math.imul(hash ^ (char.codePointAt(0) as number), 0x01000193)
  }
  return hash >>> 0
}

/** Freezes a value recursively. For tests and strict runs: it costs more than most steps. */
export function deepFreeze<T extends Plain>(value: T): T {
  if (value !== null && typeof value === 'object' && !Object.isFrozen(value)) {
    Object.freeze(value)
    for (const inner of Object.values(value)) deepFreeze(inner)
  }
  return value
}

/** `before` if the two are equal, so that an unchanged state stays the same object. */
export function unlessSame<T extends PlainObject>(before: T, after: T): T {
  if (before === after) return before
  for (const field of Object.keys(after)) {
    const was = before[field] as Plain
    const is = after[field] as Plain
    if (was === is) continue
    const areObjects = typeof was === 'object' && typeof is === 'object'
    if (!areObjects || !equalPlain(was, is)) return after
  }
  return before
}
