/**
 * The fault rig of the stores: three processes that meet in a store, and everything that happens to a server or to the
 * network before it. The same faults for every backend, judged by the same outside witness.
 *
 * Each fault is injected twice into a running group. The first time a follower is told to end while the fault lasts;
 * the second time the leader is killed. After each, the group must lead again, idle cheaply, and survive the kill of
 * its leader. At the end every process must end when it is told to.
 *
 * `isBrief`: once, with the leader alive, and processes that have ended stay so. For a suite that has little time.
 */
import { setTimeout } from 'node:timers/promises'
import { cpuMsOf } from '../supervise/processes.ts'
import { judge } from './judge.ts'
import type { RunNode } from './run-node.ts'
import { type ProxyFault, StoreProxy } from './store-proxy.ts'
import type { StoreServer } from './stores.ts'
import { type Settings, Trial } from './trial.ts'

export type StoreFault = {
  readonly name: string
  /** How long it lasts. */
  readonly forMs: number
  readonly does:
    | { readonly to: 'network'; readonly fault: ProxyFault }
    | { readonly to: 'server'; readonly by: 'kill' | 'pause' }
    /** Only the leader is killed: for stores that have no server. */
    | { readonly to: 'nobody' }
}

/** What was measured of one fault. */
export type FaultRow = {
  readonly fault: string
  /** Everything that must not be, in words. */
  readonly problems: readonly string[]
  /** Two leaders at once, as the witness saw them. */
  readonly overlaps: number
  /** From the end of the fault to the next line of a leader's command: the leader lives, or was killed during it. */
  readonly backMs: readonly number[]
  /** From the kill of the leader afterwards to the next leader's command. */
  readonly nextMs: readonly number[]
  /** The largest share of a core that a node uses afterwards, in percent. */
  readonly cpuPercent: number
  /** How long processes took to end that were told to: during the fault, and at the end of all. */
  readonly exitMs: readonly number[]
}

/** The one that starved event loops: the server is away for less than a lease. For a suite that has little time. */
export const SHORT_RESTART: StoreFault = {
  name: 'server killed, restarted after 0.3 s',
  forMs: 300,
  does: { to: 'server', by: 'kill' },
}

const RESTARTS_MS = [100, 300, 1000, 10_000]

/** All of them take about eight minutes per store. */
export const STORE_FAULTS: readonly StoreFault[] = [
  ...RESTARTS_MS.map(
    (forMs): StoreFault => ({
      name: `server killed, restarted after ${forMs / 1000} s`,
      forMs,
      does: { to: 'server', by: 'kill' },
    }),
  ),
  { name: 'server stopped for 3 s', forMs: 3000, does: { to: 'server', by: 'pause' } },
  { name: 'server stopped for 8 s', forMs: 8000, does: { to: 'server', by: 'pause' } },
  { name: 'replies 60 ms late', forMs: 3000, does: { to: 'network', fault: { is: 'delay', ms: 30 } } },
  { name: 'replies 2 s late', forMs: 5000, does: { to: 'network', fault: { is: 'delay', ms: 1000 } } },
  { name: 'half-open', forMs: 3000, does: { to: 'network', fault: { is: 'stall' } } },
  { name: 'replies lost after the write', forMs: 2000, does: { to: 'network', fault: { is: 'mute' } } },
  {
    name: 'cut in the middle of requests',
    forMs: 3000,
    does: { to: 'network', fault: { is: 'cut', share: 0.2 } },
  },
  { name: 'connections refused for 6 s', forMs: 6000, does: { to: 'network', fault: { is: 'refuse' } } },
]

/** The head of a table in Markdown; one line per store and fault follows. */
export const FAULT_TABLE = [
  '| store | fault | overlaps | leader back, ms | after a kill, ms | CPU afterwards | told to end, ms |',
  '| ----- | ----- | -------- | --------------- | ---------------- | -------------- | --------------- |',
] as const

export function faultText(store: string, row: FaultRow): string {
  const ms = (samples: readonly number[]): string => samples.map((sample) => sample.toFixed(0)).join(', ')
  const cells = [
    store,
    row.fault,
    String(row.overlaps),
    ms(row.backMs),
    ms(row.nextMs),
    `${row.cpuPercent.toFixed(0)} %`,
    ms(row.exitMs),
  ]
  return `| ${cells.join(' | ')} |`
}

/** For a store without a server. */
export const NO_SERVER: StoreFault = { name: 'leader killed', forMs: 0, does: { to: 'nobody' } }

/** A node that idles on a store uses a few percent of a core; one that spins, most of it. */
const SPINS_PERCENT = 30
const CPU_WINDOW_MS = 1000
/** A process that has not ended by then never will. */
const EXIT_PATIENCE_MS = 30_000
/** Longer than every pause between two attempts to reconnect, and than one attempt that hangs. */
const RECOVERY_MS = 6000

