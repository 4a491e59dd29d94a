/**
 * Seals datagrams, so that only holders of the group's key can create them.
 *
 * A sealed datagram starts with one byte for the format and four bytes that identify the key. Authenticated datagrams
 * end with the first 16 bytes of an HMAC-SHA256 over everything before. Encrypted datagrams use AES-256-GCM with a
 * random nonce. There may be several keys: the first seals, all open. To rotate keys without refused datagrams, first
 * append the new key, then move it to the front, then remove the old one.
 */
import {
  createCipheriv,
  createDecipheriv,
  createHash,
  createHmac,
  hash,
  randomBytes,
  timingSafeEqual,
} from 'node:crypto'

export type Sealer = {
  seal(datagram: Uint8Array): Buffer
  /** Why the datagram will be refused, if that shows without computation; otherwise null. */
  flaw(sealed: Buffer): Refusal | null
  /** The datagram, or why it is refused. */
  open(sealed: Buffer): Buffer | Refusal
}

export type Refusal = 'too short' | 'unknown format' | 'unknown key' | 'not authentic'

export class InvalidKeyError extends Error {
  override readonly name = 'InvalidKeyError'
  readonly code = 'ERR_CONCLAVE_INVALID_KEY'
}

const AUTHENTIC = 1
const SECRET = 2
const KEY_NAME = 4
const HEADER = 1 + KEY_NAME
const TAG = 16
const NONCE = 12
const LEAST_KEY = 16

/** `inner` and `outer` start with the two pads of the HMAC, and have room for the hashed data. */
type Key = {
  readonly name: Buffer
  readonly inner: Buffer
  readonly outer: Buffer
  readonly secret: Buffer
}

const BLOCK = 64
const DIGEST = 32
const MOST = 65_536

export function sealer(keys: readonly Uint8Array[], secrecy: boolean): Sealer {
  const ring = keys.map(derive)
  const [first] = ring
  if (first === undefined) throw new InvalidKeyError('a cluster needs at least one key: use --key-file')
  const keyOf = (sealed: Buffer): Key | undefined =>
    ring.find(({ name }) => sealed.compare(name, 0, KEY_NAME, 1, HEADER) === 0)

  function flaw(sealed: Buffer): Refusal | null {
    if (sealed.length < HEADER + TAG) return 'too short'
    const format = sealed[0]
    if (format !== AUTHENTIC && format !== SECRET) return 'unknown format'
    if (format === SECRET && sealed.length < HEADER + NONCE + TAG) return 'too short'
    if (keyOf(sealed) === undefined) return 'unknown key'
    // A node with encryption rejects datagrams that others could have read.
    return format === AUTHENTIC && secrecy ? 'unknown format' : null
  }

  return {
    seal: (datagram) => (secrecy ? sealSecret(first, datagram) : sealAuthentic(first, datagram)),
    flaw,
    open(sealed) {
      const problem = flaw(sealed)
      if (problem !== null) return problem
      const key = keyOf(sealed) as Key
      return sealed[0] === AUTHENTIC ? openAuthentic(key, sealed) : openSecret(key, sealed)
    },
  }
}

/** Derives a key per purpose, and an identifier that reveals nothing about the key. */
function derive(key: Uint8Array): Key {
  if (key.length < LEAST_KEY) {
    throw new InvalidKeyError(
      `the group's key has ${key.length} bytes, at least ${LEAST_KEY} are needed: make one with "head -c 32 /dev/urandom"`,
    )
  }
  const part = (purpose: string): Buffer => createHmac('sha256', key).update(`conclave ${purpose}`).digest()
  const authentic = part('authentic')
  return {
    name: createHash('sha256').update(part('name')).digest().subarray(0, KEY_NAME),
    inner: Buffer.concat([padded(authentic, 0x36), Buffer.alloc(MOST)]),
    outer: Buffer.concat([padded(authentic, 0x5c), Buffer.alloc(DIGEST)]),
    secret: part('secret'),
  }
}

function padded(key: Buffer, pad: number): Buffer {
  const block = Buffer.alloc(BLOCK, pad)
  for (const [index, byte] of key.entries()) block[index] = byte ^ pad
  return block
}

/**
 * HMAC-SHA256 (RFC 2104) from two hashes whose key pads are already in place. createHmac creates an object and a key
 * each time, which costs 50 % more.
 */
function tagOf({ inner, outer }: Key, content: Uint8Array): Buffer {
  inner.set(content, BLOCK)
  outer.set(hash('sha256', inner.subarray(0, BLOCK + content.length), 'buffer'), BLOCK)
  return hash('sha256', outer, 'buffer').subarray(0, TAG)
}

function sealAuthentic(key: Key, datagram: Uint8Array): Buffer {
  const sealed = Buffer.allocUnsafe(HEADER + datagram.length + TAG)
  sealed[0] = AUTHENTIC
  key.name.copy(sealed, 1)
  sealed.set(datagram, HEADER)
  tagOf(key, sealed.subarray(0, HEADER + datagram.length)).copy(sealed, HEADER + datagram.length)
  return sealed
}

function openAuthentic(key: Key, sealed: Buffer): Buffer | Refusal {
  const end = sealed.length - TAG
  const isAuthentic = timingSafeEqual(tagOf(key, sealed.subarray(0, end)), sealed.subarray(end))
  return isAuthentic ? sealed.subarray(HEADER, end) : 'not authentic'
}

function sealSecret(key: Key, datagram: Uint8Array): Buffer {
  const nonce = randomBytes(NONCE)
  const header = Buffer.concat([Buffer.from([SECRET]), key.name])
  const cipher = createCipheriv('aes-256-gcm', key.secret, nonce)
  cipher.setAAD(header)
  return Buffer.concat([header, nonce, cipher.update(datagram), cipher.final(), cipher.getAuthTag()])
}

function openSecret(key: Key, sealed: Buffer): Buffer | Refusal {
  const body = HEADER + NONCE
  const end = sealed.length - TAG
  const decipher = createDecipheriv('aes-256-gcm', key.secret, sealed.subarray(HEADER, body))
  decipher.setAAD(sealed.subarray(0, HEADER))
  decipher.setAuthTag(sealed.subarray(end))
  try {
    return Buffer.concat([decipher.update(sealed.subarray(body, end)), decipher.final()])
  } catch {
    return 'not authentic'
  }
}
