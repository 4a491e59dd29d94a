/** The doctor looks at what is broken, and must not break there itself. */
import { chmodSync, mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import type * as Os from 'node:os'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it, vi } from 'vitest'
import { checkData, checkSecret } from './files.ts'

// A container may run under a number without a name in /etc/passwd.
vi.mock('node:os', async (original) => ({
  ...(await original<typeof Os>()),
  userInfo() {
    throw new Error('uv_os_get_passwd returned ENOENT (no such file or directory)')
  },
}))

const folder = realpathSync(mkdtempSync(join(tmpdir(), 'conclave-files-')))
chmodSync(folder, 0o755)
afterAll(() => rmSync(folder, { recursive: true }))

const user = `user ${process.getuid?.()}`

describe('the data directory', () => {
  it('can be checked by a user without a name', () => {
    const data = join(folder, 'data')
    mkdirSync(data, { mode: 0o700 })
    expect(checkData(data)[0]).toMatchObject({
      level: 'ok',
      text: `${data} can be written, by its owner only`,
    })
  })

  it('is created by the node, with all its parents', () => {
    const deep = join(folder, 'a', 'b', 'c')
    expect(checkData(deep)).toMatchObject([
      { level: 'ok', text: `${deep} does not exist yet; the node will create it` },
    ])
  })

  it('is refused below a file', () => {
    const file = join(folder, 'file')
    writeFileSync(file, '')
    for (const data of [join(file, 'data'), join(file, 'data', 'deeper')])
      expect(checkData(data)).toEqual([
        {
          area: 'data',
          level: 'error',
          text: `${data} cannot be created: ${file} is not a folder`,
          fix: 'set data to a folder of this node',
        },
      ])
  })

  it.skipIf(process.getuid?.() !== 0)(
    'is refused, with the command that creates it, below a folder of another user',
    () => {
      const closed = join(folder, 'closed')
      mkdirSync(closed, { mode: 0o700 })
      process.seteuid?.(54_321)
      try {
        const fix = expect.stringMatching(/^as root: install -d -m 700 -o 54321 /)
        const data = join(closed, 'data')
        expect(checkData(join(closed, 'data', 'deeper'))).toMatchObject([{ level: 'error', fix }])
        expect(checkData(data)).toEqual([
          {
            area: 'data',
            level: 'error',
            text: `${data} cannot be used: user 54321 may not look into ${closed} (EACCES)`,
            fix: `as root: install -d -m 700 -o 54321 ${data}, and let user 54321 enter ${closed}`,
          },
        ])
      } finally {
        process.seteuid?.(0)
      }
    },
  )
})

it('a key that cannot be read names the user, with or without a name', () => {
  expect(checkSecret('key', join(folder, 'none'))).toMatchObject({
    level: 'error',
    fix: `check that ${user} may read it`,
  })
})
