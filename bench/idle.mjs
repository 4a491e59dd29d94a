// npm run bench -- idle [SECONDS]: what one agent of a group of five costs while nothing happens.
/* oxlint-disable no-await-in-loop -- one thing after the other is what is measured */
import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { freePorts } from '../dist/chaos/free-ports.js'
import { leaderOf } from '../dist/client/index.js'

const AGENTS = 5
const MOST_PERCENT = 2
const MOST_MB = 80

export async function printIdle(seconds) {
  const folder = mkdtempSync(join(tmpdir(), 'conclave-bench-'))
  writeFileSync(join(folder, 'key'), randomBytes(32), { mode: 0o600 })
  const [udp, http] = await Promise.all([freePorts(AGENTS, 'udp'), freePorts(AGENTS, 'tcp')])
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
  try {
    const leader = await untilLed(`http://127.0.0.1:${http[0]}`)
    // What starting left behind is over by then.
    await sleep(3000)
    const before = agents.map(({ pid }) => cpuSeconds(pid))
    const began = performance.now()
    await sleep(seconds * 1000)
    const passed = (performance.now() - began) / 1000
    console.log(`one agent of ${AGENTS}, LAN profile, idle for ${passed.toFixed(0)} s`)
    for (const [index, { pid }] of agents.entries()) {
      const percent = (100 * (cpuSeconds(pid) - before[index])) / passed
      const mb = residentMb(pid)
      const isKept = percent < MOST_PERCENT && mb < MOST_MB
      console.log(
        `  n${index} ${leader === `n${index}` ? 'leader  ' : 'follower'}  ${percent.toFixed(2)} % of a core  ${mb.toFixed(1)} MB resident  ${isKept ? 'kept' : 'MISSED'}`,
      )
    }
    console.log(`  (at most ${MOST_PERCENT} % and ${MOST_MB} MB)`)
  } finally {
    await Promise.all(
      agents.map(async (agent) => {
        const gone = new Promise((resolve) => agent.once('exit', resolve))
        agent.kill('SIGKILL')
        await gone
      }),
    )
    rmSync(folder, { recursive: true, force: true })
  }
}

async function untilLed(agent) {
  for (let tries = 0; tries < 600; tries++) {
    const { leader } = await leaderOf({ agent }).catch(() => ({ leader: null }))
    if (leader !== null) return leader.id
    await sleep(100)
  }
  throw new Error('nobody leads')
}

/** Exactly, of all its threads: the usual figures count in ticks, which short bursts of work fall between. */
function cpuSeconds(pid) {
  const threads = readdirSync(`/proc/${pid}/task`)
  const nanos = threads.map((id) =>
    Number(readFileSync(`/proc/${pid}/task/${id}/schedstat`, 'utf8').split(' ')[0]),
  )
  return nanos.reduce((sum, each) => sum + each, 0) / 1e9
}

function residentMb(pid) {
  return Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))[1]) / 1024
}
