// Leases that tune themselves beside fixed ones, on the same machine at the same time: idle, then busy loops, then idle.
/* oxlint-disable no-await-in-loop -- one phase after the other is what is measured */
import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import { findFreePorts } from '../dist/service/chaos/free-ports.js'

const CONCLAVE = new URL('../bin/conclave', import.meta.url).pathname
const IDS = ['n1', 'n2', 'n3']
const MOST_CHANGES = 2
const MOST_RETURN_S = 60
const PATIENCE_MS = 60_000

/** Starts three agents, and collects what they log. */
export async function startAgents(folder, group, settings) {
  const ports = await findFreePorts(IDS.length, 'udp')
  const log = []
  const at = (id) => `127.0.0.1:${ports[IDS.indexOf(id)]}`
  const agents = IDS.map((id) => {
    const peers = IDS.flatMap((other) => (other === id ? [] : ['--peer', `${other}=${at(other)}`]))
    const files = ['--key-file', join(folder, 'key'), '--data', join(folder, `${group}-${id}`)]
    const own = ['--group', group, '--id', id, '--listen', at(id), '--http', '127.0.0.1:0', ...files]
    const child = spawn(process.execPath, [CONCLAVE, 'agent', ...own, ...peers, ...settings], {
      stdio: ['ignore', 'ignore', 'pipe'],
    })
    createInterface({ input: child.stderr }).on('line', (line) => {
      if (line.startsWith('{')) log.push({ at: performance.now(), ...JSON.parse(line) })
    })
    return child
  })
  const latest = performance.now() + PATIENCE_MS
  while (!log.some(({ event }) => event === 'elected')) {
    if (performance.now() > latest) throw new Error(`${group} has no leader after a minute`)
    await sleep(50)
  }
  return { agents, log }
}

export function makeFolder() {
  const folder = mkdtempSync(join(tmpdir(), 'conclave-bench-'))
  writeFileSync(join(folder, 'key'), 'a key that is long enough for this', { mode: 0o600 })
  return folder
}

export async function endAll(children) {
  await Promise.all(
    children.map(async (child) => {
      const gone = new Promise((resolve) => child.once('exit', resolve))
      if (child.exitCode === null && child.signalCode === null) {
        child.kill('SIGKILL')
        await gone
      }
    }),
  )
}

const burn = (loops) =>
  Array.from({ length: loops }, () => spawn(process.execPath, ['-e', 'for (;;);'], { stdio: 'ignore' }))

const within = (log, from, to, name) => log.filter(({ at, event }) => event === name && at >= from && at < to)

/** The lengths of leases before and during each phase: the last one before it, and all changes. */
function leasesIn(log, from, to) {
  const all = log.filter(({ event }) => event === 'level')
  const before = all.findLast(({ at }) => at < from)
  return [...(before === undefined ? [] : [before]), ...all.filter(({ at }) => at >= from && at < to)].map(
    ({ level }) => level.leaseMs,
  )
}

function describe(log, [from, to]) {
  const changes = within(log, from, to, 'elected').length
  const leases = leasesIn(log, from, to)
  if (leases.length === 0) return `${changes} lead changes`
  const shown = [Math.min(...leases), Math.max(...leases)].map((ms) => ms.toFixed(0))
  return `${changes} lead changes, leases of ${shown.join(' to ')} ms`
}

/** How long the busy loops run, and the time without load before and after them, in seconds. */
export async function printAdaptiveLoad(busySeconds, idleSeconds, loops = 4) {
  const folder = makeFolder()
  const children = []
  try {
    const groups = new Map()
    for (const timing of ['adaptive', 'fixed']) {
      const { agents, log } = await startAgents(folder, timing, ['--timing', timing])
      children.push(...agents)
      groups.set(timing, log)
    }
    // Code that runs for the first time is slow, and would count as load.
    await sleep(Math.min(20_000, idleSeconds * 1000))
    const began = performance.now()
    await sleep(idleSeconds * 1000)
    const busy = performance.now()
    const burning = burn(loops)
    children.push(...burning)
    await sleep(busySeconds * 1000)
    await endAll(burning)
    const after = performance.now()
    await sleep(idleSeconds * 1000)
    const ended = performance.now()
    console.log(
      `changing load, lan, 3 agents with adaptive timing and 3 with fixed timing at the same time: idle ${idleSeconds} s, ${loops} busy loops ${busySeconds} s, idle ${idleSeconds} s`,
    )
    for (const [timing, log] of groups) {
      console.log(`  ${timing.padEnd(8)}  idle: ${describe(log, [began, busy])}`)
      console.log(`  ${''.padEnd(8)}  busy: ${describe(log, [busy, after])}`)
      console.log(`  ${''.padEnd(8)}  idle: ${describe(log, [after, ended])}`)
    }
    const log = groups.get('adaptive')
    const best = Math.min(...leasesIn(log, began, busy))
    const back = within(log, after, ended, 'level').find(({ level }) => level.leaseMs <= best)
    const isBack = back !== undefined || leasesIn(log, after, ended).at(-1) <= best
    const seconds = back === undefined ? 0 : (back.at - after) / 1000
    const changes = within(log, began, ended, 'elected').length
    console.log(
      `${changes <= MOST_CHANGES ? 'kept  ' : 'MISSED'}  at most ${MOST_CHANGES} lead changes with adaptive timing: ${changes}; with fixed timing: ${within(groups.get('fixed'), began, ended, 'elected').length}`,
    )
    console.log(
      isBack && seconds <= MOST_RETURN_S
        ? `kept    back at leases of ${best.toFixed(0)} ms within ${MOST_RETURN_S} s after the load: ${seconds.toFixed(0)} s`
        : `MISSED  back at leases of ${best.toFixed(0)} ms within ${MOST_RETURN_S} s after the load: ${isBack ? `${seconds.toFixed(0)} s` : `not within ${idleSeconds} s`}`,
    )
  } finally {
    await endAll(children)
    rmSync(folder, { recursive: true, force: true })
  }
}
