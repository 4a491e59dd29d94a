/**
 * The format of everything that a job stores: its input, its state, its outputs and its result. JSON, with `Uint8Array`
 * in addition:
 *
 *   4 bytes   length of the text, little-endian
 *   n bytes   the text: JSON in UTF-8, and spaces up to a length n such that n + 4 is a multiple of 8
 *   the bytes of every `Uint8Array`, in the order of the text
 *
 * In the text, `{"$bytes": LENGTH}` stands for a `Uint8Array`. A field whose name starts with `$` gets another `$` in
 * front. A value that JSON would change (a date, a map, NaN, `undefined`) is refused instead.
 */
import { InvalidJobValueError } from './errors.ts'

const BYTES = '$bytes'
const PREFIX_BYTES = 4
/** Erasure codes combine whole words. Where a large state starts at one, its checkpoint needs no copy of it. */
const ALIGNMENT = 8
const SPACE = 0x20
/** JSON.parse and the check below recurse. */
const MOST_DEPTH = 200

/** The encoded value. It shares no memory with `value`, which the caller may change afterwards. */
export function encodeValue(value: unknown, place: string): Uint8Array {
  return Buffer.concat(encodeParts(value, place))
}

/** The encoded value in pieces, to be joined in order. Binary parts are not copied. */
export function encodeParts(value: unknown, place: string): readonly Uint8Array[] {
  const parts: Uint8Array[] = []
  const json = new TextEncoder().encode(JSON.stringify(toJson(value, place, 0, parts)))
  const end = Math.ceil((PREFIX_BYTES + json.length) / ALIGNMENT) * ALIGNMENT
  const text = new Uint8Array(end - PREFIX_BYTES).fill(SPACE, json.length)
  text.set(json)
  const prefix = new Uint8Array(PREFIX_BYTES)
  new DataView(prefix.buffer).setUint32(0, text.length, true)
  return [prefix, text, ...parts]
}

/** Throws InvalidJobValueError if the bytes are not an encoded value. It shares no memory with `bytes`. */
export function decodeValue(bytes: Uint8Array): unknown {
  return decode(bytes, (part) => new Uint8Array(part))
}

/** The same, but binary parts are views of `bytes`. */
export function decodeParts(bytes: Uint8Array): unknown {
  return decode(bytes, (part) => part)
}

function decode(bytes: Uint8Array, partOf: (view: Uint8Array) => Uint8Array): unknown {
  const corrupt = (problem: string): InvalidJobValueError => new InvalidJobValueError('value', problem)
  if (bytes.length < PREFIX_BYTES) throw corrupt('is truncated')
  const length = new DataView(bytes.buffer, bytes.byteOffset).getUint32(0, true)
  const end = PREFIX_BYTES + length
  if (end > bytes.length) throw corrupt('is truncated')
  let json: unknown
  try {
    json = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes.subarray(PREFIX_BYTES, end)))
  } catch {
    throw corrupt('must start with JSON')
  }
  let at = end
  const take = (size: unknown): Uint8Array => {
    if (typeof size !== 'number' || !Number.isSafeInteger(size) || size < 0 || at + size > bytes.length)
      throw corrupt('is truncated')
    at += size
    return partOf(bytes.subarray(at - size, at))
  }
  const value = fromJson(json, take)
  if (at !== bytes.length) throw corrupt('has bytes after its end')
  return value
}

function toJson(value: unknown, place: string, depth: number, parts: Uint8Array[]): unknown {
  if (value === null || typeof value === 'boolean' || typeof value === 'string') return value
  if (typeof value === 'number') {
    if (Number.isFinite(value)) return value
    throw new InvalidJobValueError(place, `is ${value}; JSON has no such number`)
  }
  if (typeof value !== 'object') throw new InvalidJobValueError(place, `is ${typeof value}; use ${ALLOWED}`)
  if (depth === MOST_DEPTH)
    throw new InvalidJobValueError(place, `is nested deeper than ${MOST_DEPTH} levels, or contains itself`)
  if (value instanceof Uint8Array) {
    parts.push(value)
    return { [BYTES]: value.length }
  }
  if (Array.isArray(value))
    return Array.from(value, (item, index) => toJson(item, `${place}[${index}]`, depth + 1, parts))
  const prototype: unknown = Object.getPrototypeOf(value)
  if (prototype !== null && Object.getPrototypeOf(prototype) !== null)
    throw new InvalidJobValueError(place, `is a ${value.constructor.name}; use ${ALLOWED}`)
  return Object.fromEntries(
    Object.entries(value).map(([field, inner]) => [
      field.startsWith('$') ? `$${field}` : field,
      toJson(inner, `${place}.${field}`, depth + 1, parts),
    ]),
  )
}

const ALLOWED = 'null, booleans, numbers, strings, arrays, plain objects and Uint8Array'

function fromJson(json: unknown, take: (size: unknown) => Uint8Array): unknown {
  if (json === null || typeof json !== 'object') return json
  if (Array.isArray(json)) return json.map((item) => fromJson(item, take))
  if (Object.hasOwn(json, BYTES)) return take((json as { readonly [field: string]: unknown })[BYTES])
  return Object.fromEntries(
    Object.entries(json).map(([field, inner]) => [
      field.startsWith('$') ? field.slice(1) : field,
      fromJson(inner, take),
    ]),
  )
}
