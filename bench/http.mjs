// npm run bench -- http [SECONDS] [SIGMA_MS]: whether HTTP load makes a leader lose its terms. Two groups of three agents
// run in parallel. The leader of the first gets the load. The second is the control: its losses are caused by the machine.
/* oxlint-disable no-await-in-loop -- one load after the other is what is measured */
import { fork, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { findFreePorts } from '../dist/service/chaos/free-ports.js'

const AGENTS = 3
const GROUPS = ['loaded', 'control']
/** The value of `conclave up`: all processes share the CPUs of one machine. */
const USUAL_SIGMA_MS = 60
const BURSTS = 5
const RATE = 5000
const CALM_MS = 1000

/** Loads by name, as orders for http-load.mjs. `times`: number of bursts; otherwise one period of SECONDS. */
const LOADS = {
  none: { ask: 'nothing', path: '/' },
  'bursts of 1,000 watchers': { ask: 'watch', path: '/v1/events', count: 1000, times: BURSTS },
  'bursts of 300 openapi.json': { ask: 'burst', path: '/v1/openapi.json', count: 300, times: BURSTS },
  'bursts of 2,000 connections': { ask: 'connect', path: '/', count: 2000, times: BURSTS },
  'bursts of 5,000 pipelined': { ask: 'pipeline', path: '/v1/status', count: 5000, times: BURSTS },
  '5,000/s /v1/leader': { ask: 'rate', path: '/v1/leader' },
  '5,000/s /v1/status': { ask: 'rate', path: '/v1/status' },
  '5,000/s /leader': { ask: 'rate', path: '/leader' },
  '5,000/s /metrics': { ask: 'rate', path: '/metrics' },
  '5,000/s / as a page': { ask: 'rate', path: '/', headers: 'Accept: text/html\r\n' },
  '5,000/s /v1/openapi.json': { ask: 'rate', path: '/v1/openapi.json' },
  '/v1/trace over and over': { ask: 'burst', path: '/v1/trace', count: 1, times: 20 },
}

export async function printHttp(seconds, sigmaMs = USUAL_SIGMA_MS) {
  const folder = mkdtempSync(join(tmpdir(), 'conclave-bench-'))
  writeFileSync(join(folder, 'key'), randomBytes(32), { mode: 0o600 })
  const groups = await Promise.all(GROUPS.map((name) => group(folder, name, sigmaMs)))
  const [loaded, control] = groups
  const loader = fork(fileURLToPath(new URL('http-load.mjs', import.meta.url)), [], { stdio: 'inherit' })
  try {
    console.log(`three agents, LAN, sigmaMs ${sigmaMs}; HTTP of the leader under load`)
    console.log('                                                          thread of HTTP        terms lost')
    console.log('load                           answered    others  seconds  CPU  µs each  loaded  control')
    for (const [name, { times = 1, ...load }] of Object.entries(LOADS)) {
      await leading(control)
      const leader = await leading(loaded)
      const before = groups.map(lost)
      const cpu = mainThreadMs(leader)
      const began = performance.now()
      const sum = { ok: 0, other: 0 }
      for (let time = 0; time < times; time++) {
        loader.send({ ...load, port: leader.http, rate: RATE, seconds })
        const [{ ok, other }] = await once(loader, 'message')
        sum.ok += ok
        sum.other += other
      }
      const took = (performance.now() - began) / 1000
      const spent = mainThreadMs(leader) - cpu
      // The effects of a burst show a little later.
      await sleep(CALM_MS)
      const each = (spent * 1000) / (sum.ok + sum.other)
      const [here, there] = groups.map((one, index) => lost(one) - before[index])
      console.log(
        `${name.padEnd(29)} ${String(sum.ok).padStart(9)} ${String(sum.other).padStart(9)} ${took.toFixed(1).padStart(8)} ` +
          `${`${(spent / took / 10).toFixed(0)} %`.padStart(5)} ${(Number.isFinite(each) ? each.toFixed(0) : '-').padStart(7)} ` +
          `${String(here).padStart(7)} ${String(there).padStart(8)}`,
      )
    }
  } finally {
    loader.kill('SIGKILL')
    await Promise.all(
      groups.flat().map(async ({ child }) => {
        const gone = once(child, 'exit')
        child.kill('SIGKILL')
        await gone
      }),
    )
    rmSync(folder, { recursive: true, force: true })
  }
}

async function group(folder, name, sigmaMs) {
  const [udp, http] = await Promise.all([findFreePorts(AGENTS, 'udp'), findFreePorts(AGENTS, 'tcp')])
  return udp.map((port, index) => {
    const peers = udp.flatMap((other, place) =>
      place === index ? [] : ['--peer', `n${place}=127.0.0.1:${other}`],
    )
    const id = `n${index}`
    const words = ['--group', name, '--id', id, '--listen', `127.0.0.1:${port}`, ...peers]
    const files = ['--key-file', join(folder, 'key'), '--data', join(folder, name, id)]
    const more = ['--option', `sigmaMs=${sigmaMs}`, '--http', `127.0.0.1:${http[index]}`]
    return agent(http[index], [...words, ...files, ...more])
  })
}

/** Starts an agent, and counts its terms in its log. */
function agent(http, words) {
  const main = fileURLToPath(new URL('../bin/conclave', import.meta.url))
  const child = spawn(process.execPath, [main, 'agent', ...words], { stdio: ['ignore', 'ignore', 'pipe'] })
  const found = { child, http, elected: 0, revoked: 0 }
  let rest = ''
  child.stderr.on('data', (data) => {
    const lines = (rest + data).split('\n')
    rest = lines.pop()
    for (const line of lines) {
      const { event } = JSON.parse(line)
      if (event === 'elected') found.elected += 1
      if (event === 'revoked') found.revoked += 1
    }
  })
  return found
}

/** CPU time of the HTTP thread, which is the main thread. */
function mainThreadMs({ child: { pid } }) {
  return Number(readFileSync(`/proc/${pid}/task/${pid}/schedstat`, 'utf8').split(' ')[0]) / 1e6
}

const lost = (agents) => agents.reduce((sum, { revoked }) => sum + revoked, 0)

async function leading(agents) {
  for (let tries = 0; tries < 600; tries++) {
    const leader = agents.find(({ elected, revoked }) => elected > revoked)
    if (leader !== undefined) {
      await sleep(CALM_MS)
      if (leader.elected > leader.revoked) return leader
    }
    await sleep(100)
  }
  throw new Error('no leader')
}
