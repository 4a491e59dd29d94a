/**
 * Links to the playground: a text in the fragment of an address, so that no server ever sees it.
 *
 * `1.CHECK.DATA`: the version of the format, a checksum, and the compressed text (raw deflate, base64url). The checksum
 * finds characters that were lost or changed on the way, which deflate alone would not.
 */
export const LINK_VERSION = 1
/** A link that unpacks to more than this is refused. */
const MOST_UNPACKED_BYTES = 5_000_000

/** Says what is wrong with a link, and what to do. */
export class LinkError extends Error {
  override readonly name = 'LinkError'
}

/** The fragment, without `#`. */
export async function packText(text: string): Promise<string> {
  const bytes = new TextEncoder().encode(text)
  const packed = await transform(bytes, new CompressionStream('deflate-raw'), Infinity)
  return `${LINK_VERSION}.${checksum(bytes)}.${toBase64Url(packed)}`
}

export async function unpackText(fragment: string): Promise<string> {
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
  return new TextDecoder().decode(bytes)
}

export function damaged(why: string): LinkError {
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
