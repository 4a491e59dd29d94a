/** Checks the files of a node: who may read its secrets, whether its data can be stored, and how long fsync takes. */
import {
  accessSync,
  closeSync,
  constants,
  fsyncSync,
  openSync,
  rmSync,
  type Stats,
  statSync,
  writeSync,
} from 'node:fs'
import { userInfo } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { type Finding, failed, formatMs, formatSpread, ok, spreadOf, warning } from './findings.ts'

const FSYNC_ROUNDS = 20

export function checkSecret(area: string, file: string): Finding {
  try {
    const { mode } = statSync(file)
    accessSync(file, constants.R_OK)
    if ((mode & 0o044) === 0) return ok(area, `${file} can be read by its owner only`)
    const who = (mode & 0o004) === 0 ? 'its group' : 'everyone'
    return warning(area, `${file} can be read by ${who}`, `chmod 600 ${file}`)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    return failed(area, `${file} cannot be read (${code})`, `check that ${ownId().who} may read it`)
  }
}

/** A folder that is missing is created by the node, with its parents, if it may. This check creates nothing. */
export function checkData(data: string): readonly Finding[] {
  const folder = resolve(data)
  const { path, stats, code } = nearestOf(folder)
  if (code !== null) return [checkMissing(folder, path, stats?.isDirectory() === true, code)]
  if (stats?.isDirectory() !== true)
    return [failed('data', `${folder} is not a folder`, 'set data to a folder of this node')]
  const problem = writeProblem(folder)
  if (problem !== null) return [problem]
  const open = (stats.mode & 0o077) === 0 ? null : `chmod 700 ${folder}`
  return [
    open === null
      ? ok('data', `${folder} can be written, by its owner only`)
      : warning('data', `${folder} can be used by other users too`, open),
    measureFsync(folder),
  ]
}

type Nearest = {
  readonly path: string
  readonly stats: Stats | null
  /** Why the folder itself cannot be seen; null if it can. */
  readonly code: string | null
}

/** The folder, or the nearest one above it that can be seen. */
function nearestOf(folder: string): Nearest {
  try {
    return { path: folder, stats: statSync(folder), code: null }
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code ?? String(error)
    const parent = dirname(folder)
    return parent === folder ? { path: folder, stats: null, code } : { ...nearestOf(parent), code }
  }
}

/** `above`: the nearest path that can be seen. */
function checkMissing(folder: string, above: string, isFolder: boolean, code: string): Finding {
  const create = `as root: install -d -m 700 -o ${ownId().account} ${folder}`
  if (!isFolder)
    return failed(
      'data',
      `${folder} cannot be created: ${above} is not a folder`,
      'set data to a folder of this node',
    )
  if (code === 'EACCES') {
    const { who } = ownId()
    const text = `${folder} cannot be used: ${who} may not look into ${above} (${code})`
    return failed('data', text, `${create}, and let ${who} enter ${above}`)
  }
  if (code !== 'ENOENT')
    return failed('data', `${folder} cannot be used (${code})`, 'set data to another folder')
  const problem = writeProblem(above, create)
  return problem === null
    ? ok('data', `${folder} does not exist yet; the node will create it`)
    : failed('data', `${folder} does not exist, and ${problem.text}`, problem.fix ?? '')
}

/** Of this process. In a container a user may have a number only. */
function ownId(): { readonly who: string; readonly account: string } {
  try {
    const { username } = userInfo()
    return { who: username, account: username }
  } catch {
    const account = String(process.geteuid?.() ?? '')
    return { who: `user ${account}`, account }
  }
}

function writeProblem(folder: string, remedy?: string): Finding | null {
  try {
    accessSync(folder, constants.W_OK | constants.X_OK)
    return null
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    const { who, account } = ownId()
    const fix =
      code === 'EROFS'
        ? 'mount the file system writable, or set data to another folder'
        : (remedy ?? `chown ${account} ${folder}, or run the node as the owner of the folder`)
    return failed('data', `${who} cannot write to ${folder} (${code})`, fix)
  }
}

/** Writes and removes one small file. */
function measureFsync(folder: string): Finding {
  const file = join(folder, `.doctor-${process.pid}`)
  try {
    const descriptor = openSync(file, 'wx', 0o600)
    const times: number[] = []
    try {
      for (let round = 0; round < FSYNC_ROUNDS; round++) {
        const begin = performance.now()
        writeSync(descriptor, 'doctor\n', 0)
        fsyncSync(descriptor)
        times.push(performance.now() - begin)
      }
    } finally {
      closeSync(descriptor)
      rmSync(file, { force: true })
    }
    return judgeFsync(spreadOf(times) ?? { p50: 0, p99: 0, max: 0 })
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    const fix =
      code === 'ENOSPC' || code === 'EDQUOT'
        ? 'free some space on this file system'
        : 'use a local file system'
    return failed('fsync', `cannot store data in ${folder}: ${code ?? message}`, fix)
  }
}

/** A node stores its promises before it answers: a slow disk makes elections slow, but never unsafe. */
const SLOW_FSYNC_MS = 25

export function judgeFsync(times: {
  readonly p50: number
  readonly p99: number
  readonly max: number
}): Finding {
  if (times.p99 <= SLOW_FSYNC_MS) return ok('fsync', `fsync takes ${formatSpread(times)}`)
  return warning(
    'fsync',
    `fsync takes ${formatSpread(times)}: each election waits for it`,
    `put data on a local SSD; until then expect each election to take about ${formatMs(times.p99)} longer`,
  )
}
