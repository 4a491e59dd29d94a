/**
 * A command that runs while an agent leads. This process has no node: it claims the agent's lead, again and again, and
 * knows from each answer for how long it has it, counted from before it asked. The agent hands the lead over only when
 * the claim was given back or has run out; when the agent is gone, the claim runs out before anybody else leads.
 */
import { setTimeout } from 'node:timers/promises'
import {
  AgentUnreachableError,
  type ClaimResponse,
  claim,
  getStatus,
  RequestRefusedError,
  release,
  watch,
} from '../../service/client/index.ts'
import type { LeaseTiming } from '../../service/node/index.ts'
import { monotonicNow } from '../../service/runtime/index.ts'
import type { Guarded } from '../../service/supervise/guarded.ts'
import { EXIT } from '../errors.ts'
import { type HeldLead, killBeforeIn, type Running, runUnder } from './term.ts'

export type AgentOf = {
  readonly agent: string
  /** Which, where the agent is in several. */
  readonly group: string | null
  readonly adminToken: string | null
}

/** How long until an agent that does not answer, or lost its lead, is asked again. */
const AGAIN_MS = 200
/** A claim is renewed so many times in the time that it lasts, but not more often than this. */
const RENEWALS = 8
const LEAST_RENEWAL_MS = 5

export async function runWithAgent(of: AgentOf, guarded: Guarded, running: Running): Promise<number> {
  const { told, once } = running
  while (!told.aborted) {
    // oxlint-disable-next-line no-await-in-loop -- one leadership after the other
    const next = await nextLead(of, running)
    if (next === null) break
    const { held, killBeforeMs } = next
    try {
      // oxlint-disable-next-line no-await-in-loop -- one leadership after the other
      const code = await runUnder(held, killBeforeMs, guarded, running)
      if (code !== null) return code
      if (once) return EXIT.lost
    } finally {
      // oxlint-disable-next-line no-await-in-loop -- one leadership after the other
      await held.end()
    }
  }
  return EXIT.ok
}

type Next = { readonly held: ClaimedLead; readonly killBeforeMs: number }

/** Waits until the agent leads; null when this process was told to end first. */
async function nextLead(of: AgentOf, { told, say, killBeforeMs: asked }: Running): Promise<Next | null> {
  let said = ''
  while (!told.aborted) {
    try {
      // oxlint-disable-next-line no-await-in-loop -- until it leads
      const { lease } = await getStatus({ ...of, signal: told })
      const killBeforeMs = killBeforeIn(claimTerms(lease), asked)
      // oxlint-disable-next-line no-await-in-loop -- until it leads
      for await (const seen of watch({ ...of, signal: told })) {
        const mayLead =
          seen.type === 'snapshot'
            ? seen.snapshot.self.role === 'leader'
            : seen.type === 'event' && seen.event.event === 'elected'
        const held = mayLead ? await ClaimedLead.take(of) : null
        if (held !== null) return { held, killBeforeMs }
        said = ''
      }
    } catch (error) {
      if (told.aborted) return null
      // An agent that takes no such orders never will.
      if (!(error instanceof AgentUnreachableError)) throw error
      if (error.message !== said) say(error.message)
      said = error.message
    }
    // oxlint-disable-next-line no-await-in-loop -- until it leads
    await setTimeout(AGAIN_MS, undefined, { signal: told }).catch(() => {})
  }
  return null
}

/** Of a renewed lease this process hears when it renews its claim. */
function claimTerms({ lengthMs, marginMs }: LeaseTiming): LeaseTiming {
  const late = Math.max(LEAST_RENEWAL_MS, marginMs / RENEWALS)
  return { lengthMs, marginMs: Math.max(0, marginMs - late) }
}

class ClaimedLead implements HeldLead {
  readonly group: string
  readonly id: string
  readonly token: number | null
  readonly #of: AgentOf
  readonly #claim: string
  readonly #lost = new AbortController()
  readonly #ending = new AbortController()
  readonly #over = new AbortController()
  readonly #renewed: Promise<void>
  /** On this process's clock. */
  #until: number

  private constructor(of: AgentOf, first: ClaimResponse, until: number) {
    this.#of = of
    this.#claim = first.claim
    this.group = first.group
    this.id = String(first.id)
    this.token = first.token
    this.#until = until
    this.#renewed = this.#renew()
  }

  /** Null when the agent does not lead. */
  static async take(of: AgentOf): Promise<ClaimedLead | null> {
    const before = monotonicNow()
    try {
      const first = await claim({ ...of, claim: null })
      return new ClaimedLead(of, first, before + first.expiresInMs * 1000)
    } catch (error) {
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
    return Math.max(0, (this.#until - monotonicNow()) / 1000)
  }

  /** The command has ended: the agent need not wait any longer. */
  async end(): Promise<void> {
    this.#over.abort()
    await this.#renewed
    // If it is not heard, the claim runs out by itself.
    await release({ ...this.#of, claim: this.#claim, signal: AbortSignal.timeout(AGAIN_MS) }).catch(() => {})
  }

  async #renew(): Promise<void> {
    while (!this.#over.signal.aborted && this.remaining() > 0) {
      const pause = Math.max(LEAST_RENEWAL_MS, this.remaining() / RENEWALS)
      // oxlint-disable-next-line no-await-in-loop -- one after the other
      await setTimeout(pause, undefined, { signal: this.#over.signal }).catch(() => {})
      if (this.#over.signal.aborted) return
      const before = monotonicNow()
      try {
        const limit = AbortSignal.timeout(Math.max(1, Math.ceil(this.remaining())))
        const signal = AbortSignal.any([limit, this.#over.signal])
        // oxlint-disable-next-line no-await-in-loop -- one after the other
        const { token, expiresInMs, ending } = await claim({ ...this.#of, claim: this.#claim, signal })
        if (token !== this.token) break
        this.#until = before + expiresInMs * 1000
        if (ending) this.#ending.abort()
      } catch (error) {
        // An agent that says no has lost the lead; one that says nothing may yet answer while the claim lasts.
        if (error instanceof RequestRefusedError) break
      }
    }
    this.#lost.abort()
  }
}
