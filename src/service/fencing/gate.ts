/**
 * Admits requests to a service by their tokens. A request with a greater token waits until all admitted requests with
 * smaller tokens have ended, so that no effect of a former leader follows an effect of a new one.
 *
 * An admitted token locks out all smaller ones. With a `secret`, only its holders can present a token: the proof is an
 * HMAC of resource and token, and the secret itself is never sent.
 */
import { createHmac, timingSafeEqual } from 'node:crypto'
import {
  checkToken,
  type Fence,
  ImplausibleTokenError,
  MAX_TOKEN_GAP,
  StaleTokenError,
  type TokenMemory,
  tokensInMemory,
} from './tokens.ts'

/** The header with the token. */
export const TOKEN_HEADER = 'conclave-token'
/** The header with the proof, if the receiver has a secret. */
export const PROOF_HEADER = 'conclave-token-proof'

const MIN_SECRET_LENGTH = 16

export type GateOptions = {
  /** Name of the resource: usually the name of the group. */
  readonly resource: string
  /** Storage of the greatest token. Default: in memory. */
  readonly memory?: TokenMemory
  /** How long a request waits for requests of an older leader before it gets 503. */
  readonly drainMs?: number
  /**
   * A secret of the receiver and all nodes of the group: tokens without proof are refused (401). With several secrets each
   * is accepted, for rotation. Without a secret, anyone who can send a request can lock leaders out.
   */
  readonly secret?: string | readonly string[]
  /** Limit for the distance of a token above the greatest one seen. Default: 2^40. */
  readonly maxTokenGap?: number
}

/** The HTTP response to a refused request. */
export type Refusal = {
  readonly status: 401 | 409 | 422 | 428 | 503
  readonly headers: { readonly [name: string]: string }
  readonly body: {
    readonly error: { readonly code: string; readonly message: string }
    readonly current: number | null
  }
}

export type Entry =
  | { readonly admitted: true; leave(): void }
  | { readonly admitted: false; readonly refusal: Refusal }

export type Gate = { enter(header: Header, proof: Header): Promise<Entry> }
type Header = string | null | undefined

const DRAIN_MS = 5000

/** Headers for a request of a leader: its token, and the proof if the receiver has a secret. */
export function tokenHeaders(fence: Fence, secret?: string): { readonly [name: string]: string } {
  checkToken(fence.token)
  const token = { [TOKEN_HEADER]: String(fence.token) }
  return secret === undefined ? token : { ...token, [PROOF_HEADER]: computeProof(fence, checkSecret(secret)) }
}

function computeProof({ resource, token }: Fence, secret: string): string {
  return createHmac('sha256', secret).update(`conclave-token\n${resource}\n${token}`).digest('hex')
}

function checkSecret(secret: string): string {
  if (typeof secret !== 'string' || secret.length < MIN_SECRET_LENGTH)
    throw new RangeError(`secret: must be a string of at least ${MIN_SECRET_LENGTH} characters`)
  return secret
}

function parseSecrets(given: GateOptions['secret']): readonly string[] | null {
  if (given === undefined) return null
  const secrets = typeof given === 'string' ? [given] : given
  if (secrets.length === 0) throw new RangeError('secret: must not be an empty list')
  return secrets.map(checkSecret)
}

function isProofValid(fence: Fence, proof: Header, secrets: readonly string[]): boolean {
  const given = Buffer.from(proof ?? '')
  return secrets.some((secret) => {
    const expected = Buffer.from(computeProof(fence, secret))
    return given.length === expected.length && timingSafeEqual(given, expected)
  })
}

export function openGate({
  resource,
  memory = tokensInMemory(),
  drainMs = DRAIN_MS,
  secret,
  maxTokenGap = MAX_TOKEN_GAP,
}: GateOptions): Gate {
  const secrets = parseSecrets(secret)
  if (!Number.isSafeInteger(maxTokenGap) || maxTokenGap < 1)
    throw new RangeError(`maxTokenGap: must be a whole number from 1, not ${maxTokenGap}`)
  /** Number of admitted requests per token. */
  const inside = new Map<number, number>()
  let waiting: (() => void)[] = []

  function leave(token: number): void {
    const left = (inside.get(token) ?? 1) - 1
    if (left === 0) inside.delete(token)
    else inside.set(token, left)
    const woken = waiting
    waiting = []
    for (const wake of woken) wake()
  }

  const hasOlder = (token: number): boolean => [...inside.keys()].some((other) => other < token)

  /** False after the drain timeout. */
  async function waitForOlder(token: number): Promise<boolean> {
    const signal = AbortSignal.timeout(drainMs)
    while (hasOlder(token)) {
      if (signal.aborted) return false
      // oxlint-disable-next-line no-await-in-loop -- until the last has left
      await new Promise<void>((resolve) => {
        waiting.push(resolve)
        signal.addEventListener('abort', () => resolve(), { once: true })
      })
    }
    return true
  }

  return {
    async enter(header, proof) {
      const token = parseToken(header)
      if (token === null)
        return refuseEntry(
          428,
          null,
          'TokenRequired',
          `send the leader's token in the header ${TOKEN_HEADER}`,
        )
      if (secrets !== null && !isProofValid({ resource, token }, proof, secrets))
        return refuseEntry(
          401,
          null,
          'TokenNotProven',
          `send the proof of the token in the header ${PROOF_HEADER}`,
        )
      // Reads the greatest token without raising it.
      const before = await memory.raise(resource, 0)
      if (token - before > maxTokenGap)
        return refuseEntry(
          422,
          before,
          'ImplausibleTokenError',
          new ImplausibleTokenError(resource, token, before).message,
        )
      const current = await memory.raise(resource, token)
      if (current > token)
        return refuseEntry(
          409,
          current,
          'StaleTokenError',
          new StaleTokenError(resource, token, current).message,
        )
      if (!(await waitForOlder(token)))
        return refuseEntry(503, current, 'Draining', 'requests of an older leader are still running; retry')
      inside.set(token, (inside.get(token) ?? 0) + 1)
      // A newer token may have arrived while this request waited; later ones wait for this request.
      const now = await memory.raise(resource, token)
      if (now > token) {
        leave(token)
        return refuseEntry(409, now, 'StaleTokenError', new StaleTokenError(resource, token, now).message)
      }
      let isOut = false
      return {
        admitted: true,
        leave: () => {
          if (!isOut) leave(token)
          isOut = true
        },
      }
    },
  }
}

function refuseEntry(
  status: Refusal['status'],
  current: number | null,
  code: string,
  message: string,
): Entry {
  const headers = {
    'content-type': 'application/json',
    ...(current === null ? {} : { [TOKEN_HEADER]: String(current) }),
    ...(status === 503 ? { 'retry-after': '1' } : {}),
    ...(status === 401 ? { 'www-authenticate': 'Conclave-Token-Proof' } : {}),
  }
  return { admitted: false, refusal: { status, headers, body: { error: { code, message }, current } } }
}

function parseToken(header: string | null | undefined): number | null {
  if (header === null || header === undefined || !/^\d{1,16}$/.test(header)) return null
  const token = Number(header)
  try {
    checkToken(token)
  } catch {
    return null
  }
  return token
}

/** Methods without side effects need no token. */
export function isSafe(method: string | undefined): boolean {
  return method === 'GET' || method === 'HEAD' || method === 'OPTIONS'
}
