/** A hundred nodes in one group on PostgreSQL: what a renewal costs, counted by the server. */
import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join as path } from 'node:path'
import { expect, it } from 'vitest'
import { describeWith, ownServer } from '../../../../test/support/servers.ts'
import { until } from '../../../../test/support/wait.ts'
import { blockName, encodeBlock } from '../../registers/block.ts'
import { openStore, parseStore } from '../../registers/index.ts'
import { join } from '../index.ts'

const NODES = 100
const RENEWALS = 6

await describeWith('postgres', 'a hundred nodes on PostgreSQL', () => {
  it('a renewal is one UPDATE and one SELECT, regardless of other registers', async () => {
    const logs = mkdtempSync(path(tmpdir(), 'conclave-log-'))
    // The server may run as another user.
    chmodSync(logs, 0o777)
    const words = ['log_statement=all', 'logging_collector=on', `log_directory=${logs}`]
    const server = await ownServer(
      'postgres',
      words.flatMap((word) => ['-c', word]),
    )
    try {
      const store = await openStore(parseStore(server.url), 'g')
      const never = new AbortController().signal
      for (let index = 1; index < NODES; index++) {
        const block = {
          id: `n${index}`,
          incarnation: 1,
          sequence: 1,
          holder: null,
          removed: false,
          value: null,
        }
        // oxlint-disable-next-line no-await-in-loop -- one connection
        await store.write(blockName(block.id), encodeBlock(block), null, never)
      }
      await store.close()
      const leader = await join({
        group: 'g',
        id: 'a',
        protocol: 'epochs',
        store: server.url,
        isolation: 'thread',
        options: { periodMs: 400, accessMs: 50, leaseMs: 20_000 },
      })
      try {
        let isLeading = false
        const led = leader.lead(({ signal }) => {
          isLeading = true
          return new Promise((resolve) => signal.addEventListener('abort', () => resolve()))
        })
        await until(() => isLeading)
        expect(leader.members()).toHaveLength(NODES)
        const before = countIn(logs)
        await until(() => countIn(logs).writes >= before.writes + RENEWALS)
        const after = countIn(logs)
        // One of the two may be pending at either end.
        expect(Math.abs(after.rounds - before.rounds - (after.writes - before.writes))).toBeLessThanOrEqual(2)
        expect(after.others).toBe(before.others)
        await leader.close()
        await led
      } finally {
        await leader.close()
      }
    } finally {
      await server.end()
      rmSync(logs, { recursive: true, force: true })
    }
  }, 60_000)
})

/** The statements that the server has executed, by kind. */
function countIn(folder: string): {
  readonly rounds: number
  readonly writes: number
  readonly others: number
} {
  const text = readdirSync(folder)
    .map((file) => readFileSync(path(folder, file), 'utf8'))
    .join('')
  const all = [...text.matchAll(/LOG: {2}(?:statement|execute [^:]+): *\s*(?<statement>\S[^\n]*)/g)].map(
    ({ groups }) => groups?.['statement'] ?? '',
  )
  const rounds = all.filter((statement) =>
    statement.startsWith('SELECT pg_is_in_recovery() AS standby, r.cell'),
  ).length
  const writes = all.filter((statement) => statement.startsWith('UPDATE')).length
  return { rounds, writes, others: all.length - rounds - writes }
}
