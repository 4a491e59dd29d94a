/** The guardian process, driven by requests as a node sends them. */
import { type ChildProcess, spawn } from 'node:child_process'
import type { Duplex } from 'node:stream'
import { fileURLToPath } from 'node:url'
import { afterEach, expect, it } from 'vitest'
import { until } from '../../../test/support/wait.ts'
import { monotonicNow } from '../runtime/clock.ts'
import {
  type GuardianReport,
  type GuardianRequest,
  REPORTS_DESCRIPTOR,
  REQUESTS_DESCRIPTOR,
} from './guardian-messages.ts'
import { GuardianProcess } from './guardian-process.ts'
import { readLines } from './lines.ts'

const GUARDIAN = fileURLToPath(new URL('../../../dist/service/supervise/guardian.js', import.meta.url))

let guardian: ChildProcess | null = null

afterEach(() => {
  // The guardian kills its command.
  ;(guardian?.stdio[REQUESTS_DESCRIPTOR] as Duplex | undefined)?.destroy()
})

function startGuardian(): {
  readonly reports: readonly GuardianReport[]
  send(request: GuardianRequest): void
} {
  guardian = spawn(process.execPath, [GUARDIAN], { stdio: ['ignore', 'ignore', 'ignore', 'pipe', 'pipe'] })
  const requests = guardian.stdio[REQUESTS_DESCRIPTOR] as Duplex
  const reports: GuardianReport[] = []
  readLines(guardian.stdio[REPORTS_DESCRIPTOR] as Duplex, (text) =>
    reports.push(JSON.parse(text) as GuardianReport),
  )
  return { reports, send: (request) => requests.write(`${JSON.stringify(request)}\n`) }
}

const LATE: readonly GuardianRequest[] = [
  { type: 'deadline', end: 1, kill: 2 },
  { type: 'stop', graceMs: 0 },
]

it.each(LATE)(
  'does not apply a request for an ended command to the next one: %j',
  async (late) => {
    const { reports, send } = startGuardian()
    const endings = (): readonly GuardianReport[] => reports.filter(({ type }) => type === 'ended')
    const hour = monotonicNow() + 3_600_000_000
    send({ type: 'start', command: ['true'], env: {}, end: hour, kill: hour })
    await until(() => endings().length === 1)
    // Crosses the report of the exit.
    send(late)
    send({ type: 'start', command: ['sh', '-c', 'exit 3'], env: {}, end: hour, kill: hour })
    await until(() => endings().length === 2)
    expect(endings()[1]).toEqual({ type: 'ended', code: 3, signal: null, isTerminated: false })
  },
  60_000,
)

it('does not start a command whose deadline has passed: the node was stopped after it sent the request', async () => {
  const { reports, send } = startGuardian()
  const now = monotonicNow()
  send({ type: 'start', command: ['true'], env: {}, end: now - 2, kill: now - 1 })
  await until(() => reports.some(({ type }) => type === 'skipped'))
  expect(reports.map(({ type }) => type)).toEqual(['ready', 'skipped'])
}, 60_000)

it('reports a guardian that exits before it is ready', async () => {
  // There is no guardian.js next to the TypeScript source, so the process exits at once.
  await expect(GuardianProcess.start()).rejects.toThrow('the guardian exited')
}, 60_000)
