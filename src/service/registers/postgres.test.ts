import { spawn } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { type AddressInfo, connect, createServer } from 'node:net'
import { join, resolve as resolvePath } from 'node:path'
import postgres from 'postgres'
import { afterAll, expect, it, onTestFinished } from 'vitest'
import { conformance } from '../../../test/support/conformance.ts'
import { outages } from '../../../test/support/outages.ts'
import { silentPort } from '../../../test/support/ports.ts'
import { describeWith, ownServer } from '../../../test/support/servers.ts'
import { until } from '../../../test/support/wait.ts'
import { findFreePorts } from '../chaos/free-ports.ts'
import { OPEN_TIMEOUT_MS } from './connection.ts'
import { openRegisters } from './index.ts'
import { openPostgres } from './postgres.ts'

/** A node that leads until it is asked to end. */
const PROGRAM = `
import { join } from 'conclave'
const node = await join({ group: 'g', id: 'a', protocol: 'epochs', store: process.argv[1], isolation: 'thread' })
const leading = node.lead(({ signal }) => new Promise((done) => {
  console.log('leads')
  signal.addEventListener('abort', () => done(console.log('ended')))
}))
process.once('SIGTERM', async () => {
  await node.close()
  await leading
  console.log('closed')
})
`

await describeWith('postgres', 'PostgreSQL', (url) => {
  conformance('a table', { open: (group) => openPostgres({ url, table: 'conclave_registers' }, group) })

  outages('postgres', url, (own, group) => openPostgres({ url: own, table: 'conclave_registers' }, group))

  const admin = postgres(url === '' ? 'postgres://nobody' : url, { max: 1, onnotice: () => {} })
  afterAll(() => admin.end())

  /** A user who may connect and nothing else. */
  async function poorUser(name: string): Promise<string> {
    await admin.unsafe(`DROP OWNED BY ${name}`).catch(() => {})
    await admin.unsafe(`DROP ROLE IF EXISTS ${name}; CREATE ROLE ${name} LOGIN PASSWORD 'secret'`)
    const theirs = new URL(url)
    theirs.username = name
    theirs.password = 'secret'
    return theirs.href
  }

  it('prints the missing GRANT statement, which is sufficient', async () => {
    const theirs = await poorUser('poor')
    await admin`CREATE TABLE granted (group_name text, cell text, version bigint, body text, PRIMARY KEY (group_name, cell))`
    await admin`GRANT SELECT ON granted TO poor`
    const problem = await openPostgres({ url: theirs, table: 'granted' }, 'g').catch((error: Error) => error)
    expect(problem).toMatchObject({ name: 'StoreAccessDeniedError' })
    const statement = /GRANT .*;/.exec((problem as Error).message)?.[0] ?? ''
    expect(statement).toBe('GRANT INSERT, UPDATE ON granted TO "poor";')
    await admin.unsafe(statement)
    const node = openRegisters(await openPostgres({ url: theirs, table: 'granted' }, 'g'), {
      self: 1,
      timeoutMs: 10_000,
      probeMs: 50,
    })
    onTestFinished(() => node.close())
    expect(await node.claim()).toMatchObject({ outcome: 'ok' })
    expect(await node.write({ ctr: 1 })).toEqual({ outcome: 'ok' })
  })

  it('prints the statements that create the table, which are sufficient', async () => {
    const theirs = await poorUser('poorer')
    const problem = await openPostgres({ url: theirs, table: 'absent' }, 'g').catch((error: Error) => error)
    expect(problem).toMatchObject({
      name: 'StoreAccessDeniedError',
      message: expect.stringContaining('cannot create it'),
    })
    const [, ...statements] = (problem as Error).message.split('\n')
    expect(statements.map((line) => line.trim().split(' ')[0])).toEqual(['CREATE', 'GRANT'])
    await admin.unsafe(statements.join(''))
    const store = await openPostgres({ url: theirs, table: 'absent' }, 'g')
    await store.close()
  })

  it('reports a wrong password, an unreachable server, and an invalid table name', async () => {
    const wrong = new URL(url)
    wrong.password = 'guess'
    await expect(openPostgres({ url: wrong.href, table: 't' }, 'g')).rejects.toMatchObject({
      name: 'StoreAccessDeniedError',
      message: expect.stringMatching(/password authentication failed.*check user, password/),
    })
    await expect(
      openPostgres({ url: 'postgres://u:hidden@127.0.0.1:1/db', table: 't' }, 'g'),
    ).rejects.toMatchObject({
      name: 'StoreUnreachableError',
      message: expect.stringMatching(
        /^cannot reach the store at postgres:\/\/u:\*\*\*@127.0.0.1:1\/db: .*check that it is running/,
      ),
    })
    await expect(openPostgres({ url, table: 'a; DROP' }, 'g')).rejects.toMatchObject({ field: 'store.table' })
  })

  it('connects to the reachable one of several hosts', async () => {
    const [port] = await findFreePorts(1, 'tcp')
    const several = url.replace('@', `@127.0.0.1:${await silentPort()},127.0.0.1:${port},`)
    const store = await openPostgres({ url: several, table: 'conclave_registers' }, 'several')
    onTestFinished(() => store.close())
    expect(await store.read(AbortSignal.timeout(10_000))).toEqual([])
    expect(store.facts.place).toMatch(
      /^postgres:\/\/conclave:\*\*\*@(127\.0\.0\.1:\d+,){2}127\.0\.0\.1:\d+\/postgres/,
    )
  })

  it('lets a process end that closes its node while the server hangs for longer than a connection attempt', async () => {
    const server = await ownServer('postgres')
    onTestFinished(() => server.end())
    const child = spawn(process.execPath, ['--input-type=module', '-e', PROGRAM, server.url], {
      cwd: resolvePath(import.meta.dirname, '../../..'),
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    onTestFinished(() => void child.kill('SIGKILL'))
    let said = ''
    child.stdout.on('data', (data: Buffer) => (said += data.toString()))
    await until(() => said.includes('leads'))
    await server.pause()
    onTestFinished(() => server.resume())
    await until(() => said.includes('ended'))
    // By now the first attempts to connect have timed out, and others have followed.
    await new Promise((done) => setTimeout(done, OPEN_TIMEOUT_MS + 1000))
    child.kill('SIGTERM')
    await until(() => said.includes('closed'))
    // No socket or timer of an aborted call keeps the process running.
    await until(() => child.exitCode !== null)
    expect(child.exitCode).toBe(0)
  })

  it('leaves no statements behind that wait for a lock', async () => {
    const group = 'locked'
    const store = await openPostgres({ url, table: 'conclave_locked' }, group, 100)
    onTestFinished(() => store.close())
    const count = async (): Promise<number> => {
      const [row] = await admin<{ count: number }[]>`
        SELECT count(*)::int FROM pg_stat_activity
        WHERE application_name = ${`conclave ${group}`} AND wait_event_type = 'Lock'`
      return row?.count ?? 0
    }
    const locker = postgres(url, { max: 1, onnotice: () => {} })
    const holding = await locker.reserve()
    onTestFinished(async () => {
      await holding`ROLLBACK`
      holding.release()
      await locker.end()
    })
    await holding`BEGIN`
    await holding`LOCK TABLE conclave_locked IN ACCESS EXCLUSIVE MODE`
    // Calls time out while the table is locked, until some statements linger.
    await expect
      .poll(
        async () => {
          await store.read(AbortSignal.timeout(100)).catch(() => {})
          return count()
        },
        { timeout: 20_000 },
      )
      .toBeGreaterThan(2)
    await expect.poll(count, { timeout: 40_000 }).toBe(0)
  })

  it('works behind a pooler that rejects the statement timeout', async () => {
    const { hostname, port } = new URL(url)
    const said: string[] = []
    const pooler = createServer((client) => {
      client.on('error', () => {})
      client.once('data', (first) => {
        const knows = !first.includes('statement_timeout')
        said.push(knows ? 'let in' : 'refused')
        if (!knows) {
          const fields = Buffer.from(
            'SFATAL\0VFATAL\0C08P01\0Munsupported startup parameter: statement_timeout\0\0',
          )
          const size = Buffer.alloc(4)
          size.writeInt32BE(fields.length + 4)
          client.end(Buffer.concat([Buffer.from('E'), size, fields]))
          return
        }
        const server = connect(Number(port), hostname)
        server.on('error', () => client.destroy()).on('close', () => client.destroy())
        client.on('close', () => server.destroy())
        server.write(first)
        client.pipe(server).pipe(client)
      })
    })
    await new Promise<void>((resolve) => pooler.listen(0, '127.0.0.1', resolve))
    onTestFinished(() => {
      pooler.close()
    })
    const by = new URL(url)
    by.port = String((pooler.address() as AddressInfo).port)
    const store = await openPostgres({ url: by.href, table: 'conclave_registers' }, 'pooled', 100)
    onTestFinished(() => store.close())
    expect(await store.read(AbortSignal.timeout(10_000))).toEqual([])
    expect(said.slice(0, 2)).toEqual(['refused', 'let in'])
  })

  it('warns about asynchronous commits, and refuses a standby, also after a reconnection', async () => {
    const server = await ownServer('postgres', ['-c', 'synchronous_commit=off'])
    onTestFinished(() => server.end())
    const store = await openPostgres({ url: server.url, table: 'conclave_registers' }, 'g')
    onTestFinished(() => store.close())
    expect(store.facts.weak).toEqual([expect.stringContaining('synchronous_commit is off')])
    expect(await store.read(AbortSignal.timeout(10_000))).toEqual([])
    const there = postgres(server.url, { max: 1, onnotice: () => {} })
    // Else the table would be lost with the rest: that is what the warning is about.
    await there`CHECKPOINT`
    await there.end()
    await server.kill()
    writeFileSync(join(server.folder, 'data', 'standby.signal'), '')
    await server.restart()
    const refusal = { name: 'UnsuitableStoreError', message: expect.stringContaining('is a standby') }
    await expect(openPostgres({ url: server.url, table: 'conclave_registers' }, 'g')).rejects.toMatchObject(
      refusal,
    )
    // The connections broke; what they are made to again is a standby.
    await expect
      .poll(() => store.read(AbortSignal.timeout(10_000)).catch((error: unknown) => error), {
        timeout: 20_000,
      })
      .toMatchObject(refusal)
  })
})
