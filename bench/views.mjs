// npm run bench -- views [TIMES]: a process of five under omega is killed, and comes back. How long until all others have
// seen it (detection), and from then until the last of them has installed the one next view; what that cost in messages,
// beside the paper's formula; and what the links cost while nothing happens.
/* oxlint-disable no-await-in-loop -- one thing after the other is what is measured */
import { spawn } from 'node:child_process'
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { freePorts } from '../dist/chaos/free-ports.js'
import { openStorage } from '../dist/runtime/index.js'

const IDS = ['n1', 'n2', 'n3', 'n4', 'n5']
const PAIRS = (IDS.length * (IDS.length - 1)) / 2
const IDLE_S = 10
const MOST_IDLE = 10
/** The LAN profile: silence is borne for so long at most. */
const TIMEOUT_MS = 500

const now = () => Number(process.hrtime.bigint()) / 1e6
const median = (list) => list.toSorted((a, b) => a - b)[Math.floor((list.length - 1) / 2)]
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

  /** The first thing that it says from `from` on that is so. */
  async tells(from, isSo) {
    for (let tries = 0; tries < 15_000; tries++) {
      const found = this.said.slice(from).find(isSo)
      if (found !== undefined) return found
      await sleep(2)
    }
    throw new Error(`${this.id} never said so`)
  }

  async ask(what) {
    const from = this.said.length
    this.process.stdin.write(`${what}\n`)
    return (await this.tells(from, (line) => line[what] !== undefined))[what]
  }
}

const isViewOf = (count) => (line) => line.view !== undefined && line.members.length === count

async function trial(nodes, victim) {
  const others = nodes.filter((node) => node !== victim)
  const from = new Map(nodes.map((node) => [node, node.said.length]))
  const before = await Promise.all(others.map((node) => node.ask('kinds')))
  // Counting takes a while, and they are to be at rest.
  await sleep(1000)
  const killedAt = now()
  await victim.kill()
  const views = await Promise.all(others.map((node) => node.tells(from.get(node), isViewOf(IDS.length - 1))))
  const downs = await Promise.all(
    others.map((node) => node.tells(from.get(node), ({ link, up }) => link === victim.id && !up)),
  )
  const detectedAt = Math.max(...downs.map(({ atMs }) => atMs))
  const installedAt = Math.max(...views.map(({ atMs }) => atMs))
  await sleep(300)
  const after = await Promise.all(others.map((node) => node.ask('kinds')))
  const sent = (kind) =>
    others.reduce((sum, _, index) => sum + (after[index][kind] ?? 0) - (before[index][kind] ?? 0), 0)
  const installed = others.map(
    (node) => node.said.slice(from.get(node)).filter(({ view }) => view !== undefined).length,
  )
  const fromBack = new Map(nodes.map((node) => [node, node.said.length]))
  victim.start()
  await Promise.all(nodes.map((node) => node.tells(fromBack.get(node), isViewOf(IDS.length))))
  await sleep(1500)
  const changes = others.map(
    (node) => node.said.slice(from.get(node)).filter(({ link }) => link === victim.id).length,
  )
  return {
    detection: detectedAt - killedAt,
    agreement: installedAt - detectedAt,
    isOneView: installed.every((count) => count === 1),
    isCleanOutage: changes.every((count) => count === 2),
    cand: sent('cand'),
    accept: sent('accept'),
    status: sent('status'),
    others: sent('cancel') + sent('withdraw'),
  }
}

/** What a datagram to another process and back takes on this machine, and what making data safe takes. */
async function floor(folder) {
  const script =
    "const s=require('dgram').createSocket('udp4');s.on('message',(m,r)=>s.send(m,r.port,r.address));s.bind(0,'127.0.0.1',()=>console.log(s.address().port))"
  const echo = spawn(process.execPath, ['-e', script], { stdio: ['ignore', 'pipe', 'inherit'] })
  const [line] = await once(createInterface({ input: echo.stdout }), 'line')
  const socket = createSocket('udp4')
  const trips = []
  for (let each = 0; each < 200; each++) {
    const began = now()
    socket.send('x'.repeat(300), Number(line), '127.0.0.1')
    await once(socket, 'message')
    trips.push(now() - began)
  }
  socket.close()
  echo.kill('SIGKILL')
  const storage = await openStorage(join(folder, 'floor'))
  const saves = Array.from({ length: 50 }, (_, each) => {
    const began = now()
    storage.save({ each })
    return now() - began
  })
  storage.close()
  return { trip: median(trips), save: median(saves) }
}

