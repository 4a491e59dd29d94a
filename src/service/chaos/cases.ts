/** The cases of `conclave chaos`, by name. */
import { disks } from './disks.ts'
import { kill, killGuardian, pause, restart, stop } from './failures.ts'
import { freeze } from './freeze.ts'
import { garbage } from './garbage.ts'
import { namespaces, partition } from './partitions.ts'
import type { Finding } from './report.ts'
import { strangers } from './strangers.ts'
import type { ChaosSettings } from './trial.ts'

type ChaosCase = (settings: ChaosSettings) => Promise<Finding>

export const CASES: { readonly [name: string]: ChaosCase } = {
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
