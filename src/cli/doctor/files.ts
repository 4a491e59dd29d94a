/** Checks the files of a node: who may read its secrets, whether its data can be stored, and how long fsync takes. */
import { accessSync, closeSync, constants, fsyncSync, openSync, rmSync, statSync, writeSync } from 'node:fs'
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
    return failed(area, `${file} cannot be read (${code})`, `check that ${userInfo().username} may read it`)
  }
}

/** A folder that is missing is created by the node, if its parent can be written. This check creates nothing. */
export function checkData(data: string): readonly Finding[] {
  const folder = resolve(data)
  const stats = statSync(folder, { throwIfNoEntry: false })
  if (stats === undefined) return [checkMissing(folder)]
  if (!stats.isDirectory())
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

function checkMissing(folder: string): Finding {
  const parent = dirname(folder)
  if (statSync(parent, { throwIfNoEntry: false })?.isDirectory() !== true)
    return failed('data', `neither ${folder} nor ${parent} exists`, `mkdir -p ${folder}`)
  const problem = writeProblem(parent)
  return problem === null
    ? ok('data', `${folder} does not exist yet; the node will create it`)
    : failed('data', `${folder} does not exist, and ${problem.text}`, problem.fix ?? '')
}

function writeProblem(folder: string): Finding | null {
  const { username } = userInfo()
  try {
    accessSync(folder, constants.W_OK | constants.X_OK)
    return null
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    const fix =
      code === 'EROFS'
        ? 'mount the file system writable, or set data to another folder'
        : `chown ${username} ${folder}, or run the node as the owner of the folder`
    return failed('data', `${username} cannot write to ${folder} (${code})`, fix)
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
