/**
 * Requests between nodes that only holders of the group's key can make.
 *
 * A request bears an HMAC-SHA256 of everything that matters in it: method, path, both nodes, token, sizes, time and a
 * random nonce. The nonce also gives the keys of its two bodies (blocks.ts) and of its reply, so that neither can be
 * taken from another request. A request whose time is too far off, or whose nonce was seen before, is refused.
 *
 * Keys may be several, as for datagrams: the first signs, all verify, so keys can be rotated.
 */
import { createHash, createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
import { canonical, type NodeId } from '../../../core/index.ts'

/** The parts of a request that its signature covers. */
export type SignedParts = {
  readonly method: string
  readonly path: string
  readonly from: NodeId
  readonly to: NodeId
  /** The token of the sender's view. */
  readonly token: number
  /** Other headers that matter, in a fixed form. */
  readonly detail: string
}

/** The secrets of one request. */
export type RequestSecrets = {
  readonly requestBody: Buffer
  readonly replyBody: Buffer
  /** Proves that a reply was made by a holder of the key for this request. */
  proveReply(status: number, content: string): string
}

export type Credentials = {
  /** The value of the header `authorization`, and the secrets. */
  sign(parts: SignedParts): { readonly header: string; readonly secrets: RequestSecrets }
  /** The secrets, or why the request is refused. */
  verify(header: string, parts: SignedParts): RequestSecrets | string
}

export type CredentialOptions = {
  /** Without a key, requests are protected against accidents only, as datagrams without a key are. */
  readonly keys: readonly Uint8Array[]
  readonly now?: () => number
}

const SCHEME = 'Conclave-1'
const KEY_NAME_BYTES = 4
const NONCE_BYTES = 16
/** As in Kerberos. */
const MAX_CLOCK_DIFFERENCE_MS = 5 * 60_000
const MAX_NONCES = 200_000
const WITHOUT_KEY = Buffer.from('conclave without a key')
const FORM = /^Conclave-1 (?<name>[0-9a-f]{8}) (?<time>\d{1,15}) (?<nonce>[0-9a-f]{32}) (?<mac>[0-9a-f]{64})$/

type Key = { readonly name: string; readonly secret: Buffer }

export function createCredentials({ keys, now = Date.now }: CredentialOptions): Credentials {
  const ring = (keys.length === 0 ? [WITHOUT_KEY] : keys).map(deriveKey)
  const seen = new NonceMemory(now)
  return {
    sign(parts) {
      const key = ring[0] as Key
      const [time, nonce] = [`${Math.floor(now())}`, randomBytes(NONCE_BYTES).toString('hex')]
      const mac = signatureOf(key, parts, time, nonce).toString('hex')
      return { header: [SCHEME, key.name, time, nonce, mac].join(' '), secrets: secretsOf(key, nonce) }
    },
    verify(header, parts) {
      const { name, time = '', nonce = '', mac = '' } = FORM.exec(header)?.groups ?? {}
      if (name === undefined) return 'the request has no valid header "authorization"'
      const key = ring.find((each) => each.name === name)
      if (key === undefined) return 'the request is signed with another key'
      if (!timingSafeEqual(signatureOf(key, parts, time, nonce), Buffer.from(mac, 'hex')))
        return 'the signature does not match the request'
      const difference = Number(time) - now()
      if (Math.abs(difference) > MAX_CLOCK_DIFFERENCE_MS)
        return `the clocks of the nodes differ by ${Math.round(Math.abs(difference) / 1000)} s; at most ${MAX_CLOCK_DIFFERENCE_MS / 1000} s are allowed`
      if (!seen.add(nonce)) return 'the request was sent before'
      return secretsOf(key, nonce)
    },
  }
}

function deriveKey(key: Uint8Array): Key {
  const secret = createHmac('sha256', key).update('conclave columns').digest()
  const name = createHash('sha256').update(secret).update('name').digest('hex')
  return { name: name.slice(0, 2 * KEY_NAME_BYTES), secret }
}

function signatureOf({ secret }: Key, parts: SignedParts, time: string, nonce: string): Buffer {
  const { method, path, from, to, token, detail } = parts
  const text = canonical([SCHEME, method, path, from, to, token, detail, time, nonce])
  return createHmac('sha256', secret).update(text).digest()
}

function secretsOf({ secret }: Key, nonce: string): RequestSecrets {
  const part = (purpose: string): Buffer =>
    createHmac('sha256', secret).update(`${purpose} ${nonce}`).digest()
  return {
    requestBody: part('request body'),
    replyBody: part('reply body'),
    proveReply: (status, content) =>
      createHmac('sha256', part('reply')).update(`${status}\n${content}`).digest('hex'),
  }
}

/** The nonces of the time in which a request is accepted. */
class NonceMemory {
  readonly #expiries = new Map<string, number>()
  readonly #now: () => number

  constructor(now: () => number) {
    this.#now = now
  }

  /** False if it was added before. */
  add(nonce: string): boolean {
    const now = this.#now()
    // In the order of insertion, so the first ones expire first.
    for (const [old, expiry] of this.#expiries) {
      if (expiry > now && this.#expiries.size < MAX_NONCES) break
      this.#expiries.delete(old)
    }
    if (this.#expiries.has(nonce)) return false
    this.#expiries.set(nonce, now + 2 * MAX_CLOCK_DIFFERENCE_MS)
    return true
  }
}
