import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { describe, expect, it } from 'vitest'
import { findFreePorts } from './free-ports.ts'

describe.each(['udp', 'tcp', 'both'] as const)('findFreePorts, %s', (kind) => {
  it('finds ports that differ', async () => {
    const ports = await findFreePorts(20, kind)
    expect(new Set(ports).size).toBe(20)
    // Systems take ports for outgoing connections from 32768 on.
    expect(ports.every((port) => port > 1023 && port < 32_768)).toBe(true)
  })

  it('leaves the ports free', async () => {
    const [port = 0] = await findFreePorts(1, kind)
    const release = await occupy(kind, port)
    await expect(release()).resolves.toBeUndefined()
  })

  it('replaces a preferred port that is taken', async () => {
    const [taken = 0] = await findFreePorts(1, kind)
    const release = await occupy(kind, taken)
    try {
      const [port] = await findFreePorts(1, kind, taken)
      expect(port).not.toBe(taken)
    } finally {
      await release()
    }
  })
})

/** Binds a loopback port; rejects if it is taken. */
async function occupy(kind: 'udp' | 'tcp' | 'both', port: number): Promise<() => Promise<void>> {
  if (kind === 'both') {
    const releases = await Promise.all([occupy('udp', port), occupy('tcp', port)])
    return async () => void (await Promise.all(releases.map((release) => release())))
  }
  if (kind === 'udp') {
    const socket = createSocket('udp4').bind(port, '127.0.0.1')
    await once(socket, 'listening')
    return () => new Promise((resolve) => socket.close(() => resolve()))
  }
  const server = createServer().listen(port, '127.0.0.1')
  await once(server, 'listening')
  expect((server.address() as AddressInfo).port).toBe(port)
  return () => new Promise((resolve) => server.close(() => resolve()))
}

it.each(['udp', 'tcp'] as const)('findFreePorts, both: avoids a port that is taken by %s', async (kind) => {
  const [taken = 0] = await findFreePorts(1, 'both')
  const release = await occupy(kind, taken)
  try {
    expect(await findFreePorts(1, 'both', taken)).not.toContain(taken)
  } finally {
    await release()
  }
})
