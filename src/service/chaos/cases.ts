/** Everything that is done to real processes, case by case. */
import { disks } from './disks.ts'
import { kill, killGuardian, pause, restart, stop } from './failures.ts'
import { freeze } from './freeze.ts'
import { garbage } from './garbage.ts'
import { namespaces, partition } from './partitions.ts'
import type { Finding } from './report.ts'
import { strangers } from './strangers.ts'
import type { Settings } from './trial.ts'

type Case = (settings: Settings) => Promise<Finding>

export const CASES: { readonly [name: string]: Case } = {
  kill,
  'kill-guardian': killGuardian,
  stop,
  pause,
  freeze,
  partition,
  namespaces,
  restart,
  strangers,
  garbage,
  disks,
}
