import { expect, it } from 'vitest'
import type { RegisterBlock } from '../../registers/index.ts'
import { refuseOtherLeader } from './lease-lengths.ts'

const HELD: RegisterBlock = {
  id: 'a',
  incarnation: 1,
  sequence: 7,
  holder: 'a process',
  removed: false,
  value: null,
  leaseMs: 120_000,
}
const first = new Map([['a', HELD]])
const watching = { self: 'b', leaseMs: 650, mostMs: 20 }

it('starts soon after a crash of a node whose leases last for minutes', async () => {
  let reads = 0
  const readAll = async () => {
    reads += 1
    return { outcome: 'ok', blocks: first } as const
  }
  await refuseOtherLeader({ readAll }, watching, first)
  expect(reads).toBeGreaterThan(1)
})

it('refuses as soon as such a node writes', async () => {
  const written = new Map([['a', { ...HELD, sequence: 8 }]])
  const readAll = async () => ({ outcome: 'ok', blocks: written }) as const
  await expect(refuseOtherLeader({ readAll }, watching, first)).rejects.toThrow(
    /^profile: a writes to this store/,
  )
})
