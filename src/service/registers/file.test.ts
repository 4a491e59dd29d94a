import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it, onTestFinished } from 'vitest'
import { conformance } from '../../../test/support/conformance.ts'
import { Program } from '../../../test/support/program.ts'
import { openFile } from './file.ts'
import { findMountOptions } from './file-systems.ts'
import { openRegisters } from './index.ts'

const folder = mkdtempSync(join(tmpdir(), 'conclave-registers-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

conformance('a folder in rename mode', {
  open: (group) => openFile({ path: join(folder, 'rename'), mode: 'rename' }, group),
})
conformance('a folder, sectors overwritten in place,', {
  open: (group) => openFile({ path: join(folder, 'sector'), mode: 'sector' }, group),
  locks: true,
})

describe('a folder store', () => {
  it.each(['rename', 'sector'] as const)(
    'that cannot be written to is refused with the reason (%s)',
    async (mode) => {
      const file = join(folder, 'file')
      writeFileSync(file, '')
      await expect(openFile({ path: join(file, 'x'), mode }, 'g')).rejects.toMatchObject({
        name: 'StoreAccessDeniedError',
        message: expect.stringContaining('a part of the path is a file'),
      })
    },
  )

  it('keeps a few old versions, and removes old temporary files', async () => {
    const path = join(folder, 'old')
    const store = await openFile({ path, mode: 'rename' }, 'g')
    let version: string | null = null
    for (let count = 0; count < 12; count++) {
      // oxlint-disable-next-line no-await-in-loop -- one version after the other
      version = await store.write('b_1', `body ${count}`, version, AbortSignal.timeout(10_000))
    }
    expect(readdirSync(join(path, 'g')).sort()).toEqual(
      [10, 11, 12, 5, 6, 7, 8, 9].map((kept) => `b_1.${kept}`),
    )
    const left = join(path, 'g', '.b_1.left')
    writeFileSync(left, 'half')
    await openFile({ path, mode: 'rename' }, 'g')
    expect(existsSync(left)).toBe(true)
    utimesSync(left, 0, 0)
    await openFile({ path, mode: 'rename' }, 'g')
    expect(existsSync(left)).toBe(false)
  })

  it('applies every write of several processes once, and reports unknown outcomes', async () => {
    const path = join(folder, 'contended')
    const source = `
      import { openFile } from 'conclave/registers/file'
      const store = await openFile({ path: process.argv[2], mode: 'rename' }, 'g')
      let won = 0
      let unknown = 0
      for (let tries = 0; tries < 40; tries++) {
        const cell = (await store.read(AbortSignal.timeout(20000))).find(({ name }) => name === 'b_1')
        const next = String(Number(cell?.body ?? 0) + 1)
        try {
          if ((await store.write('b_1', next, cell?.version ?? null, AbortSignal.timeout(20000))) !== null) won += 1
        } catch (error) {
          if (!error.message.includes('was overtaken')) throw error
          unknown += 1
        }
      }
      console.log('unknown ' + unknown)
      console.log('won ' + won)`
    const programs = [1, 2, 3].map(() => new Program(source, [path]))
    onTestFinished(() => Promise.all(programs.map((program) => program.kill())).then(() => {}))
    expect(await Promise.all(programs.map((program) => program.ended))).toEqual([0, 0, 0])
    const sum = (word: string): number =>
      programs.reduce((total, program) => total + Number(program.said(word)[0]), 0)
    const store = await openFile({ path, mode: 'rename' }, 'g')
    const [cell] = await store.read(AbortSignal.timeout(10_000))
    const counted = Number(cell?.body)
    expect(sum('won')).toBeGreaterThan(0)
    expect(counted).toBeGreaterThanOrEqual(sum('won'))
    expect(counted).toBeLessThanOrEqual(sum('won') + sum('unknown'))
  })

  it('distinguishes a sector that another host wrote with the same version number', async () => {
    const path = join(folder, 'far')
    const store = await openFile({ path, mode: 'sector' }, 'g')
    onTestFinished(() => store.close())
    const version = await store.write('b_1', 'mine', null, AbortSignal.timeout(10_000))
    const sum = createHash('sha256').update('1 theirs').digest('hex').slice(0, 8)
    writeFileSync(join(path, 'g', 'b_1.sector'), `1 ${sum} theirs`.padEnd(512))
    expect(await store.write('b_1', 'mine again', version, AbortSignal.timeout(10_000))).toBe(null)
    expect(await store.read(AbortSignal.timeout(10_000))).toMatchObject([{ name: 'b_1', body: 'theirs' }])
  })

  it('reports a damaged sector', async () => {
    const path = join(folder, 'damaged')
    const node = openRegisters(await openFile({ path, mode: 'sector' }, 'g'), {
      self: 1,
      timeoutMs: 5000,
      probeMs: 50,
    })
    await node.claim()
    await node.close()
    const file = join(path, 'g', 'b_1.sector')
    writeFileSync(file, readFileSync(file, 'utf8').replace('"sequence":2', '"sequence":3'))
    const next = openRegisters(await openFile({ path, mode: 'sector' }, 'g'), {
      self: 1,
      timeoutMs: 5000,
      probeMs: 50,
    })
    expect(await next.claim()).toMatchObject({ outcome: 'failed', error: { name: 'CorruptBlockError' } })
  })
})

/** A file system of its own: root may make one, if the machine lets it. */
function mounted(name: string, ...options: readonly string[]): string | null {
  const path = join(folder, name)
  mkdirSync(path)
  return spawnSync('mount', ['-t', 'tmpfs', ...options, 'tmpfs', path]).status === 0 ? path : null
}

const small = mounted('small', '-o', 'size=16k')
const sealed = mounted('sealed', '-o', 'ro')
afterAll(() => {
  for (const path of [small, sealed]) if (path !== null) spawnSync('umount', [path])
})

describe.skipIf(small === null || sealed === null)('a disk (only root can mount one)', () => {
  it('is refused if it is read-only', async () => {
    await expect(openFile({ path: sealed ?? '', mode: 'rename' }, 'g')).rejects.toMatchObject({
      name: 'StoreAccessDeniedError',
      message: expect.stringContaining('is read-only'),
    })
  })

  it('makes writes unknown when it is full, loses nothing, and is refused at start', async () => {
    const options = { path: small ?? '', mode: 'rename' } as const
    const node = openRegisters(await openFile(options, 'g'), { self: 1, timeoutMs: 5000, probeMs: 50 })
    await node.claim()
    expect(await node.write({ ctr: 1 })).toEqual({ outcome: 'ok' })
    const ballast = join(small ?? '', 'ballast')
    expect(() => writeFileSync(ballast, 'x'.repeat(100_000))).toThrow('ENOSPC')
    expect(await node.write({ ctr: 2 })).toMatchObject({
      outcome: 'unknown',
      why: expect.stringContaining('ENOSPC'),
    })
    await expect(openFile(options, 'g')).rejects.toMatchObject({
      name: 'StoreAccessDeniedError',
      message: expect.stringContaining('the disk is full'),
    })
    rmSync(ballast)
    expect(await node.claim()).toMatchObject({ outcome: 'ok', own: { value: { ctr: 1 } } })
    await node.close()
  })
})

describe('a network file system', () => {
  const nfs = 0x6969
  const open = (type: number, options: readonly string[] | null, mountOptions?: string[]): Promise<unknown> =>
    openFile({ path: join(folder, 'net'), mode: 'sector', mountOptions }, 'g', async () => ({
      type,
      options,
    })).catch((error: unknown) => error)

  it('is refused with the options that it needs', async () => {
    expect(await open(nfs, [])).toMatchObject({
      name: 'UnsuitableStoreError',
      message: expect.stringMatching(/network file system \(NFS\).*noac, lookupcache=none, hard/),
    })
    expect(await open(0x65735546, [])).toMatchObject({ name: 'UnsuitableStoreError' })
  })

  it('is refused if options are missing from the configuration or from the mount', async () => {
    expect(await open(nfs, null, ['noac'])).toMatchObject({
      message: expect.stringContaining('also needs the mount options lookupcache=none, hard'),
    })
    const named = ['noac', 'lookupcache=none', 'hard']
    expect(await open(nfs, ['rw', 'hard', 'noac'], named)).toMatchObject({
      message: expect.stringContaining('lists lookupcache=none, but the folder is not mounted with that'),
    })
    expect(await open(nfs, ['rw', ...named], named)).toMatchObject({ facts: { kind: 'file' } })
  })

  it('is found in the mount table: the longest path counts, and the last of equal paths', () => {
    const table = [
      '1 0 8:1 / / rw,relatime - ext4 /dev/sda1 rw',
      '2 1 0:5 / /mnt/a\\040b rw - nfs4 host:/x rw,noac,hard',
      '3 1 0:6 / /mnt/a\\040b ro - nfs4 host:/y rw,soft',
      '',
    ].join('\n')
    expect(findMountOptions(table, '/mnt/a b/c')).toEqual(['ro', 'rw', 'soft'])
    expect(findMountOptions(table, '/mnt/a')).toEqual(['rw', 'relatime', 'rw'])
  })
})
