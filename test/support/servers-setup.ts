/**
 * Runs once before all tests: starts the process that keeps the real servers (scripts/servers.mjs). It starts none of
 * them until a test asks, and ends them all when the tests are over, however they end: its standard input is the sign.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import type { TestProject } from 'vitest/node'

declare module 'vitest' {
  // An interface is what vitest asks for here.
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
