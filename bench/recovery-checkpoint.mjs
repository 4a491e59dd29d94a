// A checkpoint of 64 MiB over 5 real processes on loopback, beside writing the same bytes with fsync; and its restoration.
// A checkpoint writes more than its payload: all columns together have 5/3 of the bytes. So the nodes also write as many
// bytes as their columns have, all at once and without any network: no checkpoint can be faster than that.
// A job that runs drops a checkpoint for each new one, and the columns of the next are written over the dropped
// files. So a checkpoint is also measured with new files only, as the first ones of a job are, and the plain write also
// over an existing file.
// Rounds alternate, so that a moment in which the machine is busy falls on all alike. Targets are held against the least
// times: on a busy machine, five processes are interrupted far more often than one short write.
/* oxlint-disable no-await-in-loop -- one thing after the other is what is measured */
import { fork } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import {
  closeSync,
  constants,
  fsyncSync,
  mkdtempSync,
  openSync,
  renameSync,
  rmSync,
  writeSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const BYTES = 64 * 1024 * 1024
const NODES = 5
const CODE = { name: 'evenodd', columns: NODES, data: NODES - 2 }
const ROUNDS = 9
const WARM_UP_ROUNDS = 2
const MOST_TIMES_FSYNC = 3
const MOST_RESTORE_MS = 2000

async function startNode(folder, id, key) {
  const program = fileURLToPath(new URL('./recovery-process.mjs', import.meta.url))
  const child = fork(program, [join(folder, `n${id}`), `${id}`, key])
  const [{ port }] = await once(child, 'message')
  // One listener: a promise per answer would leave a listener of `exit` behind for each.
  const answers = []
  let settle = null
  const deliver = (answer) => (settle === null ? answers.push(answer) : settle(answer))
  child.on('message', deliver)
  child.on('exit', (code) => deliver({ error: `node ${id} ended with ${code}` }))
  return {
    id,
    port,
    async ask(order, details = {}) {
      child.send({ order, ...details })
      const answer =
        answers.shift() ??
        (await new Promise((resolve) => {
          settle = resolve
        }))
      settle = null
      if (answer.error !== undefined) throw new Error(answer.error)
      return answer.reply
    },
    kill: () => child.kill('SIGKILL'),
  }
}

/** Writes the bytes as one file of a node's disk would be: written, synced, renamed. */
function writeWithFsync(folder, bytes) {
  const file = join(folder, 'plain')
  const from = performance.now()
  const descriptor = openSync(`${file}.new`, 'w')
  for (let at = 0; at < bytes.length; ) at += writeSync(descriptor, bytes, at)
  fsyncSync(descriptor)
  closeSync(descriptor)
  renameSync(`${file}.new`, file)
  const ms = performance.now() - from
  rmSync(file)
  return ms
}

/** Writes the bytes over a file of the same length, which stays. */
function overwriteWithFsync(folder, bytes) {
  const from = performance.now()
  const descriptor = openSync(join(folder, 'existing'), constants.O_WRONLY | constants.O_CREAT)
  for (let at = 0; at < bytes.length; ) at += writeSync(descriptor, bytes, at)
  fsyncSync(descriptor)
  closeSync(descriptor)
  return performance.now() - from
}

/** Each node writes one file as large as a column, all at once. */
async function writeColumns(nodes) {
  const size = Math.ceil(BYTES / CODE.data)
  const from = performance.now()
  await Promise.all(nodes.map((node) => node.ask('write', { size })))
  return performance.now() - from
}

function median(values) {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)]
}

const least = (values) => Math.min(...values)

function print(name, values, extra = '') {
  console.log(
    `${name.padEnd(52)}median ${median(values).toFixed(0).padStart(5)} ms   least ${least(values).toFixed(0).padStart(5)} ms${extra}`,
  )
}

function printTimes(what, stored, written) {
  console.log(
    `a checkpoint, in times of ${what}: least ${(least(stored) / least(written)).toFixed(2)}, median ${(median(stored) / median(written)).toFixed(2)}`,
  )
}

function hold(text, value, most, unit) {
  console.log(
    `${value <= most ? 'kept  ' : 'MISSED'}  ${text}: ${value.toFixed(value < 10 ? 2 : 0)}${unit} (target ${most}${unit})`,
  )
}

