import { describe, expect, it } from 'vitest'
import { LinkError } from '../../../src/data/link.ts'
import { packLink, type Shared, unpackLink } from './share.ts'

const SHARED: Shared = {
  name: 'crash 1 at 500 ms',
  base: { protocol: 'local-leader', nodes: [1, 2, 3], untilMs: 1500 },
  made: [
    { atMs: 500.001, crash: 1 },
    { atMs: 900, recover: 1 },
  ],
  untilMs: 2000,
  module: null,
  at: 500_001,
  lesson: 'lease',
}

async function messageOf(fragment: string): Promise<string> {
  try {
    await unpackLink(fragment)
    return 'opened'
  } catch (error) {
    expect(error).toBeInstanceOf(LinkError)
    return (error as Error).message
  }
}

describe('a shared link', () => {
  it('brings back the whole run', async () => {
    expect(await unpackLink(`#${await packLink(SHARED)}`)).toEqual(SHARED)
  })

  it('carries a module, in any script', async () => {
    const shared = { ...SHARED, module: { name: 'wahl.mjs', text: 'export const größe = "∞ 🗳"' } }
    expect(await unpackLink(await packLink(shared))).toEqual(shared)
  })

  it('is short: 30 interventions take at most 600 characters', async () => {
    const made = Array.from({ length: 30 }, (_, index) => ({
      atMs: 100 + index * 37,
      ...(index % 2 === 0 ? { crash: 1 + (index % 5) } : { recover: 1 + (index % 5) }),
    })) as Shared['made']
    expect((await packLink({ ...SHARED, made })).length).toBeLessThan(600)
  })

  it('consists of characters that no program escapes in an address', async () => {
    expect(await packLink(SHARED)).toMatch(/^1\.[a-z0-9]+\.[\w-]+$/)
  })
})

describe('a bad link', () => {
  it('of a newer format says that a newer version made it', async () => {
    expect(await messageOf('#7.abc.def')).toMatch(/format 7.*reads format 1.*newer version/)
  })

  it('without a run says so', async () => {
    expect(await messageOf('#section-2')).toMatch(/damaged.*not a run/)
    expect(await messageOf('#0.a.b')).toMatch(/damaged.*no format 0/)
  })

  it('that was cut off or changed anywhere is refused', async () => {
    const link = await packLink(SHARED)
    const cutOff = Array.from({ length: link.length - 1 }, (_, length) => link.slice(0, length))
    const changed = Array.from(link.slice(link.lastIndexOf('.') + 1), (character, index) => {
      const place = link.lastIndexOf('.') + 1 + index
      return link.slice(0, place) + (character === 'A' ? 'B' : 'A') + link.slice(place + 1)
    })
    // The last character may hold bits that mean nothing.
    const messages = await Promise.all([...cutOff, ...changed.slice(0, -1)].map(messageOf))
    for (const message of messages) expect(message).toMatch(/^The link is damaged/)
  })

  it('with other characters says so', async () => {
    expect(await messageOf('#1.abc.d%€f')).toMatch(/characters that no link has/)
  })

  it('that unpacks to a huge text is refused', async () => {
    const huge = await packLink({ ...SHARED, name: 'x'.repeat(6_000_000) })
    expect(huge.length).toBeLessThan(20_000)
    expect(await messageOf(huge)).toMatch(/unpacks to more than 5 MB/)
  })

  it('without a scenario says so', async () => {
    const empty = await packLink({ ...SHARED, base: [] as unknown as Shared['base'] })
    expect(await messageOf(empty)).toMatch(/holds no scenario/)
  })
})
