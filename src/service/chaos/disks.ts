/** Cases about stable data: damaged files, a data directory in use, and a full disk. */
import { spawnSync } from 'node:child_process'
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statfsSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { findFreePorts } from './free-ports.ts'
import type { Finding } from './report.ts'
import type { RunNode } from './run-node.ts'
import { type ChaosSettings, Trial } from './trial.ts'

/** Three nodes with small disks, so that one can be filled. */
const NODES = 3
const DISK = 'size=256k'
const TIMEOUT_MS = 30_000

export async function disks(settings: ChaosSettings): Promise<Finding> {
  const small = { ...settings, nodes: NODES }
  const mounted: string[] = []
  let limited: string | null = null
  const prepare = (folder: string): void => {
    limited ??= mountSmallDisk(folder)
    if (limited === null) mounted.push(folder)
  }
  const problems: string[] = []
  try {
    const trial = await Trial.start(small, { prepare })
    try {
      settings.onProgress('damaged')
      problems.push(...(await tryDamagedData(trial)))
      settings.onProgress('taken')
      problems.push(...(await tryFolderInUse(trial)))
      settings.onProgress('full')
      if (limited === null) problems.push(...(await tryFullDisk(trial)))
      problems.push(...trial.problems(limited === null ? 2 : 1))
    } finally {
      await trial.stop()
    }
  } finally {
    for (const folder of mounted) spawnSync('umount', ['-l', folder])
    // Mounted folders could not be removed with the rest.
    for (const folder of mounted) rmSync(dirname(folder), { recursive: true, force: true })
  }
  return {
    name: 'disks',
    done: `stable data damaged, a data directory used twice${limited === null ? ', a full disk during a vote' : ''}`,
    problems,
    measures: [],
    limited,
  }
}

/** A follower restarts with one flipped bit in its stable data: it must refuse to start. */
async function tryDamagedData(trial: Trial): Promise<readonly string[]> {
  const node = await findFollower(trial)
  const folder = join(trial.folder, node.id)
  node.signal('SIGTERM')
  await node.exited
  const files = readdirSync(folder).map((name) => join(folder, name))
  const kept = files.filter((file) => statSync(file).isFile() && statSync(file).size > 0)
  const [before] = kept.map((file) => readFileSync(file))
  const [file] = kept
  if (file === undefined || before === undefined) return ['damaged: no stable data found']
  const bytes = Buffer.from(before)
  const middle = Math.floor(bytes.length / 2)
  bytes[middle] = (bytes[middle] ?? 0) ^ 1
  writeFileSync(file, bytes)
  const problems = await expectRefusal(node, 'damaged', folder)
  writeFileSync(file, before)
  node.start()
  return problems
}

/** A second process with the same data directory must refuse to start. */
async function tryFolderInUse(trial: Trial): Promise<readonly string[]> {
  const node = await findFollower(trial)
  const [port] = await findFreePorts(1, 'udp')
  const second = node.withCommand((args) =>
    args.map((word, place) => (args[place - 1] === '--listen' ? `127.0.0.1:${port}` : word)),
  )
  return expectRefusal(second, 'taken', join(trial.folder, node.id))
}

/** With the leader dead and one of two voters' disks full there must be no leader; with free space again there must be one. */
async function tryFullDisk(trial: Trial): Promise<readonly string[]> {
  const node = await findFollower(trial)
  const { latest: leading } = trial
  const folder = join(trial.folder, node.id)
  const ballast = join(folder, 'ballast')
  const { bavail, bsize } = statfsSync(folder)
  writeFileSync(ballast, Buffer.alloc(bavail * bsize))
  const problems: string[] = []
  const leader = trial.node(leading.id)
  const from = node.log.length
  leader.signal('SIGKILL')
  await leader.exited
  const isLogged = (): boolean => node.log.slice(from).some((line) => line.startsWith('storage'))
  const until = performance.now() + TIMEOUT_MS
  // oxlint-disable-next-line no-await-in-loop -- poll until it is logged
  while (!isLogged() && performance.now() < until) await setTimeout(20)
  if (!isLogged()) problems.push('full: the full disk was not logged')
  const led = await trial.witness.waitForLine(
    ({ token }) => token > leading.token,
    0,
    5 * trial.settings.bounds.lockMs,
  )
  if (led !== null)
    problems.push(`full: ${led.id} leads with token ${led.token}, although a vote could not be stored`)
  if (node.pid === null) problems.push(`full: ${node.id} exited`)
  rmSync(ballast)
  await trial.waitForNextTerm(leading)
  leader.start()
  await trial.waitUntilStable()
  return problems
}

async function findFollower(trial: Trial): Promise<RunNode> {
  const { id } = await trial.waitUntilStable()
  return trial.nodes.find((node) => node.id !== id) as RunNode
}

/** Expects the node to exit with an error that names the folder before it joins. */
async function expectRefusal(node: RunNode, what: string, folder: string): Promise<readonly string[]> {
  const from = node.log.length
  node.start()
  await node.joined
  const log = node.log.slice(from).join('\n')
  if (node.pid !== null) {
    node.signal('SIGKILL')
    await node.exited
    return [`${what}: ${node.id} joined nevertheless`]
  }
  const code = await node.exited
  return code !== 0 && log.includes(folder) ? [] : [`${what}: exited with code ${code} and logged "${log}"`]
}

/** Mounts a small tmpfs. Returns the reason if that fails, else null. */
function mountSmallDisk(folder: string): string | null {
  if (process.getuid?.() !== 0) return 'the full disk was skipped: mounting needs root'
  mkdirSync(folder, { recursive: true })
  const { status, stderr, error } = spawnSync('mount', ['-t', 'tmpfs', '-o', DISK, 'tmpfs', folder], {
    encoding: 'utf8',
  })
  if (status === 0 && existsSync(folder)) return null
  return `the full disk was skipped: ${error?.message ?? stderr.trim()}`
}
