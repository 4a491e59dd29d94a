/**
 * Shared links: the whole run in the fragment of the address, so that no server ever sees it.
 *
 * `#1.CHECK.DATA`: the version of the format, a checksum, and the compressed content (raw deflate, base64url). The
 * checksum finds characters that were lost or changed on the way, which deflate alone would not.
 */
import type { Micros } from '../../../../src/core/index.ts'
import type { ScenarioEvent } from '../../../../src/workbench/scenario/index.ts'
import type { OwnModule, ScenarioFile } from '../engine/messages.ts'

export const LINK_VERSION = 1
/** A link that unpacks to more than this is refused. */
export const MOST_UNPACKED_BYTES = 5_000_000

/** What a link carries. */
export type Shared = {
  readonly name: string
  readonly base: ScenarioFile
  readonly made: readonly ScenarioEvent[]
  readonly untilMs: number | null
  readonly module: OwnModule | null
  readonly at: Micros
  readonly lesson: string | null
}

/** Says what is wrong with a link, and what to do. */
export class LinkError extends Error {
  override readonly name = 'LinkError'
}

/** The fragment, without `#`. */
export async function packLink(shared: Shared): Promise<string> {
  const { name, base, made, untilMs, module, at, lesson } = shared
  const text = JSON.stringify({
    n: name,
    s: base,
    ...(made.length === 0 ? {} : { e: made }),
    ...(untilMs === null ? {} : { u: untilMs }),
    ...(module === null ? {} : { m: module }),
    ...(at === 0 ? {} : { t: at }),
    ...(lesson === null ? {} : { l: lesson }),
  })
  const bytes = new TextEncoder().encode(text)
  const packed = await transform(bytes, new CompressionStream('deflate-raw'), Infinity)
  return `${LINK_VERSION}.${checksum(bytes)}.${toBase64Url(packed)}`
}

export async function unpackLink(fragment: string): Promise<Shared> {
  const match = /^#?(\d+)\.([^.]*)\.(.*)$/s.exec(fragment)
  if (match === null) {
    throw new LinkError(
      'The link is damaged: what follows # is not a run. Copy the whole link, including everything after #.',
    )
  }
  const [, version = '', check = '', data = ''] = match
  if (Number(version) > LINK_VERSION) {
    throw new LinkError(
      `The link has format ${version}, and this page reads format ${LINK_VERSION}: a newer version of the playground made it. Open it with that version.`,
    )
  }
  if (Number(version) !== LINK_VERSION) {
    throw new LinkError(`The link is damaged: there is no format ${version}. Copy the whole link again.`)
  }
  const bytes = await unpack(data)
  if (checksum(bytes) !== check) throw damaged('its checksum does not match its content')
  return readShared(new TextDecoder().decode(bytes))
}

function damaged(why: string): LinkError {
  return new LinkError(`The link is damaged: ${why}. Copy the whole link again, from # to its end.`)
}

async function unpack(data: string): Promise<Uint8Array<ArrayBuffer>> {
  const packed = fromBase64Url(data)
  try {
    return await transform(packed, new DecompressionStream('deflate-raw'), MOST_UNPACKED_BYTES)
  } catch (error) {
    if (error instanceof LinkError) throw error
    throw damaged('its end is missing, or a character was changed')
  }
}

function readShared(text: string): Shared {
  let content: unknown
  try {
    content = JSON.parse(text)
  } catch {
    throw damaged('its content is not JSON')
  }
  const { n, s, e, u, m, t, l } = isObject(content) ? content : {}
  if (!isObject(s)) throw damaged('it holds no scenario')
  const made = Array.isArray(e) ? e : []
  if (!made.every((event) => isObject(event) && typeof event['atMs'] === 'number')) {
    throw damaged('an event has no instant')
  }
  return {
    name: typeof n === 'string' ? n : 'shared run',
    base: s as ScenarioFile,
    made: made as readonly ScenarioEvent[],
    untilMs: typeof u === 'number' ? u : null,
    module: isModule(m) ? m : null,
    at: typeof t === 'number' && t >= 0 ? t : 0,
    lesson: typeof l === 'string' ? l : null,
  }
}

function isModule(value: unknown): value is OwnModule {
  return isObject(value) && typeof value['name'] === 'string' && typeof value['text'] === 'string'
}

export function isObject(value: unknown): value is { readonly [field: string]: unknown } {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

async function transform(
  bytes: Uint8Array<ArrayBuffer>,
  through: CompressionStream | DecompressionStream,
  most: number,
): Promise<Uint8Array<ArrayBuffer>> {
  const reader = new Blob([bytes]).stream().pipeThrough(through).getReader()
  const parts: Uint8Array<ArrayBuffer>[] = []
  let size = 0
  for (;;) {
    // oxlint-disable-next-line no-await-in-loop -- a stream has an order
    const { done, value } = await reader.read()
    if (done) break
    size += value.length
    if (size > most) {
      void reader.cancel()
      throw new LinkError(`The link is refused: it unpacks to more than ${most / 1_000_000} MB.`)
    }
    parts.push(value)
  }
  const all = new Uint8Array(size)
  let place = 0
  for (const part of parts) {
    all.set(part, place)
    place += part.length
  }
  return all
}

/** FNV-1a, 32 bits, in base 36. */
function checksum(bytes: Uint8Array): string {
  let hash = 0x811c9dc5
  for (const byte of bytes) hash = Math.imul(hash ^ byte, 0x01000193)
  return (hash >>> 0).toString(36)
}

function toBase64Url(bytes: Uint8Array): string {
  let text = ''
  for (const byte of bytes) text += String.fromCharCode(byte)
  return btoa(text).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '')
}

function fromBase64Url(text: string): Uint8Array<ArrayBuffer> {
  let decoded: string
  try {
    decoded = atob(text.replaceAll('-', '+').replaceAll('_', '/'))
  } catch {
    throw damaged('it contains characters that no link has')
  }
  return Uint8Array.from(decoded, (character) => character.charCodeAt(0))
}
