/** Runs a command during one term: starts it, keeps its deadlines up to date, and ends it in time. */
import { constants } from 'node:os'
import { LeadershipLostError, type LeaseTiming } from '../../service/node/index.ts'
import { monotonicNow } from '../../service/runtime/index.ts'
import type { CommandExit, GuardianProcess } from '../../service/supervise/guardian-process.ts'
import { EXIT, UsageError } from '../errors.ts'

export type RunSettings = {
  readonly command: readonly string[]
  /** Aborted when this process receives a signal to stop. */
  readonly stopSignal: AbortSignal
  readonly graceMs: number
  /** The value of --kill-before-ms; null if the flag was not given. */
  readonly killBeforeMs: number | null
  readonly once: boolean
  readonly report: (text: string, event?: 'run' | 'warning') => void
}

/** A term of this node or of an agent, as far as a command needs it. */
export type HeldTerm = {
  readonly group: string
  readonly id: string
  readonly token: number | null
  /** Aborted when the term is lost. */
  readonly signal: AbortSignal
  /** Aborted when the agent wants to end the term and waits for the command; null for a term of this process. */
  readonly ending: AbortSignal | null
  /** Milliseconds until the lease expires unless it is renewed. */
  remaining(): number
}

/** How often the guardian receives the deadlines of the renewed lease. */
const DEADLINE_INTERVAL_MS = 5

const DEFAULT_KILL_BEFORE_MS = 15
/** The largest part of the remaining lease that the command gets to end after SIGTERM. */
const SIGTERM_SHARE = 1 / 3

/**
 * How long before the end of a lease the command is killed: `ms` for leases of `leaseMs`, the shortest. Leases that tune
 * themselves are longer on a busy host, where killing takes longer, too: then it is proportionally more, up to `mostMs`.
 */
export type KillBefore = { readonly ms: number; readonly leaseMs: number; readonly mostMs: number }

/**
 * How long before the end of the lease the command is killed. A value so large that the command is asked to end before
 * the lease is renewed would end it in every lease. Such a value is refused, and the default never exceeds the maximum.
 */
export function resolveKillBefore(
  { lengthMs, marginMs }: LeaseTiming,
  requestedMs: number | null,
): KillBefore {
  const maximum = Math.floor(marginMs * (1 - SIGTERM_SHARE))
  const ms = requestedMs ?? Math.min(DEFAULT_KILL_BEFORE_MS, maximum)
  if (maximum < 1)
    throw new UsageError(
      `--kill-before-ms: a lease lasts ${lengthMs} ms, and too little of it remains at renewal to kill a command in; use a longer lease, such as --lease-min-ms 60 or a larger --profile`,
      '--kill-before-ms',
    )
  if (ms <= maximum) return { ms, leaseMs: lengthMs, mostMs: requestedMs ?? DEFAULT_KILL_BEFORE_MS }
  throw new UsageError(
    `--kill-before-ms ${ms}: must be at most ${maximum}; a lease lasts ${lengthMs} ms, and as little as ${Math.floor(marginMs)} ms of it can remain at renewal, so the command would be ended before every renewal`,
    '--kill-before-ms',
  )
}

/** The length of a lease that leaves room for this value, if its margin is the same part of it. */
export function leaseFor({ lengthMs, marginMs }: LeaseTiming, requestedMs: number | null): number {
  const neededMs = ((requestedMs ?? 1) + 1) / (1 - SIGTERM_SHARE)
  return lengthMs * Math.max(1, neededMs / Math.max(marginMs, Number.MIN_VALUE))
}

/** Returns the exit code of this process; null if it should wait for the next term. */
export async function runInTerm(
  term: HeldTerm,
  { ms, leaseMs, mostMs }: KillBefore,
  guardian: Pick<GuardianProcess, 'run' | 'setDeadline' | 'stop'>,
  settings: RunSettings,
): Promise<number | null> {
  const { command, stopSignal, graceMs, report } = settings
  // A signal that was aborted before emits no event, so the command would run on.
  if (stopSignal.aborted) return EXIT.ok
  if ([term.signal, term.ending].some((signal) => signal?.aborted === true)) return null
  let leftBefore = 0
  let present = 0
  const deadlines = (): readonly [number, number] => {
    // The clock first: if this process is stopped before it reads the lease, the deadlines are too early, not too late.
    const now = monotonicNow()
    const left = term.remaining() * 1000
    // More is left than before: the lease was renewed, and is at least this long.
    if (left > leftBefore) present = left
    leftBefore = left
    const killBefore = 1000 * Math.min(mostMs, ms * Math.max(1, present / (leaseMs * 1000)))
    const kill = now + left - killBefore
    // The command gets at most killBefore to end after SIGTERM.
    return [kill - Math.min(killBefore, left * SIGTERM_SHARE), kill]
  }
  const env = {
    CONCLAVE_GROUP: term.group,
    CONCLAVE_ID: term.id,
    CONCLAVE_TOKEN: String(term.token ?? ''),
    CONCLAVE_EXPIRES_MS: String(Math.floor(term.remaining())),
  }
  report(`${term.id} leads with token ${term.token}: starting ${command[0]}`)
  const renewing = setInterval(() => {
    if (!term.signal.aborted) guardian.setDeadline(...deadlines())
  }, DEADLINE_INTERVAL_MS)
  // The lease is renewed while the command ends, for at most the grace period.
  const onStop = (): void => guardian.stop(graceMs)
  const onLost = (): void => guardian.stop(0)
  stopSignal.addEventListener('abort', onStop)
  term.ending?.addEventListener('abort', onStop)
  term.signal.addEventListener('abort', onLost)
  try {
    const ended = await guardian.run(command, env, ...deadlines())
    if (ended === null) {
      report(`${command[0]} was not started: ${await explainLoss(term)}`)
      return stopSignal.aborted ? EXIT.ok : null
    }
    report(`${command[0]} ended${ended.signal === null ? ` with ${ended.code}` : ` by ${ended.signal}`}`)
    if (stopSignal.aborted) return EXIT.ok
    if (ended.isTerminated && term.ending?.aborted !== true)
      report(`${command[0]} was ended: ${await explainLoss(term)}`)
    return ended.isTerminated ? null : exitCodeOf(ended)
  } finally {
    clearInterval(renewing)
    stopSignal.removeEventListener('abort', onStop)
    term.ending?.removeEventListener('abort', onStop)
    term.signal.removeEventListener('abort', onLost)
  }
}

/** How long after the end of a lease its cause is awaited. */
const CAUSE_MS = 50

/** Why the term is lost. The command is ended a little earlier, so the cause may not be known yet. */
async function explainLoss(term: HeldTerm): Promise<string> {
  const { signal } = term
  if (!signal.aborted)
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, term.remaining() + CAUSE_MS)
      signal.addEventListener('abort', () => {
        clearTimeout(timer)
        resolve()
      })
    })
  const reason: unknown = signal.reason
  return reason instanceof LeadershipLostError ? reason.message : 'the lease was not renewed in time'
}

/** As in a shell: 128 plus the number of the signal that ended the command. */
function exitCodeOf({ code, signal }: CommandExit): number {
  return code ?? 128 + (constants.signals[signal as keyof typeof constants.signals] ?? 0)
}
