/**
 * The fault rig for stores: three processes that elect through a store, and faults of its server and its network. Every
 * backend gets the same faults and the same witness.
 *
 * Each fault is injected twice into a running group. The first time a follower is terminated during the fault; the second
 * time the leader is killed. After each fault the group must have a leader, use little CPU, and survive the kill of its
 * leader. At the end every process must exit on SIGTERM.
 *
 * `isBrief`: inject each fault once, with the leader alive, and do not restart processes. For the test suite.
 */
import { setTimeout } from 'node:timers/promises'
import { cpuMsOf } from '../supervise/processes.ts'
import { judge } from './judge.ts'
import type { RunNode } from './run-node.ts'
import { type ProxyFault, StoreProxy } from './store-proxy.ts'
import type { StoreServer } from './stores.ts'
import { type ChaosSettings, Trial } from './trial.ts'

export type StoreFault = {
  readonly name: string
  /** Duration. */
  readonly forMs: number
  readonly effect:
    | { readonly to: 'network'; readonly fault: ProxyFault }
    | { readonly to: 'server'; readonly by: 'kill' | 'pause' }
    /** Only the leader is killed: for stores without a server. */
    | { readonly to: 'nothing' }
}

/** The measurements of one fault. */
export type FaultRow = {
  readonly fault: string
  /** Violations. */
  readonly problems: readonly string[]
  /** Number of violations that the witness shows. */
  readonly overlaps: number
  /** From the end of the fault to the next line of a leader's command: with the leader alive, and with the leader killed. */
  readonly recoveryMs: readonly number[]
  /** From the kill of the leader after the fault to the next leader's command. */
  readonly failoverMs: readonly number[]
  /** Largest share of a core that a node uses after the fault, in percent. */
  readonly cpuPercent: number
  /** From SIGTERM to exit: during the fault, and at the end. */
  readonly exitMs: readonly number[]
}

/** The server is down for less than a lease. This fault once starved event loops; the test suite runs it alone. */
export const SHORT_RESTART: StoreFault = {
  name: 'server killed, restarted after 0.3 s',
  forMs: 300,
  effect: { to: 'server', by: 'kill' },
}

const RESTARTS_MS = [100, 300, 1000, 10_000]

/** About eight minutes per store. */
export const STORE_FAULTS: readonly StoreFault[] = [
  ...RESTARTS_MS.map(
    (forMs): StoreFault => ({
      name: `server killed, restarted after ${forMs / 1000} s`,
      forMs,
      effect: { to: 'server', by: 'kill' },
    }),
  ),
  { name: 'server stopped for 3 s', forMs: 3000, effect: { to: 'server', by: 'pause' } },
  { name: 'server stopped for 8 s', forMs: 8000, effect: { to: 'server', by: 'pause' } },
  { name: 'replies 60 ms late', forMs: 3000, effect: { to: 'network', fault: { is: 'delay', ms: 30 } } },
  { name: 'replies 2 s late', forMs: 5000, effect: { to: 'network', fault: { is: 'delay', ms: 1000 } } },
  { name: 'half-open', forMs: 3000, effect: { to: 'network', fault: { is: 'stall' } } },
  { name: 'replies lost after the write', forMs: 2000, effect: { to: 'network', fault: { is: 'mute' } } },
  {
    name: 'connections reset in the middle of requests',
    forMs: 3000,
    effect: { to: 'network', fault: { is: 'cut', share: 0.2 } },
  },
  { name: 'connections refused for 6 s', forMs: 6000, effect: { to: 'network', fault: { is: 'refuse' } } },
]

/** Header of a Markdown table with one row per store and fault. */
export const FAULT_TABLE = [
  '| store | fault | overlaps | recovery, ms | failover, ms | CPU afterwards | exit, ms |',
  '| ----- | ----- | -------- | ------------ | ------------ | -------------- | -------- |',
] as const

export function formatFaultRow(store: string, row: FaultRow): string {
  const ms = (samples: readonly number[]): string => samples.map((sample) => sample.toFixed(0)).join(', ')
  const cells = [
    store,
    row.fault,
    String(row.overlaps),
    ms(row.recoveryMs),
    ms(row.failoverMs),
    `${row.cpuPercent.toFixed(0)} %`,
    ms(row.exitMs),
  ]
  return `| ${cells.join(' | ')} |`
}

