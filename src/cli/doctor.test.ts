import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it, onTestFinished } from 'vitest'
import { conclave, type Ended } from '../../test/support/cli.ts'
import { describeWith, ownServer } from '../../test/support/servers.ts'
import { openStore, parseStore } from '../service/registers/index.ts'

const folder = mkdtempSync(join(tmpdir(), 'conclave-doctor-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const doctor = (...words: readonly string[]): Promise<Ended> => conclave(['doctor', ...words])

describe('conclave doctor', () => {
  it('accepts a folder, prints measurements and unchecked assumptions, and creates nothing', async () => {
    const { code, stdout } = await doctor('--store', `file:${folder}/g`, '--rounds', '10')
    expect(code).toBe(0)
    expect(stdout).toMatch(/^✓ .*\(rename\) answers/)
    expect(stdout).toMatch(/✓ of two writers that replace the same version, one succeeds \(tried 10 times\)/)
    expect(stdout).toMatch(/one write +median \d+/)
    expect(stdout).toContain('Assumptions that this experiment cannot check:')
    expect(existsSync(join(folder, 'g'))).toBe(false)
    mkdirSync(join(folder, 'k'))
    await doctor('--store', `file:${folder}/k/l/m`, '--rounds', '1')
    expect(readdirSync(join(folder, 'k'))).toEqual([])
  })

  it('reads the store from a file, and prints one object', async () => {
    const file = join(folder, 'config.json')
    writeFileSync(file, JSON.stringify({ store: { kind: 'file', path: join(folder, 'h'), mode: 'sector' } }))
    const { code, stdout } = await doctor('--store', file, '--rounds', '5', '--json')
    expect(code).toBe(0)
    expect(JSON.parse(stdout)).toMatchObject({
      store: { kind: 'file' },
      fit: true,
      weak: [],
      findings: [
        { name: 'regular', problem: null },
        { name: 'compare', trials: 5, problem: null },
        { name: 'late-write', problem: null },
      ],
      latencyMs: { read: { count: expect.any(Number) }, write: { medianMs: expect.any(Number) } },
    })
  })

  it.each([
    [['--store', 'mysql://h'], 2, 'mysql: is not a kind of store'],
    [['--store', `${folder}/none.json`], 2, 'none.json: no such file'],
    [['--store', `file:${folder}`, '--accept-weak'], 2, '--accept-weak: has no effect on the store file'],
    [['--store', `file:${folder}`, '--rounds', '0'], 2, '--rounds 0: must be at least 1'],
    [['--store', 'redis://127.0.0.1:6'], 4, '✖ cannot reach the store at redis://127.0.0.1:6'],
    [['--store', 'file:/proc/nowhere'], 5, '✖ cannot write to /proc/nowhere'],
    [['--group', 'g'], 2, 'id'],
    [['--config', `${folder}/none.yaml`], 2, 'none.yaml'],
    [['--measure-ms', '0'], 2, '--measure-ms 0: must be at least 1'],
  ])('%j exits with %i and prints %s', async (words, code, text) => {
    const ended = await doctor(...words)
    expect(ended.code).toBe(code)
    expect(ended.stdout + ended.stderr).toContain(text)
  })
})

await describeWith('redis', 'conclave doctor on Redis', () => {
  it('refuses a weak server, and warns with --accept-weak', async () => {
    const server = await ownServer('redis', ['--appendonly', 'no'])
    onTestFinished(() => server.end())
    const refused = await doctor('--store', server.url, '--json')
    expect(refused.code).toBe(5)
    expect(JSON.parse(refused.stdout)).toMatchObject({ fit: false, error: { name: 'UnsuitableStoreError' } })
    const accepted = await doctor('--store', server.url, '--accept-weak', '--rounds', '5')
    expect(accepted.code).toBe(0)
    expect(accepted.stdout).toContain(
      '▲ appendonly is no: a crash loses acknowledged writes; set appendonly yes',
    )
  })
})

await describeWith('postgres', 'conclave doctor on PostgreSQL', (url) => {
  it('prints the GRANT, and leaves neither a table nor rows behind', async () => {
    const { default: postgres } = await import('postgres')
    const sql = postgres(url, { max: 1, onnotice: () => {} })
    onTestFinished(() => sql.end())
    const store = `${url}?table=doctors`
    const tables = () => sql`SELECT tablename FROM pg_tables WHERE tablename ~ 'doctors|conclave_trial'`
    const missing = await doctor('--store', store, '--rounds', '5')
    expect(missing).toMatchObject({ code: 0, stderr: '' })
    expect(missing.stdout).not.toContain('password')
    expect(missing.stdout).toContain('✓ the table doctors is missing, and this user can create it')
    expect(await tables()).toEqual([])
    await (await openStore(parseStore(store), 'g')).close()
    const found = await doctor('--store', store, '--rounds', '5')
    expect(found.stdout).not.toContain('is missing')
    expect(await sql`SELECT * FROM doctors`).toEqual([])
    expect(await tables()).toHaveLength(1)
    await sql`DROP ROLE IF EXISTS patient`
    await sql`CREATE ROLE patient LOGIN PASSWORD 'secret'`
    const theirs = new URL(`${url}?table=doctors`)
    theirs.username = 'patient'
    theirs.password = 'secret'
    const refused = await doctor('--store', theirs.href)
    expect(refused.code).toBe(5)
    expect(refused.stdout).toContain('GRANT SELECT, INSERT, UPDATE ON doctors TO "patient";')
  })
})

await describeWith('nats', 'conclave doctor on NATS', (url) => {
  it('leaves no bucket behind', async () => {
    const { connect } = await import('@nats-io/transport-node')
    const nats = await connect({ servers: url.replace(/^nats:\/\//, '') })
    onTestFinished(() => nats.close())
    const streams = async (): Promise<readonly string[]> => {
      const reply = (await nats.request('$JS.API.STREAM.NAMES', '')).json<{ streams: string[] | null }>()
      return (reply.streams ?? []).filter((name) => /doctors|conclave_trial/.test(name))
    }
    const missing = await doctor('--store', `${url}?bucket=doctors`, '--rounds', '5')
    expect(missing).toMatchObject({ code: 0, stderr: '' })
    expect(missing.stdout).toContain('✓ the bucket doctors is missing, and this user can create it')
    expect(await streams()).toEqual([])
  })
})
