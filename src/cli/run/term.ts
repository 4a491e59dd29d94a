/** A command under one leadership, wherever that comes from: started, given its deadlines, and ended in time. */
import { constants } from 'node:os'
import type { LeaseTiming } from '../../service/node/index.ts'
import { monotonicNow } from '../../service/runtime/index.ts'
import type { Ending, Guarded } from '../../service/supervise/guarded.ts'
import { EXIT, UsageError } from '../errors.ts'

export type Running = {
  readonly command: readonly string[]
  /** This process was told to end. */
  readonly told: AbortSignal
  readonly graceMs: number
  /** --kill-before-ms, as given. */
  readonly killBeforeMs: number | null
  readonly once: boolean
  readonly say: (text: string) => void
}

/** What a leadership must be able to say. */
export type HeldLead = {
  readonly group: string
  readonly id: string
  readonly token: number | null
  /** Aborted when it is lost. */
  readonly signal: AbortSignal
  /** Aborted when it is to be given up, which waits for the command; null where nobody but this process decides that. */
  readonly ending: AbortSignal | null
  /** Milliseconds for which it surely lasts, as things stand. */
  remaining(): number
}

/** How often the guardian is told of a renewed lease, at least. */
const LOOK_MS = 5

const KILL_BEFORE_MS = 15
/** Of what is left of the lease, so much is for ending by itself at most. */
const FOR_ENDING = 1 / 3

/**
 * How long before the end of its lease a command is dead. Were it asked to end before the lease is renewed, it would be
 * in every lease: so there is a largest value, and where none was asked for it is never exceeded.
 */
export function killBeforeIn({ lengthMs, marginMs }: LeaseTiming, askedMs: number | null): number {
  const most = Math.floor(marginMs * (1 - FOR_ENDING))
  const ms = askedMs ?? Math.min(KILL_BEFORE_MS, most)
  if (most < 1)
    throw new UsageError(
      `--kill-before-ms: a lease lasts ${lengthMs} ms here, and when it is renewed too little of it is left to kill a command in: give it more time, such as --option sigmaMs=10 or a larger --profile`,
      '--kill-before-ms',
    )
  if (ms <= most) return ms
  throw new UsageError(
    `--kill-before-ms ${ms}: a lease lasts ${lengthMs} ms here, and only ${Math.floor(marginMs)} ms of it may be left when it is renewed: the command would be ended before that, every time; at most ${most} works`,
    '--kill-before-ms',
  )
}

/** With which code this process should end; null when it should wait for the next leadership. */
export async function runUnder(
  lead: HeldLead,
  killBeforeMs: number,
  guarded: Guarded,
  running: Running,
): Promise<number | null> {
  const { command, told, graceMs, say } = running
  const killBefore = killBeforeMs * 1000
  const deadlines = (): readonly [number, number] => {
    const left = lead.remaining() * 1000
    const kill = monotonicNow() + left - killBefore
    // Ending by itself is given no more than as long again as being killed.
    return [kill - Math.min(killBefore, left * FOR_ENDING), kill]
  }
  const env = {
    CONCLAVE_GROUP: lead.group,
    CONCLAVE_ID: lead.id,
    CONCLAVE_TOKEN: String(lead.token ?? ''),
    CONCLAVE_EXPIRES_MS: String(Math.floor(lead.remaining())),
  }
  say(`${lead.id} leads with token ${lead.token}: starting ${command[0]}`)
  const renewing = setInterval(() => {
    if (!lead.signal.aborted) guarded.deadline(...deadlines())
  }, LOOK_MS)
  // The lead is kept and renewed while the command ends, for as long as the grace lasts.
  const onTold = (): void => guarded.stop(graceMs)
  const onLost = (): void => guarded.stop(0)
  told.addEventListener('abort', onTold)
  lead.ending?.addEventListener('abort', onTold)
  lead.signal.addEventListener('abort', onLost)
  try {
    const ended = await guarded.run(command, env, ...deadlines())
    say(`${command[0]} ended${ended.signal === null ? ` with ${ended.code}` : ` by ${ended.signal}`}`)
    if (told.aborted) return EXIT.ok
    return ended.asked ? null : codeOf(ended)
  } finally {
    clearInterval(renewing)
    told.removeEventListener('abort', onTold)
    lead.ending?.removeEventListener('abort', onTold)
    lead.signal.removeEventListener('abort', onLost)
  }
}

/** As a shell has it: 128 and the number of the signal. */
function codeOf({ code, signal }: Ending): number {
  return code ?? 128 + (constants.signals[signal as keyof typeof constants.signals] ?? 0)
}
