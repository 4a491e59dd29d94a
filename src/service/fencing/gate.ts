/**
 * The gate before a service: it lets requests in by their tokens. A request with a greater token waits until those with
 * smaller ones that were let in before have ended, so that nothing of an old leader happens after anything of a new one.
 *
 * A token that was let in locks every smaller one out. So with a `secret` only a holder of it can present one: the proof
 * is a keyed hash of resource and token, and the secret itself is never sent.
 */
import { createHmac, timingSafeEqual } from 'node:crypto'
import {
  checkToken,
  type Fence,
  ImplausibleTokenError,
  MOST_AHEAD,
  StaleTokenError,
  type TokenMemory,
  tokensInMemory,
} from './tokens.ts'

/** The header with the token. */
export const TOKEN_HEADER = 'conclave-token'
/** The header with the proof, where the receiver has a secret. */
export const PROOF_HEADER = 'conclave-token-proof'

const LEAST_SECRET = 16

export type GateOptions = {
  /** What the token is for: usually the name of the group. */
  readonly resource: string
  /** Where the greatest token is kept; in memory unless told otherwise. */
  readonly memory?: TokenMemory
  /** How long requests of an older leader may take to end before a newer one is told to come again. */
  readonly drainMs?: number
  /**
   * What the receiver and all nodes of the group know: tokens without its proof are refused (401). Several: each is
   * accepted, so that it can be changed without a gap. Without one, anyone who can send a request can lock leaders out.
   */
  readonly secret?: string | readonly string[]
  /** How far a token may be above the greatest that was seen; 2^40 unless told otherwise. */
  readonly mostAhead?: number
}

/** Why a request was not let in, as an HTTP answer. */
export type Refusal = {
  readonly status: 401 | 409 | 422 | 428 | 503
  readonly headers: { readonly [name: string]: string }
  readonly body: {
    readonly error: { readonly name: string; readonly message: string }
    readonly current: number | null
  }
}

export type Entry =
  | { readonly admitted: true; leave(): void }
  | { readonly admitted: false; readonly refusal: Refusal }

export type Gate = { enter(header: Header, proof: Header): Promise<Entry> }
type Header = string | null | undefined

const DRAIN_MS = 5000

/** The headers of a request of a leader: its token, and where the receiver has a secret, the proof. */
export function tokenHeaders(fence: Fence, secret?: string): { readonly [name: string]: string } {
  checkToken(fence.token)
  const token = { [TOKEN_HEADER]: String(fence.token) }
  return secret === undefined ? token : { ...token, [PROOF_HEADER]: proofOf(fence, checkedSecret(secret)) }
}

function proofOf({ resource, token }: Fence, secret: string): string {
  return createHmac('sha256', secret).update(`conclave-token\n${resource}\n${token}`).digest('hex')
}

function checkedSecret(secret: string): string {
  if (typeof secret !== 'string' || secret.length < LEAST_SECRET)
    throw new RangeError(`secret: must be a string of at least ${LEAST_SECRET} characters`)
  return secret
}

function secretsIn(given: GateOptions['secret']): readonly string[] | null {
  if (given === undefined) return null
  const secrets = typeof given === 'string' ? [given] : given
  if (secrets.length === 0) throw new RangeError('secret: must not be an empty list')
  return secrets.map(checkedSecret)
}

function isProven(fence: Fence, proof: Header, secrets: readonly string[]): boolean {
  const given = Buffer.from(proof ?? '')
  return secrets.some((secret) => {
    const expected = Buffer.from(proofOf(fence, secret))
    return given.length === expected.length && timingSafeEqual(given, expected)
  })
}

export function openGate({
  resource,
  memory = tokensInMemory(),
  drainMs = DRAIN_MS,
  secret,
  mostAhead = MOST_AHEAD,
}: GateOptions): Gate {
  const secrets = secretsIn(secret)
  if (!Number.isSafeInteger(mostAhead) || mostAhead < 1)
    throw new RangeError(`mostAhead: must be a whole number from 1 on, not ${mostAhead}`)
  /** How many of each token are inside. */
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

  /** False where those inside took too long. */
  async function olderAreOut(token: number): Promise<boolean> {
    const signal = AbortSignal.timeout(drainMs)
    while (hasOlder(token)) {
      if (signal.aborted) return false
      // oxlint-disable-next-line no-await-in-loop -- until the last is out
      await new Promise<void>((resolve) => {
        waiting.push(resolve)
        signal.addEventListener('abort', () => resolve(), { once: true })
      })
    }
    return true
  }

  return {
    async enter(header, proof) {
      const token = tokenIn(header)
      if (token === null)
        return refuse(428, null, 'TokenRequired', `send the leader's token in the header ${TOKEN_HEADER}`)
      if (secrets !== null && !isProven({ resource, token }, proof, secrets))
        return refuse(
          401,
          null,
          'TokenNotProven',
          `send the proof of the token in the header ${PROOF_HEADER}`,
        )
      // Asks without raising it.
      const before = await memory.raise(resource, 0)
      if (token - before > mostAhead)
        return refuse(422, before, 'ImplausibleTokenError', new ImplausibleTokenError(resource, token, before).message)
      const current = await memory.raise(resource, token)
      if (current > token)
        return refuse(409, current, 'StaleTokenError', new StaleTokenError(resource, token, current).message)
      if (!(await olderAreOut(token)))
        return refuse(503, current, 'Draining', 'requests of an older leader have not ended yet; come again')
      inside.set(token, (inside.get(token) ?? 0) + 1)
      // A newer one may have come while this one waited; one that comes from now on waits for this.
      const now = await memory.raise(resource, token)
      if (now > token) {
        leave(token)
        return refuse(409, now, 'StaleTokenError', new StaleTokenError(resource, token, now).message)
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

function refuse(status: Refusal['status'], current: number | null, name: string, message: string): Entry {
  const headers = {
    'content-type': 'application/json',
    ...(current === null ? {} : { [TOKEN_HEADER]: String(current) }),
    ...(status === 503 ? { 'retry-after': '1' } : {}),
    ...(status === 401 ? { 'www-authenticate': 'Conclave-Token-Proof' } : {}),
  }
  return { admitted: false, refusal: { status, headers, body: { error: { name, message }, current } } }
}

function tokenIn(header: string | null | undefined): number | null {
  if (header === null || header === undefined || !/^\d{1,16}$/.test(header)) return null
  const token = Number(header)
  try {
    checkToken(token)
  } catch {
    return null
  }
  return token
}

/** Those that change nothing need no token. */
export function isSafe(method: string | undefined): boolean {
  return method === 'GET' || method === 'HEAD' || method === 'OPTIONS'
}
