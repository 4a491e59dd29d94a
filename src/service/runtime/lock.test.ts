import { type ChildProcess, fork, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { lockFolder, StorageInUseError } from './lock.ts'

let folder: string
let children: ChildProcess[] = []

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'conclave-lock-'))
})

afterEach(() => {
  for (const child of children) child.kill('SIGKILL')
  children = []
  rmSync(folder, { recursive: true })
})

/** Another process that wants the folder, and reports whether it got it. */
async function another(): Promise<{ readonly child: ChildProcess; readonly got: boolean }> {
  const script = join(folder, '..', `${folder.split('/').pop()}.mjs`)
  const module = join(import.meta.dirname, '../../../dist/service/runtime/lock.js')
  writeFileSync(
    script,
    `import { lockFolder } from ${JSON.stringify(module)}
     lockFolder(${JSON.stringify(folder)}).then(() => process.send('got'), (error) => process.send(error.name))
     setInterval(() => {}, 1000)`,
  )
  const child = fork(script)
  children.push(child)
  const [said] = (await once(child, 'message')) as [string]
  rmSync(script, { force: true })
  return { child, got: said === 'got' }
}

describe('a folder', () => {
  it('is for one process at a time; after a kill, the next process can lock it', async () => {
    const first = await another()
    expect(first.got).toBe(true)
    await expect(lockFolder(folder)).rejects.toThrow(StorageInUseError)
    first.child.kill('SIGKILL')
    await once(first.child, 'exit')
    expect(readdirSync(folder)).toHaveLength(1)
    const lock = await lockFolder(folder)
    expect(lock.whyLost()).toBeNull()
    expect(readdirSync(folder)).toHaveLength(1)
    lock.close()
    expect(readdirSync(folder)).toHaveLength(0)
  }, 30_000)

  it('of a stopped process is not given to another', async () => {
    const { child } = await another()
    child.kill('SIGSTOP')
    await expect(lockFolder(folder)).rejects.toThrow('is used by another process')
  }, 30_000)

  it('goes to at most one of many processes, and to one when the others have ended', async () => {
    for (let round = 0; round < 5; round++) {
      // oxlint-disable-next-line no-await-in-loop -- one round after the other
      const tries = await Promise.allSettled(Array.from({ length: 8 }, () => lockFolder(folder)))
      const won = tries.flatMap((each) => (each.status === 'fulfilled' ? [each.value] : []))
      expect(won).toHaveLength(1)
      won[0]?.close()
    }
  }, 30_000)

  it('works with a long path', async () => {
    const deep = join(folder, 'x'.repeat(100), 'y'.repeat(100))
    mkdirSync(deep, { recursive: true })
    const lock = await lockFolder(deep)
    await expect(lockFolder(deep)).rejects.toThrow(StorageInUseError)
    lock.close()
  })

  it('is lost when its socket file was removed', async () => {
    const lock = await lockFolder(folder)
    for (const entry of readdirSync(folder)) rmSync(join(folder, entry))
    expect(lock.whyLost()).toContain('its lock file was removed')
    lock.close()
  })

  // Network namespaces need privileges that not every user has.
  const mayUnshare = spawnSync('unshare', ['--net', 'true']).status === 0
  it.skipIf(!mayUnshare)(
    'excludes a process in another network namespace too',
    async () => {
      const lock = await lockFolder(folder)
      const module = join(import.meta.dirname, '../../../dist/service/runtime/lock.js')
      const script = `import(${JSON.stringify(module)}).then((m) => m.lockFolder(${JSON.stringify(folder)})).then(() => console.log('got'), (e) => console.log(e.name))`
      const { stdout } = spawnSync('unshare', ['--net', '--pid', '--fork', process.execPath, '-e', script], {
        encoding: 'utf8',
      })
      expect(stdout.trim()).toBe('StorageInUseError')
      expect(existsSync(folder)).toBe(true)
      lock.close()
    },
    30_000,
  )
})
