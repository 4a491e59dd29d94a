/** Requests of a node's own code over the data transport, with real sockets. */
import { randomBytes } from 'node:crypto'
import { expect, it } from 'vitest'
import { columnBytes, keyFor } from '../../../../test/support/column-conformance.ts'
import {
  createClient,
  download,
  GROUP,
  startNode,
  TOKEN,
  upload,
} from '../../../../test/support/column-transport.ts'
import { openColumnReader } from '../store/index.ts'
import type { ServedGroup } from './server.ts'

async function startAnswering(answer: NonNullable<ServedGroup['answer']>, isSecret = false) {
  const { server, store } = await startNode({ isSecret })
  const ok = async () => ({ ok: true }) as const
  server.serve(GROUP, { store, gate: { mayStore: ok, recordStored: ok, mayRead: ok }, answer })
  return { server, client: createClient(server.address.port, { isSecret }) }
}

const AT = { group: GROUP, token: TOKEN } as const

it.each([false, true])(
  'carries a request and its reply, of several blocks (secret: %s)',
  async (isSecret) => {
    const { client } = await startAnswering(async (from, body) => {
      expect(from).toBe('a')
      return Buffer.concat([body, body])
    }, isSecret)
    const body = randomBytes(3_000_000)
    expect(Buffer.from(await client.call('b', AT, body)).equals(Buffer.concat([body, body]))).toBe(true)
    expect(await client.call('b', AT, new Uint8Array())).toHaveLength(0)
  },
)

it('refuses a request that is signed with another key, and reports an answer that failed', async () => {
  const { server, client } = await startAnswering(() => Promise.reject(new Error('no such job')))
  await expect(client.call('b', AT, new Uint8Array(3))).rejects.toThrow(/\(500\): no such job/)
  const stranger = createClient(server.address.port, { keys: [randomBytes(32)] })
  await expect(stranger.call('b', AT, new Uint8Array(3))).rejects.toThrow(/\(401\)/)
  await expect(client.call('b', { ...AT, group: 'other' }, new Uint8Array(3))).rejects.toThrow(/\(404\)/)
})

it('rejects with the reason of its signal, and an ended call can be aborted without harm to later ones', async () => {
  const { client } = await startAnswering(async (_, body) => (body[0] === 9 ? new Promise(() => {}) : body))
  const abort = new AbortController()
  const hanging = client.call('b', AT, new Uint8Array([9]), abort.signal)
  abort.abort(new Error('enough'))
  await expect(hanging).rejects.toThrow('enough')
  const bytes = columnBytes(keyFor())
  await upload(client, bytes)
  // All of the column is read, but not the mark after it: the response has arrived, and not ended.
  const ended = new AbortController()
  const raw = await client.get('b', { ...AT, key: keyFor() }, ended.signal)
  const reader = await openColumnReader(keyFor(), raw, 'node b')
  // oxlint-disable-next-line no-await-in-loop -- stripe by stripe
  while ((await reader.next()) !== null);
  await reader.close()
  ended.abort(new Error('too late'))
  expect((await download(client)).equals(bytes)).toBe(true)
})
