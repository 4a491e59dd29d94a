/** Everything that is done to real processes, case by case. */
import { kill, killGuardian, pause, restart, stop } from './failures.ts'
import type { Finding } from './report.ts'
import type { Settings } from './trial.ts'

type Case = (settings: Settings) => Promise<Finding>

export const CASES: { readonly [name: string]: Case } = {
  kill,
  'kill-guardian': killGuardian,
  stop,
  pause,
  restart,
}
