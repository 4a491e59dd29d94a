/**
 * Greatest tokens in a file, so that they survive a restart. Only one process at a time can use the file. Within the
 * process all callers share one memory per file; separate ones would overwrite each other's tokens.
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
  // After a failure the next call reads the file again.
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
      // One write after the other, even if the previous one failed.
      const pending = last.then(
        () => raise(resource, token),
        () => raise(resource, token),
      )
      last = pending
      return pending
    },
  }
}

async function readTokens(path: string): Promise<[string, number][]> {
  try {
    return Object.entries(JSON.parse(await readFile(path, 'utf8')) as { [resource: string]: number })
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return []
    throw new Error(
      `${path} is not a token file: restore it, because without its tokens a former leader would be admitted`,
      {
        cause: error,
      },
    )
  }
}

async function replace(path: string, text: string): Promise<void> {
  const temporary = `${path}.new`
  await withFlush(temporary, 'w', (file) => file.writeFile(text))
  await rename(temporary, path)
  await withFlush(dirname(path), 'r', async () => {})
}

type File = Awaited<ReturnType<typeof open>>

async function withFlush(path: string, flags: string, work: (file: File) => Promise<void>): Promise<void> {
  const file = await open(path, flags)
  try {
    await work(file)
    await file.sync()
  } finally {
    await file.close()
  }
}
