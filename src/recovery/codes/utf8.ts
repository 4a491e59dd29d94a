/** UTF-8 with what the language itself offers: TextEncoder belongs to the host. */

/** `null` for a string with unpaired surrogates, which has no UTF-8 form. */
export function encodeUtf8(text: string): Uint8Array | null {
  const escaped = percentEncode(text)
  if (escaped === null) return null
  const bytes: number[] = []
  for (let index = 0; index < escaped.length; index++) {
    if (escaped[index] === '%') {
      bytes.push(Number.parseInt(escaped.slice(index + 1, index + 3), 16))
      index += 2
    } else bytes.push(escaped.charCodeAt(index))
  }
  return Uint8Array.from(bytes)
}

/** `null` when the bytes are not UTF-8. */
export function decodeUtf8(bytes: Uint8Array): string | null {
  let escaped = ''
  for (const byte of bytes) escaped += `%${byte.toString(16).padStart(2, '0')}`
  try {
    return decodeURIComponent(escaped)
  } catch {
    return null
  }
}

function percentEncode(text: string): string | null {
  try {
    return encodeURIComponent(text)
  } catch {
    return null
  }
}