/** The only fault for a store without a server. */
export const LEADER_KILL: StoreFault = { name: 'leader killed', forMs: 0, effect: { to: 'nothing' } }

/** An idle node uses a few percent of a core; a node in a busy loop uses most of it. */
const MAX_IDLE_PERCENT = 30
const CPU_WINDOW_MS = 1000
const EXIT_TIMEOUT_MS = 30_000
/** Longer than every pause between two attempts to reconnect, and than one attempt that hangs. */
const RECOVERY_MS = 6000

export async function tryFaults(
  settings: ChaosSettings,
  url: string,
  server: StoreServer | null,
  faults: readonly StoreFault[],
  { isBrief = false }: { readonly isBrief?: boolean } = {},
): Promise<readonly FaultRow[]> {
  const idle = server === null ? faults.find(({ effect: does }) => does.to !== 'nothing') : undefined
  if (idle !== undefined) throw new RangeError(`${idle.name}: there is no server to which it could be done`)
  const proxy = server === null ? null : await StoreProxy.start(url)
  const rows: FaultRow[] = []
  try {
    const trial = await Trial.start(settings, { store: proxy?.rewrite(url) ?? url })
    try {
      for (const fault of faults) {
        settings.onProgress(fault.name)
        // oxlint-disable-next-line no-await-in-loop -- one fault after the other
        const row = await tryFault(trial, fault, isBrief, server, proxy)
        settings.onProgress(formatFaultRow('done', row))
        rows.push(row)
      }
      settings.onProgress('terminating all nodes')
      await trial.waitUntilStable()
      const running = trial.nodes.filter(({ pid }) => pid !== null)
      const ends = await Promise.all(running.map((node) => terminate(node)))
      // Judge all lines again, including those between faults and during termination.
      trial.witness.readNewLines()
      const violations = judge(trial.witness.lines).filter((problem) =>
        rows.every(({ problems }) => !problems.includes(problem)),
      )
      const last = rows.pop()
      if (last !== undefined) {
        const exitMs = [...last.exitMs, ...ends.flatMap(({ ms }) => ms ?? [])]
        rows.push({
          ...last,
          exitMs,
          overlaps: last.overlaps + violations.length,
          problems: [...last.problems, ...ends.flatMap(({ problem }) => problem ?? []), ...violations],
        })
      }
    } finally {
      await trial.stop()
    }
  } finally {
    await proxy?.close()
  }
  return rows
}

async function tryFault(
  trial: Trial,
  fault: StoreFault,
  isBrief: boolean,
  server: StoreServer | null,
  proxy: StoreProxy | null,
): Promise<FaultRow> {
  const recoveryMs: number[] = []
  const failoverMs: number[] = []
  const exitMs: number[] = []
  const problems: string[] = []
  let cpuPercent = 0
  const first = trial.witness.lines.length
  for (const leaderDies of isBrief ? [false] : [false, true]) {
    // oxlint-disable no-await-in-loop -- once with the leader alive, once without
    const leading = await trial.waitUntilStable()
    if (!isBrief) problems.push(...(await restartExited(trial.nodes)))
    const follower = trial.nodes.find(({ id }) => id !== leading.id)
    await inject(fault, server, proxy)
    await setTimeout(fault.forMs / 2)
    let ended: RunNode | undefined
    if (leaderDies) {
      ended = trial.node(trial.latest.id)
      ended.signal('SIGKILL')
      await ended.exited
    } else if (follower !== undefined) {
      ended = follower
      const { ms, problem } = await terminate(follower)
      exitMs.push(...ms)
      problems.push(...problem)
    }
    await setTimeout(fault.forMs / 2)
    await heal(fault, server, proxy)
    const healedAt = performance.now()
    const back = await trial.waitForLine(
      trial.witness.lines.length,
      ({ id }) => !leaderDies || id !== ended?.id,
      `no leader after: ${fault.name}`,
    )
    recoveryMs.push(Math.max(0, back.atMs - healedAt))
    if (back.atMs - healedAt > trial.settings.bounds.failoverMs + RECOVERY_MS * SLACK)
      problems.push(`${(back.atMs - healedAt).toFixed(0)} ms without a leader after: ${fault.name}`)
    if (!isBrief) ended?.start()
    await trial.waitUntilStable()
    if (!isBrief) problems.push(...(await restartExited(trial.nodes)))
    const percent = await measureCpuPercent(trial.nodes)
    cpuPercent = Math.max(cpuPercent, percent)
    if (percent > MAX_IDLE_PERCENT)
      problems.push(`a node uses ${percent.toFixed(0)} % of a core after: ${fault.name}`)
    const now = await trial.waitForLine(trial.witness.lines.length, () => true, 'no leader')
    const killedAt = performance.now()
    const killed = trial.node(now.id)
    killed.signal('SIGKILL')
    failoverMs.push((await trial.waitForNextTerm(now)).atMs - killedAt)
    await killed.exited
    if (!isBrief) killed.start()
    // oxlint-enable no-await-in-loop
  }
  trial.witness.readNewLines()
  const violations = judge(trial.witness.lines.slice(first))
  return {
    fault: fault.name,
    problems: [...problems, ...violations],
    overlaps: violations.length,
    recoveryMs,
    failoverMs,
    cpuPercent,
    exitMs,
  }
}

