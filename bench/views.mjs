// npm run bench -- views [TIMES]: one of five processes under omega is killed and restarted. Time until all others have
// detected it, and from then until the last of them has installed the next view; the number of messages, next to the
// paper's formula; and the cost of idle links.
/* oxlint-disable no-await-in-loop -- one thing after the other is what is measured */
import { spawn } from 'node:child_process'
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { findFreePorts } from '../dist/service/chaos/free-ports.js'
import { openStorage } from '../dist/service/runtime/index.js'

const IDS = ['n1', 'n2', 'n3', 'n4', 'n5']
const PAIRS = (IDS.length * (IDS.length - 1)) / 2
const IDLE_S = 10
const MOST_IDLE = 10
/** The link timeout of the LAN profile. */
const TIMEOUT_MS = 500
/** Sequential writes to stable storage: the acceptors, the leader, the followers. */
const SAVES = 3
/** One-way delay where round trips are counted. */
const SLOW_MS = 10
/** Error at the edges of the window: one ping per end. */
const EDGE = 2 / 10

const now = () => Number(process.hrtime.bigint()) / 1e6
const median = (list) => list.toSorted((a, b) => a - b)[Math.floor((list.length - 1) / 2)]
const kept = (isSo) => (isSo ? 'met' : 'EXCEEDED')
const spread = (list) =>
  `median ${median(list).toFixed(2)}, least ${Math.min(...list).toFixed(2)}, most ${Math.max(...list).toFixed(2)} ms`

class Node {
  constructor(id, settings) {
    this.id = id
    this.settings = settings
    this.said = []
  }

  start() {
    const program = fileURLToPath(new URL('views-process.mjs', import.meta.url))
    this.process = spawn(process.execPath, [program, JSON.stringify(this.settings)], {
      stdio: ['pipe', 'pipe', 'inherit'],
    })
    createInterface({ input: this.process.stdout }).on('line', (line) => this.said.push(JSON.parse(line)))
  }

  async kill() {
    const gone = once(this.process, 'exit')
    this.process.kill('SIGKILL')
    await gone
  }

  async ask(what, more = '') {
    const from = this.said.length
    this.process.stdin.write(`${what} ${more}\n`)
    for (let tries = 0; tries < 1500; tries++) {
      const found = this.said.slice(from).find((line) => line[what] !== undefined)
      if (found !== undefined) return found[what]
      await sleep(20)
    }
    throw new Error(`${this.id} does not respond`)
  }

  /** Records after `sinceMs`, once one of them matches. Polls rarely, so that the process is not disturbed. */
  async noted(sinceMs, isSo) {
    for (let tries = 0; tries < 100; tries++) {
      const notes = (await this.ask('noted')).filter(({ atMs }) => atMs > sinceMs)
      if (notes.some(isSo)) return notes
      await sleep(300)
    }
    throw new Error(`${this.id} never reported it`)
  }
}

const isViewOf = (count) => (note) => note.view !== undefined && note.members.length === count

async function trial(nodes, victim) {
  const others = nodes.filter((node) => node !== victim)
  const before = await Promise.all(others.map((node) => node.ask('traffic', Infinity)))
  // Counting takes a while; wait until the processes are idle.
  await sleep(1000)
  const killedAt = now()
  await victim.kill()
  await sleep(2 * TIMEOUT_MS)
  const isNext = (note) => isViewOf(IDS.length - 1)(note) && !note.members.includes(victim.id)
  const isDown = ({ link, up }) => link === victim.id && !up
  const noted = await Promise.all(others.map((node) => node.noted(killedAt, isNext)))
  const last = (isSo) => Math.max(...noted.map((notes) => notes.find(isSo).atMs))
  const [detectedAt, installedAt] = [last(isDown), last(isNext)]
  const after = await Promise.all(others.map((node) => node.ask('traffic', killedAt)))
  const sent = (kind) =>
    others.reduce(
      (sum, _, index) => sum + (after[index].kinds[kind] ?? 0) - (before[index].kinds[kind] ?? 0),
      0,
    )
  const backAt = now()
  victim.start()
  await sleep(1500)
  await Promise.all(nodes.map((node) => node.noted(backAt, isViewOf(IDS.length))))
  await sleep(1500)
  const whole = await Promise.all(others.map((node) => node.noted(killedAt, isNext)))
  const changes = whole.map((notes) => notes.filter(({ link }) => link === victim.id).length)
  return {
    detection: detectedAt - killedAt,
    agreement: installedAt - detectedAt,
    trip: median(after.flatMap(({ trips }) => trips)),
    isOneView: noted.every((notes) => notes.filter(({ view }) => view !== undefined).length === 1),
    isCleanOutage: changes.every((count) => count === 2),
    cand: sent('cand'),
    accept: sent('accept'),
    status: sent('status'),
    others: sent('cancel') + sent('withdraw'),
  }
}

/** What making data safe takes there, after the trials. */
async function saving(folder) {
  const storage = await openStorage(join(folder, 'floor'))
  const saves = Array.from({ length: 50 }, (_, each) => {
    const began = now()
    storage.save({ each })
    return now() - began
  })
  storage.close()
  return median(saves)
}

/**
 * What a datagram to another process and back takes, with nothing done to it; after the trials. Between processes that
 * are at rest otherwise, as those are that are measured: in a loop without pauses it takes a quarter of that.
 */
