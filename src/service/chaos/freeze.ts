/**
 * Node, guardian and command all stand still, as when a whole virtual machine is paused, and then all go on. Nobody is
 * left who could end the command meanwhile, so another leads while it exists; and in its first instant it may act before
 * it is killed. That is what tokens are for: whoever keeps the data refuses an older one. Here the reader of the witness
 * does: it takes a line only when its token is not older than any that it took.
 */
import { setTimeout } from 'node:timers/promises'
import { isAlive, signal } from '../supervise/processes.ts'
import { pausesOf } from './failures.ts'
import { judge } from './judge.ts'
import type { Finding } from './report.ts'
import { type Settings, Trial } from './trial.ts'
import type { Line } from './witness.ts'

const LOOK_MS = 1

export async function freeze(settings: Settings): Promise<Finding> {
  const freezes = pausesOf(settings)
  const rounds = Math.ceil(settings.times / 25)
  const survived: number[] = []
  const frozen = new Set<number>()
  const trial = await Trial.begin(settings, { stubborn: true })
  let taken: Fenced
  try {
    for (let time = 0; time < rounds * freezes.length; time++) {
      settings.say(`${time + 1} of ${rounds * freezes.length}`)
      const lockTimes = freezes[time % freezes.length] as number
      // oxlint-disable-next-line no-await-in-loop -- one after the other
      const leading = await trial.settle()
      frozen.add(leading.token)
      // oxlint-disable-next-line no-await-in-loop -- one after the other
      survived.push(await freezeOnce(trial, leading, lockTimes))
    }
    await trial.settle()
    taken = fenced(trial.witness.lines)
  } finally {
    await trial.end()
  }
  const strangers = taken.refused.filter(({ token }) => !frozen.has(token))
  const few = new Set(taken.accepted.map(({ token }) => token)).size <= rounds * freezes.length
  return {
    name: 'freeze',
    done: `SIGSTOP of the leader's "conclave run", guardian and command for ${freezes.join(', ')} lock times, then SIGCONT, ${rounds} times each; ${taken.refused.length} lines of older tokens were refused`,
    problems: [
      ...judge(taken.accepted),
      ...strangers.map(
        ({ id, token }) => `${id} wrote with token ${token} after a newer one, though it was never frozen`,
      ),
      ...(few ? ['nobody else led while the leader was frozen: nothing was tried'] : []),
    ],
    measures: [
      { what: 'from SIGCONT to the death of the older command', boundMs: null, samplesMs: survived },
    ],
    limited: null,
  }
}

async function freezeOnce(trial: Trial, leading: Line, lockTimes: number): Promise<number> {
  const node = trial.node(leading.id)
  const { pid, guardian } = node
  const all = [leading.pid, ...[pid, guardian].flatMap((each) => (each === null ? [] : [each]))]
  for (const each of all) signal(each, 'SIGSTOP')
  try {
    await Promise.all([setTimeout(lockTimes * trial.settings.bounds.lockMs), trial.next(leading)])
  } finally {
    for (const each of all) signal(each, 'SIGCONT')
  }
  const at = performance.now()
  // oxlint-disable-next-line no-await-in-loop -- until it is dead
  while (isAlive(leading.pid)) await setTimeout(LOOK_MS)
  return performance.now() - at
}

type Fenced = { readonly accepted: readonly Line[]; readonly refused: readonly Line[] }

/** What a resource that refuses older tokens takes, in the order in which it is asked. */
function fenced(lines: readonly Line[]): Fenced {
  const [accepted, refused] = [[] as Line[], [] as Line[]]
  let newest = 0
  for (const line of lines) {
    // Of the lock, which a frozen command still has, the resource knows nothing.
    if (line.did === 'overlap' || line.did === 'alone') continue
    if (line.token < newest) refused.push(line)
    else accepted.push(line)
    newest = Math.max(newest, line.token)
  }
  return { accepted, refused }
}
