/**
 * A sink in a directory that one process at a time writes to, or that all nodes share: FOLDER/JOB/SEQ.json, one file per
 * output, written beside and linked, so that a file is complete and never replaced. A `Uint8Array` becomes SEQ.bin.
 *
 * `.sink.json` in the folder of a job has its submission and its largest token. When another job takes the name, the
 * outputs of the earlier one are moved to JOB~before-SUBMISSION, which cannot be the name of a job.
 */
import { randomBytes } from 'node:crypto'
import { link, mkdir, open, readFile, rename, rm } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { makeFolder } from '../../runtime/index.ts'
import { SinkFailedError } from './errors.ts'
import type { Acceptance, Sink, SinkEntry } from './sink.ts'

const FENCE = '.sink.json'

type Fence = { readonly submission: string; readonly token: number }

export function openDirectorySink(folder: string): Sink {
  const place = resolve(folder)
  makeFolder(place)
  /** One output of a job after the other. */
  const queues = new Map<string, Promise<unknown>>()
  return {
    place,
    accept(entry) {
      const before = queues.get(entry.job) ?? Promise.resolve()
      const accepting = before.then(() => acceptOutput(place, entry))
      const settled = accepting.catch(() => {})
      queues.set(entry.job, settled)
      return accepting
    },
    async close() {
      await Promise.all(queues.values())
    },
  }
}

async function acceptOutput(place: string, entry: SinkEntry): Promise<Acceptance> {
  try {
    const folder = join(place, entry.job)
    const fence = await readFence(folder)
    const { submission, token } = entry
    const isSame = fence?.submission === submission
    if (fence !== null && (isSame ? token < fence.token : submission < fence.submission)) return 'fenced'
    if (fence !== null && !isSame) await moveAside(folder, fence)
    await mkdir(folder, { recursive: true })
    if (!isSame || fence.token !== token)
      await writeFileSafely(folder, FENCE, Buffer.from(JSON.stringify({ submission, token })), rename)
    return await writeOutput(folder, entry)
  } catch (error) {
    throw new SinkFailedError(place, error)
  }
}

/** The name is taken if a late output of that submission arrived after a crash between this and the next fence. */
async function moveAside(folder: string, { submission }: Fence): Promise<void> {
  const target = `${folder}~before-${submission}`
  try {
    await rename(folder, target)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code !== 'ENOTEMPTY' && code !== 'EEXIST') throw error
    await rename(folder, `${target}-${randomBytes(4).toString('hex')}`)
  }
}

async function writeOutput(folder: string, { seq, output }: SinkEntry): Promise<Acceptance> {
  const isBinary = output instanceof Uint8Array
  const bytes = isBinary ? output : Buffer.from(`${JSON.stringify(output, showBytes)}\n`)
  try {
    await writeFileSafely(folder, `${seq}.${isBinary ? 'bin' : 'json'}`, bytes, link)
    return 'accepted'
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return 'duplicate'
    throw error
  }
}

/** Within JSON, bytes are base64. */
function showBytes(_: string, value: unknown): unknown {
  return value instanceof Uint8Array ? { base64: Buffer.from(value).toString('base64') } : value
}

async function readFence(folder: string): Promise<Fence | null> {
  try {
    return JSON.parse(await readFile(join(folder, FENCE), 'utf8')) as Fence
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null
    throw error
  }
}

/** `publish` gives the synced file its name: `link` fails if the name is taken, `rename` replaces. */
async function writeFileSafely(
  folder: string,
  name: string,
  bytes: Uint8Array,
  publish: (from: string, to: string) => Promise<void>,
): Promise<void> {
  const beside = join(folder, `.${randomBytes(8).toString('hex')}.new`)
  const file = await open(beside, 'wx', 0o644)
  try {
    await file.writeFile(bytes)
    await file.sync()
    await file.close()
    await publish(beside, join(folder, name))
    await syncFolder(folder)
  } finally {
    await file.close().catch(() => {})
    await rm(beside, { force: true })
  }
}

async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, 'r')
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}
