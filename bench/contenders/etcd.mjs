// The election recipe of etcd: a key bound to a lease, created if it is not there, watched while it is.
// node etcd.mjs URL TTL_SECONDS
/* oxlint-disable no-await-in-loop -- one thing after the other is what is measured */
import { setTimeout as sleep } from 'node:timers/promises'
import { LEAVE_MS, onRelease, say } from './said.mjs'

const [url, ttl] = process.argv.slice(2)
const KEY = Buffer.from('leader').toString('base64')
const call = async (path, body) => {
  const response = await fetch(`${url}/v3/${path}`, { method: 'POST', body: JSON.stringify(body) })
  if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`)
  return response
}
const ask = async (path, body) => (await call(path, body)).json()

/** The server raises a time to live that is below what it allows. */
const { ID: lease, TTL: granted } = await ask('lease/grant', { TTL: ttl })
const keepAlive = setInterval(
  () => void ask('lease/keepalive', { ID: lease }).catch(() => {}),
  (Number(granted) * 1000) / 3,
)
let isLeading = false

async function campaign() {
  for (;;) {
    const { succeeded, header, responses } = await ask('kv/txn', {
      compare: [{ key: KEY, target: 'CREATE', result: 'EQUAL', create_revision: '0' }],
      success: [{ request_put: { key: KEY, value: Buffer.from(lease).toString('base64'), lease } }],
      failure: [{ request_range: { key: KEY } }],
    })
    if (succeeded) break
    if (responses[0].response_range.kvs === undefined) continue
    await untilDeleted(Number(header.revision) + 1)
  }
  isLeading = true
  say('led')
}

async function untilDeleted(revision) {
  const stop = new AbortController()
  const response = await fetch(`${url}/v3/watch`, {
    method: 'POST',
    body: JSON.stringify({ create_request: { key: KEY, start_revision: String(revision) } }),
    signal: stop.signal,
  })
  let text = ''
  for await (const piece of response.body) {
    text += Buffer.from(piece).toString()
    if (text.includes('"type":"DELETE"')) break
  }
  stop.abort()
}

onRelease(async () => {
  if (!isLeading) return
  isLeading = false
  await ask('kv/deleterange', { key: KEY })
  await sleep(LEAVE_MS)
  await campaign()
})
say('ready')
await campaign()
// The lease is kept for as long as this process lives.
keepAlive.ref()
