/** A command under one leadership, wherever that comes from: started, given its deadlines, and ended in time. */
import { constants } from 'node:os'
import { monotonicNow } from '../runtime/index.ts'
import { EXIT } from './errors.ts'
import type { Ending, Guarded } from './guarded.ts'

export type Running = {
  readonly command: readonly string[]
  /** This process was told to end. */
  readonly told: AbortSignal
  readonly graceMs: number
  /** In microseconds. */
  readonly killBefore: number
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

/** With which code this process should end; null when it should wait for the next leadership. */
export async function runUnder(lead: HeldLead, guarded: Guarded, running: Running): Promise<number | null> {
  const { command, told, graceMs, killBefore, say } = running
  const deadlines = (): readonly [number, number] => {
    const left = lead.remaining() * 1000
    const kill = monotonicNow() + left - killBefore
    // A third of what is left is for ending by itself, but no more than as long again as for being killed.
    return [kill - Math.min(killBefore, left / 3), kill]
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