export async function printViews(times) {
  const folder = mkdtempSync(join(tmpdir(), 'conclave-bench-'))
  const ports = await freePorts(IDS.length, 'udp')
  const nodes = IDS.map((id, index) => {
    const peers = IDS.flatMap((peer, place) => (place === index ? [] : [`${peer}=127.0.0.1:${ports[place]}`]))
    const listen = `127.0.0.1:${ports[index]}`
    return new Node(id, { group: 'views', id, listen, peers, protocol: 'omega', data: join(folder, id) })
  })
  try {
    for (const node of nodes) node.start()
    await Promise.all(nodes.map((node) => node.tells(0, isViewOf(IDS.length))))
    await sleep(2000)
    const before = await Promise.all(nodes.map((node) => node.ask('datagrams')))
    const began = now()
    await sleep(IDLE_S * 1000)
    const after = await Promise.all(nodes.map((node) => node.ask('datagrams')))
    const sent = after.reduce((sum, count, index) => sum + count - before[index], 0)
    const rate = sent / ((now() - began) / 1000) / PAIRS
    console.log(`omega, ${IDS.length} processes, LAN profile, quorum dynamic`)
    console.log(
      `  idle: ${rate.toFixed(2)} datagrams a second a pair  (at most ${MOST_IDLE}: ${rate <= MOST_IDLE + 0.05 ? 'kept' : 'MISSED'})`,
    )
    const trials = []
    for (let each = 0; each < times; each++) trials.push(await trial(nodes, nodes[each % IDS.length]))
    const { trip, save } = await floor(folder)
    report(trials, trip, save)
  } finally {
    for (const node of nodes) node.process?.kill('SIGKILL')
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
  }
}

function report(trials, trip, save) {
  const detections = trials.map(({ detection }) => detection)
  const agreements = trials.map(({ agreement }) => agreement)
  const count = (isSo) => trials.filter(isSo).length
  const isDetected = median(detections) <= TIMEOUT_MS + trip
  console.log(`  ${trials.length} processes killed, each in turn`)
  console.log(
    `  all others have seen it: ${spread(detections)}  (timeout ${TIMEOUT_MS} ms + a round trip: ${isDetected ? 'kept' : 'MISSED'})`,
  )
  console.log(`  then until the last has the next view: ${spread(agreements)}`)
  console.log(
    `  a bare UDP round trip between processes here: ${trip.toFixed(2)} ms; making data safe: ${save.toFixed(2)} ms, three times on the way`,
  )
  const most = 2 * trip + 3 * save
  console.log(
    `  2 round trips and what the disk takes: ${most.toFixed(2)} ms  (${median(agreements) <= most ? 'kept' : 'MISSED'}); 2 bare round trips: ${(2 * trip).toFixed(2)} ms  (${median(agreements) <= 2 * trip ? 'kept' : 'MISSED'})`,
  )
  console.log(
    `  one view only: ${count(({ isOneView }) => isOneView)} of ${trials.length}; one down and one up an end: ${count(({ isCleanOutage }) => isCleanOutage)} of ${trials.length}`,
  )
  const [n, k] = [IDS.length, 1]
  const kinds = ['cand', 'accept', 'status', 'others'].map(
    (kind) => `${kind} ${median(trials.map((each) => each[kind]))}`,
  )
  console.log(
    `  messages, median: ${kinds.join(', ')}; the paper's k(n-k) = ${k * (n - k)} counts the candidate itself: k(n-k-1) = ${k * (n - k - 1)} cand, and as many accept; status s(s-1) = ${(n - k) * (n - k - 1)}`,
  )
}
