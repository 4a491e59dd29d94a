import postgres from 'postgres'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { comeback } from '../../../test/support/old-leader.ts'
import { describeWith } from '../../../test/support/servers.ts'
import { pending } from '../../../test/support/wait.ts'
import { FENCING_SQL, fenced, fenceTableSql, IMPLAUSIBLE_CODE, MISSING_CODE, STALE_CODE } from './postgres.ts'

await describeWith('postgres', 'fencing in PostgreSQL', (url) => {
  const database = `fencing_${process.pid}`
  const admin = postgres(url === '' ? 'postgres://nobody' : url, { max: 1, onnotice: () => {} })
  const own = new URL(url === '' ? 'postgres://nobody' : url)
  own.pathname = `/${database}`
  const sql = postgres(own.href, { max: 4, onnotice: () => {} })
  beforeAll(async () => {
    await admin.unsafe(`CREATE DATABASE ${database}`)
    await sql.unsafe(FENCING_SQL)
    await sql.unsafe(FENCING_SQL)
    await sql`CREATE TABLE ledger (at serial PRIMARY KEY, token bigint NOT NULL)`
    await sql.unsafe(fenceTableSql('ledger', 'billing'))
  })
  afterAll(async () => {
    await sql.end()
    await admin.unsafe(`DROP DATABASE IF EXISTS ${database} WITH (FORCE)`)
    await admin.end()
  })

  const put = (token: number): Promise<unknown> =>
    fenced(
      sql,
      { resource: 'billing', token },
      (transaction) => transaction`INSERT INTO ledger (token) VALUES (${token})`,
    )

  it('refuses a leader that was paused', async () => {
    const { code, said } = await comeback('postgres', own.href, 5, async () => {
      await put(6)
    })
    expect({ code, said: JSON.parse(said) as unknown }).toEqual({
      code: 5,
      said: { refused: 'StaleTokenError', current: 6 },
    })
    const rows = await sql<{ token: string }[]>`SELECT token FROM ledger ORDER BY at`
    const tokens = rows.map(({ token }) => Number(token))
    expect(tokens.at(-1)).toBe(6)
    expect(tokens.filter((token) => token === 5).length).toBeGreaterThanOrEqual(3)
  })

  it('refuses an implausible token, and is not locked by it', async () => {
    const locking = { resource: 'locked', token: Number.MAX_SAFE_INTEGER }
    await expect(fenced(sql, locking, async () => 1)).rejects.toMatchObject({
      name: 'ImplausibleTokenError',
      current: 0,
    })
    await expect(sql`SELECT conclave_fence('locked', 9223372036854775807)`).rejects.toMatchObject({
      code: IMPLAUSIBLE_CODE,
    })
    expect(await fenced(sql, { ...locking, token: 3 }, async () => 1)).toBe(1)
  })

  it('lets only roles with the right to call the function raise a token', async () => {
    const role = `writer_${process.pid}`
    await sql.unsafe(`
      CREATE ROLE ${role};
      GRANT INSERT ON ledger TO ${role};
      GRANT USAGE ON SEQUENCE ledger_at_seq TO ${role};
      REVOKE EXECUTE ON FUNCTION conclave_fence(text, bigint) FROM PUBLIC`)
    const as = (work: string): Promise<unknown> =>
      sql.begin(async (transaction) => {
        await transaction.unsafe(`SET LOCAL ROLE ${role}; ${work}`)
      })
    const write = `SELECT set_config('conclave.token', '6', true); INSERT INTO ledger (token) VALUES (6)`
    await expect(as(`SELECT conclave_fence('billing', 6)`)).rejects.toThrow('permission denied')
    await expect(as(write)).rejects.toThrow('permission denied')
    await sql.unsafe(`GRANT EXECUTE ON FUNCTION conclave_fence(text, bigint) TO ${role}`)
    await as(write)
    await sql.unsafe(`DROP OWNED BY ${role}; DROP ROLE ${role};
      GRANT EXECUTE ON FUNCTION conclave_fence(text, bigint) TO PUBLIC`)
  })

  it('waits for a transaction of the previous leader, and refuses a later one', async () => {
    const order: string[] = []
    const { promise: mayEnd, resolve: end } = pending()
    const { promise: isInside, resolve: inside } = pending()
    const old = fenced(sql, { resource: 'slow', token: 1 }, async () => {
      inside()
      await mayEnd
      order.push('old')
    })
    await isInside
    const young = fenced(sql, { resource: 'slow', token: 2 }, async () => {
      order.push('young')
    })
    // The younger one waits for the row; the server says so.
    await expect
      .poll(async () => (await admin`SELECT 1 FROM pg_locks WHERE NOT granted`).length, { timeout: 20_000 })
      .toBeGreaterThan(0)
    end()
    await Promise.all([old, young])
    expect(order).toEqual(['old', 'young'])
    await expect(fenced(sql, { resource: 'slow', token: 1 }, async () => {})).rejects.toMatchObject({
      name: 'StaleTokenError',
      current: 2,
    })
  })

  it('does not wait for a leader that was stopped in the middle of a transaction', async () => {
    const { promise: isStopped, resolve: stop } = pending()
    const limit = postgres(own.href, { max: 1, connection: { idle_in_transaction_session_timeout: 200 } })
    const stopped = fenced(limit, { resource: 'stopped', token: 1 }, async () => {
      stop()
      await new Promise(() => {})
    })
    const failure = stopped.catch((error: unknown) => error)
    await isStopped
    expect(await fenced(sql, { resource: 'stopped', token: 2 }, async () => 'next')).toBe('next')
    expect(String(await failure)).toMatch(/idle-in-transaction|CONNECTION_CLOSED/)
    await limit.end()
  })

  it('limits how long a transaction may be idle, unless the session has its own limit', async () => {
    const shown = (client: postgres.Sql): Promise<unknown> =>
      fenced(client, { resource: 'idle', token: 1 }, async (transaction) => {
        const [row] =
          await transaction`SELECT current_setting('idle_in_transaction_session_timeout') AS limit`
        return row?.['limit']
      })
    const limited = postgres(own.href, {
      max: 1,
      connection: { idle_in_transaction_session_timeout: 60_000 },
    })
    expect(await shown(sql)).toBe('5s')
    expect(await shown(limited)).toBe('1min')
    await limited.end()
    // The limit ends with the transaction.
    const [after] = await sql`SELECT current_setting('idle_in_transaction_session_timeout') AS limit`
    expect(after?.['limit']).toBe('0')
  })

  it('runs transactions of one leader concurrently after the first', async () => {
    await fenced(sql, { resource: 'busy', token: 1 }, async () => {})
    const { promise: mayEnd, resolve: end } = pending()
    const first = fenced(sql, { resource: 'busy', token: 1 }, () => mayEnd)
    expect(await fenced(sql, { resource: 'busy', token: 1 }, async () => 'second')).toBe('second')
    end()
    await first
  })

  it('enforces the token by a trigger on direct writes', async () => {
    await put(7)
    await expect(sql`INSERT INTO ledger (token) VALUES (1)`).rejects.toMatchObject({ code: MISSING_CODE })
    await expect(sql`TRUNCATE ledger`).rejects.toMatchObject({ code: MISSING_CODE })
    const smuggled = sql.begin(async (transaction) => {
      await transaction`SELECT set_config('conclave.token', '6', true)`
      await transaction`DELETE FROM ledger`
    })
    await expect(smuggled).rejects.toMatchObject({ code: STALE_CODE, detail: '7' })
    expect(await sql`SELECT 1 FROM ledger`).not.toHaveLength(0)
  })

  it('lets a writer without rights on the token table write, but not lower a token', async () => {
    await admin.unsafe(`DROP ROLE IF EXISTS fenced_writer`)
    await admin.unsafe(`CREATE ROLE fenced_writer LOGIN PASSWORD 'secret'`)
    await sql`GRANT SELECT, INSERT, DELETE ON ledger TO fenced_writer`
    await sql`GRANT USAGE ON SEQUENCE ledger_at_seq TO fenced_writer`
    const theirs = new URL(own)
    theirs.username = 'fenced_writer'
    theirs.password = 'secret'
    const poor = postgres(theirs.href, { max: 1, onnotice: () => {} })
    try {
      await fenced(
        poor,
        { resource: 'billing', token: 8 },
        (transaction) => transaction`INSERT INTO ledger (token) VALUES (8)`,
      )
      await expect(poor`UPDATE conclave_tokens SET token = 0`).rejects.toMatchObject({ code: '42501' })
    } finally {
      await poor.end()
      await sql`DROP OWNED BY fenced_writer`
      await admin`DROP ROLE fenced_writer`
    }
  })

  it('passes an error of the work on, and writes nothing', async () => {
    const failing = fenced(sql, { resource: 'billing', token: 9 }, async (transaction) => {
      await transaction`INSERT INTO ledger (token) VALUES (9)`
      throw new Error('no')
    })
    await expect(failing).rejects.toThrow('no')
    expect(await sql`SELECT 1 FROM ledger WHERE token = 9`).toHaveLength(0)
    await expect(put(1.5)).rejects.toThrow('token: must be a whole number')
  })
})
