// npm run bench -- failover [TIMES]: how long until the next leader, beside etcd and the lock recipe of Redis.
//
// Three processes contend in each case. The holder is killed (kill -9), or told to hand over; the time is taken from
// that moment until another process says that it leads, by the clock of this process. The same harness measures all.
/* oxlint-disable no-await-in-loop -- one thing after the other is what is measured */
import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { constants, getPriority, setPriority, tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { findFreePorts } from '../dist/service/chaos/free-ports.js'
import { summarize } from '../dist/service/chaos/report.js'
import { openStorage } from '../dist/service/runtime/index.js'
import { startServer, whyMissing } from '../scripts/servers/keeper.mjs'
import { RECIPES } from '../scripts/servers/recipes.mjs'

const CONTENDERS = 3
/** Somebody leads for at least so long before it is killed or hands over, and for up to as long again, by chance. */
const REST_MS = 500
/** A hand-over restarts nothing, so the next one need not wait for leases to become short again. */
const SETTLED_REST_MS = 2000
const PATIENCE_MS = 60_000
export const MEMORY = '/dev/shm'
const SAVES = 40

/** What is promised of Conclave. */
const MOST_FAIL_OVER_MS = 150
const MOST_PART_OF_ETCD = 1 / 8
const MOST_HAND_OVER_MS = 10

/** Of all threads of a process. Only root can raise a priority again, so other users leave it as it is. */
function prioritize(pid, priority) {
  if (process.getuid?.() !== 0) return
  try {
    for (const thread of readdirSync(`/proc/${pid}/task`)) setPriority(Number(thread), priority)
  } catch (error) {
    // The process has ended, or the system has no such folder.
    if (error.code !== 'ENOENT' && error.info?.code !== 'ESRCH') throw error
  }
}

class Contender {
  constructor(words) {
    this.words = words
    this.ledAt = []
    this.isReady = false
    this.isLeading = false
    this.leaseMs = null
  }

  /**
   * `isNext`: it takes the place of a process that was killed. In production each has a host of its own, so its start must
   * not slow down the others: until it is ready it only gets what they leave.
   */
  start(isNext = false) {
    const script = fileURLToPath(new URL(`./contenders/${this.words[0]}.mjs`, import.meta.url))
    this.isReady = false
    this.isLeading = false
    this.child = spawn(process.execPath, [script, ...this.words.slice(1)], {
      stdio: ['pipe', 'pipe', 'inherit'],
      // All its processes die at the same moment.
      detached: true,
    })
    const { pid } = this.child
    if (isNext && pid !== undefined) prioritize(pid, constants.priority.PRIORITY_LOW)
    this.gone = new Promise((resolve) => this.child.once('exit', resolve))
    this.child.stdin.on('error', () => {})
    createInterface({ input: this.child.stdout }).on('line', (line) => {
      if (line === 'ready') {
        this.isReady = true
        if (isNext && pid !== undefined) prioritize(pid, getPriority())
      }
      if (line === 'led') this.ledAt.push(performance.now())
      if (line === 'led' || line === 'lost') this.isLeading = line === 'led'
      if (line.startsWith('lease ')) this.leaseMs = Number(line.slice('lease '.length))
    })
  }

  /** Without waiting. */
  strike() {
    try {
      if (this.child?.pid !== undefined) process.kill(-this.child.pid, 'SIGKILL')
    } catch (error) {
      if (error.code !== 'ESRCH') throw error
    }
  }

  async kill() {
    this.strike()
    await this.gone
  }
}

async function until(isSo) {
  const latest = performance.now() + PATIENCE_MS
  while (!isSo()) {
    if (performance.now() > latest) throw new Error('nothing happens any more')
    await sleep(1)
  }
}

/**
 * Times of failures and of hand-overs, in milliseconds, and the leases of the leaders that failed. `hands`: how many
 * hand-overs of each kind; unless given, as many as failures.
 *
 * A process that was started just now runs code that is not compiled yet, so hand-overs are measured twice: soon after a
 * restart, as in a rolling update (`afterRestart`), and in a group that nothing disturbs (`handOver`).
 */
export async function measure(wordsOf, times, hands = times, restMs = REST_MS) {
  const contenders = Array.from({ length: CONTENDERS }, (_, index) => new Contender(wordsOf(index)))
  /** Null while no contender leads. */
  const holderNow = () =>
    contenders.filter(({ isLeading }) => isLeading).sort((a, b) => b.ledAt.at(-1) - a.ledAt.at(-1))[0] ?? null
  const next = async (at, holder) => {
    const others = contenders.filter((each) => each !== holder)
    const led = () => others.flatMap((each) => each.ledAt.filter((when) => when > at))
    await until(() => led().length > 0)
    return Math.min(...led()) - at
  }
  const failOver = []
  const afterRestart = []
  const handOver = []
  const leases = []
  const restedHolder = async (ms) => {
    await until(() => contenders.every(({ isReady }) => isReady) && holderNow() !== null)
    await sleep(ms + Math.random() * ms)
    await until(() => holderNow() !== null)
    return holderNow()
  }
  const killHolder = async () => {
    const holder = await restedHolder(restMs)
    leases.push(holder.leaseMs)
    const at = performance.now()
    holder.strike()
    failOver.push(await next(at, holder))
    await holder.kill()
    holder.start(true)
  }
  const releaseHolder = async (ms) => {
    const holder = await restedHolder(ms)
    const at = performance.now()
    holder.child.stdin.write('release\n')
    return next(at, holder)
  }
  try {
    for (const contender of contenders) contender.start()
    for (let time = 0; time < times; time++) {
      await killHolder()
      if (time < hands) afterRestart.push(await releaseHolder(restMs))
    }
    for (let time = 0; time < hands; time++)
      handOver.push(await releaseHolder(Math.min(restMs, SETTLED_REST_MS)))
  } finally {
    await Promise.all(contenders.map((contender) => contender.kill()))
  }
  return { failOver, afterRestart, handOver, leases }
}

/** `settings`: of the contenders (contenders/conclave.mjs). */
export async function conclave(settings, where, times, hands = times, restMs = REST_MS) {
  const folder = mkdtempSync(join(where, 'conclave-bench-'))
  writeFileSync(join(folder, 'key'), randomBytes(32), { mode: 0o600 })
  const ports = await findFreePorts(CONTENDERS, 'udp')
  const at = (index) => `127.0.0.1:${ports[index]}`
  try {
    return await measure(
      (index) => {
        const peers = ports.flatMap((_, other) => (other === index ? [] : [`n${other}=${at(other)}`]))
        const own = [`n${index}`, at(index), join(folder, 'key'), join(folder, `n${index}`)]
        return ['conclave', JSON.stringify(settings), ...own, ...peers]
      },
      times,
      hands,
      restMs,
    )
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** What it takes to make stable data safe in that folder, median. */
async function medianSave(where) {
  const folder = mkdtempSync(join(where, 'conclave-bench-'))
  const storage = await openStorage(folder)
  const times = []
  for (let time = 0; time < SAVES; time++) {
    const before = performance.now()
    storage.save({ layer: time, upper: null })
    times.push(performance.now() - before)
    await sleep(10)
  }
  storage.close()
  rmSync(folder, { recursive: true, force: true })
  return times.sort((a, b) => a - b)[SAVES / 2]
}

export async function withServer(name, more, times, wordsOf) {
  const missing = whyMissing(RECIPES[name])
  if (missing !== null) return { missing }
  const server = await startServer(name, more)
  try {
    const { hostname, port } = new URL(server.url)
    return await measure(() => wordsOf(hostname, port), times)
  } finally {
    await server.end()
  }
}

export const etcd = (times, ttl, more) =>
  withServer('etcd', more, times, (host, port) => ['etcd', `http://${host}:${port}`, ttl])

export async function printFailover(times) {
  console.log(
    `next leader of ${CONTENDERS} processes; ms; Conclave ${times} times, the others ${Math.ceil(times / 2)}`,
  )
  printHeading()
  const few = Math.ceil(times / 2)
  const disk = await medianSave(tmpdir())
  const ours = print('Conclave, LAN profile', await conclave({}, tmpdir(), times))
  // What a disk takes to make a vote safe is not ours to reduce: beside it stands what is left without.
  const noDisk = existsSync(MEMORY)
    ? print('Conclave, data in memory', await conclave({}, MEMORY, times))
    : null
  const tuned = print(
    'etcd, heartbeat 10, election 100, least TTL',
    await etcd(few, '1', ['--heartbeat-interval', '10', '--election-timeout', '100']),
  )
  print('etcd, default, least TTL', await etcd(few, '1', []))
  print(
    'Redis, SET NX PX 1000, tried every 50',
    await withServer('redis', [], few, (host, port) => ['redis', host, port, '1000', '50']),
  )
  hold(`Conclave's median failover at most ${MOST_FAIL_OVER_MS} ms`, ours.failOver, MOST_FAIL_OVER_MS)
  hold(`Conclave's median hand-over at most ${MOST_HAND_OVER_MS} ms`, ours.handOver, MOST_HAND_OVER_MS)
  console.log(
    `(one save of stable data takes ${disk.toFixed(1)} ms here, median; each voter saves before it answers)`,
  )
  if (noDisk !== null) hold("Conclave's median hand-over without a disk", noDisk.handOver, MOST_HAND_OVER_MS)
  if (tuned === null) console.log('etcd is missing: nothing to compare with')
  else
    hold(
      `Conclave's median failover at most 1/${1 / MOST_PART_OF_ETCD} of tuned etcd's, ratio`,
      ours.failOver / tuned.failOver,
      MOST_PART_OF_ETCD,
    )
}

const NAME_WIDTH = 44
const COLUMN_WIDTH = 27

/** The heading of the rows of `print`. */
export function printHeading() {
  const kinds = ['kill -9', 'hand-over after restart', 'hand-over']
  const figures = ['median', 'p99', 'max'].map((each) => each.padStart(7)).join('')
  console.log(''.padEnd(NAME_WIDTH) + kinds.map((kind) => kind.padStart(COLUMN_WIDTH)).join(''))
  console.log(''.padEnd(NAME_WIDTH) + kinds.map(() => figures.padStart(COLUMN_WIDTH)).join(''))
}

/** The medians; null when there is nothing. */
export function print(name, { failOver, afterRestart, handOver, missing }) {
  if (missing !== undefined) {
    console.log(`${name.padEnd(44)}not measured: ${missing}`)
    return null
  }
  const columns = [failOver, afterRestart, handOver].map(summarize)
  const figures = columns.map(({ medianMs, p99Ms, maxMs }) =>
    [medianMs, p99Ms, maxMs].map((value) => value.toFixed(value < 100 ? 1 : 0).padStart(7)).join(''),
  )
  console.log(name.padEnd(NAME_WIDTH) + figures.map((each) => each.padStart(COLUMN_WIDTH)).join(''))
  return { failOver: columns[0].medianMs, handOver: columns[2].medianMs }
}

export function hold(what, value, most) {
  console.log(`${value <= most ? 'kept  ' : 'MISSED'}  ${what}: ${value.toFixed(value < 1 ? 3 : 1)}`)
}
