// npm run bench -- groups: what many groups between three processes cost while nothing happens.
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'

/** As the lan profile has it, and for hosts that are busy: leases of two seconds, and of nine. */
const CONSTANTS = {
  lan: { profile: 'lan' },
  'two seconds': { deltaMs: 100, fastMs: 201, sigmaMs: 100, renewalIntervalMs: 1000 },
  'nine seconds': { deltaMs: 500, fastMs: 1001, sigmaMs: 1000, renewalIntervalMs: 3000 },
}
const RUNS = [
  ['lan', 1],
  ['lan', 100],
  ['lan', 1000],
  ['two seconds', 1],
  ['two seconds', 100],
  ['two seconds', 1000],
  ['nine seconds', 1000],
]
const SETTLE_MS = 3000
const MEASURED_MS = 10_000
const LONGEST_START_MS = 90_000

const ask = async (child, what) => {
  child.send(what)
  const [answer] = await once(child, 'message')
  return answer
}

async function measure(constants, groups) {
  const script = fileURLToPath(new URL('groups-process.mjs', import.meta.url))
  const children = ['a', 'b', 'c'].map((id) =>
    fork(script, [id, String(groups), JSON.stringify(CONSTANTS[constants])]),
  )
  try {
    const peers = await Promise.all(
      children.map(async (child, index) => {
        const [{ port }] = await once(child, 'message')
        return { id: ['a', 'b', 'c'][index], port }
      }),
    )
    await Promise.all(children.map((child) => ask(child, { peers })))
    const began = performance.now()
    for (;;) {
      // oxlint-disable-next-line no-await-in-loop -- until all are led
      const led = await Promise.all(children.map((child) => ask(child, { ask: 'led' })))
      if (led.every((each) => each.led === groups)) break
      if (performance.now() - began > LONGEST_START_MS) break
      // oxlint-disable-next-line no-await-in-loop -- until all are led
      await sleep(100)
    }
    const startMs = performance.now() - began
    const isLed = startMs < LONGEST_START_MS
    await sleep(SETTLE_MS)
    const before = await Promise.all(children.map((child) => ask(child, { ask: 'figures' })))
    const from = performance.now()
    await sleep(MEASURED_MS)
    const after = await Promise.all(children.map((child) => ask(child, { ask: 'figures' })))
    const seconds = (performance.now() - from) / 1000
    const mean = (read) => children.reduce((sum, _, index) => sum + read(index), 0) / children.length
    const rate = (field) => mean((index) => (after[index][field] - before[index][field]) / seconds)
    return {
      startMs: isLed ? startMs : null,
      datagrams: rate('sent'),
      bytes: rate('bytesSent'),
      cpu: rate('cpuMs') / 10,
      rss: mean((index) => after[index].rss) / 1024 ** 2,
      lost: rate('demoted') * seconds * children.length,
      sessions: after.map(({ sessions }) => sessions),
    }
  } finally {
    for (const child of children) child.kill('SIGKILL')
  }
}

export async function printGroups(runs = RUNS) {
  console.log('groups between 3 processes, idle: what one process sends, and what it costs')
  console.log(
    'constants    groups  datagrams/s  kB/s   CPU (of a core)  resident  sessions  leads lost  all led after',
  )
  for (const [constants, groups] of runs) {
    // oxlint-disable-next-line no-await-in-loop -- one after the other, so that they do not disturb each other
    const { datagrams, bytes, cpu, rss, sessions, lost, startMs } = await measure(constants, groups)
    console.log(
      `${constants.padEnd(12)} ${String(groups).padStart(6)} ${datagrams.toFixed(0).padStart(12)} ` +
        `${(bytes / 1000).toFixed(0).padStart(5)} ${`${cpu.toFixed(1)} %`.padStart(17)} ` +
        `${`${rss.toFixed(0)} MB`.padStart(9)} ${sessions.join(' ').padStart(9)} ` +
        `${lost.toFixed(0).padStart(11)} ${(startMs === null ? 'never' : `${(startMs / 1000).toFixed(1)} s`).padStart(14)}`,
    )
  }
}
