/** Reads secrets from files, and checks their length and permissions. */
import { readFileSync, statSync } from 'node:fs'

export type SecretFile = {
  readonly file: string | null
  /** Why it cannot be used, or null. */
  readonly problem: string | null
  /** Other users that may read it. */
  readonly openTo: 'owner' | 'group' | 'everyone'
  /** The field that names it, if that is not `keyFile` or `adminTokenFile`. */
  readonly field?: string
}

export type KeyFile = SecretFile & { readonly key: Uint8Array }
export type AdminToken = SecretFile & { readonly token: string | null }

const LEAST_KEY_BYTES = 16
const LEAST_TOKEN_CHARACTERS = 16

export function readKeyFile(file: string): KeyFile {
  const make = `make one with "(umask 077; head -c 32 /dev/urandom > ${file})" and copy it to all nodes`
  const read = secretIn(file)
  if (read.bytes === null)
    return { file, openTo: 'owner', key: new Uint8Array(), problem: `${read.why}; ${make}` }
  const { bytes, openTo } = read
  const problem =
    bytes.length < LEAST_KEY_BYTES
      ? `${file} has ${bytes.length} bytes, a key needs at least ${LEAST_KEY_BYTES}: ${make}`
      : null
  return { file, openTo, key: bytes, problem }
}

/** A token for HTTP requests, without the end of the line, which editors add. */
export function readTokenFile(file: string | undefined): AdminToken {
  if (file === undefined) return { file: null, openTo: 'owner', token: null, problem: null }
  const make = `make one with "(umask 077; head -c 24 /dev/urandom | base64 > ${file})"`
  const read = secretIn(file)
  if (read.bytes === null) return { file, openTo: 'owner', token: null, problem: `${read.why}; ${make}` }
  const token = read.bytes.toString('utf8').trim()
  const problem =
    token.length < LEAST_TOKEN_CHARACTERS
      ? `${file} has ${token.length} characters, at least ${LEAST_TOKEN_CHARACTERS} are needed: ${make}`
      : /[^\x20-\x7e]/.test(token)
        ? `${file} has characters that no HTTP header can carry: ${make}`
        : null
  return { file, openTo: read.openTo, token, problem }
}

/** The bytes of a file, with the reason why it cannot be read. */
export function readSecret(file: string): SecretFile & { readonly bytes: Buffer } {
  const read = secretIn(file)
  if (read.bytes === null) return { file, openTo: 'owner', problem: read.why, bytes: Buffer.alloc(0) }
  return { file, openTo: read.openTo, problem: null, bytes: read.bytes }
}

type Read =
  | { readonly bytes: Buffer; readonly openTo: SecretFile['openTo'] }
  | { readonly bytes: null; readonly why: string }

function secretIn(file: string): Read {
  try {
    const bytes = readFileSync(file)
    const { mode } = statSync(file)
    const openTo = (mode & 0o004) !== 0 ? 'everyone' : (mode & 0o040) !== 0 ? 'group' : 'owner'
    return { bytes, openTo }
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    if (code === 'ENOENT') return { bytes: null, why: `there is no file ${file}` }
    if (code === 'EACCES')
      return { bytes: null, why: `${file} cannot be read by this user; check its owner and mode` }
    return { bytes: null, why: `${file}: ${message}` }
  }
}
