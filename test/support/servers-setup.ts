/**
 * Global setup: starts the process that manages the real servers (scripts/servers.mjs). It starts a server
 * when a test asks for it, and ends all servers when its standard input closes.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import type { TestProject } from 'vitest/node'

declare module 'vitest' {
  // vitest requires an interface here.
  interface ProvidedContext {
    servers: string
  }
}

export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const script = fileURLToPath(new URL('../../scripts/servers.mjs', import.meta.url))
  const keeper = spawn(process.execPath, [script, '--serve'], { stdio: ['pipe', 'pipe', 'inherit'] })
  const ended = once(keeper, 'exit')
  const [address] = (await Promise.race([once(keeper.stdout, 'data'), ended])) as [Buffer | number | null]
  if (!Buffer.isBuffer(address)) throw new Error('scripts/servers.mjs ended before it was asked for anything')
  project.provide('servers', address.toString().trim())
  return async () => {
    keeper.stdin.end()
    await ended
  }
}
