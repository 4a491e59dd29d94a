// npm run bench -- watchers [SECONDS] [WATCHERS]: CPU of an idle agent that many watchers follow, with status and history.
/* oxlint-disable no-await-in-loop -- one thing after the other is what is measured */
import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { findFreePorts } from '../dist/service/chaos/free-ports.js'
import { getLeader } from '../dist/service/client/index.js'

const AGENTS = 3
const MOST_PERCENT = 10
const TICKS_PER_SECOND = 100

export async function printWatchers(seconds, count) {
  const folder = mkdtempSync(join(tmpdir(), 'conclave-bench-'))
  writeFileSync(join(folder, 'key'), randomBytes(32), { mode: 0o600 })
  const [udp, http] = await Promise.all([findFreePorts(AGENTS, 'udp'), findFreePorts(AGENTS, 'tcp')])
  const agents = udp.map((port, index) => startAgent(folder, index, port, udp, `127.0.0.1:${http[index]}`))
  try {
    await untilLed(`http://127.0.0.1:${http[0]}`)
    await sleep(5000)
    const pid = agents[0].pid
    // In turns, so that a busy moment of the machine falls on both.
    const before = await percentOf(pid, seconds)
    const watchers = await Promise.all(Array.from({ length: count }, () => watch(http[0])))
    await sleep(3000)
    const bytesBefore = watchers.reduce((sum, { bytes }) => sum + bytes(), 0)
    const watched = await percentOf(pid, seconds)
    const bytes = watchers.reduce((sum, { bytes: of }) => sum + of(), 0) - bytesBefore
    for (const { socket } of watchers) socket.destroy()
    await sleep(2000)
    const after = await percentOf(pid, seconds)
    const cost = watched - (before + after) / 2
    console.log(
      `watchers   ${count} cost ${cost.toFixed(1)} % of a core (target ${MOST_PERCENT} %): ${before.toFixed(1)} % without, ${watched.toFixed(1)} % with, ${after.toFixed(1)} % after; ${(bytes / count / seconds / 1000).toFixed(1)} kB per second and watcher`,
    )
  } finally {
    for (const agent of agents) agent.kill('SIGKILL')
    rmSync(folder, { recursive: true, force: true })
  }
}

function startAgent(folder, index, port, udp, http) {
  const peers = udp.flatMap((other, place) =>
    place === index ? [] : ['--peer', `n${place}=127.0.0.1:${other}`],
  )
  const words = [
    'agent',
    '--group',
    'watched',
    '--id',
    `n${index}`,
    '--listen',
    `127.0.0.1:${port}`,
    ...peers,
  ]
  const more = ['--key-file', join(folder, 'key'), '--data', join(folder, `n${index}`), '--http', http]
  // The processes share the CPUs of one machine.
  const slack = ['--option', 'sigmaMs=60']
  const conclave = fileURLToPath(new URL('../bin/conclave', import.meta.url))
  return spawn(process.execPath, [conclave, ...words, ...more, ...slack], { stdio: 'ignore' })
}

async function untilLed(agent) {
  for (;;) {
    const { leader } = await getLeader({ agent }).catch(() => ({ leader: null }))
    if (leader !== null) return
    await sleep(100)
  }
}

/** Opens an event stream and counts its bytes. */
async function watch(port) {
  let bytes = 0
  const socket = connect(port, '127.0.0.1')
  socket.on('error', () => {})
  await new Promise((resolve) => {
    socket.on('data', (data) => {
      bytes += data.length
      resolve()
    })
    socket.write('GET /v1/events HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n')
  })
  return { socket, bytes: () => bytes }
}

/** CPU of a process over some seconds, in percent of one core. */
async function percentOf(pid, seconds) {
  const ticks = () => {
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1].split(' ')
    return Number(fields[11]) + Number(fields[12])
  }
  const before = ticks()
  const began = performance.now()
  await sleep(seconds * 1000)
  return ((ticks() - before) / TICKS_PER_SECOND / ((performance.now() - began) / 1000)) * 100
}
