import { afterEach, describe, expect, it } from 'vitest'
import { Directory, type DirectorySettings, type Lookup } from './directory.ts'

let now = 0
let open: Directory[] = []
const problems: string[] = []

afterEach(() => {
  for (const directory of open) directory.close()
  open = []
  now = 0
  problems.length = 0
})

function directoryWith(lookup: Lookup, family: DirectorySettings['family'] = 4): Directory {
  const made = new Directory({
    family,
    lookup,
    now: () => now,
    lookupFailed: (_id, { host }, problem) => problems.push(`${host}: ${problem}`),
  })
  open.push(made)
  return made
}

const PEER = { id: 'b', address: { host: 'b.example', port: 7400 } }

/** Lets pending lookups complete. */
const settle = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

describe('a peer that is given by a name', () => {
  it('is resolved at the start, and again soon after it falls silent because it has moved', async () => {
    let address = '10.0.0.2'
    let asked = 0
    const directory = directoryWith(() => {
      asked += 1
      return Promise.resolve([address])
    })
    await directory.add(PEER)
    expect(directory.entryOf('b')?.current).toBe('10.0.0.2')
    address = '10.0.0.9'
    // As long as the peer is heard, its name is looked up at most twice a minute.
    for (now = 500; now < 29_000; now += 500) {
      directory.heard('b')
      directory.look()
      // oxlint-disable-next-line no-await-in-loop -- one moment after the other
      await settle()
    }
    expect(asked).toBe(1)
    now += 2_500
    directory.look()
    await settle()
    expect(directory.entryOf('b')?.current).toBe('10.0.0.9')
  })

  it('that stays silent is looked up with backoff up to half a minute, and each of its addresses is tried', async () => {
    let asked = 0
    const used = new Set<string | null>()
    const directory = directoryWith(() => {
      asked += 1
      return Promise.resolve(['10.0.0.2', '10.0.0.3', 'fd00::2'])
    })
    await directory.add(PEER)
    for (now = 0; now < 300_000; now += 500) {
      directory.look()
      // oxlint-disable-next-line no-await-in-loop -- one moment after the other
      await settle()
      used.add(directory.entryOf('b')?.current ?? null)
    }
    expect([...used]).toEqual(['10.0.0.2', '10.0.0.3'])
    expect(asked).toBeGreaterThan(10)
    expect(asked).toBeLessThan(20)
  })

  it('that cannot be resolved is reported once, and its known addresses stay in use', async () => {
    let isBroken = true
    const directory = directoryWith(() =>
      isBroken ? Promise.reject(new Error('ENOTFOUND')) : Promise.resolve(['10.0.0.2']),
    )
    await directory.add(PEER)
    for (now = 0; now < 20_000; now += 500) {
      directory.look()
      // oxlint-disable-next-line no-await-in-loop -- one moment after the other
      await settle()
    }
    expect(problems).toEqual(['b.example: ENOTFOUND'])
    expect(directory.entryOf('b')?.current).toBeNull()
    isBroken = false
    now += 30_000
    directory.look()
    await settle()
    isBroken = true
    now += 60_000
    directory.look()
    await settle()
    expect(directory.entryOf('b')?.current).toBe('10.0.0.2')
    expect(problems).toHaveLength(2)
  })

  it.each<[DirectorySettings['family'], readonly string[]]>([
    [4, ['10.0.0.2']],
    [6, ['fd00::2']],
    ['both', ['::ffff:10.0.0.2', 'fd00::2']],
  ])('is reached in the family of the socket: %s', async (family, found) => {
    const directory = directoryWith(() => Promise.resolve(['10.0.0.2', 'fd00::2']), family)
    await directory.add(PEER)
    expect(directory.entryOf('b')?.found).toEqual(found)
  })

  it('that has no address of the family is reported', async () => {
    await directoryWith(() => Promise.resolve(['fd00::2'])).add(PEER)
    expect(problems).toEqual(['b.example: none of its addresses can be reached from here (fd00::2)'])
  })
})
