import { randomBytes } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { ContentDigest } from './digest.ts'

function digestOf(...pieces: Uint8Array[]): string {
  const content = new ContentDigest()
  for (const piece of pieces) content.update(piece)
  return content.digest()
}

describe('the digest of a checkpoint', () => {
  it('is the same in every version', () => {
    // Recorded: a change would make every stored checkpoint unreadable.
    expect(digestOf()).toBe('5feceb66ffc86f38d952786c6d696c79c2dbc239dd4e91b46729d73a27fb57e9')
    expect(digestOf(Buffer.from('conclave'))).toBe(
      '5f6b90a875c68be31e53e851df4e41047066e1195e8220ade7113d3812cf7b26',
    )
    expect(digestOf(Buffer.alloc(3_000_000, 7))).toBe(
      '5e57d860b80dee3978b9b2377e0c41960f79d3396fe51181a33731ad565e9cbc',
    )
  })

  it('does not depend on how the content is cut', () => {
    const whole = randomBytes(3_000_000)
    for (const cut of [0, 1, 1024 * 1024 - 1, 1024 * 1024, 2_500_000])
      expect(digestOf(whole.subarray(0, cut), whole.subarray(cut))).toBe(digestOf(whole))
  })

  it('differs for one changed bit, one byte more, and exchanged pieces', () => {
    const [one, other] = [randomBytes(1024 * 1024), randomBytes(1024 * 1024)]
    const changed = Buffer.from(other)
    changed[1000] = (changed[1000] as number) ^ 128
    const all = [
      digestOf(one, other),
      digestOf(other, one),
      digestOf(one, changed),
      digestOf(one, other, Buffer.alloc(1)),
      digestOf(one),
      digestOf(),
    ]
    expect(new Set(all).size).toBe(all.length)
  })
})
