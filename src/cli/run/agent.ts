/**
 * Runs a command while an agent leads. This process has no node. It claims the agent's term, renews the claim, and
 * counts its duration from before each request. The agent ends its term only after the claim is released or has expired.
 * If the agent dies, the claim expires before another node can lead. A claim ends when this host was suspended: the
 * monotonic clock stood still, and the claim may have expired meanwhile.
 */
import { setTimeout } from 'node:timers/promises'
import {
  AgentUnreachableError,
  type ClaimResponse,
  claim,
  type Fetch,
  getStatus,
  RequestRefusedError,
  release,
  type TimingResponse,
  watch,
} from '../../service/client/index.ts'
import type { LeaseTiming } from '../../service/node/index.ts'
import { type HostClock, openHostClock } from '../../service/runtime/index.ts'
import type { GuardianProcess } from '../../service/supervise/guardian-process.ts'
import { EXIT } from '../errors.ts'
import { type HeldTerm, type KillBefore, type RunSettings, resolveKillBefore, runInTerm } from './term.ts'

export type AgentTarget = {
  readonly agent: string
  /** Null if the agent is in one group only. */
  readonly group: string | null
  readonly adminToken: string | null
  /** The agent's read token, if it demands one. */
  readonly token?: string | null
  readonly fetch?: Fetch
  readonly openClock?: () => HostClock
}

type Guardian = Pick<GuardianProcess, 'run' | 'setDeadline' | 'stop'>

/** A request that takes longer is given up: the host of the agent may have vanished. */
const REQUEST_TIMEOUT_MS = 5000
/** Delay before the next request to an agent that does not answer or no longer leads. */
const RETRY_DELAY_MS = 200
/** Renewals per duration of a claim, and the shortest interval between two. */
const RENEWALS_PER_CLAIM = 8
const MIN_RENEWAL_INTERVAL_MS = 5

export async function runWithAgent(
  target: AgentTarget,
  guardian: Guardian,
  settings: RunSettings,
): Promise<number> {
  const { stopSignal, once } = settings
  while (!stopSignal.aborted) {
    // oxlint-disable-next-line no-await-in-loop -- one term after the other
    const next = await waitForTerm(target, settings)
    if (next === null) break
    const { term, killBefore } = next
    try {
      // oxlint-disable-next-line no-await-in-loop -- one term after the other
      const code = await runInTerm(term, killBefore, guardian, settings)
      if (code !== null) return code
      if (once) return EXIT.lost
    } finally {
      // oxlint-disable-next-line no-await-in-loop -- one term after the other
      await term.release()
    }
  }
  return EXIT.ok
}

type Next = { readonly term: ClaimedTerm; readonly killBefore: KillBefore }

/** Waits until the agent leads; null if this process is stopped first. */
async function waitForTerm(
  target: AgentTarget,
  { stopSignal, report, killBeforeMs: requested }: RunSettings,
): Promise<Next | null> {
  let lastProblem = ''
  const limit = (): AbortSignal => AbortSignal.any([stopSignal, AbortSignal.timeout(REQUEST_TIMEOUT_MS)])
  while (!stopSignal.aborted) {
    try {
      // oxlint-disable-next-line no-await-in-loop -- until it leads
      const { lease, timing } = await getStatus({ ...target, signal: limit() })
      const killBefore = resolveKillBefore(claimTiming(shortestLease(lease, timing)), requested)
      // oxlint-disable-next-line no-await-in-loop -- until it leads
      for await (const seen of watch({ ...target, signal: stopSignal })) {
        const mayLead =
          seen.type === 'snapshot'
            ? seen.snapshot.self.role === 'leader'
            : seen.type === 'event' && seen.event.event === 'elected'
        const term = mayLead ? await ClaimedTerm.claim(target, limit()) : null
        if (term !== null) return { term, killBefore }
        lastProblem = ''
      }
    } catch (error) {
      if (stopSignal.aborted) return null
      // A refusal is final: the agent will not accept this request later.
      if (!(error instanceof AgentUnreachableError)) throw error
      if (error.message !== lastProblem) report(error.message)
      lastProblem = error.message
    }
    // oxlint-disable-next-line no-await-in-loop -- until it leads
    await setTimeout(RETRY_DELAY_MS, undefined, { signal: stopSignal }).catch(() => {})
  }
  return null
}

