/**
 * Greatest tokens in a file: they outlive the process. One process at a time may use the file. Within the process all who
 * open it share what is known of it: two that each wrote what they know would overwrite each other's tokens.
 */
import { open, readFile, rename } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'
import type { TokenMemory } from './tokens.ts'

const opened = new Map<string, Promise<TokenMemory>>()

export function tokensInFile(path: string): Promise<TokenMemory> {
  const file = resolve(path)
  const known = opened.get(file)
  if (known !== undefined) return known
  const memory = openTokens(file)
  opened.set(file, memory)
  // A file that was repaired since is read again.
  memory.catch(() => opened.delete(file))
  return memory
}

async function openTokens(path: string): Promise<TokenMemory> {
  const greatest = new Map<string, number>(await readTokens(path))
  let last: Promise<unknown> = Promise.resolve()

  async function raise(resource: string, token: number): Promise<number> {
    const present = greatest.get(resource) ?? 0
    if (token <= present) return present
    await replace(path, JSON.stringify(Object.fromEntries([...greatest, [resource, token]])))
    greatest.set(resource, token)
    return token
  }

  return {
    raise(resource, token) {
      // One after the other, whatever became of the one before.
      const mine = last.then(
        () => raise(resource, token),
        () => raise(resource, token),
      )
      last = mine
      return mine
    },
  }
}

async function readTokens(path: string): Promise<[string, number][]> {
  try {
    return Object.entries(JSON.parse(await readFile(path, 'utf8')) as { [resource: string]: number })
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return []
    throw new Error(`${path} does not hold tokens; without them an old leader would be let in: restore it`, {
      cause: error,
    })
  }
}

async function replace(path: string, text: string): Promise<void> {
  const beside = `${path}.new`
  await flushed(beside, 'w', (file) => file.writeFile(text))
  await rename(beside, path)
  await flushed(dirname(path), 'r', async () => {})
}

type File = Awaited<ReturnType<typeof open>>

async function flushed(path: string, flags: string, work: (file: File) => Promise<void>): Promise<void> {
  const file = await open(path, flags)
  try {
    await work(file)
    await file.sync()
  } finally {
    await file.close()
  }
}
