/** The present level of a running group, for its guarantee card. */
import { getStatus } from '../../service/client/index.ts'
import { readRequestOptions } from '../ask/request.ts'
import { UsageError } from '../errors.ts'
import { printNote } from '../output.ts'
import type { PlanFlags, ReadyPlan } from './config.ts'

/** Asks the agent of `--agent`; null without this flag. */
export async function presentLevelOf(
  { agent, ...flags }: PlanFlags,
  plan: ReadyPlan,
): Promise<number | null> {
  if (agent === undefined) return null
  const levels = plan.planning.levels?.(plan, null) ?? null
  if (levels === null)
    throw new UsageError(
      '--agent: the timing of this configuration is fixed, so it has one card; use --timing adaptive',
      '--agent',
    )
  const { timing, self } = await getStatus(readRequestOptions({ agent, ...flags }))
  if (timing === undefined)
    throw new UsageError(
      `--agent ${agent}: the timing of ${self.id} is fixed; plan it with --timing fixed`,
      '--agent',
    )
  const [least = 0, most = least] = [levels[0]?.level, levels.at(-1)?.level]
  if (timing.levels[0] !== least || timing.levels[1] !== most)
    printNote(
      `${self.id} uses leases from ${timing.leaseMinMs} to ${timing.leaseMaxMs} ms, other bounds than this configuration`,
    )
  return timing.level
}
