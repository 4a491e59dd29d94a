/** A flood of hostile datagrams: nobody crashes, nobody joins, the lead is kept, and the log does not fill up. */
import { spawn } from 'node:child_process'
import { text } from 'node:stream/consumers'
import { setTimeout } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import type { FloodOrder } from './flood.ts'
import { Relays } from './relay.ts'
import type { Finding } from './report.ts'
import { type Settings, Trial } from './trial.ts'

const PER_SECOND = 50_000
/** Three are enough, and the rest of the machine floods them. */
const NODES = 3
/** Reasons for which a datagram is dropped, and how often each may be said: once in ten seconds, and at the end. */
const REASONS = 10
const SAID_EVERY_S = 10

export async function garbage(settings: Settings): Promise<Finding> {
  const relays = new Relays()
  const problems: string[] = []
  let seconds: number
  let lost: number
  let quiet: number
  try {
    const trial = await Trial.begin({ ...settings, nodes: NODES }, { relays })
    try {
      quiet = await changes(trial, () => setTimeout((settings.datagrams / PER_SECOND) * 1000))
      const pids = trial.nodes.map(({ pid }) => pid)
      const said = trial.nodes.map((node) => node.said.length)
      let took = 0
      lost = await changes(trial, async () => {
        took = await flood(trial, relays, settings)
      })
      seconds = took
      if (quiet === 0 && lost > 0)
        problems.push(`the lead changed ${lost} times in the flood, and never before it`)
      for (const [place, node] of trial.nodes.entries()) {
        if (node.pid === null || node.pid !== pids[place]) problems.push(`${node.id} is gone`)
        const lines = node.said.slice(said[place]).filter((line) => line.startsWith('dropped'))
        const most = REASONS * (2 + seconds / SAID_EVERY_S)
        if (lines.length === 0) problems.push(`${node.id} did not say that it was flooded`)
        if (lines.length > most) problems.push(`${node.id} wrote ${lines.length} lines about it`)
      }
      await trial.settle()
      problems.push(...trial.problems(1))
    } finally {
      await trial.end()
    }
  } finally {
    relays.close()
  }
  const rate = Math.round(settings.datagrams / seconds).toLocaleString('en-US')
  return {
    name: 'garbage',
    done: `${settings.datagrams.toLocaleString('en-US')} datagrams of noise, cut short, spoiled or sent again, ${rate} a second; the lead changed ${lost} times, and ${quiet} times in as long without`,
    problems,
    measures: [],
    limited: null,
  }
}

/** How many leaderships begin while something is done. */
async function changes(trial: Trial, during: () => Promise<void>): Promise<number> {
  const { token } = await trial.settle()
  const from = trial.witness.lines.length
  await during()
  trial.witness.look()
  const tokens = trial.witness.lines.slice(from).map((line) => line.token)
  return new Set(tokens.filter((each) => each > token)).size
}

async function flood(trial: Trial, relays: Relays, { datagrams }: Settings): Promise<number> {
  const order: FloodOrder = {
    ports: trial.ports,
    recorded: relays.recorded.map(({ port, bytes }) => ({ port, hex: bytes.toString('hex') })),
    count: datagrams,
    perSecond: PER_SECOND,
  }
  if (order.recorded.length === 0) throw new Error('no real datagram was recorded: there is nothing to spoil')
  const child = spawn(process.execPath, [fileURLToPath(new URL('./flood.js', import.meta.url))], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  child.stdin.end(JSON.stringify(order))
  return (JSON.parse(await text(child.stdout)) as { seconds: number }).seconds
}