/** Leases that tune themselves can become as short as this in the term. Their margin is the same part of each. */
function shortestLease(present: LeaseTiming, timing: TimingResponse | undefined): LeaseTiming {
  if (timing === undefined) return present
  const part = Math.min(1, timing.leaseMinMs / present.lengthMs)
  return { lengthMs: present.lengthMs * part, marginMs: present.marginMs * part }
}

/** This process learns of a renewed lease only when it renews its claim, so its margin is smaller. */
function claimTiming({ lengthMs, marginMs }: LeaseTiming): LeaseTiming {
  const delayMs = Math.max(MIN_RENEWAL_INTERVAL_MS, marginMs / RENEWALS_PER_CLAIM)
  return { lengthMs, marginMs: Math.max(0, marginMs - delayMs) }
}

class ClaimedTerm implements HeldTerm {
  readonly group: string
  readonly id: string
  readonly token: number | null
  readonly #target: AgentTarget
  readonly #claim: string
  readonly #lost = new AbortController()
  readonly #ending = new AbortController()
  readonly #released = new AbortController()
  readonly #clock: HostClock
  readonly #renewals: Promise<void>
  /** End of the claim on the clock of this process. */
  #until: number

  private constructor(target: AgentTarget, clock: HostClock, first: ClaimResponse, until: number) {
    this.#target = target
    this.#clock = clock
    this.#claim = first.claim
    this.group = first.group
    this.id = String(first.id)
    this.token = first.token
    this.#until = until
    this.#renewals = this.#renew()
  }

  /** Null if the agent does not lead. */
  static async claim(target: AgentTarget, signal: AbortSignal): Promise<ClaimedTerm | null> {
    const clock = (target.openClock ?? openHostClock)()
    const before = clock.now()
    try {
      const first = await claim({ ...target, claim: null, signal })
      return new ClaimedTerm(target, clock, first, before + first.expiresInMs * 1000)
    } catch (error) {
      clock.close()
      if (error instanceof RequestRefusedError && error.status === 409) return null
      throw error
    }
  }

  get signal(): AbortSignal {
    return this.#lost.signal
  }

  get ending(): AbortSignal {
    return this.#ending.signal
  }

  remaining(): number {
    if (this.#lost.signal.aborted) return 0
    if (this.#clock.suspendedFor() === 0) return Math.max(0, (this.#until - this.#clock.now()) / 1000)
    this.#lost.abort()
    return 0
  }

  /** Releases the claim after the command has ended, so that the agent can end its term. */
  async release(): Promise<void> {
    this.#released.abort()
    await this.#renewals
    this.#clock.close()
    // If the request is lost, the claim expires.
    await release({ ...this.#target, claim: this.#claim, signal: AbortSignal.timeout(RETRY_DELAY_MS) }).catch(
      () => {},
    )
  }

  async #renew(): Promise<void> {
    while (!this.#released.signal.aborted && this.remaining() > 0) {
      const pause = Math.max(MIN_RENEWAL_INTERVAL_MS, this.remaining() / RENEWALS_PER_CLAIM)
      // oxlint-disable-next-line no-await-in-loop -- one renewal after the other
      await setTimeout(pause, undefined, { signal: this.#released.signal }).catch(() => {})
      if (this.#released.signal.aborted) return
      const before = this.#clock.now()
      try {
        const limit = AbortSignal.timeout(Math.max(1, Math.ceil(this.remaining())))
        const signal = AbortSignal.any([limit, this.#released.signal])
        // oxlint-disable-next-line no-await-in-loop -- one renewal after the other
        const { token, expiresInMs, ending } = await claim({ ...this.#target, claim: this.#claim, signal })
        if (token !== this.token) break
        this.#until = before + expiresInMs * 1000
        if (ending) this.#ending.abort()
      } catch (error) {
        // A refusal means that the agent no longer leads. Without an answer, try again while the claim lasts.
        if (error instanceof RequestRefusedError) break
      }
    }
    this.#lost.abort()
  }
}
