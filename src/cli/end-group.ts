/** The end of a command, and of all that it started. */
import { setTimeout } from 'node:timers/promises'
import { groupRuns } from '../chaos/processes.ts'

/** To die takes a turn of the processor: how long to see whether it came, and how often. */
const LONGEST_DYING_MS = 1000
const DYING_STEP_MS = 2

/** Kills a process group, and is done when nothing of it runs any more. */
export async function endGroup(group: number | undefined): Promise<void> {
  if (group === undefined) return
  const until = performance.now() + LONGEST_DYING_MS
  do {
    try {
      process.kill(-group, 'SIGKILL')
    } catch {
      return
    }
    if (!groupRuns(group)) return
    // oxlint-disable-next-line no-await-in-loop -- until it is gone
    await setTimeout(DYING_STEP_MS)
  } while (performance.now() < until)
}
