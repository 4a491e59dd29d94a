// What three idle agents cost: lan with fixed timing, lan, and fast; and three members of etcd, tuned for speed.
/* oxlint-disable no-await-in-loop -- one group after the other is what is measured */
import { spawn } from 'node:child_process'
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { findFreePorts } from '../dist/service/chaos/free-ports.js'
import { onPath } from '../scripts/servers/recipes.mjs'
import { endAll, makeFolder, startAgents } from './adaptive-load.mjs'
import { hold } from './failover.mjs'
import { cpuSeconds } from './idle.mjs'

const GROUPS = {
  'lan, fixed timing': ['--timing', 'fixed'],
  lan: [],
  fast: ['--profile', 'fast'],
}
const MEMBERS = 3

/** CPU time of these processes, in percent of a core. */
async function costOf(children, warmSeconds, seconds) {
  await sleep(warmSeconds * 1000)
  const spent = () => children.reduce((sum, { pid }) => sum + cpuSeconds(pid), 0)
  const before = spent()
  const began = performance.now()
  await sleep(seconds * 1000)
  return (100 * (spent() - before)) / ((performance.now() - began) / 1000)
}

async function startEtcd(folder) {
  const ports = await findFreePorts(2 * MEMBERS, 'tcp')
  const peer = (index) => `http://127.0.0.1:${ports[2 * index + 1]}`
  const cluster = Array.from({ length: MEMBERS }, (_, index) => `m${index}=${peer(index)}`).join()
  return Array.from({ length: MEMBERS }, (_, index) => {
    const client = `http://127.0.0.1:${ports[2 * index]}`
    const words = {
      '--name': `m${index}`,
      '--data-dir': join(folder, `etcd-${index}`),
      '--listen-client-urls': client,
      '--advertise-client-urls': client,
      '--listen-peer-urls': peer(index),
      '--initial-advertise-peer-urls': peer(index),
      '--initial-cluster': cluster,
      '--heartbeat-interval': '10',
      '--election-timeout': '100',
    }
    return spawn(onPath('etcd'), Object.entries(words).flat(), { stdio: 'ignore' })
  })
}

/** `warmSeconds`: the compiler optimizes code that runs often over the first minutes. */
export async function printAdaptiveIdle(seconds, warmSeconds) {
  console.log(
    `idle groups of three, one after the other: CPU over ${seconds} s, after ${warmSeconds} s, of all three together`,
  )
  const folder = makeFolder()
  const costs = new Map()
  const measureCost = async (name, children) => {
    try {
      const percent = await costOf(children, warmSeconds, seconds)
      costs.set(name, percent)
      console.log(`  ${name.padEnd(44)}${percent.toFixed(2).padStart(7)} % of a core`)
    } finally {
      await endAll(children)
    }
  }
  try {
    for (const [name, settings] of Object.entries(GROUPS)) {
      const { agents } = await startAgents(folder, name.replaceAll(/\W+/g, '-'), settings)
      await measureCost(`Conclave, ${name}`, agents)
    }
    if (onPath('etcd') === null) console.log('  etcd is missing: nothing to compare with')
    else await measureCost('etcd, heartbeat 10, election 100', await startEtcd(folder))
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
  const fixed = costs.get('Conclave, lan, fixed timing')
  hold(
    `lan costs no more than with fixed timing (${fixed.toFixed(2)} %), in % of a core`,
    costs.get('Conclave, lan'),
    fixed,
  )
}
