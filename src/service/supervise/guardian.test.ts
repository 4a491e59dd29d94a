/** The guardian of a command of `conclave run`, as its node orders it. */
import { type ChildProcess, spawn } from 'node:child_process'
import type { Duplex } from 'node:stream'
import { fileURLToPath } from 'node:url'
import { afterEach, expect, it } from 'vitest'
import { until } from '../../../test/support/wait.ts'
import { monotonicNow } from '../runtime/clock.ts'
import { Guarded } from './guarded.ts'
import type { Order, Report } from './guardian.ts'
import { linesOf } from './lines.ts'

const GUARDIAN = fileURLToPath(new URL('../../../dist/service/supervise/guardian.js', import.meta.url))

let guardian: ChildProcess | null = null

afterEach(() => {
  // The command goes with it.
  ;(guardian?.stdio[3] as Duplex | undefined)?.destroy()
})

function started(): { readonly reports: readonly Report[]; order(order: Order): void } {
  guardian = spawn(process.execPath, [GUARDIAN], { stdio: ['ignore', 'ignore', 'ignore', 'pipe'] })
  const line = guardian.stdio[3] as Duplex
  const reports: Report[] = []
  linesOf(line, (text) => reports.push(JSON.parse(text) as Report))
  return { reports, order: (order) => line.write(`${JSON.stringify(order)}\n`) }
}

const LATE: readonly Order[] = [
  { do: 'deadline', end: 1, kill: 2 },
  { do: 'stop', graceMs: 0 },
]

it.each(LATE)(
  'takes no order for a command that has ended as one for the next: %j',
  async (late) => {
    const { reports, order } = started()
    const endings = (): readonly Report[] => reports.filter(({ told }) => told === 'ended')
    const hour = monotonicNow() + 3_600_000_000
    order({ do: 'start', command: ['true'], env: {} })
    await until(() => endings().length === 1)
    // On the way when the end was told.
    order(late)
    order({ do: 'start', command: ['sh', '-c', 'exit 3'], env: {} })
    order({ do: 'deadline', end: hour, kill: hour })
    await until(() => endings().length === 2)
    expect(endings()[1]).toEqual({ told: 'ended', code: 3, signal: null, asked: false })
  },
  60_000,
)

it('says that the guardian is lost when it ends before it is ready', async () => {
  // Beside the source of guarded.ts there is no guardian.js, so the process ends at once.
  await expect(Guarded.start()).rejects.toThrow('the guardian of the command is gone')
}, 60_000)