export async function tryFaults(
  settings: Settings,
  url: string,
  server: StoreServer | null,
  faults: readonly StoreFault[],
  { isBrief = false }: { readonly isBrief?: boolean } = {},
): Promise<readonly FaultRow[]> {
  const idle = server === null ? faults.find(({ does }) => does.to !== 'nobody') : undefined
  if (idle !== undefined) throw new RangeError(`${idle.name}: there is no server to which it could be done`)
  const proxy = server === null ? null : await StoreProxy.to(url)
  const rows: FaultRow[] = []
  try {
    const trial = await Trial.begin(settings, { store: proxy?.through(url) ?? url })
    try {
      for (const fault of faults) {
        settings.say(fault.name)
        // oxlint-disable-next-line no-await-in-loop -- one fault after the other
        const row = await tryFault(trial, fault, isBrief, server, proxy)
        settings.say(faultText('done', row))
        rows.push(row)
      }
      settings.say('every process is told to end')
      await trial.settle()
      const running = trial.nodes.filter(({ pid }) => pid !== null)
      const ends = await Promise.all(running.map((node) => endInOrder(node)))
      // Once more all of it: what was seen while they ended, and between two faults.
      trial.witness.look()
      const seen = judge(trial.witness.lines).filter((problem) =>
        rows.every(({ problems }) => !problems.includes(problem)),
      )
      const last = rows.pop()
      if (last !== undefined) {
        const exitMs = [...last.exitMs, ...ends.flatMap(({ ms }) => ms ?? [])]
        rows.push({
          ...last,
          exitMs,
          overlaps: last.overlaps + seen.length,
          problems: [...last.problems, ...ends.flatMap(({ problem }) => problem ?? []), ...seen],
        })
      }
    } finally {
      await trial.end()
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
  const backMs: number[] = []
  const nextMs: number[] = []
  const exitMs: number[] = []
  const problems: string[] = []
  let cpuPercent = 0
  const first = trial.witness.lines.length
  for (const leaderDies of isBrief ? [false] : [false, true]) {
    // oxlint-disable no-await-in-loop -- once with the leader alive, once without
    const leading = await trial.settle()
    const follower = trial.nodes.find(({ id }) => id !== leading.id)
    await inject(fault, server, proxy)
    await setTimeout(fault.forMs / 2)
    let ended: RunNode | undefined
    if (leaderDies) {
      ended = trial.node(trial.leading.id)
      ended.signal('SIGKILL')
      await ended.ended
    } else if (follower !== undefined) {
      ended = follower
      const { ms, problem } = await endInOrder(follower)
      exitMs.push(...ms)
      problems.push(...problem)
    }
    await setTimeout(fault.forMs / 2)
    await heal(fault, server, proxy)
    const healedAt = performance.now()
    const back = await trial.after(
      trial.witness.lines.length,
      ({ id }) => !leaderDies || id !== ended?.id,
      `nobody leads again after: ${fault.name}`,
    )
    backMs.push(Math.max(0, back.atMs - healedAt))
    if (back.atMs - healedAt > trial.settings.bounds.failOverMs + RECOVERY_MS * SLACK)
      problems.push(`${(back.atMs - healedAt).toFixed(0)} ms without a leader after: ${fault.name}`)
    if (!isBrief) ended?.start()
    await trial.settle()
    const percent = await cpuPercentOf(trial.nodes)
    cpuPercent = Math.max(cpuPercent, percent)
    if (percent > SPINS_PERCENT)
      problems.push(`a node uses ${percent.toFixed(0)} % of a core after: ${fault.name}`)
    const now = await trial.after(trial.witness.lines.length, () => true, 'nobody leads')
    const killedAt = performance.now()
    const killed = trial.node(now.id)
    killed.signal('SIGKILL')
    nextMs.push((await trial.next(now)).atMs - killedAt)
    await killed.ended
    if (!isBrief) killed.start()
    // oxlint-enable no-await-in-loop
  }
  trial.witness.look()
  const seen = judge(trial.witness.lines.slice(first))
  return {
    fault: fault.name,
    problems: [...problems, ...seen],
    overlaps: seen.length,
    backMs,
    nextMs,
    cpuPercent,
    exitMs,
  }
}

/** How much longer things may take on a busy machine before they count as not happening. */
const SLACK = 3

async function inject(
  fault: StoreFault,
  server: StoreServer | null,
  proxy: StoreProxy | null,
): Promise<void> {
  if (fault.does.to === 'network') proxy?.inject(fault.does.fault)
  else if (fault.does.to === 'server') await server?.[fault.does.by]()
}

async function heal(fault: StoreFault, server: StoreServer | null, proxy: StoreProxy | null): Promise<void> {
  if (fault.does.to === 'network') proxy?.heal()
  else if (fault.does.to === 'server') await (fault.does.by === 'kill' ? server?.restart() : server?.resume())
}

type Ended = { readonly ms: readonly number[]; readonly problem: readonly string[] }

/** SIGTERM; what does not end by itself is killed and counted as a problem. */
async function endInOrder(node: RunNode): Promise<Ended> {
  const at = performance.now()
  const { pid, ended } = node
  if (pid === null) return { ms: [], problem: [`${node.id} was not there any more`] }
  node.signal('SIGTERM')
  const patience = new AbortController()
  const code = await Promise.race([
    ended,
    setTimeout(EXIT_PATIENCE_MS, 'late' as const, { signal: patience.signal }).catch(() => null),
  ])
  patience.abort()
  const ms = [performance.now() - at]
  if (code === 0) return { ms, problem: [] }
  if (code !== 'late') return { ms, problem: [`${node.id} ended with ${code}: ${node.said.at(-1)}`] }
  node.signal('SIGKILL')
  await ended
  return { ms, problem: [`${node.id} did not end within ${EXIT_PATIENCE_MS / 1000} s of SIGTERM`] }
}

/** Of the node that uses most, while nothing happens. */
async function cpuPercentOf(nodes: readonly RunNode[]): Promise<number> {
  const at = performance.now()
  const before = nodes.map(({ pid }) => (pid === null ? 0 : cpuMsOf(pid)))
  await setTimeout(CPU_WINDOW_MS)
  const ms = performance.now() - at
  const used = nodes.map(({ pid }, index) => (pid === null ? 0 : cpuMsOf(pid) - (before[index] ?? 0)))
  return (Math.max(...used) / ms) * 100
}
