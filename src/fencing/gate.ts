/**
 * The gate before a service: it lets requests in by their tokens. A request with a greater token waits until those with
 * smaller ones that were let in before have ended, so that nothing of an old leader happens after anything of a new one.
 */
import { checkToken, StaleToken, type TokenMemory, tokensInMemory } from './tokens.ts'

/** The header with the token. */
export const TOKEN_HEADER = 'conclave-token'

export type GateOptions = {
  /** What the token is for: usually the name of the group. */
  readonly resource: string
  /** Where the greatest token is kept; in memory unless told otherwise. */
  readonly memory?: TokenMemory
  /** How long requests of an older leader may take to end before a newer one is told to come again. */
  readonly drainMs?: number
}

/** Why a request was not let in, as an HTTP answer. */
export type Refusal = {
  readonly status: 409 | 428 | 503
  readonly headers: { readonly [name: string]: string }
  readonly body: {
    readonly error: { readonly name: string; readonly message: string }
    readonly current: number | null
  }
}

export type Entry =
  | { readonly admitted: true; leave(): void }
  | { readonly admitted: false; readonly refusal: Refusal }

export type Gate = { enter(header: string | null | undefined): Promise<Entry> }

const DRAIN_MS = 5000

export function openGate({ resource, memory = tokensInMemory(), drainMs = DRAIN_MS }: GateOptions): Gate {
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
    async enter(header) {
      const token = tokenIn(header)
      if (token === null)
        return refuse(428, null, 'TokenRequired', `send the leader's token in the header ${TOKEN_HEADER}`)
      const current = await memory.raise(resource, token)
      if (current > token)
        return refuse(409, current, 'StaleToken', new StaleToken(resource, token, current).message)
      if (!(await olderAreOut(token)))
        return refuse(503, current, 'Draining', 'requests of an older leader have not ended yet; come again')
      inside.set(token, (inside.get(token) ?? 0) + 1)
      // A newer one may have come while this one waited; one that comes from now on waits for this.
      const now = await memory.raise(resource, token)
      if (now > token) {
        leave(token)
        return refuse(409, now, 'StaleToken', new StaleToken(resource, token, now).message)
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