/** Factor by which recovery may be slower on a loaded machine. */
const SLACK = 3

async function inject(
  fault: StoreFault,
  server: StoreServer | null,
  proxy: StoreProxy | null,
): Promise<void> {
  if (fault.effect.to === 'network') proxy?.inject(fault.effect.fault)
  else if (fault.effect.to === 'server') await server?.[fault.effect.by]()
}

async function heal(fault: StoreFault, server: StoreServer | null, proxy: StoreProxy | null): Promise<void> {
  if (fault.effect.to === 'network') proxy?.heal()
  else if (fault.effect.to === 'server')
    await (fault.effect.by === 'kill' ? server?.restart() : server?.resume())
}

/** A node must neither fail to start nor exit by itself. Starts such nodes again, and says why they exited. */
async function restartExited(nodes: readonly RunNode[]): Promise<readonly string[]> {
  const exited = nodes.filter(({ pid }) => pid === null)
  const problems = exited.map(({ id, log }) => `${id} exited by itself: ${log.slice(-LOG_LINES).join(' / ')}`)
  for (const node of exited) node.start()
  await Promise.all(exited.map(({ joined }) => joined))
  return problems
}

/** How many log lines of a node that exited by itself are reported. */
const LOG_LINES = 3

type Termination = { readonly ms: readonly number[]; readonly problem: readonly string[] }

/** Sends SIGTERM. A process that does not exit is killed and reported. */
async function terminate(node: RunNode): Promise<Termination> {
  const at = performance.now()
  const { pid, exited: ended } = node
  if (pid === null) return { ms: [], problem: [`${node.id} exited during the fault: ${node.log.at(-1)}`] }
  node.signal('SIGTERM')
  const patience = new AbortController()
  const code = await Promise.race([
    ended,
    setTimeout(EXIT_TIMEOUT_MS, 'late' as const, { signal: patience.signal }).catch(() => null),
  ])
  patience.abort()
  const ms = [performance.now() - at]
  if (code === 0) return { ms, problem: [] }
  if (code !== 'late') return { ms, problem: [`${node.id} exited with code ${code}: ${node.log.at(-1)}`] }
  node.signal('SIGKILL')
  await ended
  return { ms, problem: [`${node.id} did not exit within ${EXIT_TIMEOUT_MS / 1000} s of SIGTERM`] }
}

/** CPU use of the busiest node while the group is idle. */
async function measureCpuPercent(nodes: readonly RunNode[]): Promise<number> {
  const at = performance.now()
  const before = nodes.map(({ pid }) => (pid === null ? 0 : cpuMsOf(pid)))
  await setTimeout(CPU_WINDOW_MS)
  const ms = performance.now() - at
  const used = nodes.map(({ pid }, index) => (pid === null ? 0 : cpuMsOf(pid) - (before[index] ?? 0)))
  return (Math.max(...used) / ms) * 100
}
