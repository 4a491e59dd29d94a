import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { ByzantineWorld, boundOf, IDS, specOf } from '../../test/support/byzantine/world.ts'
import { conclave, type Ended } from '../../test/support/cli.ts'
import type { Plain } from '../core/index.ts'
import { groupFor } from '../protocols/index.ts'
import { openStorage } from '../service/runtime/index.ts'

const run = (...words: readonly string[]): Promise<Ended> => conclave(words)

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'conclave-recover-'))
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

const LOCAL = specOf('local-leader')
const OMEGA = specOf('omega')
const SOUND = {
  incarnation: 4,
  lockTime: 100_000,
  promised: { number: 7, owner: 'b' },
  config: { id: [0, 0], sets: [['a', 'b', 'c']] },
}

async function keep(upper: Plain, layer: Plain = 12): Promise<void> {
  const storage = await openStorage(folder)
  storage.save({ layer, upper })
  storage.close()
}

type Kept = { readonly layer: number; readonly upper: Plain }

async function kept(): Promise<Kept> {
  const storage = await openStorage(folder)
  const data = storage.load()
  storage.close()
  return data as Kept
}

describe('conclave recover', () => {
  it('does not change usable data', async () => {
    await keep(SOUND)
    const before = readFileSync(join(folder, 'stable.json'), 'utf8')
    const { code, stdout } = await run('recover', folder, '--id', 'a')
    expect([code, stdout]).toEqual([0, `${folder} is usable; nothing was changed\n`])
    expect(readFileSync(join(folder, 'stable.json'), 'utf8')).toBe(before)
  })

  it.each<[string, Plain, readonly string[]]>([
    ['a promise that is out of range', { ...SOUND, promised: { number: 2 ** 53 - 1, owner: 'c' } }, []],
    ['an incarnation that is out of range', { ...SOUND, incarnation: 2 ** 53 - 1 }, []],
    ['no voters', { ...SOUND, config: { id: [9, 1], sets: [] } }, ['--voters', 'c,a,b', '--all-stopped']],
    [
      'a voter without a name',
      { ...SOUND, config: { id: [9, 1], sets: [['']] } },
      ['--voters', 'a,b,c', '--all-stopped'],
    ],
    [
      'only one voter left',
      { ...SOUND, config: { id: [9, 1], sets: [['c']] } },
      ['--voters', 'a,b,c', '--all-stopped'],
    ],
  ])('repairs a node that has %s', async (_, upper, more) => {
    await keep(upper)
    const asked = Date.now()
    const { code, stdout, stderr } = await run('recover', folder, '--id', 'a', ...more)
    expect([code, stderr]).toEqual([0, ''])
    expect(stdout).toContain('changed: every epoch up to ')
    const { upper: mended } = await kept()
    const { promised, config } = mended as typeof SOUND
    // It promises every epoch in which a node may have led, to itself.
    expect(promised.owner).toBe('a')
    expect(promised.number).toBeGreaterThanOrEqual(asked)
    expect(config.sets).toEqual([['a', 'b', 'c']])
    const { state } = groupFor('a', LOCAL).protocol.start(mended, 0)
    // It stays silent until every lock that it may have granted has expired.
    expect((state as { silentUntil: number }).silentUntil).toBeGreaterThan(100_000)
  })

  it('changes nothing with --dry-run, and prints one object with --json', async () => {
    await keep({ ...SOUND, promised: { number: 2 ** 53 - 1, owner: 'c' } })
    const { stdout } = await run('recover', folder, '--id', 'a', '--dry-run', '--json')
    expect(JSON.parse(stdout)).toMatchObject({ folder, changed: false })
    expect((await kept()).upper).toMatchObject({ promised: { number: 2 ** 53 - 1 } })
  })

  it('never lowers a promise, and promises at least --above', async () => {
    await keep({ ...SOUND, incarnation: 0, promised: { number: 2 ** 45, owner: 'c' } })
    await run('recover', folder, '--id', 'a')
    expect((await kept()).upper).toMatchObject({ promised: { number: 2 ** 45, owner: 'a' } })
    await keep({ ...SOUND, promised: { number: 2 ** 53 - 1, owner: 'c' } })
    await run('recover', folder, '--id', 'a', '--above', String(2 ** 47))
    expect((await kept()).upper).toMatchObject({ promised: { number: 2 ** 47, owner: 'a' } })
    await keep(SOUND)
    await run('recover', folder, '--id', 'a', '--above', String(2 ** 46))
    expect((await kept()).upper).toMatchObject({ promised: { number: 2 ** 46, owner: 'a' } })
  })

  it('refuses input that could cause two leaders', async () => {
    await keep({ ...SOUND, config: { id: [9, 1], sets: [] } })
    const alone = await run('recover', folder, '--id', 'a', '--voters', 'a,b,c')
    expect([alone.code, alone.stderr]).toEqual([2, expect.stringContaining('--all-stopped')])
    const unnamed = await run('recover', folder, '--id', 'a')
    expect([unnamed.code, unnamed.stderr]).toEqual([2, expect.stringContaining('--voters: ')])
    const empty = await run('recover', tmpdir(), '--id', 'a')
    expect([empty.code, empty.stderr]).toEqual([2, expect.stringContaining('contains no stable.json')])
  })

  it('refuses the folder of a running node', async () => {
    await keep(SOUND)
    const storage = await openStorage(folder)
    const { code, stderr } = await run('recover', folder, '--id', 'a')
    storage.close()
    expect([code, stderr]).toEqual([2, expect.stringContaining('stop the node first')])
  })

  it('recovers nodes of omega only together, with larger numbers and later incarnations', async () => {
    const view = {
      id: [2 ** 45, 'c'],
      members: [
        ['b', 3],
        ['c', 5],
      ],
    }
    await keep({ layer: 3, upper: { life: 8, view, promised: [2 ** 45, 'c'], formed: view, attempts: [] } })
    const alone = await run('recover', folder, '--id', 'a')
    expect([alone.code, alone.stderr]).toEqual([
      2,
      expect.stringContaining('all nodes are recovered together'),
    ])
    const { code } = await run('recover', folder, '--id', 'a', '--all-stopped')
    expect(code).toBe(0)
    const { upper } = await kept()
    expect(upper).toMatchObject({ layer: 3, upper: { life: 8, attempts: [] } })
    const { state } = groupFor('a', OMEGA).protocol.start(upper, 0)
    expect(state).toMatchObject({ upper: { life: 9 } })
  })
})

