/**
 * Node, guardian and command all freeze, as when a virtual machine is paused, and then continue. No process can kill the
 * command meanwhile, so another node leads while it exists, and it can act for an instant before it is killed. Fencing
 * tokens exist for this case: the resource refuses older tokens. Here the reader of the witness plays the resource.
 */
import { setTimeout } from 'node:timers/promises'
import { isAlive, trySignal } from '../supervise/processes.ts'
import { pauseLengths } from './failures.ts'
import { judge } from './judge.ts'
import type { Finding } from './report.ts'
import { type ChaosSettings, Trial } from './trial.ts'
import type { WitnessLine } from './witness.ts'

const POLL_MS = 1

export async function freeze(settings: ChaosSettings): Promise<Finding> {
  const freezes = pauseLengths(settings)
  const rounds = Math.ceil(settings.times / 25)
  const survived: number[] = []
  const frozen = new Set<number>()
  const trial = await Trial.start(settings, { stubborn: true })
  let outcome: FencedLines
  try {
    for (let time = 0; time < rounds * freezes.length; time++) {
      settings.onProgress(`${time + 1} of ${rounds * freezes.length}`)
      const lockTimes = freezes[time % freezes.length] as number
      // oxlint-disable-next-line no-await-in-loop -- one after the other
      const leading = await trial.waitUntilStable()
      frozen.add(leading.token)
      // oxlint-disable-next-line no-await-in-loop -- one after the other
      survived.push(await freezeOnce(trial, leading, lockTimes))
    }
    await trial.waitUntilStable()
    outcome = applyFencing(trial.witness.lines)
  } finally {
    await trial.stop()
  }
  const unexpected = outcome.refused.filter(({ token }) => !frozen.has(token))
  const hasTooFewTerms = new Set(outcome.accepted.map(({ token }) => token)).size <= rounds * freezes.length
  return {
    name: 'freeze',
    done: `SIGSTOP of the leader's "conclave run", guardian and command for ${freezes.join(', ')} lock times, then SIGCONT, ${rounds} times each; ${outcome.refused.length} lines with older tokens were refused`,
    problems: [
      ...judge(outcome.accepted),
      ...unexpected.map(
        ({ id, token }) => `${id} wrote with token ${token} after a newer token, but it was never frozen`,
      ),
      ...(hasTooFewTerms
        ? ['no other node led while the leader was frozen: the case did not test anything']
        : []),
    ],
    measures: [
      { what: 'time from SIGCONT to the death of the old command', boundMs: null, samplesMs: survived },
    ],
    limited: null,
  }
}

async function freezeOnce(trial: Trial, leading: WitnessLine, lockTimes: number): Promise<number> {
  const node = trial.node(leading.id)
  const { pid, guardianPid: guardian } = node
  const all = [leading.pid, ...[pid, guardian].flatMap((each) => (each === null ? [] : [each]))]
  for (const each of all) trySignal(each, 'SIGSTOP')
  try {
    await Promise.all([setTimeout(lockTimes * trial.settings.bounds.lockMs), trial.waitForNextTerm(leading)])
  } finally {
    for (const each of all) trySignal(each, 'SIGCONT')
  }
  const at = performance.now()
  // oxlint-disable-next-line no-await-in-loop -- poll until it is dead
  while (isAlive(leading.pid)) await setTimeout(POLL_MS)
  return performance.now() - at
}

type FencedLines = { readonly accepted: readonly WitnessLine[]; readonly refused: readonly WitnessLine[] }

/** Splits the lines into accepted and refused ones, as a fenced resource does. */
function applyFencing(lines: readonly WitnessLine[]): FencedLines {
  const [accepted, refused] = [[] as WitnessLine[], [] as WitnessLine[]]
  let newest = 0
  for (const line of lines) {
    // A frozen command still holds the lock; a fenced resource does not see locks.
    if (line.action === 'overlap' || line.action === 'alone') continue
    if (line.token < newest) refused.push(line)
    else accepted.push(line)
    newest = Math.max(newest, line.token)
  }
  return { accepted, refused }
}