const sum = (values) => values.reduce((total, value) => total + value, 0)

/** CPU time of each process so far, in ms. */
function cpuOf(nodes) {
  return Promise.all(nodes.map((node) => node.ask('cpu')))
}

async function measure(nodes, folder) {
  const bytes = randomBytes(BYTES)
  const [owner, other] = nodes
  const holders = nodes.map(({ id }) => id)
  await owner.ask('fill', { bytes: BYTES })
  const found = {
    plain: [],
    existing: [],
    columns: [],
    stored: [],
    storedNew: [],
    digest: [],
    restored: [],
    computed: [],
    ownerCpu: [],
    holderCpu: [],
  }
  for (let round = 0; round < WARM_UP_ROUNDS + ROUNDS; round++) {
    const plain = writeWithFsync(folder, bytes)
    const existing = overwriteWithFsync(folder, bytes)
    const columns = await writeColumns(nodes)
    const checkpoint = { epoch: round, code: CODE, holders }
    const storedNew = await owner.ask('store', { group: 'new', ...checkpoint })
    const group = 'recycled'
    const before = await cpuOf(nodes)
    const stored = await owner.ask('store', { group, ...checkpoint })
    const cpu = await cpuOf(nodes)
    const { commit } = stored
    const sources = holders.map((node, column) => ({ node, column }))
    const restored = await other.ask('restore', { group, commit, sources })
    // Two data columns are lost: the same number of columns is read, and two are computed.
    const computed = await other.ask('restore', { group, commit, sources: sources.slice(2) })
    for (const each of ['new', group])
      await Promise.all(nodes.map((node) => node.ask('drop', { group: each, ids: [commit.id] })))
    if (round < WARM_UP_ROUNDS) continue
    found.plain.push(plain)
    found.existing.push(existing)
    found.storedNew.push(storedNew.ms)
    found.columns.push(columns)
    found.ownerCpu.push(cpu[0] - before[0])
    found.holderCpu.push(sum(cpu.slice(1)) - sum(before.slice(1)))
    found.stored.push(stored.ms)
    found.digest.push(stored.digestMs)
    found.restored.push(restored.ms)
    found.computed.push(computed.ms)
  }
  return found
}

export async function printCheckpoint() {
  console.log(
    `checkpoint of ${BYTES / 1024 / 1024} MiB, ${NODES} processes on loopback, EVENODD; ${ROUNDS} rounds`,
  )
  const folder = mkdtempSync(join(tmpdir(), 'conclave-bench-'))
  const key = randomBytes(32).toString('hex')
  const nodes = []
  try {
    for (let id = 1; id <= NODES; id++) nodes.push(await startNode(folder, id, key))
    const peers = nodes.map(({ id, port }) => [id, port])
    await Promise.all(nodes.map((node) => node.ask('meet', { peers })))
    const { plain, existing, columns, stored, storedNew, digest, restored, computed, ownerCpu, holderCpu } =
      await measure(nodes, folder)
    print('write the same bytes with fsync', plain)
    print('write the same bytes over a file, with fsync', existing)
    print('write all columns with fsync, 5 processes at once', columns)
    print('store a checkpoint in new files', storedNew)
    print(
      'store a checkpoint over dropped files',
      stored,
      `   of it the digest ${median(digest).toFixed(0)} ms`,
    )
    print('  CPU time of the owner', ownerCpu)
    print('  CPU time of the four other nodes together', holderCpu)
    printTimes('the write of all columns', stored, columns)
    printTimes('the write of the payload', stored, plain)
    printTimes('the write of the payload over a file', stored, existing)
    printTimes('the write of the payload, in new files', storedNew, plain)
    print('restore from data columns', restored)
    print('restore with two data columns lost', computed)
    hold('a checkpoint, in times of the write with fsync', least(stored) / least(plain), MOST_TIMES_FSYNC, '')
    hold('restoring with two data columns lost', least(computed), MOST_RESTORE_MS, ' ms')
  } finally {
    for (const node of nodes) node.kill()
    rmSync(folder, { recursive: true, force: true })
  }
}
