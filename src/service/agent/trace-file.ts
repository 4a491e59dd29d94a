/** Writes the black box of a node to a file with a unique name. */
import { mkdir, open, readdir, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { ConclaveNode } from '../node/index.ts'

/** Older files are deleted, so that repeated signals cannot fill the disk. */
const MAX_FILES = 10

export async function saveTrace(
  node: Pick<ConclaveNode, 'id' | 'group' | 'trace'>,
  folder: string,
): Promise<string> {
  await mkdir(folder, { recursive: true, mode: 0o700 })
  const sanitize = (text: string): string => text.replaceAll(/[^\w.-]/g, '_')
  const start = `trace-${sanitize(node.group)}-${sanitize(String(node.id))}-`
  const stamp = new Date().toISOString().replaceAll(/[:.]/g, '-')
  const file = join(folder, `${start}${stamp}.ndjson`)
  const temporary = `${file}.new`
  const handle = await open(temporary, 'wx', 0o600)
  try {
    // oxlint-disable-next-line no-await-in-loop -- chunks in order
    for await (const chunk of node.trace()) await handle.write(chunk)
  } catch (error) {
    await handle.close()
    await rm(temporary, { force: true })
    throw error
  }
  await handle.close()
  await rename(temporary, file)
  const kept = (await readdir(folder)).filter((name) => name.startsWith(start) && name.endsWith('.ndjson'))
  const old = kept.toSorted().slice(0, -MAX_FILES)
  await Promise.all(old.map((name) => rm(join(folder, name), { force: true })))
  return file
}