async function bareTrip() {
  const script =
    "const s=require('dgram').createSocket('udp4');s.on('message',(m,r)=>s.send(m,r.port,r.address));s.bind(0,'127.0.0.1',()=>console.log(s.address().port))"
  const echo = spawn(process.execPath, ['-e', script], { stdio: ['ignore', 'pipe', 'inherit'] })
  const [port] = await once(createInterface({ input: echo.stdout }), 'line')
  const socket = createSocket('udp4')
  const trips = []
  for (let each = 0; each < 50; each++) {
    await sleep(100)
    const began = now()
    socket.send('x'.repeat(300), Number(port), '127.0.0.1')
    await once(socket, 'message')
    trips.push(now() - began)
  }
  socket.close()
  echo.kill('SIGKILL')
  return median(trips)
}

/**
 * A disk that shares its machine with others may take longer than everything else: so also without one. And between
 * processes of one machine a round trip is less than what a process does with a message: so also over a network that is
 * as slow as others are, where round trips can be counted.
 */
export async function printViews(times) {
  const memory = existsSync('/dev/shm') ? '/dev/shm' : null
  await measure('data on the disk', tmpdir(), 0, times)
  if (memory !== null) await measure('data in memory', memory, 0, times)
  await measure(
    `${SLOW_MS} ms from process to process, data ${memory === null ? 'on the disk' : 'in memory'}`,
    memory ?? tmpdir(),
    SLOW_MS,
    times,
  )
}

async function measure(where, parent, delayMs, times) {
  const folder = mkdtempSync(join(parent, 'conclave-bench-'))
  const ports = await findFreePorts(IDS.length, 'udp')
  const nodes = IDS.map((id, index) => {
    const peers = IDS.flatMap((peer, place) => (place === index ? [] : [`${peer}=127.0.0.1:${ports[place]}`]))
    const listen = `127.0.0.1:${ports[index]}`
    return new Node(id, {
      group: 'views',
      id,
      listen,
      peers,
      protocol: 'omega',
      data: join(folder, id),
      delayMs,
    })
  })
  try {
    for (const node of nodes) node.start()
    await Promise.all(nodes.map((node) => node.noted(0, isViewOf(IDS.length))))
    await sleep(2000)
    const before = await Promise.all(nodes.map((node) => node.ask('datagrams')))
    const began = now()
    await sleep(IDLE_S * 1000)
    const after = await Promise.all(nodes.map((node) => node.ask('datagrams')))
    const sent = after.reduce((sum, count, index) => sum + count - before[index], 0)
    const rate = sent / ((now() - began) / 1000) / PAIRS
    console.log(`omega, ${IDS.length} processes, LAN profile, quorum dynamic, ${where}`)
    console.log(
      `  idle: ${rate.toFixed(2)} datagrams a second a pair  (at most ${MOST_IDLE}, ± ${EDGE} by the edges of the window: ${kept(rate <= MOST_IDLE + EDGE)})`,
    )
    const trials = []
    for (let each = 0; each < times; each++) trials.push(await trial(nodes, nodes[each % IDS.length]))
    report(trials, await saving(folder), 2 * delayMs + (await bareTrip()))
  } finally {
    for (const node of nodes) node.process?.kill('SIGKILL')
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
  }
}

function report(trials, save, bare) {
  const of = (field) => trials.map((each) => each[field])
  const count = (isSo) => `${trials.filter(isSo).length} of ${trials.length}`
  const trip = median(of('trip'))
  console.log(`  ${trials.length} processes killed, each in turn`)
  console.log(
    `  all others have seen it: ${spread(of('detection'))}  (timeout ${TIMEOUT_MS} ms + a round trip: ${kept(Math.max(...of('detection')) <= TIMEOUT_MS + trip)})`,
  )
  console.log(`  then until the last of them has the next view: ${spread(of('agreement'))}`)
  const took = median(of('agreement'))
  const against = (what, roundTrip, extra = 0) => {
    const most = 2 * roundTrip + extra
    const trips = Math.max(0, (took - extra) / roundTrip).toFixed(1)
    console.log(`    ${what}: ${trips} of them, 2 are ${most.toFixed(2)} ms: ${kept(took <= most)}`)
  }
  // The round trip of a frame includes processing and scheduling delays, like the measured time.
  against('round trips of a frame and its acknowledgement, in the same moments', trip)
  against(`bare round trips, plus ${SAVES} writes to stable storage`, bare, SAVES * save)
  against('bare round trips', bare)
  console.log(
    `  one view only: ${count(({ isOneView }) => isOneView)}; one down and one up per end: ${count(({ isCleanOutage }) => isCleanOutage)}`,
  )
  const [n, k] = [IDS.length, 1]
  const kinds = ['cand', 'accept', 'status', 'others'].map((kind) => `${kind} ${median(of(kind))}`)
  console.log(`  messages, median: ${kinds.join(', ')}`)
  console.log(
    `  the paper's k(n-k) = ${k * (n - k)} counts the candidate itself: k(n-k-1) = ${k * (n - k - 1)} cand and as many accept; status, which the paper does not have, s(s-1) = ${(n - k) * (n - k - 1)}`,
  )
}
