/** A flood of hostile datagrams: no node crashes, the leader stays, and logs stay short. */
import { spawn } from 'node:child_process'
import { text } from 'node:stream/consumers'
import { setTimeout } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import type { FloodRequest } from './flood.ts'
import { Relays } from './relay.ts'
import type { Finding } from './report.ts'
import { type ChaosSettings, Trial } from './trial.ts'

const PER_SECOND = 50_000
/** Three nodes are enough: the flood takes the rest of the machine. */
const NODES = 3
/** Number of drop reasons, and the interval at which a node may log each. */
const REASONS = 10
const LOG_INTERVAL_S = 10

export async function garbage(settings: ChaosSettings): Promise<Finding> {
  const relays = new Relays()
  const problems: string[] = []
  let seconds: number
  let lost: number
  let quiet: number
  try {
    const trial = await Trial.start({ ...settings, nodes: NODES }, { relays })
    try {
      quiet = await countTermChanges(trial, () => setTimeout((settings.datagrams / PER_SECOND) * 1000))
      const pids = trial.nodes.map(({ pid }) => pid)
      const logged = trial.nodes.map((node) => node.log.length)
      let took = 0
      lost = await countTermChanges(trial, async () => {
        took = await runFlood(trial, relays, settings)
      })
      seconds = took
      if (quiet === 0 && lost > 0)
        problems.push(`the leader changed ${lost} times during the flood, and never before it`)
      for (const [index, node] of trial.nodes.entries()) {
        if (node.pid === null || node.pid !== pids[index]) problems.push(`${node.id} has exited`)
        const lines = node.log.slice(logged[index]).filter((line) => line.startsWith('dropped'))
        const most = REASONS * (2 + seconds / LOG_INTERVAL_S)
        if (lines.length === 0) problems.push(`${node.id} did not log the flood`)
        if (lines.length > most) problems.push(`${node.id} logged the flood in ${lines.length} lines`)
      }
      await trial.waitUntilStable()
      problems.push(...trial.problems(1))
    } finally {
      await trial.stop()
    }
  } finally {
    relays.close()
  }
  const rate = Math.round(settings.datagrams / seconds).toLocaleString('en-US')
  return {
    name: 'garbage',
    done: `${settings.datagrams.toLocaleString('en-US')} datagrams: random, truncated, corrupted or replayed, ${rate} per second; the leader changed ${lost} times, and ${quiet} times in the same time without the flood`,
    problems,
    measures: [],
    limited: null,
  }
}

/** Number of terms that start while `action` runs. */
async function countTermChanges(trial: Trial, action: () => Promise<void>): Promise<number> {
  const { token } = await trial.waitUntilStable()
  const from = trial.witness.lines.length
  await action()
  trial.witness.readNewLines()
  const tokens = trial.witness.lines.slice(from).map((line) => line.token)
  return new Set(tokens.filter((each) => each > token)).size
}

async function runFlood(trial: Trial, relays: Relays, { datagrams }: ChaosSettings): Promise<number> {
  const request: FloodRequest = {
    ports: trial.ports,
    recorded: relays.recorded.map(({ port, bytes }) => ({ port, hex: bytes.toString('hex') })),
    count: datagrams,
    perSecond: PER_SECOND,
  }
  if (request.recorded.length === 0)
    throw new Error('no datagram was recorded: there is nothing to corrupt or replay')
  const child = spawn(process.execPath, [fileURLToPath(new URL('./flood.js', import.meta.url))], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  child.stdin.end(JSON.stringify(request))
  return (JSON.parse(await text(child.stdout)) as { seconds: number }).seconds
}
