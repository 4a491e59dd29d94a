// Runs the module of a job with its checkpoints and outputs in a bucket of S3 or a compatible store. Kubernetes, or
// another scheduler, starts it again elsewhere when it dies.
//
//   node run-in-bucket.mjs MODULE NAME [INPUT as JSON]
//
// S3_ENDPOINT, S3_BUCKET, S3_REGION, S3_ACCESS_KEY and S3_SECRET_KEY say where. The store must support conditional writes
// (If-Match, If-None-Match). Values are JSON.
//
// NAME/state is one object, which is only replaced by compare-and-swap. A run starts by writing it with the next token.
// From then on the writes of every earlier run fail: that is the fence.
import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { AwsClient } from 'aws4fetch'

const [module, name, input = 'null'] = process.argv.slice(2)
const { S3_ENDPOINT, S3_BUCKET, S3_REGION = 'us-east-1', S3_ACCESS_KEY, S3_SECRET_KEY } = process.env
const s3 = new AwsClient({
  accessKeyId: S3_ACCESS_KEY,
  secretAccessKey: S3_SECRET_KEY,
  service: 's3',
  region: S3_REGION,
  retries: 0,
})
const urlOf = (key) => `${S3_ENDPOINT}/${S3_BUCKET}/${name}/${key}`
const stop = new AbortController()
process.once('SIGTERM', () => stop.abort(new Error('the scheduler stops this run')))

async function read(key) {
  const response = await s3.fetch(urlOf(key), { signal: stop.signal })
  if (response.status === 404) return null
  if (!response.ok) throw new Error(`cannot read ${key}: ${response.status}`)
  return { etag: response.headers.get('etag'), value: await response.json() }
}

/** Resolves to the new tag; to null if the condition does not hold. */
async function write(key, value, condition) {
  const body = JSON.stringify(value)
  const response = await s3.fetch(urlOf(key), {
    method: 'PUT',
    body,
    headers: condition,
    signal: stop.signal,
  })
  if (response.status === 412 || response.status === 409) return null
  if (!response.ok) throw new Error(`cannot write ${key}: ${response.status}`)
  return response.headers.get('etag')
}

let stored = { token: 0, state: null, outputs: [], result: null }
let etag = null

async function store(next) {
  const condition = etag === null ? { 'If-None-Match': '*' } : { 'If-Match': etag }
  const written = await write('state', next, condition)
  if (written === null) {
    stop.abort(new Error('another run has taken over'))
    stop.signal.throwIfAborted()
  }
  etag = written
  stored = next
}

/** Outputs of a committed checkpoint. An object that exists is not replaced: that is the numbered sink. */
async function release() {
  for (const { seq, output } of stored.outputs) {
    // oxlint-disable-next-line no-await-in-loop -- in the order of emission
    await write(`outputs/${String(seq)}`, output, { 'If-None-Match': '*' })
  }
}

const found = await read('state')
if (found !== null) [stored, etag] = [found.value, found.etag]
await store({ ...stored, token: stored.token + 1 })
await release()

if (stored.result === null) {
  const pending = []
  const { default: job } = await import(pathToFileURL(resolve(module)).href)
  const result = await job({
    name,
    input: JSON.parse(input),
    token: stored.token,
    signal: stop.signal,
    restore: async () => stored.state ?? undefined,
    async checkpoint(state) {
      await store({ ...stored, state, outputs: pending.splice(0) })
      await release()
    },
    emit: (seq, output) => void pending.push({ seq, output }),
    progress: (done, text = '') => console.error(`${Math.floor(done * 100)} % ${text}`),
    log: (text) => console.error(text),
  })
  await store({ ...stored, outputs: pending, result: { value: result ?? null } })
  await release()
}
console.log(JSON.stringify(stored.result.value))
