// npm run bench -- idle [SECONDS]: CPU and memory of an agent in an idle group of five.
/* oxlint-disable no-await-in-loop -- one thing after the other is what is measured */
import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { findFreePorts } from '../dist/service/chaos/free-ports.js'
import { getLeader } from '../dist/service/client/index.js'

const AGENTS = 5
const MOST_PERCENT = 2
/** The election runs in a worker thread with its own heap. */
const MOST_MB = 100
/** Code that runs some hundred times per second is optimized over the first minutes. */
const WARM_MS = 150_000
/** Approximate size of a datagram. */
const SIZE = 200

export async function printIdle(seconds) {
  const folder = mkdtempSync(join(tmpdir(), 'conclave-bench-'))
  writeFileSync(join(folder, 'key'), randomBytes(32), { mode: 0o600 })
  const [udp, http] = await Promise.all([findFreePorts(AGENTS, 'udp'), findFreePorts(AGENTS, 'tcp')])
  const agents = udp.map((port, index) => {
    const peers = udp.flatMap((other, place) =>
      place === index ? [] : ['--peer', `n${place}=127.0.0.1:${other}`],
    )
    const words = ['--group', 'idle', '--id', `n${index}`, '--listen', `127.0.0.1:${port}`, ...peers]
    const more = ['--key-file', join(folder, 'key'), '--data', join(folder, `n${index}`)]
    return spawn(
      process.execPath,
      [
        fileURLToPath(new URL('../bin/conclave', import.meta.url)),
        'agent',
        ...words,
        ...more,
        '--http',
        `127.0.0.1:${http[index]}`,
      ],
      { stdio: 'ignore' },
    )
  })
  const bare = []
  try {
    const leader = await untilLed(`http://127.0.0.1:${http[0]}`)
    const urls = http.map((port) => `http://127.0.0.1:${port}`)
    console.log(
      `one agent of ${AGENTS}: measured after ${WARM_MS / 1000} s, when the compiler's work is done`,
    )
    await sleep(WARM_MS)
    const before = await datagrams(urls)
    await sleep(2000)
    const after = await datagrams(urls)
    const rate = Math.round((after.sent - before.sent) / AGENTS / ((after.at - before.at) / 1000))
    // The lower bound: processes that only send and receive the same number, at the same time on the same machine.
    const ports = await findFreePorts(AGENTS, 'udp')
    for (const port of ports) {
      const words = [port, rate, SIZE, ...ports.filter((other) => other !== port)].map(String)
      const script = fileURLToPath(new URL('idle-bare.mjs', import.meta.url))
      bare.push(spawn(process.execPath, [script, ...words], { stdio: 'ignore' }))
    }
    await sleep(3000)
    const all = [...agents, ...bare]
    // The requests for metrics cost CPU time as well, so they are outside the measured interval.
    const first = await datagrams(urls)
    await sleep(1000)
    const spent = all.map(({ pid }) => cpuSeconds(pid))
    const began = performance.now()
    await sleep(seconds * 1000)
    const passed = (performance.now() - began) / 1000
    const percent = all.map(({ pid }, index) => (100 * (cpuSeconds(pid) - spent[index])) / passed)
    const last = await datagrams(urls)
    console.log(`one agent of ${AGENTS}, LAN profile, idle for ${passed.toFixed(0)} s`)
    for (const [index, { pid }] of agents.entries()) {
      const mb = residentMb(pid)
      const isKept = percent[index] < MOST_PERCENT && mb < MOST_MB
      console.log(
        `  n${index} ${leader === `n${index}` ? 'leader  ' : 'follower'}  ${percent[index].toFixed(2)} % of a core  ${mb.toFixed(1)} MB resident  ${isKept ? 'met' : 'EXCEEDED'}`,
      )
    }
    console.log(`  (at most ${MOST_PERCENT} % and ${MOST_MB} MB)`)
    const mean = (list) => list.reduce((sum, each) => sum + each, 0) / list.length
    const each =
      (last.sent - first.sent + last.received - first.received) / AGENTS / ((last.at - first.at) / 1000)
    const line = (name, cpu) =>
      console.log(
        `  ${name} ${cpu.toFixed(2)} % of a core, ${((cpu * 10_000) / each).toFixed(1)} µs per datagram sent or received`,
      )
    console.log(`  ${each.toFixed(0)} datagrams per second, sent and received, per agent`)
    line('an agent, mean:                       ', mean(percent.slice(0, AGENTS)))
    line('a bare Node process with the same rate: ', mean(percent.slice(AGENTS)))
  } finally {
    await Promise.all(
      [...agents, ...bare].map(async (child) => {
        const gone = new Promise((resolve) => child.once('exit', resolve))
        child.kill('SIGKILL')
        await gone
      }),
    )
    rmSync(folder, { recursive: true, force: true })
  }
}

/** Datagrams sent and received by all agents so far. */
async function datagrams(urls) {
  const texts = await Promise.all(urls.map(async (url) => (await fetch(`${url}/metrics`)).text()))
  const sum = (direction) =>
    texts.reduce(
      (all, text) => all + Number(new RegExp(`direction="${direction}"[^}]*} (\\d+)`).exec(text)?.[1] ?? 0),
      0,
    )
  return { sent: sum('sent'), received: sum('received'), at: performance.now() }
}

export async function untilLed(agent) {
  for (let tries = 0; tries < 600; tries++) {
    const { leader } = await getLeader({ agent }).catch(() => ({ leader: null }))
    if (leader !== null) return leader.id
    await sleep(100)
  }
  throw new Error('no leader')
}

/** Exact CPU time of all threads. /proc/PID/stat counts in ticks and misses short bursts. */
export function cpuSeconds(pid) {
  const threads = readdirSync(`/proc/${pid}/task`)
  const nanos = threads.map((id) =>
    Number(readFileSync(`/proc/${pid}/task/${id}/schedstat`, 'utf8').split(' ')[0]),
  )
  return nanos.reduce((sum, each) => sum + each, 0) / 1e9
}

function residentMb(pid) {
  return Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))[1]) / 1024
}