describe('a group whose nodes were recovered', () => {
  it.each([
    ['local-leader', LOCAL, { ...SOUND, promised: { number: 2 ** 53 - 1, owner: 'c' } }, [] as string[]],
    [
      'omega',
      OMEGA,
      {
        layer: 3,
        upper: {
          life: 8,
          view: {
            id: [2 ** 45, 'c'],
            members: [
              ['b', 3],
              ['c', 5],
            ],
          },
          promised: [0, null],
          formed: { id: [0, null], members: [] },
          attempts: [],
        },
      },
      ['--all-stopped'],
    ],
  ] as const)('elects within its bound: %s', async (_, spec, unusable, more) => {
    const world = ByzantineWorld.create({ g: spec })
    for (const id of IDS) {
      world.stop(id)
      // oxlint-disable-next-line no-await-in-loop -- one folder after the other
      await keep(unusable)
      // oxlint-disable-next-line no-await-in-loop -- one folder after the other
      await run('recover', folder, '--id', id, ...more)
      // oxlint-disable-next-line no-await-in-loop -- one folder after the other
      const { layer, upper } = await kept()
      world.node(id).stable = { layer, upper: { g: upper } }
    }
    for (const id of IDS) world.start(id)
    expect(world.run(2 * boundOf(spec), () => world.isLed())).toBe(true)
  })
})
