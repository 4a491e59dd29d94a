/** The real servers that other tests use: they start, survive kills and restarts, and end with the tests. */
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, it, onTestFinished } from 'vitest'
import { describeWith, ownServer, type ServerName } from './support/servers.ts'
import { until } from './support/wait.ts'

const SCRIPT = fileURLToPath(new URL('../scripts/servers.mjs', import.meta.url))

async function isOpen(url: string): Promise<boolean> {
  const { hostname, port } = new URL(url)
  const socket = connect(Number(port), hostname)
  const answer = await Promise.race([
    once(socket, 'connect').then(() => true),
    once(socket, 'error').then(() => false),
  ]).catch(() => false)
  socket.destroy()
  return answer
}

const NAMES: readonly ServerName[] = ['postgres', 'redis', 'etcd', 'nats']
await Promise.all(
  NAMES.map((name) =>
    describeWith(name, `a ${name} server`, (url) => {
      it('is shared by all tests', async () => {
        expect(await isOpen(url)).toBe(true)
      })

      it('is found by npm run stores', () => {
        const script = fileURLToPath(new URL('../scripts/stores.mjs', import.meta.url))
        const { status, stdout } = spawnSync(process.execPath, [script, '--try', '0', name], {
          encoding: 'utf8',
        })
        expect([status, stdout.trim().split(/\s+/)]).toEqual([0, [name, 'started']])
      }, 60_000)

      it('for one test is killed, restarted at the same address, and ended', async () => {
        const server = await ownServer(name)
        expect(server.url).not.toBe(url)
        await server.kill()
        expect(await isOpen(server.url)).toBe(false)
        await server.restart()
        expect(await isOpen(server.url)).toBe(true)
        await server.pause()
        await server.resume()
        await server.end()
        expect(await isOpen(server.url)).toBe(false)
      })
    }),
  ),
)

await describeWith('redis', 'the process that manages the servers', () => {
  it.each(['SIGTERM', 'SIGKILL'] as const)('killed by %s leaves no server behind', async (signal) => {
    const folder = mkdtempSync(join(tmpdir(), 'conclave-keeper-'))
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
    const env = { ...process.env, TMPDIR: folder }
    const keeper = spawn(process.execPath, [SCRIPT, 'redis'], { stdio: ['ignore', 'pipe', 'inherit'], env })
    const [line] = (await once(keeper.stdout, 'data')) as [Buffer]
    const url = line.toString().trim()
    expect(await isOpen(url)).toBe(true)
    keeper.kill(signal)
    await once(keeper, 'exit')
    let open = true
    await until(() => {
      void isOpen(url).then((is) => (open = is))
      return !open
    })
  })

  it('ends all servers when its parent has ended', async () => {
    const keeper = spawn(process.execPath, [SCRIPT, '--serve'], { stdio: ['pipe', 'pipe', 'inherit'] })
    const [line] = (await once(keeper.stdout, 'data')) as [Buffer]
    const answer = await fetch(`${line.toString().trim()}/shared/redis`)
    const { url } = (await answer.json()) as { url: string }
    expect(await isOpen(url)).toBe(true)
    keeper.stdin.destroy()
    await once(keeper, 'exit')
    expect(await isOpen(url)).toBe(false)
  })

  it('lists the known servers when asked for another', () => {
    const { status, stderr } = spawnSync(process.execPath, [SCRIPT, 'mysql'], { encoding: 'utf8' })
    expect({ status, stderr }).toEqual({
      status: 2,
      stderr: 'usage: node scripts/servers.mjs postgres|redis|etcd|nats ...\n',
    })
  })
})
