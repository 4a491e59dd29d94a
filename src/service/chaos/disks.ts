/** Stable data that is damaged, a data folder that is taken, and a disk that is full. */
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
import { freePorts } from './free-ports.ts'
import type { Finding } from './report.ts'
import type { RunNode } from './run-node.ts'
import { type Settings, Trial } from './trial.ts'

/** The disks of three nodes are small, so that one can be filled. */
const NODES = 3
const DISK = 'size=256k'
const PATIENCE_MS = 30_000

export async function disks(settings: Settings): Promise<Finding> {
  const small = { ...settings, nodes: NODES }
  const mounted: string[] = []
  let limited: string | null = null
  const prepare = (folder: string): void => {
    limited ??= mount(folder)
    if (limited === null) mounted.push(folder)
  }
  const problems: string[] = []
  try {
    const trial = await Trial.begin(small, { prepare })
    try {
      settings.say('damaged')
      problems.push(...(await damaged(trial)))
      settings.say('taken')
      problems.push(...(await taken(trial)))
      settings.say('full')
      if (limited === null) problems.push(...(await full(trial)))
      problems.push(...trial.problems(limited === null ? 2 : 1))
    } finally {
      await trial.end()
    }
  } finally {
    for (const folder of mounted) spawnSync('umount', ['-l', folder])
    // What was mounted could not be removed with the rest.
    for (const folder of mounted) rmSync(dirname(folder), { recursive: true, force: true })
  }
  return {
    name: 'disks',
    done: `stable data damaged, a data folder used twice${limited === null ? ', a full disk while a vote was asked for' : ''}`,
    problems,
    measures: [],
    limited,
  }
}

/** A follower comes back to stable data of which one bit is wrong: it refuses, and says what to do. */
async function damaged(trial: Trial): Promise<readonly string[]> {
  const node = await follower(trial)
  const folder = join(trial.folder, node.id)
  node.signal('SIGTERM')
  await node.ended
  const files = readdirSync(folder).map((name) => join(folder, name))
  const kept = files.filter((file) => statSync(file).isFile() && statSync(file).size > 0)
  const [before] = kept.map((file) => readFileSync(file))
  const [file] = kept
  if (file === undefined || before === undefined) return ['damaged: there is no stable data to damage']
  const bytes = Buffer.from(before)
  const middle = Math.floor(bytes.length / 2)
  bytes[middle] = (bytes[middle] ?? 0) ^ 1
  writeFileSync(file, bytes)
  const problems = await refuses(node, 'damaged', folder)
  writeFileSync(file, before)
  node.start()
  return problems
}

/** A second process that is given the same data folder refuses. */
async function taken(trial: Trial): Promise<readonly string[]> {
  const node = await follower(trial)
  const [port] = await freePorts(1, 'udp')
  const second = node.as((words) =>
    words.map((word, place) => (words[place - 1] === '--listen' ? `127.0.0.1:${port}` : word)),
  )
  return refuses(second, 'taken', join(trial.folder, node.id))
}

/** With one voter's disk full and the leader dead, nobody is elected, for that takes its vote; with room again, somebody is. */
async function full(trial: Trial): Promise<readonly string[]> {
  const node = await follower(trial)
  const { leading } = trial
  const folder = join(trial.folder, node.id)
  const ballast = join(folder, 'ballast')
  const { bavail, bsize } = statfsSync(folder)
  writeFileSync(ballast, Buffer.alloc(bavail * bsize))
  const problems: string[] = []
  const leader = trial.node(leading.id)
  const from = node.said.length
  leader.signal('SIGKILL')
  await leader.ended
  const isSaid = (): boolean => node.said.slice(from).some((line) => line.startsWith('storage'))
  const until = performance.now() + PATIENCE_MS
  // oxlint-disable-next-line no-await-in-loop -- until it is said
  while (!isSaid() && performance.now() < until) await setTimeout(20)
  if (!isSaid()) problems.push('full: nothing was said of the full disk')
  const led = await trial.witness.first(
    ({ token }) => token > leading.token,
    0,
    5 * trial.settings.bounds.lockMs,
  )
  if (led !== null)
    problems.push(`full: ${led.id} leads with token ${led.token}, though a vote could not be kept`)
  if (node.pid === null) problems.push(`full: ${node.id} ended`)
  rmSync(ballast)
  await trial.next(leading)
  leader.start()
  await trial.settle()
  return problems
}

async function follower(trial: Trial): Promise<RunNode> {
  const { id } = await trial.settle()
  return trial.nodes.find((node) => node.id !== id) as RunNode
}

/** It ends with an error that names the folder, before it takes part. */
async function refuses(node: RunNode, what: string, folder: string): Promise<readonly string[]> {
  const from = node.said.length
  node.start()
  await node.takesPart
  const said = node.said.slice(from).join('\n')
  if (node.pid !== null) {
    node.signal('SIGKILL')
    await node.ended
    return [`${what}: ${node.id} took part all the same`]
  }
  const code = await node.ended
  return code !== 0 && said.includes(folder) ? [] : [`${what}: ended with ${code} and said "${said}"`]
}

/** Why not; null when it is done. */
function mount(folder: string): string | null {
  if (process.getuid?.() !== 0) return 'a full disk was not tried: that needs root'
  mkdirSync(folder, { recursive: true })
  const { status, stderr, error } = spawnSync('mount', ['-t', 'tmpfs', '-o', DISK, 'tmpfs', folder], {
    encoding: 'utf8',
  })
  if (status === 0 && existsSync(folder)) return null
  return `a full disk was not tried: ${error?.message ?? stderr.trim()}`
}
