/** The black box of a node, written to a file: beside the others, under a name of its own. */
import { mkdir, open, readdir, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { Member } from '../node/index.ts'

/** Older ones go: a data folder must not fill up because somebody sends signals. */
const MOST_FILES = 10

export async function saveTrace(
  node: Pick<Member, 'id' | 'group' | 'trace'>,
  folder: string,
): Promise<string> {
  await mkdir(folder, { recursive: true, mode: 0o700 })
  const plain = (text: string): string => text.replaceAll(/[^\w.-]/g, '_')
  const start = `trace-${plain(node.group)}-${plain(String(node.id))}-`
  const stamp = new Date().toISOString().replaceAll(/[:.]/g, '-')
  const file = join(folder, `${start}${stamp}.ndjson`)
  const beside = `${file}.new`
  const handle = await open(beside, 'wx', 0o600)
  try {
    // oxlint-disable-next-line no-await-in-loop -- pieces in order
    for await (const piece of node.trace()) await handle.write(piece)
  } catch (error) {
    await handle.close()
    await rm(beside, { force: true })
    throw error
  }
  await handle.close()
  await rename(beside, file)
  const kept = (await readdir(folder)).filter((name) => name.startsWith(start) && name.endsWith('.ndjson'))
  const old = kept.toSorted().slice(0, -MOST_FILES)
  await Promise.all(old.map((name) => rm(join(folder, name), { force: true })))
  return file
}
