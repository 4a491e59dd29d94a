/** A node whose data directory cannot be written tells the others that it cannot store its votes. */
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join as joinPath } from 'node:path'
import { afterEach, expect, it, vi } from 'vitest'
import { freePorts } from '../../../../test/support/ports.ts'
import { join } from './join.ts'
import type { ConclaveNode } from './node.ts'

const IDS = ['a', 'b'] as const
const WAIT = { timeout: 50_000, interval: 20 }

const folder = mkdtempSync(joinPath(tmpdir(), 'conclave-unwritable-'))
let nodes: readonly ConclaveNode[] = []

afterEach(async () => {
  await Promise.all(nodes.map((node) => node.close({ signal: AbortSignal.abort() })))
  rmSync(folder, { recursive: true })
})

it('says so while it lasts', async () => {
  const ports = await freePorts(IDS.length)
  const address = (index: number): string => `127.0.0.1:${ports[index]}`
  const data = joinPath(folder, 'b')
  nodes = await Promise.all(
    IDS.map((id, index) =>
      join({
        group: 'g',
        id,
        listen: address(index),
        peers: [`${IDS[1 - index]}=${address(1 - index)}`],
        key: new Uint8Array(32).fill(7),
        isolation: 'thread',
        data: joinPath(folder, id),
      }),
    ),
  )
  const canStore = () =>
    nodes.map((node) => node.status().nodes.find(({ id }) => id === 'b')?.canStore ?? null)
  await vi.waitFor(() => expect(canStore()).toEqual([true, true]), WAIT)
  rmSync(data, { recursive: true })
  await vi.waitFor(() => expect(canStore()).toEqual([false, false]), WAIT)
  mkdirSync(data)
  await vi.waitFor(() => expect(canStore()).toEqual([true, true]), WAIT)
}, 120_000)
